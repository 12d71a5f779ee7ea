/*-------------------------------------------------------------------------
 *
 * idle.c
 *		Idle connections, and how many there may be.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "storage/fd.h"
#include "utils/timestamp.h"

#include "conn/answer.h"
#include "conn/connection.h"
#include "conn/drain.h"
#include "conn/foreign_server.h"
#include "conn/idle.h"
#include "conn/idle_timer.h"
#include "guc.h"
#include "stats/open_connections.h"

/*
 * How long a connection must have been idle before it is closed because the
 * session wants another one, and is not allowed more.  Less would make a
 * session that reads more servers than it may have connections to close and
 * make all of them for each query.
 */
#define SPARE_AFTER_MS		1000

static px_idle_timer timer = PX_IDLE_TIMER_INIT;
static int	timer_set_for = 0;	/* pg_exchange.idle_timeout when it was set */

bool
px_idle_is_usable(px_connection *connection)
{
	if (!connection->accepted || connection->invalidated ||
		PQstatus(connection->pg) != CONNECTION_OK)
		return false;
	if (PQtransactionStatus(connection->pg) == PQTRANS_ACTIVE &&
		!px_come_to_rest(connection->pg, PX_REST_OF_COMMAND,
						 px_abandon_deadline()))
		return false;
	return PQtransactionStatus(connection->pg) == PQTRANS_IDLE;
}

/* The connections that this process has to all servers. */
static int
connections_open(dlist_head *connections)
{
	dlist_iter	iter;
	int			n = 0;

	dlist_foreach(iter, connections)
		n++;
	return n;
}

/*
 * The connection to the server, or to any with InvalidOid, that has been idle
 * for longest; NULL if none is idle.
 */
static px_connection *
longest_idle(dlist_head *connections, Oid serverid)
{
	px_connection *longest = NULL;
	dlist_iter	iter;

	dlist_foreach(iter, connections)
	{
		px_connection *connection =
			dlist_container(px_connection, all_node, iter.cur);

		if (!connection->in_use &&
			(!OidIsValid(serverid) ||
			 connection->peer->serverid == serverid) &&
			(longest == NULL || connection->idle_since < longest->idle_since))
			longest = connection;
	}
	return longest;
}

/*
 * Close a connection that this session can spare: see SPARE_AFTER_MS.  False
 * if there is none.
 */
static bool
close_spare(dlist_head *connections, Oid serverid)
{
	px_connection *spare = longest_idle(connections, serverid);

	if (spare == NULL ||
		!TimestampDifferenceExceeds(spare->idle_since, GetCurrentTimestamp(),
									SPARE_AFTER_MS))
		return false;
	(void) px_idle_is_usable(spare);	/* its transaction has ended over there */
	px_connection_discard(spare);
	return true;
}

bool
px_idle_make_room(dlist_head *connections, px_connection *connection,
				  const ForeignServer *server)
{
	int			limit = px_max_connections_per_backend < 0 ?
		px_max_connections : px_max_connections_per_backend;

	while (limit > 0 && connections_open(connections) >= limit)
	{
		if (!close_spare(connections, InvalidOid))
			return false;
	}
	while (!px_open_connection_add(server->serverid, server->servername,
								   px_max_connections, &connection->shown))
	{
		if (!close_spare(connections, server->serverid))
			return false;
	}
	return true;
}

/* An idle connection to the server's host and port; to any with NULL. */
static px_connection *
idle_beside(dlist_head *connections, const ForeignServer *server)
{
	dlist_iter	iter;

	dlist_foreach(iter, connections)
	{
		px_connection *connection =
			dlist_container(px_connection, all_node, iter.cur);
		const ForeignServer *other;

		if (connection->in_use)
			continue;
		if (server == NULL)
			return connection;
		other = GetForeignServerExtended(connection->peer->serverid,
										 FSV_MISSING_OK);
		if (other && px_servers_share_address(server, other))
			return connection;
	}
	return NULL;
}

/* Can another file be opened for a connection? */
static bool
has_files(void)
{
	bool		has = AcquireExternalFD();

	if (has)
		ReleaseExternalFD();
	return has;
}

bool
px_idle_give_way(dlist_head *connections, const ForeignServer *server)
{
	const ForeignServer *beside = has_files() ? server : NULL;
	px_connection *connection;
	bool		closed = false;

	while ((connection = idle_beside(connections, beside)) != NULL)
	{
		if (px_idle_is_usable(connection))
			px_connection_finish(connection);
		else
			px_connection_discard(connection);
		closed = true;
	}
	return closed;
}

void
px_idle_close_wanted(dlist_head *connections)
{
	dlist_mutable_iter iter;

	dlist_foreach_modify(iter, connections)
	{
		px_connection *connection =
			dlist_container(px_connection, all_node, iter.cur);

		if (!connection->in_use &&
			(connection->hello.free != PX_FREE_MANY ||
			 (connection->shown && connection->shown->wanted)))
			px_connection_discard(connection);
	}
}

/*
 * The timer is set for the one that is idle for longest.  If that is used
 * meanwhile, the session wakes up for nothing: that is cheaper than to set the
 * timer for each transaction.
 */
void
px_idle_close_expired(dlist_head *connections)
{
	px_connection *longest;

	if (px_idle_timeout == 0)
	{
		px_idle_timer_unset(&timer);
		return;
	}
	if (px_idle_timer_is_set(&timer) && timer_set_for == px_idle_timeout)
		return;
	while ((longest = longest_idle(connections, InvalidOid)) != NULL)
	{
		TimestampTz until =
			TimestampTzPlusMilliseconds(longest->idle_since, px_idle_timeout);

		if (until > GetCurrentTimestamp())
		{
			px_idle_timer_set(&timer, until);
			timer_set_for = px_idle_timeout;
			break;
		}
		px_connection_discard(longest);
	}
}
