/*-------------------------------------------------------------------------
 *
 * receive_state.h
 *		Run-time state of an ExchangeReceive, shared by receive.c, start.c,
 *		read_slices.c, request.c and explain.c.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_EXEC_RECEIVE_STATE_H
#define PX_EXEC_RECEIVE_STATE_H

#include "commands/explain.h"
#include "foreign/foreign.h"
#include "nodes/execnodes.h"
#include "portability/instr_time.h"

#include "exec/slices.h"
#include "exec/stream_reader.h"
#include "guc.h"
#include "transport/fdw_cursor.h"

typedef enum px_receive_phase
{
	PX_RECEIVE_NEW,				/* nothing was done yet for this (re)scan */
	PX_RECEIVE_BEGUN,			/* a stream was begun, and not waited for */
	PX_RECEIVE_FRAMES,			/* rows come in frames */
	PX_RECEIVE_CHILD			/* the child runs instead, for good */
} px_receive_phase;

typedef struct px_receive_state
{
	CustomScanState css;		/* must be first */

	/* Fixed at begin. */
	ForeignScan *foreign;		/* child plan */
	const char *remote_sql;		/* what postgres_fdw deparsed */
	const char *servername;
	Index		rtindex;		/* a foreign table of the scan */
	Oid			userid;			/* whom to connect as */
	UserMapping *user;			/* as it is when the executor starts */
	int			fetch_size;		/* rows that postgres_fdw would fetch at a time */
	int			nstreams;		/* of the query, which share receive_buffer */
	int			nslices_max;	/* streams that this node may have at once */
	bool		small;			/* too little is expected for a stream */
	bool		locks_rows;		/* FOR UPDATE and its kin */
	bool		user_code;		/* may run while the scan is being read */
	bool		few_rows;		/* a LIMIT is going to end the scan early */
	bool		nested_in_worker;	/* below a function that a parallel worker calls */
	List	   *param_exprs;	/* ExprStates of the remote query's parameters */
	bool		params_change;	/* from one rescan to the next */
	FmgrInfo   *param_output;	/* their output functions */
	const char **param_values;
	ExprState  *recheck_quals;	/* which the remote has evaluated */

	/*
	 * The child, set up but not run unless it must: so the connection to the
	 * server is made, or fails, when the executor starts, as ever.  With it
	 * are set up two cursors on that connection.  All three are NULL in plain
	 * EXPLAIN, and in a parallel plan's workers.
	 */
	PlanState  *child;
	px_fdw_cursor *question;	/* asks whether there can be a stream */
	px_fdw_cursor *session_cursor;	/* of the session transport */

	/*
	 * Set by an ExchangeGather: at the end of a batch, return no row instead
	 * of waiting for the next one.
	 */
	bool		yields;

	/* The way taken. */
	px_receive_phase phase;
	const char *fallback_reason;	/* with PX_RECEIVE_CHILD, else NULL */
	px_fallback fallback;		/* what kind of reason the next one would be */
	bool		exact_portions; /* the session evaluates as many rows at a time as
								 * postgres_fdw would, and no more than it wants */
	const char *session_reason; /* why the session transport was taken, since the
								 * query began; or NULL */
	const char *session_next;	/* why it will be taken, when rows are wanted; or NULL */
	bool		asked;			/* the question, and its answer was not read */
	bool		verdict_known;	/* for this scan, and it is the peer's last */
	bool		judged;			/* a stream is allowed, in this command */
	CommandId	command;		/* in which that was said */
	uint32		idle_ms;		/* time-out of postgres_fdw's session; 0: none */
	TimestampTz contact_at;		/* when postgres_fdw's session last heard of us */

	/*
	 * The streams: one, or one for each slice.  What is said of them in
	 * PX_RECEIVE_BEGUN is about the first.
	 */
	px_stream_reader **readers; /* NULL before the first stream */
	int			nreaders;
	px_stream_reader *reader;	/* of which rows are returned */
	px_slices  *slices;			/* local_slices, or shared by participants */
	px_slices	local_slices;
	px_stream **waiting;		/* nslices_max, scratch */
	struct px_receive_shared *shared;	/* in a parallel plan, else NULL */
	uint32		worker_codecs;	/* that workers have seen */
	bool		spread;			/* streams were begun for the other slices */
	bool		finished;		/* all rows were read: no slice is left */
	MemoryContext stream_context;	/* parameters; reset when a stream begins */
	px_mode		mode;			/* settings' choice for the server */
	px_locality locality;		/* of the connection */
	bool		local;			/* locality counts: nothing is compressed */

	px_receive_stats stats;
} px_receive_state;

/*
 * Begin to read, for a node in PX_RECEIVE_NEW: by a stream, by the session of
 * postgres_fdw, or have the child take over (fallback_reason is set).  If
 * may_use_session is false, false unless it is by a stream: all connections to
 * the server are in use, or, if session_next is then set, it will never be.
 * Does not wait for the first rows, but for connections, the snapshot and the
 * remote's planner, serving interrupts.
 */
extern bool px_receive_begin(px_receive_state *state, bool may_use_session);

/*
 * Ask the server for its plan of the query, with options of EXPLAIN.  NULL, with
 * *reason set, if it does not tell.  Connects, and blocks for a round trip, at
 * most a few seconds, serving interrupts.  For plain EXPLAIN.
 */
extern char *px_receive_ask_plan(px_receive_state *state, const char *options,
								 const char **reason);

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

/*
 * When it is known what the slices are: begin streams for those that there
 * are connections for.  Blocks for a round trip, serving interrupts.
 */
extern void px_receive_spread(px_receive_state *state);

/*
 * A reader has come to the end of its slice: have it go on with another one,
 * if there is any, or be done.  Blocks, serving interrupts, where that takes a
 * new connection.
 */
extern void px_receive_end_slice(px_receive_state *state, px_stream_reader *reader);

/*
 * No stream is read any more: read slices that are left, if there are any, by
 * the session.  False if there are none.  May wait for other participants to
 * begin theirs, serving interrupts.
 */
extern bool px_receive_take_left_slice(px_receive_state *state);

/*
 * See to it that a row of a stream, or its end, or the child is at hand for
 * the next ExecProcNode.  If wait is false, false where that takes waiting or
 * the stream was not begun.
 */
extern bool px_receive_advance(px_receive_state *state, bool wait);

/* The ExchangeReceive that node is, or NULL. */
extern px_receive_state *px_receive_from_node(PlanState *node);

/*
 * Collect the streams that a node which cannot advance waits for: at most
 * nslices_max of them.  Returns how many.  0 if no stream of it was begun, or
 * if it need not wait.
 */
extern int	px_receive_waiting(px_receive_state *state, px_stream **streams);

/* Is there a row, or the end, of a stream, for the next ExecProcNode? */
static inline bool
px_receive_has_rows(const px_receive_state *state)
{
	return state->phase == PX_RECEIVE_FRAMES &&
		(state->reader->next_row < state->reader->batch_rows || state->finished);
}

/* Have all rows of a stream been returned? */
static inline bool
px_receive_at_end(const px_receive_state *state)
{
	return state->phase == PX_RECEIVE_FRAMES && state->finished &&
		state->reader->next_row >= state->reader->batch_rows;
}

/* The node has returned no row: was that its last word? */
static inline bool
px_receive_is_done(const px_receive_state *state)
{
	return state->phase == PX_RECEIVE_CHILD || px_receive_at_end(state);
}

/* Do its rows come by the session of postgres_fdw, one at a time? */
static inline bool
px_receive_uses_session(const px_receive_state *state)
{
	return state->phase == PX_RECEIVE_CHILD ||
		(state->phase == PX_RECEIVE_FRAMES && state->reader->session_active);
}

/* ExplainCustomScan callback. */
extern void px_receive_explain(CustomScanState *css, List *ancestors,
							   ExplainState *es);

#endif							/* PX_EXEC_RECEIVE_STATE_H */
