/*-------------------------------------------------------------------------
 *
 * introduce.h
 *		The first words on a new connection.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_CONN_INTRODUCE_H
#define PX_CONN_INTRODUCE_H

#include "conn/peer.h"

/*
 * Configure the session, see that the functions of the extension there are
 * genuine, and exchange hellos: all in one round trip.  Returns NULL if the
 * remote was accepted; hello, version and locality of the connection are
 * then known, and it may be used.  Else why the connection cannot be used
 * (palloc'd or static); *lasting is whether any other one would fare alike, and
 * the peer has been told if it is silent.  Blocks for PX_SETUP_TIMEOUT_MS at
 * most, serving interrupts: to be closed, then.
 */
extern const char *px_introduce(px_connection *connection, bool *lasting);

/*
 * By its hello, why an exchange with the remote cannot be (palloc'd or static);
 * or NULL, and *version is the newest that both speak.
 */
extern const char *px_hello_refusal(const px_hello *self, const px_hello *remote,
									uint16 *version);

/* Where the remote with that hello is, which is at the other end of socket. */
extern px_locality px_hello_locality(const px_hello *self, const px_hello *remote,
									 pgsocket socket);

#endif							/* PX_CONN_INTRODUCE_H */
