/*-------------------------------------------------------------------------
 *
 * stream_wait.c
 *		Waiting for any of several streams, and having all give up.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/latch.h"

#include "compat.h"
#include "conn/pool.h"
#include "stats/wait_event.h"
#include "transport/stream.h"

static void
show_blocked(px_stream *const *streams, int n, px_blocked blocked)
{
	for (int i = 0; i < n; i++)
		px_progress_blocked(streams[i]->progress, blocked);
}

bool
px_stream_wait_any(px_stream *const *streams, int n, long timeout_ms,
				   instr_time *wait)
{
	WaitEventSet *set = px_wait_set_new(n);
	WaitEvent	event;
	int			nevents;
	instr_time	begin;
	instr_time	end;

	px_wait_set_add_postmaster(set);
	for (int i = 0; i < n; i++)
	{
		PGconn	   *pg = streams[i]->holder.connection->pg;
		int			unsent = PQflush(pg) > 0 ? WL_SOCKET_WRITEABLE : 0;

		AddWaitEventToSet(set, WL_SOCKET_READABLE | unsent, PQsocket(pg), NULL,
						  NULL);
		timeout_ms = px_earlier_ms(timeout_ms,
								   px_stream_patience_ms(streams[i]));
	}
	show_blocked(streams, n, PX_BLOCKED_SERVER);
	INSTR_TIME_SET_CURRENT(begin);
	nevents = WaitEventSetWait(set, timeout_ms, &event, 1,
							   px_wait_event(PX_WAIT_RECEIVE));
	INSTR_TIME_SET_CURRENT(end);
	INSTR_TIME_ACCUM_DIFF(*wait, end, begin);
	for (int i = 0; i < n; i++)
		INSTR_TIME_ACCUM_DIFF(streams[i]->counters->receive_wait, end, begin);
	show_blocked(streams, n, PX_BLOCKED_QUERY);
	FreeWaitEventSet(set);

	if (nevents > 0 && (event.events & WL_LATCH_SET))
	{
		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
	}
	return nevents > 0;
}

void
px_streams_spool_all(Oid serverid)
{
	px_connection *connection;

	while ((connection = px_connection_in_use(serverid)) != NULL)
		connection->holder->give_up(connection->holder);
}
