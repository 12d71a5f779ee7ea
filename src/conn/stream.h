/*-------------------------------------------------------------------------
 *
 * stream.h
 *		One stream of frames on a connection of the pool.
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
	PX_STREAM_NO_SNAPSHOT,		/* the snapshot cannot be imported */
	PX_STREAM_BROKEN			/* a kept connection turned out to be dead */
} px_stream_status;

/*
 * Start a remote transaction on the snapshot, which the server's postgres_fdw
 * connection exported.  PX_STREAM_OK, or PX_STREAM_NO_SNAPSHOT or
 * PX_STREAM_BROKEN with *reason set (palloc'd): then abandon the connection.
 * Blocks for one round trip, serving interrupts.
 */
extern px_stream_status px_stream_begin(px_connection *connection,
										const char *snapshot,
										const char **reason);

/*
 * Send the query whose rows are frames, with parameters as text (NULL for
 * null).  Does not wait for it.  servername and sql stand in error messages.
 */
extern void px_stream_query(px_connection *connection, const char *servername,
							const char *sql, int nparams,
							const char *const *values);

/*
 * The next frame: PX_STREAM_OK, and *frame (8-aligned) is valid until the
 * next call on this connection; PX_STREAM_END; or PX_STREAM_NOT_PLANNED.
 * Remote errors are raised as such.  Blocks, serving interrupts; the time
 * spent waiting is added to *wait.
 */
extern px_stream_status px_stream_next(px_connection *connection,
									   const char *servername, const char *sql,
									   const uint8_t **frame, size_t *nbytes,
									   instr_time *wait);

#endif							/* PX_CONN_STREAM_H */
