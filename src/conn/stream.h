/*-------------------------------------------------------------------------
 *
 * stream.h
 *		Streams of frames on a connection of the pool.
 *
 * A connection runs one stream at a time, in a remote transaction that begins
 * with the first one.  Further streams of the same query, with other
 * parameters, run in that transaction, each for one round trip.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_CONN_STREAM_H
#define PX_CONN_STREAM_H

#include "portability/instr_time.h"

#include "conn/pool.h"

typedef enum px_stream_status
{
	PX_STREAM_OK,				/* began; or: here is a frame */
	PX_STREAM_END,				/* the remote query is complete */
	PX_STREAM_NOT_PLANNED,		/* the remote backend does not know ExchangeSend */
	PX_STREAM_DECLINED,			/* the query must run in postgres_fdw's session */
	PX_STREAM_REFUSED,			/* no such snapshot, or own writes: see reason */
	PX_STREAM_BROKEN			/* the connection is dead, or as good as */
} px_stream_status;

#define PX_DECLINED_NBYTES	128

/* The query of a stream.  All pointers are the caller's. */
typedef struct px_stream_query
{
	const char *servername;		/* for error messages */
	const char *remote_sql;		/* for error contexts: what postgres_fdw sends */
	const char *sql;			/* what is sent; its rows are frames */
	int			nparams;
	const char *const *values;	/* text, NULL for null */

	/* Filled in with PX_STREAM_DECLINED: the remote's words. */
	char		declined[PX_DECLINED_NBYTES];
} px_stream_query;

/*
 * Start a remote transaction on the peer's snapshot and send the query, in
 * one round trip.  PX_STREAM_REFUSED or PX_STREAM_BROKEN with *reason set
 * (palloc'd): then abandon or discard the connection.  Blocks until the
 * transaction is known to be fit, at most a few seconds, serving interrupts;
 * does not wait for the query.
 */
extern px_stream_status px_stream_begin(px_connection *connection,
										const px_stream_query *query,
										const char **reason);

/*
 * Send the same query again, with other parameters, after its last stream
 * has ended.  Does not wait.
 */
extern void px_stream_again(px_connection *connection,
							const px_stream_query *query);

/*
 * The next frame: PX_STREAM_OK, and *frame (8-aligned) is valid until the
 * next call on this connection; PX_STREAM_END; or, before the first frame,
 * PX_STREAM_NOT_PLANNED or PX_STREAM_DECLINED: then abandon the connection.
 * Remote errors are raised as such.  Blocks, serving interrupts; the time
 * spent waiting is added to *wait.
 */
extern px_stream_status px_stream_next(px_connection *connection,
									   px_stream_query *query,
									   const uint8_t **frame, size_t *nbytes,
									   instr_time *wait);

#endif							/* PX_CONN_STREAM_H */
