/*-------------------------------------------------------------------------
 *
 * quiet_wait.c
 *		Waiting for a socket where no error may be raised.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <poll.h>

#include "storage/pmsignal.h"
#include "utils/wait_event.h"

#include "conn/quiet_wait.h"
#include "stats/wait_event.h"

/* How often to look whether the postmaster is there. */
#define POSTMASTER_MS	1000

bool
px_quiet_wait(pgsocket socket, bool writes, long timeout_ms)
{
	struct pollfd pollfd = {
		.fd = socket,
		.events = POLLIN | (writes ? POLLOUT : 0)
	};
	int			n;

	pgstat_report_wait_start(px_wait_event(PX_WAIT_CLEANUP));
	n = poll(&pollfd, 1, (int) Min(timeout_ms, POSTMASTER_MS));
	pgstat_report_wait_end();
	if (n == 0 && !PostmasterIsAlive())
		_exit(1);				/* as WL_EXIT_ON_PM_DEATH does in the end */
	return n > 0;
}
