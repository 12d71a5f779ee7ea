/*-------------------------------------------------------------------------
 *
 * drain.c
 *		Bringing a connection to rest whose rows are not wanted any more.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/timestamp.h"

#include "conn/cancel.h"
#include "conn/drain.h"
#include "conn/quiet_wait.h"

/*
 * How long the connections that are left at one time may take to come to
 * rest, all together.  No interrupt is served meanwhile, and a new connection
 * takes less.
 */
#define ABANDON_TIMEOUT_MS	5000

/* A cancel takes a connection, and so at least as long as this. */
#define ENDS_BY_ITSELF_MS	1

/* How long to wait, at first, until a cancel is sent again. */
#define CANCEL_AGAIN_MS		50

TimestampTz
px_abandon_deadline(void)
{
	return TimestampTzPlusMilliseconds(GetCurrentTimestamp(),
									   ABANDON_TIMEOUT_MS);
}

bool
px_drain(PGconn *pg, px_rest_limit limit, TimestampTz deadline)
{
	px_rest		rest = PX_REST_MORE;

	while (rest == PX_REST_MORE)
	{
		long		ms =
			TimestampDifferenceMilliseconds(GetCurrentTimestamp(), deadline);

		if (ms <= 0)
			return false;
		if (!PQisBusy(pg))
		{
			rest = px_take_rest(pg, &limit);
			continue;
		}
		if (px_quiet_wait(PQsocket(pg), PQflush(pg) > 0, ms) &&
			!px_consume_input(pg))
			return false;
	}
	return rest == PX_REST_DONE;
}

/*
 * Stop what runs on the connection.  A session ignores a cancel that comes
 * between two commands of a pipeline, while it reads the next one; which may
 * then wait for a lock of this very transaction.  So ask until it stops.
 */
static bool
cancel_and_drain(PGconn *pg, bool cancelled, TimestampTz deadline)
{
	for (int ms = CANCEL_AGAIN_MS;; ms *= 2)
	{
		TimestampTz until;

		if (!cancelled && !px_cancel(pg, deadline))
			return false;
		cancelled = false;
		until = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), ms);
		if (px_drain(pg, PX_REST_OF_ALL, Min(until, deadline)))
			return true;
		if (PQstatus(pg) != CONNECTION_OK || until >= deadline)
			return false;
	}
}

/* All that the remote sends may be on its way, or here, but not wanted. */
static bool
ends_by_itself(PGconn *pg, bool cancelled, TimestampTz deadline)
{
	TimestampTz until = TimestampTzPlusMilliseconds(GetCurrentTimestamp(),
													ENDS_BY_ITSELF_MS);

	return !cancelled && px_drain(pg, PX_REST_OF_ALL, Min(until, deadline));
}

bool
px_leave(PGconn *pg, bool cancelled, TimestampTz deadline)
{
	if (PQstatus(pg) != CONNECTION_OK)
		return false;

	if (PQtransactionStatus(pg) == PQTRANS_ACTIVE &&
		!ends_by_itself(pg, cancelled, deadline) &&
		!cancel_and_drain(pg, cancelled, deadline))
		return false;

	if (PQtransactionStatus(pg) != PQTRANS_IDLE)
	{
		if (!px_send_command(pg, "ROLLBACK") ||
			!px_drain(pg, PX_REST_OF_COMMAND, deadline))
			return false;
	}
	return PQtransactionStatus(pg) == PQTRANS_IDLE;
}
