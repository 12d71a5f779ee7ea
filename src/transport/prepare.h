/*-------------------------------------------------------------------------
 *
 * prepare.h
 *		How the transaction of a stream begins.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_TRANSPORT_PREPARE_H
#define PX_TRANSPORT_PREPARE_H

#include "conn/peer.h"

/* For which query is a transaction prepared? */
typedef enum px_preparation
{
	PX_PREPARE_FIRST,			/* that it begins with */
	PX_PREPARE_NEXT,			/* another one of a transaction that is there */
	PX_PREPARE_HELD				/* one that follows when inboxes are filled */
} px_preparation;

/*
 * A session may be idle for so long while its stream is held, or for as long
 * as its own idle_in_transaction_session_timeout says if that is more.  So it
 * ends if we have vanished, and does not while px_stream_call is called more
 * often.
 */
#define PX_HELD_IDLE_S	300

/*
 * Send the statements that come before such a query, in pipeline mode: the
 * transaction begins on the peer's snapshot, if there is none, and is
 * prepared.  stamp: what the session has shown (conn/stamp.h), or "".  False
 * as with libpq.  Waits for nothing.
 */
extern bool px_prepare_send(PGconn *pg, px_preparation preparation,
							const px_peer *peer, const char *stamp);

/*
 * How many columns has the answer to the last of these statements?  0: it
 * returns no row.
 */
extern int	px_prepare_columns(px_preparation preparation);

/* The one that has the session's stamp, where there are any. */
#define PX_PREPARE_STAMP			2

/* The one that has the session's idle time-out, with PX_PREPARE_HELD. */
#define PX_PREPARE_IDLE_TIMEOUT		4

/* Send what sets this time-out again.  As above. */
extern bool px_prepare_send_restore(PGconn *pg, const char *idle_timeout);

#endif							/* PX_TRANSPORT_PREPARE_H */
