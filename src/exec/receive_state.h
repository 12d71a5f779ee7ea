/*-------------------------------------------------------------------------
 *
 * receive_state.h
 *		Run-time state of an ExchangeReceive.
 *
 * Several files work on it.  Each group of fields below names the file that
 * writes it, and from when to when it is valid; all others only read it.  From
 * low to high, the files are:
 *
 *		exec/scan_keys.c	the keys of an ExchangeLookup
 *		exec/scan_filter.c	the runtime filters, and the query with them
 *		exec/shared.c		what the participants of a parallel scan share
 *		exec/request.c		what the remote is asked for
 *		exec/ask_session.c	what postgres_fdw's session is asked
 *		exec/ask_types.c	the same, about the types of columns
 *		exec/child_keys.c	the keys, where the child runs
 *		exec/open_reader.c	has one reader read, by a stream or the session
 *		exec/read_slices.c	which reader reads which slice
 *		exec/start.c		which way the scan takes
 *		exec/parallel.c		callbacks of a parallel plan
 *		exec/redistribute.c	reads sources in the node's place
 *		node/receive.c		the node
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_EXEC_RECEIVE_STATE_H
#define PX_EXEC_RECEIVE_STATE_H

#include "executor/tuptable.h"
#include "foreign/foreign.h"
#include "nodes/execnodes.h"

#include "conn/pool.h"
#include "guc.h"
#include "transport/fdw_cursor.h"
#include "transport/slices.h"
#include "transport/stream_reader.h"

/* Written by start.c alone. */
typedef enum px_receive_phase
{
	PX_RECEIVE_NEW,				/* nothing was done yet for this (re)scan */
	PX_RECEIVE_BEGUN,			/* a stream was begun, and not confirmed */
	PX_RECEIVE_FRAMES,			/* rows come in frames */
	PX_RECEIVE_CHILD			/* the child runs instead, for good */
} px_receive_phase;

/* Does the first stream get its query later than its transaction? */
typedef enum px_hold
{
	PX_HOLD_NONE,				/* no: together, as usual */
	PX_HOLD_WANTED,				/* yes; there is none yet */
	PX_HOLD_READY				/* it has its transaction, and no other way can
								 * be taken */
} px_hold;

/*
 * What the fragments and sources of a join share.  As long as no row of a
 * fragment was returned, another plan can run instead: then the attempt is
 * open.  Written by node/broadcast.c, but that start.c gives it up.
 */
typedef struct px_receive_attempt
{
	bool		open;
	const char *given_up;		/* why; NULL unless it was */
} px_receive_attempt;

/*
 * What postgres_fdw's session was asked, and has said.  Written by
 * ask_session.c alone.  The answer itself is in the px_peer, where the
 * question of another scan may replace it.
 */
typedef struct px_receive_asked
{
	bool		pending;		/* a question was sent, and its answer was not
								 * read */
	bool		types;			/* a question was sent that is also about
								 * types */
	bool		answered;		/* about the query, since the (re)scan began;
								 * also set while that is pending */
	bool		allows_stream;	/* it does, in command, and until the session
								 * reads */
	bool		harmless;		/* the answer: another session may run it, so
								 * it has no effects */
	bool		deferred;		/* it was not answered, because of a lock: to
								 * be asked again when its rows are wanted */
	uint32		trial;			/* in which its locks were tried; 0: they were
								 * waited for, or are to be asked for again */
	CommandId	command;		/* in which the query was last asked about */
	uint64		session_reads;	/* of the peer, at that time */
	uint32		idle_ms;		/* the session's idle time-out; 0: none.  Valid
								 * in PX_RECEIVE_FRAMES */
} px_receive_asked;

/*
 * Below this number of rows, which is postgres_fdw's default fetch_size,
 * postgres_fdw is faster if the estimate is right: it takes 0.17 ms of CPU time
 * for 20 or 100 rows of 20 bytes, where an exchange takes 0.9 ms.  Both take as
 * much for 2,000.  But if the estimate is too low, postgres_fdw reads what an
 * exchange would read faster: so it is not that number.
 */
#define PX_LOOKUP_ROWS			100.0

/*
 * Is a scan expected to return so little, for so little work, that a stream
 * would cost more?  Bits: each is a condition under which it is.
 */
typedef enum px_smallness
{
	PX_IS_NOT_SMALL = 0,
	PX_IS_SMALL_IF_NEAR = 1,	/* its server is on this host */
	PX_IS_SMALL_IF_CHEAP = 2,	/* the server says that it is little work, for
								 * which it may have an index */
	PX_IS_SMALL = 4				/* anyhow */
} px_smallness;

/*
 * What the server may say that it costs, and it is little work: some 8 ms if
 * it reads a table, 2 ms if it has an index whose pages are in memory.  To
 * begin a stream takes both ends 1 to 2 ms, and to connect 3 to 5.
 */
#define PX_CHEAP_COST			2000.0

/*
 * May workers be done with a parallel scan before the leader gets to it?  Only
 * the leader can read what no worker gets a connection for.
 */
typedef enum px_missed
{
	PX_MISSED_NEVER,
	PX_MISSED_UNLESS_AWAITED,	/* yes, so they begin when it is there */
	PX_MISSED_ALWAYS			/* yes, and they cannot wait: there are none */
} px_missed;

typedef struct px_child_keys px_child_keys;

typedef struct px_receive_state
{
	CustomScanState css;		/* must be first */

	/*
	 * Facts about the plan and settings.  Written by receive.c when the
	 * executor starts, and fixed from then on.
	 */
	ForeignScan *foreign;		/* child plan */
	const char *remote_sql;		/* what postgres_fdw deparsed, with the
								 * conditions of scan_keys.c */
	const char *plain_sql;		/* NULL, or see PX_RECEIVE_PRIVATE_PLAIN.
								 * redistribute.c may put it in the place of
								 * remote_sql */
	List	   *params;			/* of remote_sql: expressions */
	List	   *keys;			/* see px_scan_keys_begin */
	const char *servername;
	Index		rtindex;		/* a foreign table of the scan */
	Oid			userid;			/* whom to connect as */
	UserMapping *user;			/* as it is when the executor starts; NULL in
								 * plain EXPLAIN without explain_remote */
	int			fetch_size;		/* rows that postgres_fdw would fetch at a
								 * time */
	int			nstreams;		/* of the query, which share receive_buffer */
	int			nslices_max;	/* streams that this node may have at once */
	px_smallness smallness;		/* is too little expected for a stream?
								 * siblings.c and gather_start.c may take
								 * conditions away */
	double		input_rows;		/* see PX_RECEIVE_PRIVATE_INPUT */
	double		known_cost;		/* what the server has said of such queries; -1
								 * if not to be relied on.  siblings.c may
								 * say so */
	double		cheap_cost;		/* PX_CHEAP_COST, or the scan's share of it:
								 * siblings.c */
	bool		locks_rows;		/* FOR UPDATE and the like */
	bool		finds_targets;	/* of an UPDATE or DELETE: reads no other
								 * table */
	bool		user_code;		/* may run while the scan is being read */
	px_missed	missed;			/* may the leader of a parallel query not get
								 * to it? */
	bool		limited;		/* the remote query has a LIMIT, and its rows
								 * are merged with others */
	bool		few_rows;		/* a LIMIT is going to end the scan early */
	uint32		scan_kinds;		/* for statistics, but PX_SCAN_FILTERED:
								 * PX_SCAN_BITs */
	bool		nested_in_worker;	/* below a function that a parallel worker
									 * calls */
	List	   *param_exprs;	/* ExprStates of the remote query's
								 * parameters */
	bool		params_change;	/* from one rescan to the next */
	FmgrInfo   *param_output;	/* their output functions */
	ExprState  *recheck_quals;	/* which the remote has evaluated */
	TupleTableSlot *remote_slot;	/* for the rows of the remote: the scan
									 * slot, unless partial or has_ctid */
	bool		has_ctid;		/* the remote returns the ctid of each row, as
								 * the last column */
	struct px_partial *partial; /* makes the scan tuples of them; NULL if they
								 * are the scan tuples */
	px_stream **waiting;		/* room for nslices_max streams: scratch */

	/*
	 * What runs on postgres_fdw's connection.  Set up by receive.c when the
	 * executor starts, but not run before it is needed.  So the connection is
	 * made, or fails, at the same time as without pg_exchange.  All are NULL
	 * in plain EXPLAIN, and in a parallel plan's workers.
	 */
	PlanState  *child;
	PlanState  *fallback;		/* what runs in PX_RECEIVE_CHILD: child, or the
								 * local plan of a join that is not its */
	bool		has_local_plan; /* fallback is that: it asks the server for
								 * rows that need not be computed */
	uint64		child_rows;		/* since it began, perhaps anew */
	px_child_keys *child_keys;	/* NULL without keys; child_keys.c also writes
								 * fallback */
	px_fdw_cursor *question;	/* ask_session.c asks by it */
	px_fdw_cursor *session_cursor;	/* session reads come by it */
	px_fdw_cursor *types_question;	/* ask_types.c asks by it; NULL if the
									 * remote need not be asked */
	const char *types_sql;		/* the question */
	bool		types_alone;	/* it has parameters: see px_ask_types_along */
	bool		types_differ;	/* that was the answer */
	SubTransactionId types_subid;	/* in which ask_types.c was told that the
									 * types are the same; else invalid */

	/*
	 * Written by an ExchangeGather at its begin: at the end of a batch, return
	 * no row instead of waiting for the next one.
	 */
	bool		yields;

	/*
	 * Written by an ExchangeGather before the scan begins: at its end, the
	 * stream keeps its connection, with the transaction, until the gather has
	 * looked for another scan that goes on with it.
	 */
	bool		passes_on;

	/*
	 * Written by an ExchangeGather at its begin: how many streams of the query
	 * may run at once, if there are fewer than nstreams, else 0; and whether
	 * too much is expected for the first batches of all scans to be kept for a
	 * rescan.
	 */
	int			nstreams_at_once;
	bool		forgets;

	/*
	 * Written by an ExchangeGather before the scan begins, and NIL again when
	 * it has: px_receive_states that are to go on with its connection, one
	 * after the other.
	 */
	List	   *followers;

	/*
	 * Written by an ExchangeLookup, when it has set its keys: others are going
	 * to follow.
	 */
	bool		rescan_follows;

	/*
	 * Written by an ExchangeBroadcast.  NULL if the scan is not of its
	 * fragments or sources.
	 */
	px_receive_attempt *attempt;
	bool		session_limited;	/* postgres_fdw's session limits what a
									 * statement takes: written by
									 * broadcast_ask.c */

	/*
	 * The runtime filters.  Written by scan_filter.c: the array when the
	 * executor starts, the query when the scan begins.
	 */
	int			nfilters;
	struct px_scan_filter *filters;
	const char *read_sql;		/* remote_sql, with the filters that are known
								 * when the scan begins */
	bool		excluded;		/* no row can have a key: it is not read */
	uint64		filtered_since; /* stats.rows when the scan began */
	bool		filters_rewound;	/* rows are returned again, and it was not
									 * looked whether filters have changed; set
									 * by receive.c */

	/*
	 * How many targets the rows are cut into, by their last column, which is
	 * not sent; 1: they are not cut.  Written by redistribute.c before the
	 * scan begins.  The sources of a redistribution return no rows here.
	 */
	int			ntargets;
	bool		compress;		/* for the sake of a target that is not local */
	uint32		target_codecs;	/* that all targets can read; valid if there */
	uint32		target_encodings;	/* are several */
	int			links;			/* to so many servers; 0: none pulls its rows */
	uint64		pulled;			/* bit i: server i does */
	uint64		plain;			/* of these: its rows stay on their host */

	/*
	 * Written by request.c when a stream begins, and valid as long as it is.
	 */
	const char **param_values;	/* text, NULL for null */

	/* Written by ask_session.c. */
	px_receive_asked asked;

	/* Which way the scan takes.  Written by start.c. */
	px_receive_phase phase;
	px_hold		hold;
	const char *busy;			/* why there was no connection for it; NULL
								 * if there was one, or was not asked for */
	const char *session_next;	/* in PX_RECEIVE_NEW: why the session is going
								 * to read it, when rows are wanted; NULL if
								 * that is not known */
	const char *fallback_reason;	/* why the child runs; NULL unless it
									 * does */
	MemoryContext stream_context;	/* parameters; made with the first reader,
									 * reset when a stream begins */
	px_stream_reader *reader;	/* of which rows are returned.  Also written
								 * where another one has rows: by receive.c
								 * and read_slices.c */
	bool		finished;		/* all rows were read: no slice is left.  Set
								 * by receive.c, too, and by parallel.c when no
								 * more rows are wanted */

	/*
	 * The readers: one, or one for each slice that was begun.  Written by
	 * open_reader.c.  In PX_RECEIVE_BEGUN there is but the first.
	 */
	px_stream_reader **readers; /* NULL before the first stream */
	int			nreaders;
	px_mode		mode;			/* settings' choice for the server; written by
								 * receive.c before there is a reader */
	uint16		version;		/* of the protocol; 0: there was no connection
								 * yet.  shared.c takes over a worker's, and
								 * its locality, for EXPLAIN */
	px_locality locality;		/* of the connection */
	bool		local;			/* locality counts: nothing is compressed */
	bool		exact_portions; /* the session evaluates as many rows at a time
								 * as postgres_fdw would, and no more than it
								 * wants */
	const char *session_reason; /* why the session has read, the first time
								 * since the query began; or NULL */

	/*
	 * The slices.  parallel.c has slices and shared point to shared memory
	 * while there is some, and writes pcxt.  start.c and read_slices.c write
	 * spread.
	 */
	px_slices  *slices;			/* local_slices, or shared by participants */
	px_slices	local_slices;
	struct px_receive_shared *shared;	/* in a parallel plan, else NULL */
	const struct ParallelContext *pcxt; /* the leader's, while shared is set */
	bool		claimed;		/* some of them, since they were shared */
	bool		spread;			/* streams were begun for the other slices, or
								 * are other participants' to begin */

	/*
	 * For EXPLAIN.  Written by all files that count; shared.c adds what
	 * workers have counted, and writes worker_codecs.
	 */
	px_receive_stats stats;
	uint32		worker_codecs;	/* that workers have seen */
} px_receive_state;

/* How many bytes a plan is expected to return. */
static inline double
px_plan_nbytes(const Plan *plan)
{
	return plan->plan_rows * plan->plan_width;
}

/*
 * Does the scan take turns with others on a connection?  Not a fragment of a
 * join, whose session may have been given something, and which has to run.
 */
static inline bool
px_receive_takes_turns(const px_receive_state *state)
{
	return state->passes_on && state->hold == PX_HOLD_NONE &&
		state->attempt == NULL;
}

/* The descriptor of the scan tuples. */
static inline TupleDesc
px_receive_table(const px_receive_state *state)
{
	return state->css.ss.ss_ScanTupleSlot->tts_tupleDescriptor;
}

/* The peer of the scan. */
static inline px_peer *
px_receive_peer(const px_receive_state *state)
{
	return px_peer_get(state->user);
}

/* Is there a row, or the end, of a stream, for the next ExecProcNode? */
static inline bool
px_receive_has_rows(const px_receive_state *state)
{
	return state->phase == PX_RECEIVE_FRAMES &&
		(state->reader->next_row < state->reader->batch_rows ||
		 state->finished);
}

/* The node has returned no row: is it done? */
static inline bool
px_receive_is_done(const px_receive_state *state)
{
	if (state->phase == PX_RECEIVE_CHILD)
		return true;
	return state->phase == PX_RECEIVE_FRAMES && state->finished &&
		state->reader->next_row >= state->reader->batch_rows;
}

/* Do its rows come by the session of postgres_fdw, by child or by frames? */
static inline bool
px_receive_uses_session(const px_receive_state *state)
{
	return state->phase == PX_RECEIVE_CHILD ||
		(state->phase == PX_RECEIVE_FRAMES && state->reader->session_active);
}

#endif							/* PX_EXEC_RECEIVE_STATE_H */
