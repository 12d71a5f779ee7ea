/*-------------------------------------------------------------------------
 *
 * trim.c
 *		Memory of many scans goes back to the operating system.
 *
 * A scan takes some 200 kB while it runs.  PostgreSQL frees them after the
 * query, but malloc keeps them: its heap shrinks only from the end, where
 * libpq has the buffers of connections, which stay.  So a session that has
 * read 256 partitions would keep 50 MB while it is idle, and 1,000 such
 * sessions 50 GB.  Free pages in the middle of the heap are given back here,
 * when the session has been idle for a while.
 *
 * Only glibc is known to need that.  Elsewhere nothing is done.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "conn/idle_timer.h"
#include "exec/trim.h"

/* With fewer scans in a transaction, memory stays for the next one. */
#define TRIM_SCANS_MIN	64

/*
 * How long the next such transaction may be in coming: it needs the memory
 * again.  To give it back and get it anew takes 3 ms for 10 MB: a tenth of the
 * time of a session that reads 1,000 partitions again and again.
 */
#define TRIM_AFTER_MS	1000

static int	scans = 0;			/* that began in this transaction */
static TimestampTz due = 0;		/* when memory is given back; 0 if not */
static px_idle_timer timer = PX_IDLE_TIMER_INIT;

void
px_trim_count_scan(void)
{
	scans++;
}

/*
 * Portals and their memory are gone by now, after an error, too.  The timer
 * may be set for an earlier time than is due now: then it is set again in the
 * transaction that it causes.
 */
static void
trim_or_wait(void)
{
	TimestampTz now = GetCurrentTimestamp();

	if (scans >= TRIM_SCANS_MIN)
		due = TimestampTzPlusMilliseconds(now, TRIM_AFTER_MS);
	if (now >= due)
	{
		due = 0;
		px_malloc_trim();
	}
	else if (!px_idle_timer_is_set(&timer))
		px_idle_timer_set(&timer, due);
}

static void
xact_callback(XactEvent event, void *arg)
{
	if (event != XACT_EVENT_COMMIT && event != XACT_EVENT_ABORT)
		return;
	if (due != 0 || scans >= TRIM_SCANS_MIN)
		trim_or_wait();
	scans = 0;
}

void
px_trim_init(void)
{
	RegisterXactCallback(xact_callback, NULL);
}
