/*-------------------------------------------------------------------------
 *
 * request.h
 *		What an ExchangeReceive asks of the remote.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_EXEC_REQUEST_H
#define PX_EXEC_REQUEST_H

#include "exec/receive_state.h"

/*
 * Of receive_buffer, a stream holds a frame, libpq's input buffer with the
 * next one (which doubles as it grows), and a decoded batch.
 */
#define PX_BUFFER_SHARE_OF_A_BATCH	8

/*
 * The query of a stream, for reader's slice, on a connection that it has, or
 * that it is going to get: it goes into its px_stream.
 */
extern void px_request_for_stream(px_receive_state *state,
								  px_stream_reader *reader,
								  const px_connection *connection);

/*
 * The query for postgres_fdw's session, for reader's slice, palloc'd; the peer
 * must be admitted.
 */
extern char *px_request_for_session(px_receive_state *state,
									px_stream_reader *reader);

/* Room that any query of px_request_for_session takes. */
extern Size px_request_for_session_nbytes(const px_receive_state *state);

/*
 * Run the InitPlans whose results are parameters of the remote query.  They
 * may read the same server.  So it is done before the query is asked about,
 * and before a connection is taken, which they might have to take away.  Nor
 * may postgres_fdw's cursor run them: their nodes would get memory that ends
 * with the cursor.
 */
extern void px_request_run_init_plans(px_receive_state *state);

/*
 * Evaluate the parameters of the remote query, under postgres_fdw's settings.
 */
extern void px_request_evaluate_params(px_receive_state *state);

#endif							/* PX_EXEC_REQUEST_H */
