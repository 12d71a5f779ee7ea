/*-------------------------------------------------------------------------
 *
 * introduce.h
 *		How a new connection begins.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_CONN_INTRODUCE_H
#define PX_CONN_INTRODUCE_H

#include "conn/outcome.h"
#include "conn/peer.h"

/*
 * Configure the session, see that the functions of the extension there are
 * genuine, and exchange hellos: all in one round trip.  First it is sent,
 * which waits for nothing; then the answers are taken.
 *
 * PX_OUTCOME_OK: the remote was accepted.  Hello, version and locality of the
 * connection are known, and it may be used.  PX_OUTCOME_FAILED or
 * PX_OUTCOME_REFUSED: the connection cannot be used and is to be closed.  If
 * the remote did not answer, the peer is avoided from now on (px_peer_avoid).
 *
 * Blocks for PX_SETUP_TIMEOUT_MS at most, serving interrupts; after an
 * interrupt the connection is to be closed, too.
 */
extern void px_introduce_send(px_connection *connection);
extern px_outcome px_introduce_finish(px_connection *connection);

/*
 * Judge the remote by its hello: PX_OUTCOME_OK, and *version is the newest
 * protocol version that both speak; or PX_OUTCOME_REFUSED.
 */
extern px_outcome px_hello_judge(const px_hello *self, const px_hello *remote,
								 uint16 *version);

/* Where the remote with that hello is, at the other end of socket. */
extern px_locality px_hello_locality(const px_hello *self,
									 const px_hello *remote, pgsocket socket);

#endif							/* PX_CONN_INTRODUCE_H */
