/*-------------------------------------------------------------------------
 *
 * start.h
 *		Which way an ExchangeReceive reads its rows.
 *
 * There are three: by streams, by postgres_fdw's session, or by the child,
 * which is postgres_fdw's own scan.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_EXEC_START_H
#define PX_EXEC_START_H

#include "exec/receive_state.h"

/*
 * Begin to read, in PX_RECEIVE_NEW: by a stream, else by the session, else by
 * the child.
 *
 * With may_use_session false, only by a stream.  Then the result is false if
 * that cannot begin, and the phase stays PX_RECEIVE_NEW: either all
 * connections to the server are in use; or session_next is set, and there will
 * never be a stream.
 *
 * Does not wait for the first rows, but for a connection, for the answer to a
 * first question, and for the remote's planner, serving interrupts.
 */
extern bool px_start_begin(px_receive_state *state, bool may_use_session);

/*
 * The node is run, in a parallel plan maybe: a worker that the leader may come
 * too late for waits for it, serving interrupts.
 */
extern void px_start_meet(px_receive_state *state);

/*
 * Begin to read by a stream, in any phase: as px_start_begin, unless that was
 * done, after a rescan that may be due.
 */
extern bool px_start_ahead(px_receive_state *state);

/*
 * Is px_start_begin going to ask postgres_fdw's session about the query, as it
 * is planned, if there is to be a stream?
 */
extern bool px_start_has_question(px_receive_state *state);

/*
 * The scan has not begun: is postgres_fdw's session going to read it without
 * having been asked about the query?
 */
extern bool px_start_is_unasked(const px_receive_state *state);

/*
 * Begin to read, in PX_RECEIVE_NEW, by a stream on the connection of another
 * scan of the same peer, whose own stream has ended and left it one.  False if
 * that is not possible: as with px_start_begin, and from may have its
 * connection still.
 */
extern bool px_start_take_over(px_receive_state *state,
							   px_receive_state *from);

/*
 * The stream that was begun has lost its connection: back to PX_RECEIVE_NEW.
 */
extern void px_start_anew(px_receive_state *state);

/*
 * Wait until it is clear which way the scan takes: PX_RECEIVE_FRAMES or
 * PX_RECEIVE_CHILD.  Begins it if need be.  Blocks, serving interrupts.
 */
extern void px_start_confirm(px_receive_state *state);

/*
 * Prepare a stream whose session is to get something before it gets its query:
 * send what begins its transaction, in PX_RECEIVE_NEW.  NULL, or why there can
 * be no stream.  Waits as px_start_begin does.
 */
extern const char *px_start_hold(px_receive_state *state);

/*
 * Wait until that transaction is there.  NULL, and the stream may be used for
 * px_stream_call until the scan begins; or why not.  Blocks for one round
 * trip, at most a few seconds, serving interrupts.
 */
extern const char *px_start_confirm_hold(px_receive_state *state);

/*
 * A stream was begun: wait until frames are going to come by it.  NULL, or why
 * they are not; then the stream is closed, and the phase PX_RECEIVE_NEW.
 * Blocks for one round trip, at most a few seconds, serving interrupts.
 */
extern const char *px_start_confirm_stream(px_receive_state *state);

/* Why a stream has ended before its first row, palloc'd. */
extern const char *px_start_status_reason(const px_stream *stream,
										  px_stream_status status);

/*
 * Before workers are launched: may streams read the scan?  If so, the peer has
 * the snapshot for them.  Blocks for two round trips, serving interrupts.
 */
extern bool px_start_allows_workers(px_receive_state *state);

/*
 * A stream has ended before its first row, as status says: the remote declined
 * the query, did not recognise it, or waits for a lock.  The session reads
 * instead, or, in a parallel plan, whoever takes the slice.  If the backend
 * did not know exchange.send, a stream is tried once more, on a new
 * connection.  If a limit of the server was exceeded, the local plan runs, or
 * the attempt is given up: see px_start_may_fail.
 */
extern void px_start_declined(px_receive_state *state,
							  px_stream_reader *reader,
							  px_stream_status status);

/*
 * Can the scan do without the rows of its streams, should one of them exceed a
 * limit of its server?  That is so if it is one of an attempt that is open; or
 * if it has a local plan, and no row has come, nor is another slice read, or
 * any by another participant.
 */
extern bool px_start_may_fail(const px_receive_state *state);

/*
 * The scan is one of an attempt that is open, or was given up.  See
 * px_receive_attempt.
 */
static inline bool
px_start_may_give_up(const px_receive_state *state)
{
	return state->attempt && state->attempt->open;
}

static inline bool
px_start_is_given_up(const px_receive_state *state)
{
	return state->attempt && state->attempt->given_up;
}

/*
 * Give up the attempt, because of reason; or, if that is NULL, leave a scan of
 * an attempt that was given up.  The scan ends as if it had no more rows.
 */
extern void px_start_give_up(px_receive_state *state, const char *reason);

/* The scan is to begin anew: leave what is being read. */
extern void px_start_rescan(px_receive_state *state);

#endif							/* PX_EXEC_START_H */
