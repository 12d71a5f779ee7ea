/*-------------------------------------------------------------------------
 *
 * idle.h
 *		Idle connections, and how many there may be.
 *
 * Of the functions that take a list, it is that of all connections of the
 * session, by all_node.  pool.c has it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_CONN_IDLE_H
#define PX_CONN_IDLE_H

#include "foreign/foreign.h"
#include "lib/ilist.h"

#include "conn/peer.h"

/*
 * Is a kept connection still good?  Reads the answer to a pending COMMIT,
 * serving interrupts.
 */
extern bool px_idle_is_usable(px_connection *connection);

/*
 * May another connection be made, by the limits?  Then connection is counted,
 * and shown to all.  To make room, connections may be closed that the session
 * has not used for a while.
 */
extern bool px_idle_make_room(dlist_head *connections,
							  px_connection *connection,
							  const ForeignServer *server);

/*
 * Close those that postgres_fdw's new connection to the server may need the
 * place of: idle ones to the same host and port, or all if files are short
 * here.  False if there were none.  Waits for a moment until they do not count
 * any more over there.
 */
extern bool px_idle_give_way(dlist_head *connections,
							 const ForeignServer *server);

/*
 * Close the idle connections that other backends want, or might: those to
 * servers where fewer than a quarter of those that the user may have were free.
 */
extern void px_idle_close_wanted(dlist_head *connections);

/*
 * Close the connections that have been idle for pg_exchange.idle_timeout, and
 * wake up when the next one will have been.
 */
extern void px_idle_close_expired(dlist_head *connections);

#endif							/* PX_CONN_IDLE_H */
