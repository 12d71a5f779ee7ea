/*-------------------------------------------------------------------------
 *
 * ahead.h
 *		Queries that are sent before the stream of the last one has ended.
 *
 * stream.c calls these functions; see px_stream_send_ahead.  Only the first
 * stream of such a line has the connection.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_TRANSPORT_AHEAD_H
#define PX_TRANSPORT_AHEAD_H

#include "conn/answer.h"
#include "conn/pool.h"

#define PX_FRAME_FORMAT	1		/* binary */

/* Of a stream: all zero if it is in no line. */
typedef struct px_ahead
{
	struct px_ahead *next;		/* whose query follows on the connection */
	const char *sql;			/* the query, if it follows another one */
	bool		sent;			/* it does */
} px_ahead;

/* Let the query of another stream, to, follow at the end of the line. */
extern void px_ahead_add(px_ahead *first, px_ahead *to, const char *sql);

/* Send the queries that follow the first one.  False if that fails. */
extern bool px_ahead_send(const px_ahead *first, PGconn *pg);

/*
 * A stream begins: was its query sent before it got its connection?  From now
 * on it is like any other.
 */
extern bool px_ahead_was_sent(px_ahead *ahead);

/* May the stream of to have the connection of one that has ended? */
extern bool px_ahead_is_next(const px_ahead *ended, const px_ahead *to);

/*
 * A query has ended, and others follow: read the end of its results, which is
 * there.  PX_REST_FAILED if it is not.
 */
extern px_rest px_ahead_finish_query(PGconn *pg);

/*
 * Give back the connection of a stream that has ended; if queries follow on
 * it, they are cancelled.
 */
extern void px_ahead_release(px_ahead *ended, px_connection *connection);

/*
 * The stream has no connection any more, or is not to get one: no query
 * follows on it, and its own was not sent.
 */
extern void px_ahead_forget(px_ahead *ahead);

#endif							/* PX_TRANSPORT_AHEAD_H */
