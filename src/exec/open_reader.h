/*-------------------------------------------------------------------------
 *
 * open_reader.h
 *		Have one reader of an ExchangeReceive read a slice: by a stream, or by
 *		postgres_fdw's session.
 *
 * Which of the two it is, and which slice, is decided by the callers: start.c
 * for the first reader, read_slices.c for the others.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_EXEC_OPEN_READER_H
#define PX_EXEC_OPEN_READER_H

#include "exec/receive_state.h"

/* Another reader for the node, with a stream that has no connection yet. */
extern px_stream_reader *px_open_add_reader(px_receive_state *state);

/* The first reader, added if need be. */
extern px_stream_reader *px_open_first_reader(px_receive_state *state);

/*
 * Get a connection for reader's stream: see px_connection_acquire.  Blocks
 * while connecting, serving interrupts.
 */
extern px_outcome px_open_connect(px_receive_state *state,
								  px_stream_reader *reader);

/*
 * Send the query for reader's slice on the connection that its stream has.
 * Does not wait for it: call px_stream_confirm, then px_open_accept.
 */
extern void px_open_send_query(px_receive_state *state,
							   px_stream_reader *reader);

/*
 * When the first stream of from, which has its connection, is sent its query,
 * send the query of another scan, state, along: see px_stream_send_ahead.
 * That scan has neither slices nor parameters.
 */
extern void px_open_send_ahead(px_receive_state *state,
							   px_receive_state *from);

/* px_open_connect, and if that succeeds px_open_send_query. */
extern px_outcome px_open_stream(px_receive_state *state,
								 px_stream_reader *reader);

/*
 * The stream's last query is complete: send the one for reader's slice in the
 * same transaction, and accept it.
 */
extern void px_open_next_query(px_receive_state *state,
							   px_stream_reader *reader);

/* The stream was confirmed: frames are going to come by it. */
extern void px_open_accept(px_receive_state *state, px_stream_reader *reader);

/*
 * Have postgres_fdw's session send reader's slice.  reason is why that is not
 * done by a stream.  PX_OUTCOME_REFUSED if the peer cannot be used at all.
 * Blocks for one round trip, and for two more if the peer was not asked in
 * this transaction; serves interrupts.
 */
extern px_outcome px_open_session(px_receive_state *state,
								  px_stream_reader *reader,
								  const char *reason);

/*
 * A copy of reason that lives as long as the query, and that can be shown:
 * parts of it may be a remote's words.
 */
extern const char *px_open_keep_reason(const px_receive_state *state,
									   const char *reason);

#endif							/* PX_EXEC_OPEN_READER_H */
