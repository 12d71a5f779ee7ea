/*-------------------------------------------------------------------------
 *
 * cancel.c
 *		Requests to cancel what runs on a connection.
 *
 * A request carries a key.  Whoever has it can cancel all that the session
 * runs later.  So if the connection is encrypted, the request must be
 * encrypted, too, or is not sent.  libpq can encrypt it since version 17, and
 * can then be polled, too.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "utils/timeout.h"
#include "utils/timestamp.h"

#include "conn/cancel.h"
#include "conn/quiet_wait.h"

#ifdef LIBPQ_HAS_ASYNC_CANCEL

/* Wait until a request that was started is sent; false if that fails. */
static bool
finish_cancel(PGcancelConn *cancel, TimestampTz deadline)
{
	PostgresPollingStatusType status = PGRES_POLLING_WRITING;

	while (status != PGRES_POLLING_OK && status != PGRES_POLLING_FAILED)
	{
		bool		writes = status == PGRES_POLLING_WRITING;
		long		ms = TimestampDifferenceMilliseconds(GetCurrentTimestamp(),
														 deadline);

		if (ms <= 0)
			return false;
		if (px_quiet_wait(PQcancelSocket(cancel), writes, ms))
			status = PQcancelPoll(cancel);
	}
	return status == PGRES_POLLING_OK;
}

bool
px_cancel(PGconn *pg, TimestampTz deadline)
{
	PGcancelConn *cancel = PQcancelCreate(pg);
	bool		sent;

	/* It is to be freed even if it has failed. */
	sent = PQcancelStart(cancel) && finish_cancel(cancel, deadline);
	PQcancelFinish(cancel);
	return sent;
}

#else							/* before 17 */

/* How long after a cancel was given up to do so again. */
#define CANCEL_GIVE_UP_AGAIN_MS	100

/*
 * PQcancel waits until the remote has accepted a connection and closed it.  A
 * postmaster that is stopped does neither, so PQcancel may wait for ever.  It
 * continues after signals, and does not tell its socket.  But the first file
 * that it opens gets the lowest free descriptor.  When the time is up, that
 * becomes /dev/null, and every socket call on it fails.
 */
static int	cancel_fd;
static int	null_fd;

/*
 * In a signal handler.  Called repeatedly, because there may be no socket yet.
 */
static void
give_up_cancel(void)
{
	int			save_errno = errno;
	struct stat stat;

	if (fstat(cancel_fd, &stat) == 0 && S_ISSOCK(stat.st_mode))
		(void) dup2(null_fd, cancel_fd);
	errno = save_errno;
}

bool
px_cancel(PGconn *pg, TimestampTz deadline)
{
	static TimeoutId timeout = MAX_TIMEOUTS;	/* not registered yet */
	PGcancel   *cancel;
	char		errbuf[256];
	bool		sent = false;

	/* PQcancel sends the key in clear. */
	if (PQsslInUse(pg) || PQgssEncInUse(pg))
		return false;
	cancel = PQgetCancel(pg);
	if (cancel == NULL)
		return false;
	if (timeout == MAX_TIMEOUTS)
		timeout = RegisterTimeout(USER_TIMEOUT, give_up_cancel);
	null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	cancel_fd = null_fd >= 0 ? dup(null_fd) : -1;
	if (cancel_fd >= 0)
	{
		close(cancel_fd);
		enable_timeout_every(timeout, deadline, CANCEL_GIVE_UP_AGAIN_MS);
		sent = PQcancel(cancel, errbuf, sizeof(errbuf));
		disable_timeout(timeout, false);
	}
	PQfreeCancel(cancel);
	if (null_fd >= 0)
		close(null_fd);
	return sent;
}

#endif							/* LIBPQ_HAS_ASYNC_CANCEL */
