/*-------------------------------------------------------------------------
 *
 * connection.c
 *		Taking a connection back, and closing it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/timestamp.h"

#include "conn/connect.h"
#include "conn/connection.h"
#include "stats/open_connections.h"

void
px_connection_take(px_connection *connection)
{
	if (connection->holder)
		connection->holder->connection = NULL;
	connection->holder = NULL;
	connection->in_use = false;
	connection->idle_since = GetCurrentTimestamp();
	px_open_connection_set(connection->shown, PX_OPEN_IDLE,
						   connection->idle_since);
	if (connection->shown)
	{
		connection->shown->streams = connection->streams;
		connection->shown->nbytes = connection->nbytes;
	}
}

void
px_connection_free(px_connection *connection)
{
	px_open_connection_remove(connection->shown);
	pfree(connection);
}

/* Forget one that is closed. */
static void
unlink_connection(px_connection *connection)
{
	dlist_delete(&connection->node);
	dlist_delete(&connection->all_node);
	px_connection_free(connection);
}

void
px_connection_discard(px_connection *connection)
{
	px_connection_take(connection);
	px_disconnect(connection->pg);
	unlink_connection(connection);
}

void
px_connection_finish(px_connection *connection)
{
	px_connection_take(connection);
	px_disconnect_wait(connection->pg);
	unlink_connection(connection);
}
