/*-------------------------------------------------------------------------
 *
 * connect_ahead.c
 *		Connecting to several servers at the same time.
 *
 * A connection takes some round trips, and the remote some milliseconds.  With
 * a hundred servers one after the other, that is longer than most queries.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/latch.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "conn/connect_ahead.h"
#include "conn/pool.h"
#include "stats/wait_event.h"

/* One of several connections that are made at the same time. */
typedef struct connection_ahead
{
	px_connection *connection;	/* NULL if it was given up */
	px_connecting connecting;
	bool		introduced;		/* what it begins with was sent */
} connection_ahead;

/* May a connection to the peer be made before a stream asks for one? */
static bool
wants_connection(px_peer *peer, UserMapping *user)
{
	return peer->stream_refusal == NULL &&
		(peer->avoid_until == 0 ||
		 peer->avoid_until <= GetCurrentTimestamp()) &&
		dlist_is_empty(&peer->connections) &&
		px_keeps_connections(GetForeignServer(user->serverid));
}

/* Wait until at least one of n connections can go on, or one is too late. */
static void
wait_for_connections(connection_ahead *ahead, int n, WaitEvent *events)
{
	WaitEventSet *set = px_wait_set_new(n);
	TimestampTz deadline = DT_NOEND;
	long		ms;
	int			nevents;

	PG_TRY();
	{
		px_wait_set_add_postmaster(set);
		for (int i = 0; i < n; i++)
		{
			if (ahead[i].connection == NULL ||
				!px_connect_is_pending(&ahead[i].connecting))
				continue;
			AddWaitEventToSet(set, px_connect_events(&ahead[i].connecting),
							  PQsocket(ahead[i].connection->pg), NULL,
							  &ahead[i]);
			deadline = Min(deadline, ahead[i].connecting.deadline);
		}
		ms = TimestampDifferenceMilliseconds(GetCurrentTimestamp(), deadline);
		nevents = WaitEventSetWait(set, ms, events, n,
								   px_wait_event(PX_WAIT_CONNECT));
	}
	PG_FINALLY();
	{
		FreeWaitEventSet(set);
	}
	PG_END_TRY();
	for (int i = 0; i < nevents; i++)
	{
		if (events[i].user_data)
			px_connect_go_on(
				&((connection_ahead *) events[i].user_data)->connecting);
		else if (events[i].events & WL_LATCH_SET)
		{
			ResetLatch(MyLatch);
			CHECK_FOR_INTERRUPTS();
		}
	}
}

/* Introduce those that are made or have failed; returns how many are not. */
static int
introduce_ahead(connection_ahead *ahead, int n)
{
	TimestampTz now = GetCurrentTimestamp();
	int			npending = 0;

	for (int i = 0; i < n; i++)
	{
		px_connecting *connecting = &ahead[i].connecting;

		if (ahead[i].connection == NULL || ahead[i].introduced)
			continue;
		if (px_connect_is_pending(connecting) && connecting->deadline > now)
			npending++;
		else if (px_is_ok(px_connection_introduce(ahead[i].connection,
												  connecting)))
			ahead[i].introduced = true;
		else
			ahead[i].connection = NULL;
	}
	return npending;
}

void
px_connect_ahead(UserMapping *const *users, int n, TimestampTz deadline)
{
	connection_ahead *ahead = palloc0(n * sizeof(connection_ahead));
	WaitEvent  *events = palloc(n * sizeof(WaitEvent));
	int			nstarted = 0;

	for (int i = 0; i < n; i++)
	{
		px_peer    *peer = px_peer_get(users[i]);

		if (wants_connection(peer, users[i]) &&
			px_is_ok(px_connection_start(peer, users[i], deadline,
										 &ahead[nstarted].connecting,
										 &ahead[nstarted].connection)))
			nstarted++;
	}
	while (introduce_ahead(ahead, nstarted) > 0)
		wait_for_connections(ahead, nstarted, events);
	for (int i = 0; i < nstarted; i++)
	{
		if (ahead[i].connection &&
			px_is_ok(px_connection_accept(ahead[i].connection)))
			px_connection_keep(ahead[i].connection);
	}
	pfree(events);
	pfree(ahead);
}
