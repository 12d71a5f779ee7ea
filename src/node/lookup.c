/*-------------------------------------------------------------------------
 *
 * lookup.c
 *		ExchangeLookup: a join whose inner side is asked for its keys only.
 *
 * The node reads a batch of outer rows, normally all of them.  It hands the
 * distinct keys of these to the inner side, as arrays, and the inner side's
 * remote queries return the rows with these keys only.  So this is a hash
 * join over batches of outer rows, whose other side comes filtered.
 *
 * Each batch has the inner side read anew, and with postgres_fdw that is once.
 * If there is more than one, and rows there may be written in between, by other
 * statements or by triggers of this one, then all results are kept before the
 * first one is returned.
 *
 * Of several keys, each has its own array.  A remote then may return more rows
 * than have a match: all join quals are evaluated here.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"
#include "executor/instrument.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "port/pg_bitutils.h"
#include "utils/ruleutils.h"
#include "utils/tuplestore.h"

#include "compat.h"
#include "exec/outer_batch.h"
#include "exec/run.h"
#include "exec/scan_keys.h"
#include "library.h"
#include "node/lookup.h"
#include "node/receive.h"

/*
 * If a LIMIT may end the join early, or a caller that wants one row, then the
 * first batch has so many rows, and each next one so many times the rows of the
 * last.
 */
#define FEW_ROWS_FIRST	100
#define FEW_ROWS_FACTOR 10

typedef enum lookup_phase
{
	LOOKUP_LOAD,				/* the next batch is to be read */
	LOOKUP_PROBE,				/* inner rows are being read */
	LOOKUP_UNMATCHED,			/* outer rows without a match are returned */
	LOOKUP_DONE
} lookup_phase;

typedef struct px_lookup_state
{
	CustomScanState css;		/* must be first */

	/* Fixed at begin. */
	PlanState  *outer;
	PlanState  *inner;
	JoinType	jointype;
	int			nouter;			/* columns of outer */
	int			nkeys;
	int			first_param;	/* see PX_LOOKUP_PRIVATE_PARAM */
	ExprState **outer_keys;
	ExprState **inner_keys;
	FmgrInfo   *outer_hash;
	FmgrInfo   *inner_hash;
	Oid		   *collations;
	ExprState  *cond;
	ExprState  *filter;
	TupleTableSlot *row_slot;	/* for a row of the batch */

	/* Of the current scan. */
	lookup_phase phase;
	bool		outer_done;		/* no more outer rows */
	uint64		batch_rows_max; /* 0 before the first batch */
	px_outer_batch *batch;
	uint64		nunmatched;		/* rows of the batch */
	px_outer_row *row;			/* the next that the inner row may match; in
								 * LOOKUP_UNMATCHED the next to look at */
	bool		keeps_results;	/* all are computed before the first one */
	Tuplestorestate *results;	/* these; or NULL */
	TupleTableSlot *kept_slot;	/* for one of them; NULL until it is needed */
	Datum	   *values;			/* scratch: one for each key */
	uint32	   *hashes;			/* likewise */

	/* For EXPLAIN, over all scans. */
	uint64		nbatches;
	uint64		nkeys_sent;
	uint64		nfiltered;		/* matches that filter removed */
} px_lookup_state;

static Node *create_state(CustomScan *scan);
static void begin_lookup(CustomScanState *css, EState *estate, int eflags);
static TupleTableSlot *exec_lookup(CustomScanState *css);
static void end_lookup(CustomScanState *css);
static void rescan_lookup(CustomScanState *css);
static void explain_lookup(CustomScanState *css, List *ancestors,
						   ExplainState *es);

const CustomScanMethods px_lookup_scan_methods = {
	.CustomName = PX_LOOKUP_NAME,
	.CreateCustomScanState = create_state,
};

static const CustomExecMethods lookup_exec_methods = {
	.CustomName = PX_LOOKUP_NAME,
	.BeginCustomScan = begin_lookup,
	.ExecCustomScan = exec_lookup,
	.EndCustomScan = end_lookup,
	.ReScanCustomScan = rescan_lookup,
	.ExplainCustomScan = explain_lookup,
};

void
px_lookup_init(void)
{
	RegisterCustomScanMethods(&px_lookup_scan_methods);
}

static Node *
create_state(CustomScan *scan)
{
	px_lookup_state *state = palloc0(sizeof(px_lookup_state));

	px_library_check();
	NodeSetTag(state, T_CustomScanState);
	state->css.methods = &lookup_exec_methods;
	return (Node *) state;
}

static int
private_int(const CustomScan *scan, px_lookup_private at)
{
	return intVal(list_nth(scan->custom_private, at));
}

static List *
exprs_at(const CustomScan *scan, px_lookup_exprs at)
{
	return list_nth_node(List, scan->custom_exprs, at);
}

static ExprState **
begin_exprs(List *exprs, PlanState *parent)
{
	ExprState **states = palloc(list_length(exprs) * sizeof(ExprState *));
	int			i = 0;
	ListCell   *lc;

	foreach(lc, exprs)
		states[i++] = ExecInitExpr(lfirst(lc), parent);
	return states;
}

static FmgrInfo *
begin_functions(List *functions)
{
	FmgrInfo   *infos = palloc(list_length(functions) * sizeof(FmgrInfo));
	int			i = 0;
	ListCell   *lc;

	foreach(lc, functions)
		fmgr_info(lfirst_oid(lc), &infos[i++]);
	return infos;
}

static Oid *
oid_array(List *oids)
{
	Oid		   *array = palloc(list_length(oids) * sizeof(Oid));
	int			i = 0;
	ListCell   *lc;

	foreach(lc, oids)
		array[i++] = lfirst_oid(lc);
	return array;
}

static void
begin_keys(px_lookup_state *state, const CustomScan *scan)
{
	PlanState  *self = &state->css.ss.ps;
	List	   *private = scan->custom_private;
	List	   *types = list_nth(private, PX_LOOKUP_PRIVATE_TYPE);

	state->nkeys = list_length(types);
	state->first_param = private_int(scan, PX_LOOKUP_PRIVATE_PARAM);
	state->outer_keys =
		begin_exprs(exprs_at(scan, PX_LOOKUP_EXPRS_OUTER), self);
	state->inner_keys =
		begin_exprs(exprs_at(scan, PX_LOOKUP_EXPRS_INNER), self);
	state->outer_hash =
		begin_functions(list_nth(private, PX_LOOKUP_PRIVATE_OUTER_HASH));
	state->inner_hash =
		begin_functions(list_nth(private, PX_LOOKUP_PRIVATE_INNER_HASH));
	state->collations =
		oid_array(list_nth(private, PX_LOOKUP_PRIVATE_COLLATION));
	state->cond = ExecInitQual(exprs_at(scan, PX_LOOKUP_EXPRS_COND), self);
	state->filter = ExecInitQual(exprs_at(scan, PX_LOOKUP_EXPRS_FILTER), self);
	state->batch = px_outer_batch_new(state->nkeys, oid_array(types));
	state->values = palloc(state->nkeys * sizeof(Datum));
	state->hashes = palloc(state->nkeys * sizeof(uint32));
}

/* Begin to read outer rows. */
static void
start_scan(px_lookup_state *state)
{
	state->phase = LOOKUP_LOAD;
	state->outer_done = false;
	state->batch_rows_max = 0;
}

/*
 * Must all batches see the same rows of the inner side, because others may write
 * to it while the join is read: statements that come between its rows, triggers,
 * or the query itself?  Then outer rows are read that nobody may want.  If a
 * LIMIT does not want them, that must raise no error.  Known when the query
 * runs; see plan_form (plan/rewrite.c) for what is known before.
 */
static bool
must_see_same(const px_lookup_state *state)
{
	const CustomScan *scan = (const CustomScan *) state->css.ss.ps.plan;
	const EState *estate = state->css.ss.ps.state;

	if (!px_run_may_resume(estate) && !px_run_has_early_triggers(estate) &&
		!px_run_writes_foreign(estate->es_plannedstmt))
		return false;
	return private_int(scan, PX_LOOKUP_PRIVATE_HARMLESS) ||
		!private_int(scan, PX_LOOKUP_PRIVATE_FEW_ROWS);
}

/* How many rows has the first batch? */
static uint64
first_batch_rows(const px_lookup_state *state)
{
	const CustomScan *scan = (const CustomScan *) state->css.ss.ps.plan;

	if (must_see_same(state))
		return PG_UINT64_MAX;
	return private_int(scan, PX_LOOKUP_PRIVATE_FEW_ROWS) ||
		!px_run_is_complete(state->css.ss.ps.state) ? FEW_ROWS_FIRST :
		PG_UINT64_MAX;
}

/* Forget results that were kept. */
static void
forget_results(px_lookup_state *state)
{
	if (state->results)
		tuplestore_end(state->results);
	state->results = NULL;
	state->keeps_results = false;
}

static void
begin_lookup(CustomScanState *css, EState *estate, int eflags)
{
	px_lookup_state *state = (px_lookup_state *) css;
	CustomScan *scan = (CustomScan *) css->ss.ps.plan;
	TupleDesc	outer_desc;

	/* Rescans read both sides anew, and nobody reads backward. */
	eflags &= ~(EXEC_FLAG_REWIND | EXEC_FLAG_BACKWARD | EXEC_FLAG_MARK);
	state->outer = ExecInitNode(linitial(scan->custom_plans), estate, eflags);
	state->inner = ExecInitNode(lsecond(scan->custom_plans), estate, eflags);
	css->custom_ps = list_make2(state->outer, state->inner);

	outer_desc = ExecGetResultType(state->outer);
	state->nouter = outer_desc->natts;
	state->row_slot = ExecInitExtraTupleSlot(estate, outer_desc,
											 &TTSOpsMinimalTuple);
	state->jointype = private_int(scan, PX_LOOKUP_PRIVATE_JOINTYPE);
	begin_keys(state, scan);
	start_scan(state);

	/*
	 * The scan tuple keeps its inner columns from one result to the next: so
	 * it must not be handed out, because its receiver may materialize it.
	 */
	if (css->ss.ps.ps_ProjInfo == NULL)
		ExecAssignProjectionInfo(
			&css->ss.ps, css->ss.ss_ScanTupleSlot->tts_tupleDescriptor);
}

/* ---------------------------------------------------------------------
 * The scan tuple
 * --------------------------------------------------------------------- */

/* Put the columns of slot into the scan tuple, from column first on. */
static void
put_columns(px_lookup_state *state, TupleTableSlot *slot, int first)
{
	TupleTableSlot *scan_slot = state->css.ss.ss_ScanTupleSlot;
	int			natts = slot->tts_tupleDescriptor->natts;

	slot_getallattrs(slot);
	memcpy(scan_slot->tts_values + first, slot->tts_values,
		   natts * sizeof(Datum));
	memcpy(scan_slot->tts_isnull + first, slot->tts_isnull,
		   natts * sizeof(bool));
}

static void
put_row(px_lookup_state *state, const px_outer_row *row)
{
	ExecStoreMinimalTuple(row->tuple, state->row_slot, false);
	put_columns(state, state->row_slot, 0);
}

/* An outer row without a match has nulls for the inner columns. */
static void
put_inner_nulls(px_lookup_state *state)
{
	TupleTableSlot *scan_slot = state->css.ss.ss_ScanTupleSlot;
	int			natts = scan_slot->tts_tupleDescriptor->natts;

	for (int i = state->nouter; i < natts; i++)
	{
		scan_slot->tts_values[i] = (Datum) 0;
		scan_slot->tts_isnull[i] = true;
	}
}

/* Expressions may be evaluated with what is in the scan tuple. */
static ExprContext *
scan_tuple_context(px_lookup_state *state)
{
	TupleTableSlot *scan_slot = state->css.ss.ss_ScanTupleSlot;
	ExprContext *econtext = state->css.ss.ps.ps_ExprContext;

	if (TTS_EMPTY(scan_slot))
		ExecStoreVirtualTuple(scan_slot);
	econtext->ecxt_scantuple = scan_slot;
	return econtext;
}

/*
 * Compute the hash value of the keys in the scan tuple, and state's values and
 * hashes.  False if a key is null.
 */
static bool
compute_hash(px_lookup_state *state, ExprState **keys, FmgrInfo *functions,
			 uint32 *hash)
{
	ExprContext *econtext = scan_tuple_context(state);
	MemoryContext oldcontext =
		MemoryContextSwitchTo(econtext->ecxt_per_tuple_memory);
	bool		complete = true;

	*hash = 0;
	for (int i = 0; i < state->nkeys && complete; i++)
	{
		bool		isnull;

		state->values[i] = ExecEvalExpr(keys[i], econtext, &isnull);
		if (isnull)
			complete = false;
		else
		{
			state->hashes[i] = DatumGetUInt32(
				FunctionCall1Coll(&functions[i], state->collations[i],
								  state->values[i]));
			*hash = pg_rotate_left32(*hash, 1) ^ state->hashes[i];
		}
	}
	MemoryContextSwitchTo(oldcontext);
	return complete;
}

/* ---------------------------------------------------------------------
 * Reading
 * --------------------------------------------------------------------- */

/* Are outer rows returned that have no match? */
static bool
wants_unmatched(const px_lookup_state *state)
{
	return state->jointype == JOIN_LEFT || state->jointype == JOIN_ANTI;
}

static bool
forget_keys(PlanState *node, void *arg)
{
	px_receive_state *receive = px_receive_from_node(node);

	if (receive)
	{
		px_scan_keys_forget(receive);
		return false;
	}
	return planstate_tree_walker(node, forget_keys, arg);
}

/* Forget the rows, and the arrays of keys that the inner side was given. */
static void
reset_batch(px_lookup_state *state)
{
	ParamExecData *params = state->css.ss.ps.state->es_param_exec_vals;

	for (int i = 0; i < state->nkeys; i++)
	{
		params[state->first_param + i].value = (Datum) 0;
		params[state->first_param + i].isnull = true;
	}
	(void) forget_keys(state->inner, NULL);
	px_outer_batch_reset(state->batch);
}

static void
load_batch(px_lookup_state *state)
{
	ExprContext *econtext = state->css.ss.ps.ps_ExprContext;

	reset_batch(state);
	if (state->batch_rows_max == 0)
		state->batch_rows_max = first_batch_rows(state);
	while (!px_outer_batch_is_full(state->batch) &&
		   px_outer_batch_nrows(state->batch) < state->batch_rows_max)
	{
		TupleTableSlot *slot = ExecProcNode(state->outer);
		uint32		hash;
		bool		complete;

		CHECK_FOR_INTERRUPTS();
		if (TupIsNull(slot))
		{
			state->outer_done = true;
			break;
		}
		put_columns(state, slot, 0);
		complete = compute_hash(state, state->outer_keys, state->outer_hash,
								&hash);
		if (complete || wants_unmatched(state))
			px_outer_batch_add(state->batch, slot, state->values,
							   state->hashes, !complete, hash);
		ResetExprContext(econtext);
	}
	px_outer_batch_finish(state->batch);
	state->nunmatched = px_outer_batch_nrows(state->batch);
	if (state->batch_rows_max < PG_UINT64_MAX / FEW_ROWS_FACTOR)
		state->batch_rows_max *= FEW_ROWS_FACTOR;
}

/* Tell the inner side's scans whether keys of another batch follow. */
static bool
note_batches(PlanState *node, void *arg)
{
	const px_lookup_state *state = arg;
	px_receive_state *receive = px_receive_from_node(node);

	if (receive)
	{
		receive->rescan_follows = !state->outer_done;
		return false;
	}
	return planstate_tree_walker(node, note_batches, arg);
}

/* Have the inner side return the rows with the keys of the batch. */
static void
start_inner(px_lookup_state *state)
{
	ExprContext *econtext = state->css.ss.ps.ps_ExprContext;

	for (int i = 0; i < state->nkeys; i++)
	{
		int			paramid = state->first_param + i;
		ParamExecData *param = &econtext->ecxt_param_exec_vals[paramid];

		param->execPlan = NULL;
		param->value = px_outer_batch_key_array(state->batch, i);
		param->isnull = false;
		state->inner->chgParam =
			bms_add_member(state->inner->chgParam, paramid);
		state->nkeys_sent += px_outer_batch_nkeys(state->batch, i);
	}
	(void) note_batches(state->inner, state);
	ExecReScan(state->inner);
	state->nbatches++;
}

/* Inner rows are all read, or no longer needed. */
static void
end_probe(px_lookup_state *state)
{
	state->row = NULL;
	state->phase = LOOKUP_LOAD;
	if (wants_unmatched(state))
	{
		put_inner_nulls(state);
		state->row = px_outer_batch_first(state->batch);
		state->phase = LOOKUP_UNMATCHED;
	}
}

/* Read and join the next batch of outer rows.  False at the end. */
static bool
next_batch(px_lookup_state *state)
{
	if (state->outer_done)
		return false;
	load_batch(state);
	if (!state->outer_done && !state->keeps_results)
		state->keeps_results = must_see_same(state);
	state->row = NULL;
	if (px_outer_batch_nkeys(state->batch, 0) > 0)
	{
		start_inner(state);
		state->phase = LOOKUP_PROBE;
	}
	else
		end_probe(state);
	return true;
}

/*
 * Put the next outer row that may match an inner row into the scan tuple,
 * beside that.  NULL if no inner row is left.
 */
static px_outer_row *
next_candidate(px_lookup_state *state)
{
	px_outer_row *row = state->row;

	while (row == NULL)
	{
		TupleTableSlot *slot = ExecProcNode(state->inner);
		uint32		hash;

		CHECK_FOR_INTERRUPTS();
		if (TupIsNull(slot))
			return NULL;
		ResetExprContext(state->css.ss.ps.ps_ExprContext);
		put_columns(state, slot, state->nouter);
		if (compute_hash(state, state->inner_keys, state->inner_hash, &hash))
			row = px_outer_batch_find(state->batch, hash);
	}
	put_row(state, row);
	state->row = px_outer_row_next_equal(row);
	return row;
}

/* Does the outer row in the scan tuple match the inner row there? */
static bool
is_match(px_lookup_state *state)
{
	ExprContext *econtext = scan_tuple_context(state);

	if (!ExecQual(state->cond, econtext))
		return false;
	if (ExecQual(state->filter, econtext))
		return true;
	state->nfiltered++;
	return false;
}

/*
 * Put the next result of the join into the scan tuple, before the node's qual.
 * False at the end.
 */
static bool
next_joined(px_lookup_state *state)
{
	/* Of an outer row only the first match counts? */
	bool		first_only = state->jointype == JOIN_SEMI ||
		state->jointype == JOIN_ANTI;

	for (;;)
	{
		px_outer_row *row = NULL;

		CHECK_FOR_INTERRUPTS();
		ResetExprContext(state->css.ss.ps.ps_ExprContext);
		switch (state->phase)
		{
			case LOOKUP_LOAD:
				if (!next_batch(state))
					state->phase = LOOKUP_DONE;
				break;

			case LOOKUP_PROBE:
				if (!first_only || state->nunmatched > 0)
					row = next_candidate(state);
				if (row == NULL)
					end_probe(state);
				else if (is_match(state))
				{
					state->nunmatched -= row->matched ? 0 : 1;
					row->matched = true;
					if (first_only)
						px_outer_batch_hide(state->batch, row);
					if (state->jointype != JOIN_ANTI)
						return true;
				}
				break;

			case LOOKUP_UNMATCHED:
				row = state->row;
				if (row == NULL)
				{
					state->phase = LOOKUP_LOAD;
					break;
				}
				state->row = row->next;
				if (!row->matched)
				{
					put_row(state, row);
					return true;
				}
				break;

			case LOOKUP_DONE:
				return false;
		}
	}
}

/* ---------------------------------------------------------------------
 * The node
 * --------------------------------------------------------------------- */

static TupleTableSlot *
next_result(px_lookup_state *state)
{
	CustomScanState *css = &state->css;

	while (next_joined(state))
	{
		if (ExecQual(css->ss.ps.qual, scan_tuple_context(state)))
			return ExecProject(css->ss.ps.ps_ProjInfo);
		InstrCountFiltered1(css, 1);
	}
	return ExecClearTuple(css->ss.ps.ps_ResultTupleSlot);
}

/* Keep a result, and all that follow. */
static void
keep_results(px_lookup_state *state, TupleTableSlot *slot)
{
	EState	   *estate = state->css.ss.ps.state;
	MemoryContext oldcontext = MemoryContextSwitchTo(estate->es_query_cxt);

	if (state->kept_slot == NULL)
		state->kept_slot = ExecInitExtraTupleSlot(
			estate, slot->tts_tupleDescriptor, &TTSOpsMinimalTuple);
	state->results = tuplestore_begin_heap(false, false, work_mem);
	while (!TupIsNull(slot))
	{
		tuplestore_puttupleslot(state->results, slot);
		slot = next_result(state);
	}
	MemoryContextSwitchTo(oldcontext);
}

/* The next kept result, in the node's own slot. */
static TupleTableSlot *
next_kept(px_lookup_state *state)
{
	TupleTableSlot *slot = state->css.ss.ps.ps_ResultTupleSlot;
	TupleTableSlot *kept = state->kept_slot;
	int			natts = kept->tts_tupleDescriptor->natts;

	ExecClearTuple(slot);
	if (!tuplestore_gettupleslot(state->results, true, false, kept))
		return slot;
	slot_getallattrs(kept);
	memcpy(slot->tts_values, kept->tts_values, natts * sizeof(Datum));
	memcpy(slot->tts_isnull, kept->tts_isnull, natts * sizeof(bool));
	return ExecStoreVirtualTuple(slot);
}

static TupleTableSlot *
exec_lookup(CustomScanState *css)
{
	px_lookup_state *state = (px_lookup_state *) css;

	if (state->results == NULL)
	{
		TupleTableSlot *slot = next_result(state);

		if (!state->keeps_results)
			return slot;
		keep_results(state, slot);
	}
	return next_kept(state);
}

static void
rescan_lookup(CustomScanState *css)
{
	px_lookup_state *state = (px_lookup_state *) css;
	Bitmapset  *changed = css->ss.ps.chgParam;

	if (changed)
	{
		UpdateChangedParamSet(state->outer, changed);
		UpdateChangedParamSet(state->inner, changed);
	}

	/* The inner side is rescanned for each batch. */
	if (state->outer->chgParam == NULL)
		ExecReScan(state->outer);
	ExecScanReScan(&css->ss);
	forget_results(state);
	start_scan(state);
}

static void
end_lookup(CustomScanState *css)
{
	px_lookup_state *state = (px_lookup_state *) css;

	forget_results(state);
	ExecEndNode(state->outer);
	ExecEndNode(state->inner);
}

/* ---------------------------------------------------------------------
 * EXPLAIN
 * --------------------------------------------------------------------- */

static const char *
jointype_name(JoinType jointype)
{
	switch (jointype)
	{
		case JOIN_LEFT:
			return "Left";
		case JOIN_SEMI:
			return "Semi";
		case JOIN_ANTI:
			return "Anti";
		default:
			return "Inner";
	}
}

static void
explain_exprs(const char *label, List *exprs, CustomScanState *css,
			  List *ancestors, ExplainState *es)
{
	List	   *context;
	bool		useprefix = list_length(es->rtable) > 1 || es->verbose;

	if (exprs == NIL)
		return;
	context = set_deparse_context_plan(es->deparse_cxt, css->ss.ps.plan,
									   ancestors);
	ExplainPropertyText(label,
						deparse_expression((Node *) make_ands_explicit(exprs),
										   context, useprefix, false),
						es);
}

static void
explain_counters(const px_lookup_state *state, ExplainState *es)
{
	double		nloops = state->css.ss.ps.instrument ?
		state->css.ss.ps.instrument->nloops : 0;

	if (state->nfiltered > 0 && nloops > 0)
		ExplainPropertyFloat("Rows Removed by Join Filter", NULL,
							 state->nfiltered / nloops, 0, es);
	if (es->format == EXPLAIN_FORMAT_TEXT)
	{
		appendStringInfoSpaces(es->str, es->indent * 2);
		appendStringInfo(es->str,
						 "Batches: " UINT64_FORMAT "  Keys: " UINT64_FORMAT
						 "\n",
						 state->nbatches, state->nkeys_sent);
	}
	else
	{
		ExplainPropertyUInteger("Batches", NULL, state->nbatches, es);
		ExplainPropertyUInteger("Keys", NULL, state->nkeys_sent, es);
	}
}

static void
explain_lookup(CustomScanState *css, List *ancestors, ExplainState *es)
{
	px_lookup_state *state = (px_lookup_state *) css;
	const CustomScan *scan = (const CustomScan *) css->ss.ps.plan;

	ExplainPropertyText("Join Type", jointype_name(state->jointype), es);
	explain_exprs("Lookup Cond", exprs_at(scan, PX_LOOKUP_EXPRS_COND), css,
				  ancestors, es);
	explain_exprs("Join Filter", exprs_at(scan, PX_LOOKUP_EXPRS_FILTER), css,
				  ancestors, es);
	if (es->analyze)
		explain_counters(state, es);
}
