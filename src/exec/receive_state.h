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

#include "guc.h"
#include "transport/fdw_cursor.h"
#include "transport/slices.h"
#include "transport/stream_reader.h"

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

#endif							/* PX_EXEC_RECEIVE_STATE_H */
