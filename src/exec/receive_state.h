/*-------------------------------------------------------------------------
 *
 * receive_state.h
 *		Run-time state of an ExchangeReceive, shared by receive.c, start.c and
 *		explain.c.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_EXEC_RECEIVE_STATE_H
#define PX_EXEC_RECEIVE_STATE_H

#include "commands/explain.h"
#include "nodes/execnodes.h"
#include "portability/instr_time.h"

#include "exec/slices.h"
#include "exec/stream_reader.h"
#include "guc.h"

typedef enum px_receive_phase
{
	PX_RECEIVE_NEW,				/* nothing was done yet for this (re)scan */
	PX_RECEIVE_BEGUN,			/* a stream was begun, and not waited for */
	PX_RECEIVE_STREAM,			/* rows come by the stream */
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
	int			nstreams;		/* of the query, which share receive_buffer */
	int			nslices_max;	/* streams that this node may have at once */
	List	   *param_exprs;	/* ExprStates of the remote query's parameters */
	FmgrInfo   *param_output;	/* their output functions */
	const char **param_values;

	/*
	 * The child, set up but not run unless it must: so the connection to the
	 * server is made, or fails, when the executor starts, as ever.  NULL in
	 * plain EXPLAIN.
	 */
	PlanState  *child;
	PlanState  *question;		/* that asked for the snapshot; or NULL */

	/*
	 * Set by an ExchangeGather: at the end of a batch, return no row instead
	 * of waiting for the next one.
	 */
	bool		yields;

	/* The way taken. */
	px_receive_phase phase;
	const char *fallback_reason;	/* with PX_RECEIVE_CHILD, else NULL */
	px_fallback fallback;		/* what kind of reason the next one would be */

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
 * Begin a stream for a node in PX_RECEIVE_NEW, or have the child take over
 * (fallback_reason is set).  False if all connections to the server are in
 * use and must_begin is false; if it is true, the child runs then.  Does not
 * wait for the stream, but for connections and the snapshot, serving
 * interrupts.
 */
extern bool px_receive_begin(px_receive_state *state, bool must_begin);

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
 * Wait until it is clear which way the scan takes: PX_RECEIVE_STREAM or
 * PX_RECEIVE_CHILD.  Begins the stream if need be.  Blocks, serving interrupts.
 */
extern void px_receive_confirm(px_receive_state *state);

/*
 * Before workers are launched: find out whether the scan can be an exchange,
 * the remote's consent included, without reading it.  If so, get the snapshot
 * (room for PX_SNAPSHOT_ID_NBYTES) and its owner for the workers.  Blocks for a
 * few round trips, serving interrupts.
 */
extern bool px_receive_rehearse(px_receive_state *state, char *snapshot, int *owner_pid);

/*
 * The remote would not send to reader.  If it declined the query, the child
 * runs.  If the backend did not recognise exchange.send, a pooler may have put
 * us on one that has not seen the hello: start anew on a new connection once;
 * after that, the child runs.  An error, if other slices are being read.
 */
extern void px_receive_declined(px_receive_state *state, px_stream_reader *reader,
								px_stream_status status);

/*
 * When it is known what the slices are: begin streams for those that there
 * are connections for.  Blocks for a round trip, serving interrupts.
 */
extern void px_receive_spread(px_receive_state *state);

/*
 * Have reader go on with another slice, on the same connection unless that
 * was taken.  Blocks in that case only.
 */
extern void px_receive_next_slice(px_receive_state *state, px_stream_reader *reader,
								  int slice);

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
	return state->phase == PX_RECEIVE_STREAM &&
		(state->reader->next_row < state->reader->batch_rows || state->finished);
}

/* Have all rows of a stream been returned? */
static inline bool
px_receive_at_end(const px_receive_state *state)
{
	return state->phase == PX_RECEIVE_STREAM && state->finished &&
		state->reader->next_row >= state->reader->batch_rows;
}

/* ExplainCustomScan callback. */
extern void px_receive_explain(CustomScanState *css, List *ancestors,
							   ExplainState *es);

#endif							/* PX_EXEC_RECEIVE_STATE_H */
