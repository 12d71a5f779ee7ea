/*-------------------------------------------------------------------------
 *
 * connection.h
 *		Taking a connection back, and closing it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_CONN_CONNECTION_H
#define PX_CONN_CONNECTION_H

#include "conn/peer.h"

/* Take it from its holder, in whatever state it is.  Never errors. */
extern void px_connection_take(px_connection *connection);

/* Forget a connection that was not made. */
extern void px_connection_free(px_connection *connection);

/*
 * Close a connection that nothing runs on, and wait for a moment until it does
 * not count any more over there: see px_disconnect_wait.
 */
extern void px_connection_finish(px_connection *connection);

/* Close a connection that is dead.  Never errors, never waits. */
extern void px_connection_discard(px_connection *connection);

#endif							/* PX_CONN_CONNECTION_H */
