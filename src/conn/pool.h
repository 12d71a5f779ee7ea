/*-------------------------------------------------------------------------
 *
 * pool.h
 *		The session's stream connections, by user mapping.
 *
 * A peer is a server as one user sees it; it is known for the session and
 * owns the connections made to it.  A connection carries one stream at a time
 * and is kept for the next one.  Its remote transaction lasts for one stream,
 * so that no lock is left on the remote when the rows have been read: a
 * later TRUNCATE by the same local transaction would wait for it for ever.
 *
 * Everything lives in CacheMemoryContext or in libpq, and is cleaned up by
 * transaction callbacks: a caller that errors out leaves nothing.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_CONN_POOL_H
#define PX_CONN_POOL_H

#include "conn/connect.h"
#include "conn/connection.h"
#include "conn/outcome.h"
#include "conn/peer.h"

/* The peer of server for user; made on first use. */
extern px_peer *px_peer_get(UserMapping *user);

/*
 * Give holder an idle connection to the peer, which is made if need be.  The
 * two point to each other until the connection is given back, or is taken away
 * at the end of the (sub)transaction.
 *
 * Else PX_OUTCOME_BUSY if max_connections_per_server are in use, or few
 * connections are free over there;
 * PX_OUTCOME_REFUSED if the peer refuses streams (see px_peer); or
 * PX_OUTCOME_SILENT or PX_OUTCOME_FAILED if there is no connection to be had
 * this time.  Blocks while connecting, serving interrupts.
 */
extern px_outcome px_connection_acquire(px_peer *peer, UserMapping *user,
										px_connection_holder *holder);

/*
 * The same, but a connection that is made must be there by the deadline:
 * otherwise PX_OUTCOME_SILENT or PX_OUTCOME_FAILED.
 */
extern px_outcome px_connection_acquire_until(px_peer *peer,
											  UserMapping *user,
											  TimestampTz deadline,
											  px_connection_holder *holder);

/*
 * The memory of a holder is freed: a MemoryContextCallback of it, whose
 * argument it is.  An error may be the cause, so nothing is said to the remote:
 * the pool cleans up connections without a holder.
 */
extern void px_connection_forget_holder(void *holder);

/*
 * The steps of making a connection, for those who make several at once: begin
 * to connect (see px_connect_start), with a deadline for all of it, or
 * DT_NOEND; when that has come to an end, send what the session begins with;
 * have it accepted by both sides.  After anything but
 * PX_OUTCOME_OK the connection is gone.  When it is accepted it counts as in
 * use, without a holder, until px_connection_keep makes it idle; the end of
 * the (sub)transaction closes it before that.
 */
extern px_outcome px_connection_start(px_peer *peer, UserMapping *user,
									  TimestampTz deadline,
									  px_connecting *connecting,
									  px_connection **started);
extern px_outcome px_connection_introduce(px_connection *connection,
										  px_connecting *connecting);
extern px_outcome px_connection_accept(px_connection *connection);
extern void px_connection_keep(px_connection *connection);

/*
 * Give holder a connection whose stream was read to its end, with the
 * transaction that is there.  False if it is to be given back: it is not to be
 * used again, or the transaction began in another subtransaction.  sent_ahead
 * means that the next stream's query may run already.
 */
extern bool px_connection_pass_on(px_connection *connection,
								  px_connection_holder *holder,
								  bool sent_ahead);

/*
 * Any connection of this session that a stream has, to the server, or to any
 * with InvalidOid; or NULL.
 */
extern px_connection *px_connection_in_use(Oid serverid);

/*
 * Give a connection back whose stream was read to its end.  Its transaction
 * is committed without waiting for the answer.
 */
extern void px_connection_release(px_connection *connection);

/*
 * Give a connection back in whatever state: what still runs on it is
 * cancelled and drained, its transaction rolled back; it is closed if that
 * does not work out within a few seconds.  Never errors.
 */
extern void px_connection_abandon(px_connection *connection);

/* See px_idle_give_way. */
extern bool px_pool_give_way(const ForeignServer *server);

/*
 * Set the timer of pg_exchange.idle_timeout, if nothing has since the last
 * transaction, and an error has stopped it.
 */
extern void px_pool_watch_idle(void);

/* Call consume for each connection of this session; it may raise errors. */
extern void px_pool_read(void (*consume) (const px_connection *connection,
										  void *arg),
						 void *arg);

/*
 * Close this session's idle connections to a server, or to all with
 * InvalidOid, and forget what spoke against using it.  Connections in use
 * stay, each with a WARNING.  True if any was closed.  Waits only for
 * connections that an error has left in use.
 */
extern bool px_pool_disconnect(Oid serverid);

#endif							/* PX_CONN_POOL_H */
