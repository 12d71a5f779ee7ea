/*-------------------------------------------------------------------------
 *
 * broadcast.c
 *		ExchangeBroadcast: a join on the shards, to which its sides are sent.
 *
 * When the first row is wanted, the sides are begun without whose rows the
 * join has none.  If none of these is empty, the servers of the fragments are
 * asked whether they can take frames.  Then the sides are read to their end,
 * and become frames.  Only then are the fragments begun, all at the same time:
 * each gets the sides as parameters of its query.  So nothing of a server's
 * session outlives the query, and no stage waits for a later one.
 *
 * If a server cannot take frames, or the sides are too large, nothing was sent
 * yet.  The local plan runs instead, which reads the same tables again.  So it
 * does if a fragment exceeds what its server allows, and no row was returned
 * yet.  Therefore rows that are all wanted are held back until all fragments
 * have ended, as far as there is memory for them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "utils/memutils.h"

#include "compat.h"
#include "exec/broadcast_ask.h"
#include "exec/start.h"
#include "exec/run.h"
#include "library.h"
#include "node/broadcast.h"
#include "node/broadcast_explain.h"
#include "node/broadcast_state.h"
#include "node/broadcast_stats.h"
#include "node/hash_partition.h"
#include "node/receive.h"

static Node *create_state(CustomScan *scan);
static void begin_broadcast(CustomScanState *css, EState *estate, int eflags);
static TupleTableSlot *exec_broadcast(CustomScanState *css);
static void end_broadcast(CustomScanState *css);
static void rescan_broadcast(CustomScanState *css);

const CustomScanMethods px_broadcast_scan_methods = {
	.CustomName = PX_BROADCAST_NAME,
	.CreateCustomScanState = create_state,
};

const CustomScanMethods px_hash_partition_scan_methods = {
	.CustomName = PX_HASH_PARTITION_NAME,
	.CreateCustomScanState = create_state,
};

static const CustomExecMethods broadcast_exec_methods = {
	.CustomName = PX_BROADCAST_NAME,
	.BeginCustomScan = begin_broadcast,
	.ExecCustomScan = exec_broadcast,
	.EndCustomScan = end_broadcast,
	.ReScanCustomScan = rescan_broadcast,
	.ExplainCustomScan = px_broadcast_explain,
};

void
px_broadcast_init(void)
{
	RegisterCustomScanMethods(&px_broadcast_scan_methods);
	RegisterCustomScanMethods(&px_hash_partition_scan_methods);
}

static Node *
create_state(CustomScan *scan)
{
	px_broadcast_state *state = palloc0(sizeof(px_broadcast_state));

	px_library_check();
	NodeSetTag(state, T_CustomScanState);
	state->css.methods = &broadcast_exec_methods;
	return (Node *) state;
}

/* ---------------------------------------------------------------------
 * Begin and end
 * --------------------------------------------------------------------- */

/*
 * The children that EXPLAIN shows, and that others find: as long as it is not
 * known that the local plan runs, it is not one of them.
 */
static void
show_children(px_broadcast_state *state)
{
	EState	   *estate = state->css.ss.ps.state;
	MemoryContext oldcontext = MemoryContextSwitchTo(estate->es_query_cxt);
	List	   *children = NIL;

	if (state->phase == PX_BROADCAST_LOCAL)
		children = list_make1(state->local);
	else
	{
		children = list_make1(state->fragments);
		for (int i = 0; i < state->nsides; i++)
			children = lappend(children, state->side_plans[i]);
		for (int i = 0; i < state->nsources; i++)
			children = lappend(children, state->source_plans[i]);
	}
	state->css.custom_ps = children;
	MemoryContextSwitchTo(oldcontext);
}

static void
begin_broadcast(CustomScanState *css, EState *estate, int eflags)
{
	px_broadcast_state *state = (px_broadcast_state *) css;
	const CustomScan *scan = (const CustomScan *) css->ss.ps.plan;
	List	   *plans = scan->custom_plans;
	ListCell   *lc;

	/* Rescans read all sides anew, and nobody reads backward. */
	eflags &= ~(EXEC_FLAG_REWIND | EXEC_FLAG_BACKWARD | EXEC_FLAG_MARK);
	state->fragments = ExecInitNode(
		list_nth(plans, PX_BROADCAST_PLAN_FRAGMENTS), estate, eflags);
	state->local = ExecInitNode(list_nth(plans, PX_BROADCAST_PLAN_LOCAL),
								estate, eflags);
	state->inboxes = list_nth(scan->custom_private,
							  PX_BROADCAST_PRIVATE_INBOXES);
	state->nsources = list_length(state->inboxes);
	state->nsides = list_length(plans) - PX_BROADCAST_PLAN_SIDES -
		state->nsources;
	state->side_plans = palloc(state->nsides * sizeof(PlanState *));
	for (int i = 0; i < state->nsides; i++)
		state->side_plans[i] = ExecInitNode(
			list_nth(plans, PX_BROADCAST_PLAN_SIDES + i), estate, eflags);
	state->source_plans = palloc(state->nsources * sizeof(PlanState *));
	for (int i = 0; i < state->nsources; i++)
		state->source_plans[i] = ExecInitNode(
			list_nth(plans, PX_BROADCAST_PLAN_SIDES + state->nsides + i),
			estate, eflags);
	foreach(lc, (List *) list_nth(scan->custom_private,
								  PX_BROADCAST_PRIVATE_KEYS))
		state->keys = lappend(state->keys, strVal(lfirst(lc)));
	state->decisive = list_nth(scan->custom_private,
							   PX_BROADCAST_PRIVATE_DECISIVE);
	state->all_rows = intVal(list_nth(scan->custom_private,
									  PX_BROADCAST_PRIVATE_ALL_ROWS)) != 0;
	state->joined = intVal(list_nth(scan->custom_private,
									PX_BROADCAST_PRIVATE_JOINED)) != 0;
	state->nfrequent = intVal(list_nth(scan->custom_private,
									   PX_BROADCAST_PRIVATE_FREQUENT));
	state->first_rows = palloc0(state->nsides * sizeof(TupleTableSlot *));
	state->held_slot = ExecInitExtraTupleSlot(
		estate, css->ss.ss_ScanTupleSlot->tts_tupleDescriptor,
		&TTSOpsMinimalTuple);
	show_children(state);
}

static void
free_sides(px_broadcast_state *state)
{
	for (int i = 0; state->sides && i < state->nsides; i++)
	{
		if (state->sides[i])
			px_broadcast_side_free(state->sides[i]);
	}
	if (state->sides)
		pfree(state->sides);
	state->sides = NULL;
}

/* Free what was held back of the fragments' rows. */
static void
free_held(px_broadcast_state *state)
{
	ExecClearTuple(state->held_slot);
	if (state->held)
		tuplestore_end(state->held);
	state->held = NULL;
}

static void
end_broadcast(CustomScanState *css)
{
	px_broadcast_state *state = (px_broadcast_state *) css;

	free_held(state);
	ExecEndNode(state->fragments);
	ExecEndNode(state->local);
	for (int i = 0; i < state->nsides; i++)
		ExecEndNode(state->side_plans[i]);
	for (int i = 0; i < state->nsources; i++)
		ExecEndNode(state->source_plans[i]);
	free_sides(state);
}

static void
rescan_broadcast(CustomScanState *css)
{
	px_broadcast_state *state = (px_broadcast_state *) css;
	Bitmapset  *changed = css->ss.ps.chgParam;

	if (changed)
	{
		UpdateChangedParamSet(state->fragments, changed);
		UpdateChangedParamSet(state->local, changed);
		for (int i = 0; i < state->nsides; i++)
			UpdateChangedParamSet(state->side_plans[i], changed);
		for (int i = 0; i < state->nsources; i++)
			UpdateChangedParamSet(state->source_plans[i], changed);
	}
	ExecScanReScan(&css->ss);
	if (state->phase == PX_BROADCAST_LOCAL)
	{
		if (state->local->chgParam == NULL)
			ExecReScan(state->local);
		return;
	}
	for (int i = 0; state->sides_read && i < state->nsides; i++)
	{
		if (state->side_plans[i]->chgParam == NULL)
			ExecReScan(state->side_plans[i]);
	}
	free_held(state);
	memset(state->first_rows, 0, state->nsides * sizeof(TupleTableSlot *));
	state->sides_read = false;
	state->phase = PX_BROADCAST_NEW;
}

/* ---------------------------------------------------------------------
 * Sending the sides
 * --------------------------------------------------------------------- */

typedef struct receive_list
{
	List	   *receives;
} receive_list;

static bool
collect_receive(PlanState *node, void *context)
{
	receive_list *list = context;
	px_receive_state *receive = px_receive_from_node(node);

	if (receive == NULL)
		return planstate_tree_walker(node, collect_receive, context);
	list->receives = lappend(list->receives, receive);
	return false;
}

static void
find_receives(px_broadcast_state *state)
{
	receive_list list = {NIL};
	ListCell   *lc;

	if (state->receives)
		return;
	(void) collect_receive(state->fragments, &list);
	state->receives = palloc(list_length(list.receives) *
							 sizeof(px_receive_state *));
	state->modes = palloc0(list_length(list.receives) * sizeof(px_mode));
	state->sent_nbytes = palloc0(list_length(list.receives) * sizeof(uint64));
	state->sent_rows = palloc0(list_length(list.receives) * sizeof(uint64));
	state->fragment_times = palloc0(list_length(list.receives) *
									sizeof(instr_time));
	foreach(lc, list.receives)
		state->receives[state->nreceives++] = lfirst(lc);
	if (state->nsources > 0)
		px_hash_partition_begin(state);
	for (int i = 0; i < state->nreceives; i++)
		state->receives[i]->attempt = &state->attempt;
	state->progress = px_send_progress_new(state->receives, state->nreceives);
}

/*
 * Is one of the sides empty without whose rows the join has none?  Then the
 * big table is not looked at, as a hash join would not look at it.  The first
 * rows of others are kept in their slots.
 */
static bool
has_empty_side(px_broadcast_state *state)
{
	const ListCell *lc;

	foreach(lc, state->decisive)
	{
		int			i = lfirst_int(lc);

		state->sides_read = true;
		state->first_rows[i] = ExecProcNode(state->side_plans[i]);
		if (TupIsNull(state->first_rows[i]))
			return true;
	}
	return false;
}

/* Read a side.  NULL, or why the fragments cannot have it. */
static const char *
read_side(px_broadcast_state *state, int i, size_t nbytes_before,
		  size_t raw_nbytes_before)
{
	px_broadcast_side *side = state->sides[i];
	ExprContext *econtext = state->css.ss.ps.ps_ExprContext;
	size_t		nbytes_max =
		Min(PX_BROADCAST_NBYTES_MAX,
			PX_BROADCAST_ALL_NBYTES_MAX / Max(state->nreceives, 1));
	size_t		shown_nbytes = px_broadcast_side_nbytes(side);

	for (;;)
	{
		TupleTableSlot *slot = state->first_rows[i];
		MemoryContext oldcontext;

		CHECK_FOR_INTERRUPTS();
		if (slot == NULL)
			slot = ExecProcNode(state->side_plans[i]);
		state->first_rows[i] = NULL;
		if (TupIsNull(slot))
			break;
		oldcontext = MemoryContextSwitchTo(econtext->ecxt_per_tuple_memory);
		px_broadcast_side_add(side, slot);
		MemoryContextSwitchTo(oldcontext);
		ResetExprContext(econtext);
		if (nbytes_before + px_broadcast_side_nbytes(side) > nbytes_max ||
			raw_nbytes_before + px_broadcast_side_raw_nbytes(side) >
			PX_BROADCAST_RAW_NBYTES_MAX)
			return "small side is too large";
		if (px_broadcast_side_nbytes(side) != shown_nbytes)
			px_broadcast_show_progress(state);
		shown_nbytes = px_broadcast_side_nbytes(side);
	}
	px_broadcast_side_finish(side);
	return NULL;
}

/* Read all sides.  NULL, or why the fragments cannot have them. */
static const char *
read_sides(px_broadcast_state *state, const px_broadcast_peers *peers)
{
	uint32		modes = 0;
	size_t		nbytes = 0;
	size_t		raw_nbytes = 0;
	const char *reason = NULL;

	for (int i = 0; i < state->nreceives; i++)
	{
		state->modes[i] = px_broadcast_mode(state->receives[i]);
		modes |= UINT32_C(1) << state->modes[i];
	}
	state->sides = palloc0(state->nsides * sizeof(px_broadcast_side *));
	state->sides_read = true;
	for (int i = 0; i < state->nsides && reason == NULL; i++)
	{
		state->sides[i] = px_broadcast_side_new(
			ExecGetResultType(state->side_plans[i]), peers, modes);
		reason = read_side(state, i, nbytes, raw_nbytes);
		nbytes += px_broadcast_side_nbytes(state->sides[i]);
		raw_nbytes += px_broadcast_side_raw_nbytes(state->sides[i]);
	}
	return reason;
}

/*
 * Give a fragment its pieces: they are the last parameters of its query.
 * Returns their bytes.
 */
static uint64
set_params(px_broadcast_state *state, int i)
{
	ExprContext *econtext = state->css.ss.ps.ps_ExprContext;
	px_receive_state *receive = state->receives[i];
	List	   *exprs = receive->foreign->fdw_exprs;
	int			first = list_length(exprs) - state->nsides;
	uint64		nbytes = 0;

	for (int j = 0; j < state->nsides; j++)
	{
		int			paramid = list_nth_node(Param, exprs, first + j)->paramid;
		ParamExecData *param = &econtext->ecxt_param_exec_vals[paramid];
		text	   *piece = px_broadcast_side_piece(state->sides[j],
													state->modes[i]);

		param->execPlan = NULL;
		param->value = PointerGetDatum(piece);
		param->isnull = false;
		state->fragments->chgParam =
			bms_add_member(state->fragments->chgParam, paramid);
		nbytes += VARSIZE(piece) - VARHDRSZ;
	}
	state->sent_nbytes[i] += nbytes;
	return nbytes;
}

/* Give all fragments their pieces, and count that. */
static void
send_sides(px_broadcast_state *state)
{
	uint64	   *nbytes = palloc(state->nreceives * sizeof(uint64));
	uint64		nrows = 0;

	for (int i = 0; i < state->nsides; i++)
		nrows += px_broadcast_side_rows(state->sides[i]);
	for (int i = 0; i < state->nreceives; i++)
	{
		nbytes[i] = set_params(state, i);
		state->sent_rows[i] += nrows;
	}
	if (state->nsides > 0)
		px_broadcast_count(state, nrows, nbytes);
	pfree(nbytes);
}

/* Begin the fragments; or, if they cannot run, nothing. */
static const char *
start_fragments(px_broadcast_state *state)
{
	px_broadcast_peers peers;
	const char *reason;

	reason = state->nsources > 0 ? px_hash_partition_ask(state, &peers) :
		px_broadcast_ask(state->receives, state->nreceives, false, &peers);
	px_broadcast_end_stage(state, PX_BROADCAST_STAGE_ASK);
	if (reason == NULL)
	{
		px_broadcast_begin_progress(state);
		reason = read_sides(state, &peers);
		px_send_progress_end(state->progress);
		px_broadcast_end_stage(state, PX_BROADCAST_STAGE_SIDES);
	}
	if (reason)
		return reason;
	send_sides(state);
	if (state->nsources > 0)
		reason = px_hash_partition_move(state);
	else
		ExecReScan(state->fragments);
	if (reason)
		return reason;
	state->awaits_row = true;
	state->attempt.open = true;
	state->ended = false;

	/* It never goes to a file: see hold_rows. */
	state->held = tuplestore_begin_heap(false, false, MAX_KILOBYTES);
	return NULL;
}

/*
 * The children are not going to be read any more, and not shown to the executor
 * either, which would do this at the end: release their parallel workers.
 */
static void
shut_down_children(px_broadcast_state *state)
{
	ListCell   *lc;

	foreach(lc, state->css.custom_ps)
		(void) ExecShutdownNode(lfirst(lc));
}

/* The local plan runs instead of fragments, from now on and for good. */
static void
start_local(px_broadcast_state *state, const char *reason)
{
	EState	   *estate = state->css.ss.ps.state;
	MemoryContext oldcontext = MemoryContextSwitchTo(estate->es_query_cxt);

	free_sides(state);
	ereport(DEBUG1,
			(errmsg_internal("join is not sent to servers: %s", reason)));
	state->phase = PX_BROADCAST_LOCAL;
	state->local_reason = pstrdup(reason);
	px_broadcast_count(state, 0, NULL);
	shut_down_children(state);
	show_children(state);
	MemoryContextSwitchTo(oldcontext);
}

static void
start(px_broadcast_state *state)
{
	EState	   *estate = state->css.ss.ps.state;
	MemoryContext oldcontext = MemoryContextSwitchTo(estate->es_query_cxt);
	const char *reason = NULL;

	free_sides(state);
	find_receives(state);
	state->attempt = (px_receive_attempt) {0};
	px_broadcast_begin_stages(state);
	if (!px_enabled)
		reason = "pg_exchange.enabled is off";
	else if (state->joined && !px_run_is_complete(estate))
	{
		/* A server would compute rows that may not be wanted. */
		reason = "rows are fetched in portions";
	}
	else if (has_empty_side(state))
		state->phase = PX_BROADCAST_EMPTY;
	else
	{
		px_broadcast_end_stage(state, PX_BROADCAST_STAGE_SIDES);
		reason = start_fragments(state);
		state->phase = PX_BROADCAST_FRAGMENTS;
	}
	MemoryContextSwitchTo(oldcontext);
	if (reason)
		start_local(state, reason);
}

/* ---------------------------------------------------------------------
 * The node
 * --------------------------------------------------------------------- */

/*
 * Get the first row of the fragments; or, if all are wanted, as many as there
 * is memory for.  NULL, or why the fragments cannot run.
 */
static const char *
hold_rows(px_broadcast_state *state)
{
	Size		nbytes = 0;

	do
	{
		TupleTableSlot *slot = ExecProcNode(state->fragments);

		CHECK_FOR_INTERRUPTS();
		if (state->attempt.given_up)
			return state->attempt.given_up;
		if (state->awaits_row)
			px_broadcast_end_stage(state, PX_BROADCAST_STAGE_FRAGMENTS);
		state->awaits_row = false;
		state->ended = TupIsNull(slot);
		if (!state->ended)
		{
			bool		should_free;
			MinimalTuple tuple = ExecFetchSlotMinimalTuple(slot, &should_free);

			nbytes += tuple->t_len + sizeof(MinimalTuple);
			tuplestore_puttupleslot(state->held, slot);
			if (should_free)
				heap_free_minimal_tuple(tuple);
		}
	} while (state->all_rows && !state->ended &&
			 nbytes < (Size) work_mem * 1024);
	state->attempt.open = false;
	return NULL;
}

/* A fragment exceeds what its server allows: leave all of them. */
static void
leave_fragments(px_broadcast_state *state)
{
	state->attempt.open = false;
	free_held(state);
	for (int i = 0; i < state->nreceives; i++)
	{
		if (state->receives[i]->phase != PX_RECEIVE_CHILD)
			px_start_rescan(state->receives[i]);
	}
}

/* The next row of the fragments, or of the local plan in their place. */
static TupleTableSlot *
next_row(px_broadcast_state *state)
{
	if (state->phase == PX_BROADCAST_FRAGMENTS && state->attempt.open)
	{
		const char *reason = hold_rows(state);

		if (reason)
		{
			leave_fragments(state);
			start_local(state, reason);
		}
	}
	if (state->phase == PX_BROADCAST_LOCAL)
		return ExecProcNode(state->local);
	if (state->phase == PX_BROADCAST_EMPTY)
		return NULL;
	if (tuplestore_gettupleslot(state->held, true, false, state->held_slot))
		return state->held_slot;
	return state->ended ? NULL : ExecProcNode(state->fragments);
}

/* ExecScan's access method: the children return scan tuples. */
static TupleTableSlot *
broadcast_next(ScanState *node)
{
	px_broadcast_state *state = (px_broadcast_state *) node;
	TupleTableSlot *slot = ExecClearTuple(node->ss_ScanTupleSlot);
	TupleTableSlot *child;
	int			natts = slot->tts_tupleDescriptor->natts;

	if (state->phase == PX_BROADCAST_NEW)
		start(state);
	child = next_row(state);
	if (TupIsNull(child))
	{
		if (state->phase == PX_BROADCAST_FRAGMENTS)
			px_broadcast_end_fragments(state);
		return slot;
	}
	slot_getallattrs(child);
	memcpy(slot->tts_values, child->tts_values, natts * sizeof(Datum));
	memcpy(slot->tts_isnull, child->tts_isnull, natts * sizeof(bool));
	return ExecStoreVirtualTuple(slot);
}

/* No rows are locked above the node. */
static bool
broadcast_recheck(ScanState *node, TupleTableSlot *slot)
{
	return true;
}

static TupleTableSlot *
exec_broadcast(CustomScanState *css)
{
	return ExecScan(&css->ss, broadcast_next, broadcast_recheck);
}
