/*-------------------------------------------------------------------------
 *
 * stream.h
 *		Streams of frames on a connection of the pool.
 *
 * A stream is one run of a remote query: begun, confirmed, and read frame by
 * frame.  A connection runs one at a time, in a remote transaction that begins
 * with the first one; the next slice of the same table goes on in it, or the
 * next scan of the same gather.
 *
 * Before postgres_fdw writes or truncates while streams run, they give up
 * their connections: the rest of their frames is read into spools.  Whoever
 * reads the streams reads on from there, and notices nothing.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_TRANSPORT_STREAM_H
#define PX_TRANSPORT_STREAM_H

#include "portability/instr_time.h"
#include "utils/resowner.h"

#include "conn/outcome.h"
#include "conn/peer.h"
#include "stats/counters.h"
#include "stats/progress.h"
#include "transport/ahead.h"
#include "transport/spool.h"

/* What came of waiting for a frame. */
typedef enum px_stream_status
{
	PX_STREAM_OK,				/* here is a frame */
	PX_STREAM_PENDING,			/* nothing has arrived yet */
	PX_STREAM_END,				/* the remote query is complete */
	PX_STREAM_NOT_PLANNED,		/* the remote backend does not know
								 * ExchangeSend */
	PX_STREAM_DECLINED,			/* the query must run in postgres_fdw's
								 * session */
	PX_STREAM_LOCKED,			/* a lock is waited for there */
	PX_STREAM_LIMITED			/* the query needs more than the server allows
								 * a session of ours */
} px_stream_status;

typedef enum px_stream_phase
{
	PX_STREAM_CLOSED,			/* no query runs; the connection may be kept */
	PX_STREAM_BEGUN,			/* all is sent, nothing was answered yet */
	PX_STREAM_CALLING,			/* a statement of px_stream_call runs */
	PX_STREAM_RUNNING,			/* frames come, from the connection or the
								 * spool */
	PX_STREAM_LOST				/* its subtransaction was rolled back */
} px_stream_phase;

#define PX_DECLINED_NBYTES	128
#define PX_IDLE_TIMEOUT_NBYTES	32

typedef struct px_stream
{
	/*
	 * The connection, and the server's name for error messages, which is to be
	 * set before the stream gets one.  Must be first.
	 */
	px_connection_holder holder;

	/* The query, to be set before it is begun.  Pointers are the caller's. */
	const char *remote_sql;		/* what postgres_fdw sends: for error
								 * contexts */
	const char *sql;			/* what is sent; its rows are frames */
	int			nparams;
	const char *const *values;	/* text, NULL for null */
	bool		held;			/* begins without the query, which
								 * px_stream_go_on sends; false from then
								 * on */
	bool		goes_on;		/* begins in the transaction of the stream that
								 * it has its connection from */
	bool		may_fail;		/* whoever reads it can do without its rows,
								 * even if some have come: PX_STREAM_LIMITED
								 * instead of an error */
	px_counters *counters;		/* of server and user */

	/* Where it is shown, from before it is begun until it ends; or NULL. */
	px_progress *progress;

	/* For the caller to look at. */
	px_stream_phase phase;
	char		declined[PX_DECLINED_NBYTES];	/* the remote's words, with
												 * PX_STREAM_DECLINED and
												 * PX_STREAM_LIMITED */

	/* Written by ahead.c: see px_stream_send_ahead. */
	px_ahead	ahead;

	/* stream.c's own. */
	MemoryContext context;		/* which the stream lives in */
	ResourceOwner resowner;		/* of the local query, for the spool's file */
	PGresult   *result;			/* the frame being read, or the error to
								 * raise */
	PGresult   *spooled_error;	/* that comes after the spool */

	/* If it is held: the session's own time-out. */
	char		idle_timeout[PX_IDLE_TIMEOUT_NBYTES];
	TimestampTz begin_deadline; /* in PX_STREAM_BEGUN: of the answers */
	bool		has_frames;		/* the query has yielded some */
	bool		restores;		/* the session's idle time-out, after the
								 * query */
	px_spool   *spool;			/* frames read ahead; NULL if there are none */
	uint8_t    *aligned_frame;	/* room for a copy of the frame being read, or
								 * NULL */
	MemoryContextCallback forget;
} px_stream;

/*
 * A stream that lives in the current memory context, which must be that of a
 * local query.  It is left and freed with that context.  The query's resource
 * owner must be the current one.
 */
extern px_stream *px_stream_new(void);

/*
 * Let another stream, to, have the connection of a stream to the same peer
 * that has ended.  The query that to begins with runs in the transaction that
 * is there.  False if the connection is not to be used again, or the
 * transaction is not one of the current subtransaction; or if queries of other
 * streams follow on it.
 */
extern bool px_stream_pass_on(px_stream *stream, px_stream *to);

/*
 * Get a connection to the peer, unless the stream has one that was passed on
 * to it: see px_connection_acquire.  Blocks while connecting, serving
 * interrupts.
 */
extern px_outcome px_stream_connect(px_stream *stream, px_peer *peer,
									UserMapping *user);

/*
 * A stream has its connection, and is about to begin.  When it does, have the
 * query of another stream sent along with its own, after those of earlier
 * calls.  So the remote goes from one to the next without waiting for us.  The
 * other stream, to, must then get the connection by px_stream_pass_on, in
 * turn; it has nothing more to send when it begins.  If that cannot be, it
 * begins as if nothing had been sent: the connection is not used any more.
 */
static inline void
px_stream_send_ahead(px_stream *stream, px_stream *to)
{
	Assert(to->phase == PX_STREAM_CLOSED && to->nparams == 0);
	px_ahead_add(&stream->ahead, &to->ahead, to->sql);
}

/*
 * Send what starts a remote transaction on the peer's snapshot, if there is
 * none yet, and the query unless the stream is held.  Waits for nothing.
 */
extern void px_stream_begin(px_stream *stream);

/*
 * Wait until the transaction of a stream that was begun has its snapshot.
 * Else PX_OUTCOME_REFUSED (there is no such snapshot, for instance) or
 * PX_OUTCOME_FAILED (the connection is dead, or does not answer), and the
 * stream is closed.  A stream that is held is then PX_STREAM_CLOSED, too, but
 * has its connection.  Blocks for one round trip, at most a few seconds, serving
 * interrupts; does not wait for the query.
 */
extern px_outcome px_stream_confirm(px_stream *stream);

/*
 * Run a statement in the transaction of a stream that is held, before its
 * query.  Its only parameter is param[nbytes], a bytea; if param is NULL, the
 * parameters are the query's.  Waits for nothing.
 */
extern void px_stream_call(px_stream *stream, const char *sql,
						   const char *param, size_t nbytes);

/*
 * Wait for the end of that statement, whose rows are dropped.  NULL if it went
 * well, else what went wrong (palloc'd); then the stream is to be closed.
 * Blocks unless px_stream_is_ready, serving interrupts; the time spent waiting
 * is added to *wait.
 */
extern const char *px_stream_call_end(px_stream *stream, instr_time *wait);

/*
 * The same for a statement that returns one row with one text: *text is a
 * palloc'd copy of it, or NULL if it is null, there is no such row, or
 * something went wrong.
 */
extern const char *px_stream_call_text(px_stream *stream, instr_time *wait,
									   char **text);

/*
 * Send another query, in sql, in the transaction of the last run, which ended
 * and left the stream its connection; or of a stream that is held: then the
 * session's own idle time-out counts again after the query.  Waits for
 * nothing.
 */
extern void px_stream_go_on(px_stream *stream);

/*
 * The next frame: PX_STREAM_OK, and *frame (8-aligned) is valid until the
 * next call for this stream; or PX_STREAM_END.  Before the first frame also
 * PX_STREAM_NOT_PLANNED, PX_STREAM_DECLINED, or PX_STREAM_LOCKED if a lock is
 * not to be had at once: then close the stream.  So with PX_STREAM_LIMITED,
 * before any frame of a stream that may fail.  Other remote errors are raised
 * as such.  Blocks, serving interrupts; the time spent waiting is added to
 * *wait.
 */
extern px_stream_status px_stream_next(px_stream *stream,
									   const uint8_t **frame, size_t *nbytes,
									   instr_time *wait);

/*
 * Would px_stream_confirm or px_stream_next return at once?  Or has a stream
 * that was begun been silent for PX_SETUP_TIMEOUT_MS, so that px_stream_confirm
 * should give it up?  Reads what has arrived, if a whole frame has not; never
 * blocks.
 */
extern bool px_stream_is_ready(px_stream *stream);

/* After how many milliseconds is that the case?  -1: never. */
extern long px_stream_patience_ms(const px_stream *stream);

/* The lesser of two time-outs; -1 is for ever. */
static inline long
px_earlier_ms(long a, long b)
{
	return a < 0 || (b >= 0 && b < a) ? b : a;
}

/*
 * Wait until something has arrived for one of n streams, all of which have
 * connections and are not ready, or for timeout_ms (-1 for ever).  Blocks,
 * serving interrupts; the time spent is added to *wait.  False if time was up.
 */
extern bool px_stream_wait_any(px_stream *const *streams, int n,
							   long timeout_ms, instr_time *wait);

/*
 * Leave the stream, whatever its phase, and give its connection back.  What
 * still runs is cancelled.  A stream that is closed may be closed again.
 */
extern void px_stream_close(px_stream *stream);

/*
 * Read the rest of the stream's frames into its spool, and give its connection
 * back.  Blocks until they have come, serving interrupts.  Does nothing unless
 * the stream runs.
 */
extern void px_stream_spool(px_stream *stream);

/*
 * Have whoever has connections of this session to the server, or to all
 * servers with InvalidOid, give them up.  Then no remote session but
 * postgres_fdw's holds a lock for this transaction.  Blocks until the rest of
 * their frames is in spools, serving interrupts.
 */
extern void px_streams_spool_all(Oid serverid);

#endif							/* PX_TRANSPORT_STREAM_H */
