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
