/*-------------------------------------------------------------------------
 *
 * start.h
 *		How an ExchangeReceive starts: what its other files need of that.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_EXEC_START_H
#define PX_EXEC_START_H

#include "exec/receive_state.h"

/*
 * Begin to read, for a node in PX_RECEIVE_NEW: by a stream, by the session of
 * postgres_fdw, or have the child take over (fallback_reason is set).  If
 * may_use_session is false, false unless it is by a stream: all connections to
 * the server are in use, or, if session_next is then set, it will never be.
 * Does not wait for the first rows, but for connections, the snapshot and the
 * remote's planner, serving interrupts.
 */
extern bool px_receive_begin(px_receive_state *state, bool may_use_session);

/* A stream that was begun will not be: back to PX_RECEIVE_NEW. */
extern void px_receive_begin_anew(px_receive_state *state);

/*
 * Wait until it is clear which way the scan takes: PX_RECEIVE_FRAMES or
 * PX_RECEIVE_CHILD.  Begins it if need be.  Blocks, serving interrupts.
 */
extern void px_receive_confirm(px_receive_state *state);

/*
 * Before workers are launched: may streams read the scan?  If so, the peer has
 * the snapshot for them.  Blocks for two round trips, serving interrupts.
 */
extern bool px_receive_ask_for_workers(px_receive_state *state);

/* The peer of the scan. */
extern px_peer *px_receive_peer(const px_receive_state *state);

/*
 * A stream that has not sent a row will not: the remote declined the query,
 * did not recognise it, or waits for a lock.  The session takes over, or, in a
 * worker, whoever takes the slice; a backend that did not know exchange.send
 * is tried once more on a new connection.
 */
extern void px_receive_declined(px_receive_state *state, px_stream_reader *reader,
								px_stream_status status);

/* Another reader for the node, with a stream that has no connection yet. */
extern px_stream_reader *px_start_add_reader(px_receive_state *state);

/*
 * Get a connection for reader's stream.  False if there is none: *reason says
 * why, or is NULL if all are in use.  Blocks while connecting.
 */
extern bool px_start_connect(px_receive_state *state, px_stream_reader *reader,
							 const char **reason);

/* The same, and send the query for reader's slice.  Does not wait for it. */
extern bool px_start_stream(px_receive_state *state, px_stream_reader *reader,
							const char **reason);

/* Send the query for reader's slice on the connection that it still has. */
extern void px_start_next_query(px_receive_state *state, px_stream_reader *reader);

/* The remote is going to send to reader. */
extern void px_start_accept(px_receive_state *state, px_stream_reader *reader);

/*
 * Have postgres_fdw's session send to reader, for its slice; reason is why it
 * is not a stream.  Returns NULL, or why the peer cannot be used at all.
 * Blocks for two round trips if the peer was not asked in this transaction, and
 * for one.
 */
extern const char *px_start_session(px_receive_state *state, px_stream_reader *reader,
									const char *reason);

/*
 * A row is wanted: let postgres_fdw's session hear of us, if it has not for
 * half of its idle time-out.  Returns for how many ms the next row may be
 * waited for before this must be called again; -1: for ever.  Blocks for a
 * round trip if it does so.
 */
extern long px_start_keep_session_awake(px_receive_state *state);

#endif							/* PX_EXEC_START_H */
