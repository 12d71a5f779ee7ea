/*-------------------------------------------------------------------------
 *
 * session.h
 *		Frames by the session of postgres_fdw.
 *
 * What postgres_fdw would ask for is wrapped: its cursor returns pieces of
 * text, which are frames in a 7-bit armour (wire/armour.h), cut wherever the
 * sender likes.  Here they become frames again.
 *
 * As the cursor is postgres_fdw's own, snapshot, locks, own writes,
 * savepoints, time-outs and rights are those of an ordinary foreign scan.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_TRANSPORT_SESSION_H
#define PX_TRANSPORT_SESSION_H

#include "portability/instr_time.h"

#include "transport/fdw_cursor.h"
#include "transport/stream.h"

typedef struct px_session px_session;

/*
 * A session read by cursor, of which nothing was asked yet and which has room
 * for the query.  Lives in the current memory context.
 */
extern px_session *px_session_new(px_fdw_cursor *cursor,
								  const char *servername);

/*
 * Begin: sql wraps the query, and returns pieces.  Waits until the remote has
 * planned it, not for the first piece.  If ahead is true, later pieces may be
 * asked for before they are wanted, once the sender has sent a batch of more
 * than portion_rows rows: it does not where that could be noticed.
 */
extern void px_session_begin(px_session *session, const char *sql, bool ahead,
							 uint32 portion_rows);

/*
 * The next frame: PX_STREAM_OK, and *frame (8-aligned) is valid until the next
 * call; or PX_STREAM_END if the cursor has no more.  Its length is checked,
 * against the header and pg_exchange.max_frame_bytes; nothing else is.  Remote
 * errors are raised as postgres_fdw does.  Blocks, serving interrupts; the
 * time spent waiting is added to *wait.
 */
extern px_stream_status px_session_next(px_session *session,
										const uint8_t **frame, size_t *nbytes,
										instr_time *wait);

/*
 * Is the next frame going to be of the next portion, which the remote
 * evaluates when it is asked for it?  Not if nobody could tell when it does.
 */
extern bool px_session_needs_portion(px_session *session);

/*
 * If the next frame is not there, ask for what comes next, unless that was
 * done; do not wait for it.  That is when postgres_fdw asks for more rows of
 * an async_capable table.
 */
extern void px_session_ask(px_session *session);

/* Bytes that have come beyond those of frames, since this was last asked. */
extern uint64 px_session_take_overhead(px_session *session);

/*
 * All frames that were announced have come: ERRCODE_PROTOCOL_VIOLATION if
 * there is something after them.
 */
extern void px_session_finish(px_session *session);

#endif							/* PX_TRANSPORT_SESSION_H */
