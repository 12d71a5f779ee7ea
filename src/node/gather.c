/*-------------------------------------------------------------------------
 *
 * gather.c
 *		ExchangeGather: several streams at once, in place of an Append.
 *
 * When its first row is wanted, the node begins the streams of all its
 * children, as far as there are connections for them.  Then, in place of an
 * Append, it returns rows of whichever child has some, a batch at a time:
 *
 * - a stream, as soon as a frame of it is there;
 * - meanwhile a child without a stream: a local table, a join over streams, a
 *   scan that is left to postgres_fdw;
 * - if there is neither, it waits on the sockets of all streams.
 *
 * Or else in the order of the children, if the planner may count on that.
 *
 * In place of a MergeAppend, it merges the children's rows by a binary heap;
 * while it waits for one stream, the others fill their sockets.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/execPartition.h"
#include "executor/executor.h"
#include "lib/binaryheap.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "utils/ruleutils.h"
#include "utils/sortsupport.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "exec/receive_state.h"
#include "exec/start.h"
#include "node/gather.h"
#include "node/receive.h"

/* Rows of a child without a stream between two looks at the sockets. */
#define LOCAL_ROWS	100

/*
 * An Append returns its children's rows one child after the other, and
 * queries that do not say what they want have come to like that.  So do we
 * for small results: as long as no other stream is held up, which can store as
 * much (less, if compressed) in its socket, or is made to wait for a child that
 * is slow.
 */
#define FIRST_IN_ORDER_NBYTES	(256 * 1024)
#define FIRST_IN_ORDER_TURNS	100 /* of LOCAL_ROWS rows */
#define FIRST_IN_ORDER_MS		300

typedef struct gather_child
{
	PlanState  *node;
	px_receive_state *receive;	/* if its rows come right from there, else NULL */
	bool		done;
	TupleTableSlot *slot;		/* when merging: its next row */
} gather_child;

typedef struct px_gather_state
{
	CustomScanState css;		/* must be first */

	/* Fixed at begin. */
	const Plan *append;			/* what we stand for */
	int			nchildren;
	gather_child *children;
	PartitionPruneState *prune_state;	/* NULL without run-time pruning */
	int			npruned;		/* removed before execution began */

	/* Of the current scan. */
	bool		started;
	bool		any_order;		/* whatever child comes first is fine */
	px_gather_order order;		/* as long as that holds up nobody */
	long		patience_ms;	/* to wait for a child out of mere order */
	int			local_turns;	/* of children without a stream */
	Bitmapset  *valid;			/* children that were not pruned away */
	int			current;		/* whose turn it is; -1 before the first */
	int			local_rows;		/* it returned since we looked at the sockets */
	instr_time	receive_wait;	/* when no child was ready; over all scans */
	px_stream **waiting;		/* room for all streams of the children */

	/* Merging, else NULL. */
	binaryheap *heap;
	SortSupport sort_keys;
	int			nsort_keys;
} px_gather_state;

static Node *create_state(CustomScan *scan);
static void begin_gather(CustomScanState *css, EState *estate, int eflags);
static TupleTableSlot *exec_gather(CustomScanState *css);
static void end_gather(CustomScanState *css);
static void rescan_gather(CustomScanState *css);
static void explain_gather(CustomScanState *css, List *ancestors, ExplainState *es);

const CustomScanMethods px_gather_scan_methods = {
	.CustomName = PX_GATHER_NAME,
	.CreateCustomScanState = create_state,
};

static const CustomExecMethods gather_exec_methods = {
	.CustomName = PX_GATHER_NAME,
	.BeginCustomScan = begin_gather,
	.ExecCustomScan = exec_gather,
	.EndCustomScan = end_gather,
	.ReScanCustomScan = rescan_gather,
	.ExplainCustomScan = explain_gather,
};

void
px_gather_init(void)
{
	RegisterCustomScanMethods(&px_gather_scan_methods);
}

static Node *
create_state(CustomScan *scan)
{
	px_gather_state *state = palloc0(sizeof(px_gather_state));

	NodeSetTag(state, T_CustomScanState);
	state->css.methods = &gather_exec_methods;
	return (Node *) state;
}

/*
 * If each row of the node comes right from an ExchangeReceive, projected and
 * filtered maybe, return that.  Not through a filter that is evaluated once: it
 * may end the scan before that begins.
 */
static px_receive_state *
find_receive(PlanState *node)
{
	for (;;)
	{
		px_receive_state *receive = px_receive_from_node(node);

		if (receive)
			return receive;
		if (IsA(node, ResultState) && outerPlanState(node) &&
			((ResultState *) node)->resconstantqual == NULL)
			node = outerPlanState(node);
		else if (IsA(node, SubqueryScanState))
			node = ((SubqueryScanState *) node)->subplan;
		else
			return NULL;
	}
}

static int
compare_slots(Datum a, Datum b, void *arg)
{
	px_gather_state *state = arg;
	TupleTableSlot *x = state->children[DatumGetInt32(a)].slot;
	TupleTableSlot *y = state->children[DatumGetInt32(b)].slot;

	for (int i = 0; i < state->nsort_keys; i++)
	{
		SortSupport key = &state->sort_keys[i];
		bool		xnull;
		bool		ynull;
		Datum		xvalue = slot_getattr(x, key->ssup_attno, &xnull);
		Datum		yvalue = slot_getattr(y, key->ssup_attno, &ynull);
		int			order = ApplySortComparator(xvalue, xnull, yvalue, ynull, key);

		if (order != 0)
			return order < 0 ? 1 : -1;	/* the heap has the greatest on top */
	}
	return 0;
}

static void
begin_merge(px_gather_state *state, const MergeAppend *merge)
{
	state->heap = binaryheap_allocate(Max(state->nchildren, 1), compare_slots, state);
	state->nsort_keys = merge->numCols;
	state->sort_keys = palloc0(merge->numCols * sizeof(SortSupportData));
	for (int i = 0; i < merge->numCols; i++)
	{
		SortSupport key = &state->sort_keys[i];

		key->ssup_cxt = CurrentMemoryContext;
		key->ssup_collation = merge->collations[i];
		key->ssup_nulls_first = merge->nullsFirst[i];
		key->ssup_attno = merge->sortColIdx[i];
		PrepareSortSupportFromOrderingOp(merge->sortOperators[i], key);
	}
}

static void
begin_gather(CustomScanState *css, EState *estate, int eflags)
{
	px_gather_state *state = (px_gather_state *) css;
	CustomScan *scan = (CustomScan *) css->ss.ps.plan;
	int			nplans = list_length(scan->custom_plans);
	Bitmapset  *valid = NULL;
	int			nstreams = 0;
	int			i = -1;

	/* Rows are the children's, in whatever slots they have. */
	css->ss.ps.resultopsset = true;
	css->ss.ps.resultopsfixed = false;

	state->append = linitial(scan->custom_private);
	state->prune_state = px_begin_pruning(&css->ss.ps, nplans, state->append, &valid);
	state->children = palloc0(nplans * sizeof(gather_child));
	while ((i = bms_next_member(valid, i)) >= 0)
	{
		gather_child *child = &state->children[state->nchildren++];

		child->node = ExecInitNode(list_nth(scan->custom_plans, i), estate, eflags);
		css->custom_ps = lappend(css->custom_ps, child->node);
		child->receive = find_receive(child->node);
		if (child->receive)
			nstreams += child->receive->nslices_max;
	}
	state->waiting = palloc(nstreams * sizeof(px_stream *));
	state->npruned = nplans - state->nchildren;

	/* What remains is numbered anew; all of it is valid unless pruned later. */
	if (state->prune_state == NULL && state->nchildren > 0)
		state->valid = bms_add_range(NULL, 0, state->nchildren - 1);

	if (IsA(state->append, MergeAppend))
		begin_merge(state, (const MergeAppend *) state->append);
	else
	{
		for (i = 0; i < state->nchildren; i++)
		{
			if (state->children[i].receive)
				state->children[i].receive->yields = true;
		}
	}
}

/* ---------------------------------------------------------------------
 * Starting
 * --------------------------------------------------------------------- */

/* Begin a stream if there can be one, and a connection for it. */
static bool
begin_receive(px_receive_state *receive)
{
	/* What it was told about parameters, it must know before it begins. */
	if (receive->css.ss.ps.chgParam != NULL)
		ExecReScan(&receive->css.ss.ps);
	return receive->phase != PX_RECEIVE_NEW ||
		(receive->session_next == NULL && px_receive_begin(receive, false));
}

/*
 * Begin what can be begun before its rows are wanted.  A child that postgres_fdw's
 * session reads is one that may have effects, for all that is known, and those
 * after it must see them: so nobody overtakes it, unless the order of execution
 * is open.
 */
static void
begin_ahead(px_gather_state *state)
{
	int			i = -1;

	while ((i = bms_next_member(state->valid, i)) >= 0)
	{
		gather_child *child = &state->children[i];
		px_receive_state *receive = child->receive;

		if (receive == NULL || child->done || begin_receive(receive) ||
			receive->session_next == NULL)
			continue;
		if (!state->any_order)
			break;
		(void) px_receive_begin(receive, true);
	}
}

/* Begin the streams of a subtree that is not going to be run at once. */
static bool
begin_nested(PlanState *node, void *context)
{
	px_receive_state *receive = px_receive_from_node(node);

	/* Streams below a core Gather are its participants' to claim. */
	if (IsA(node, GatherState) || IsA(node, GatherMergeState))
		return false;

	/* What is behind a filter that is evaluated once may not be wanted. */
	if (IsA(node, ResultState) && ((ResultState *) node)->resconstantqual)
		return false;
	if (receive == NULL)
		return planstate_tree_walker(node, begin_nested, context);

	/* Parameters may not be known yet. */
	if (receive->param_exprs == NIL)
		(void) begin_receive(receive);
	return false;
}

static void
start_gather(px_gather_state *state)
{
	int			i = -1;

	if (state->prune_state && state->valid == NULL)
	{
		MemoryContext oldcontext = MemoryContextSwitchTo(state->css.ss.ps.state->es_query_cxt);

		state->valid = px_prune(state->prune_state);
		MemoryContextSwitchTo(oldcontext);
	}

	while ((i = bms_next_member(state->valid, i)) >= 0)
	{
		gather_child *child = &state->children[i];
		bool		rescanned = child->node->chgParam != NULL;

		if (rescanned)
			ExecReScan(child->node);
		if (child->receive == NULL && !rescanned)	/* else the news may be on its way down */
			(void) begin_nested(child->node, NULL);
	}
	state->order = intVal(lsecond(((CustomScan *) state->css.ss.ps.plan)->custom_private));
	state->any_order = state->order == PX_GATHER_ANY;
	begin_ahead(state);
	state->patience_ms = FIRST_IN_ORDER_MS;
	state->local_turns = 0;
	state->current = -1;
	state->started = true;
}

/* ---------------------------------------------------------------------
 * Whichever is ready
 * --------------------------------------------------------------------- */

static bool
is_local(const gather_child *child)
{
	return child->receive == NULL || px_receive_uses_session(child->receive);
}

static int
next_valid(const px_gather_state *state, int i)
{
	i = bms_next_member(state->valid, i);
	return i >= 0 ? i : bms_next_member(state->valid, -1);
}

/*
 * A child without a stream, by preference one after the current child: so all
 * servers are asked in turn.  At first one that reads here, as Append does:
 * what was asked of servers is on its way.  -1 if there is none.
 */
static int
find_local(px_gather_state *state)
{
	int			n = bms_num_members(state->valid);

	if (state->current < 0)
	{
		int			i = -1;

		while ((i = bms_next_member(state->valid, i)) >= 0)
		{
			if (state->children[i].receive == NULL && !state->children[i].done)
				return i;
		}
	}
	for (int i = next_valid(state, state->current); n > 0; n--, i = next_valid(state, i))
	{
		if (is_local(&state->children[i]) && !state->children[i].done)
			return i;
	}
	return -1;
}

/*
 * A child that can return a row now: by preference a stream after the current
 * child, else one without a stream; -1 if there is none.
 */
static int
find_ready(px_gather_state *state)
{
	int			n = bms_num_members(state->valid);

	for (int i = next_valid(state, state->current); n > 0; n--, i = next_valid(state, i))
	{
		gather_child *child = &state->children[i];

		if (!child->done && !is_local(child) &&
			px_receive_advance(child->receive, false) && !is_local(child))
			return i;
	}
	return find_local(state);
}

/* The lesser of two time-outs; -1 is for ever. */
static long
earlier(long a, long b)
{
	return a < 0 || (b >= 0 && b < a) ? b : a;
}

/*
 * Nothing can be had at once.  Begin streams that had no connection before; if
 * there is nothing else left, by postgres_fdw's session.  Else wait until one
 * is heard of.  False if all children are done.
 */
static bool
wait_for_streams(px_gather_state *state)
{
	gather_child *unbegun = NULL;
	int			nwaiting = 0;
	long		timeout_ms = -1;
	int			i = -1;

	while ((i = bms_next_member(state->valid, i)) >= 0)
	{
		gather_child *child = &state->children[i];
		int			n;

		if (child->done)
			continue;
		if (!begin_receive(child->receive))
		{
			unbegun = unbegun ? unbegun : child;
			if (child->receive->session_next && !state->any_order)
				break;			/* see begin_ahead */
			continue;
		}
		n = px_receive_waiting(child->receive, state->waiting + nwaiting);
		if (n == 0)
			return true;		/* fell back, or was set aside: look again */
		nwaiting += n;
		timeout_ms = earlier(timeout_ms, px_start_keep_session_awake(child->receive));
	}

	if (nwaiting > 0)
		px_stream_wait_any(state->waiting, nwaiting, timeout_ms, &state->receive_wait);
	else if (unbegun)
		(void) px_receive_advance(unbegun->receive, true);
	return nwaiting > 0 || unbegun;
}

/* Is it still the current child's turn? */
static bool
has_more(px_gather_state *state, const gather_child *child)
{
	if (child->done)
		return false;
	if (is_local(child))
		return state->local_rows++ < LOCAL_ROWS;
	return px_receive_has_rows(child->receive);
}

/*
 * The first child that is not done, ready to be run; -1 if all are done, or if
 * its turn must not be waited for.
 */
static int
choose_first(px_gather_state *state)
{
	int			i = -1;

	while ((i = bms_next_member(state->valid, i)) >= 0)
	{
		gather_child *child = &state->children[i];
		px_receive_state *receive = child->receive;

		if (child->done)
			continue;
		while (!is_local(child) && !px_receive_advance(receive, false))
		{
			int			nwaiting = px_receive_waiting(receive, state->waiting);
			TimestampTz began;

			if (state->order == PX_GATHER_IN_ORDER || nwaiting == 0)
			{
				(void) px_receive_advance(receive, true);
				break;
			}
			if (state->patience_ms <= 0)
				return -1;
			began = GetCurrentTimestamp();
			px_stream_wait_any(state->waiting, nwaiting,
							   earlier(state->patience_ms, px_start_keep_session_awake(receive)),
							   &state->receive_wait);
			state->patience_ms -= TimestampDifferenceMilliseconds(began, GetCurrentTimestamp());
		}
		if (state->order == PX_GATHER_FIRST_IN_ORDER &&
			(is_local(child) ? state->local_turns++ >= FIRST_IN_ORDER_TURNS :
			 receive->stats.raw_nbytes > FIRST_IN_ORDER_NBYTES))
			return -1;
		return i;
	}
	return -1;
}

/* Any child that can return a row without waiting; -1 if all are done. */
static int
choose_any(px_gather_state *state)
{
	/* Before anything was heard of the streams, it is no use to look. */
	int			ready = state->current < 0 ? find_local(state) : -1;

	while (ready < 0)
	{
		ready = find_ready(state);
		if (ready < 0 && !wait_for_streams(state))
			break;
	}
	return ready;
}

/*
 * Whose turn is it?  -1 when all are done.  The current child goes on while
 * its batch lasts, or, without a stream, for a number of rows.
 */
static int
choose_child(px_gather_state *state)
{
	int			chosen = -1;

	if (state->current >= 0 && has_more(state, &state->children[state->current]))
		return state->current;

	if (state->order != PX_GATHER_ANY)
	{
		chosen = choose_first(state);

		/* Others must not wait for it any longer. */
		if (chosen < 0 && state->order == PX_GATHER_FIRST_IN_ORDER)
			state->order = PX_GATHER_ANY;
	}
	if (state->order == PX_GATHER_ANY)
		chosen = choose_any(state);
	state->current = chosen;
	state->local_rows = 0;
	return chosen;
}

static TupleTableSlot *
next_ready_row(px_gather_state *state)
{
	for (;;)
	{
		int			i = choose_child(state);
		gather_child *child;
		TupleTableSlot *slot;

		CHECK_FOR_INTERRUPTS();
		if (i < 0)
			return NULL;
		child = &state->children[i];
		slot = ExecProcNode(child->node);
		if (!TupIsNull(slot))
			return slot;

		/* The end, unless a filter let no row of the batch through. */
		child->done = child->receive == NULL || px_receive_is_done(child->receive);
		if (child->done)
			begin_ahead(state);
	}
}

/* ---------------------------------------------------------------------
 * In order
 * --------------------------------------------------------------------- */

static TupleTableSlot *
next_row_in_order(px_gather_state *state)
{
	CHECK_FOR_INTERRUPTS();
	if (state->current < 0)
	{
		int			i = -1;

		/* The first row of each. */
		while ((i = bms_next_member(state->valid, i)) >= 0)
		{
			state->children[i].slot = ExecProcNode(state->children[i].node);
			if (!TupIsNull(state->children[i].slot))
				binaryheap_add_unordered(state->heap, Int32GetDatum(i));
		}
		binaryheap_build(state->heap);
		state->current = 0;
	}
	else if (!binaryheap_empty(state->heap))
	{
		/* The next one of the child that the last row came from. */
		int			i = DatumGetInt32(binaryheap_first(state->heap));

		state->children[i].slot = ExecProcNode(state->children[i].node);
		if (TupIsNull(state->children[i].slot))
			(void) binaryheap_remove_first(state->heap);
		else
			binaryheap_replace_first(state->heap, Int32GetDatum(i));
	}

	if (binaryheap_empty(state->heap))
		return NULL;
	return state->children[DatumGetInt32(binaryheap_first(state->heap))].slot;
}

/* ---------------------------------------------------------------------
 * The node
 * --------------------------------------------------------------------- */

static TupleTableSlot *
exec_gather(CustomScanState *css)
{
	px_gather_state *state = (px_gather_state *) css;
	TupleTableSlot *slot;

	if (!state->started)
		start_gather(state);
	slot = state->heap ? next_row_in_order(state) : next_ready_row(state);
	return slot ? slot : ExecClearTuple(css->ss.ps.ps_ResultTupleSlot);
}

static void
rescan_gather(CustomScanState *css)
{
	px_gather_state *state = (px_gather_state *) css;
	Bitmapset  *changed = css->ss.ps.chgParam;

	if (state->prune_state && bms_overlap(changed, state->prune_state->execparamids))
	{
		bms_free(state->valid);
		state->valid = NULL;
	}

	for (int i = 0; i < state->nchildren; i++)
	{
		gather_child *child = &state->children[i];

		if (changed)
			UpdateChangedParamSet(child->node, changed);

		/* If its parameters have changed, it is rescanned when it is run. */
		if (child->node->chgParam == NULL)
			ExecReScan(child->node);
		child->done = false;
		child->slot = NULL;
	}
	if (state->heap)
		binaryheap_reset(state->heap);
	state->started = false;
}

static void
end_gather(CustomScanState *css)
{
	px_gather_state *state = (px_gather_state *) css;

	for (int i = 0; i < state->nchildren; i++)
		ExecEndNode(state->children[i].node);
}

/* ---------------------------------------------------------------------
 * EXPLAIN
 * --------------------------------------------------------------------- */

/* The columns that rows are merged by. */
static void
explain_sort_key(px_gather_state *state, List *ancestors, ExplainState *es)
{
	const MergeAppend *merge = (const MergeAppend *) state->append;
	Plan	   *plan = state->css.ss.ps.plan;
	List	   *context = set_deparse_context_plan(es->deparse_cxt, plan, ancestors);
	bool		useprefix = list_length(es->rtable) > 1 || es->verbose;
	List	   *keys = NIL;

	for (int i = 0; i < merge->numCols; i++)
	{
		TargetEntry *target = list_nth_node(TargetEntry, plan->targetlist,
											merge->sortColIdx[i] - 1);

		keys = lappend(keys, deparse_expression((Node *) target->expr, context,
												useprefix, true));
	}
	ExplainPropertyList("Sort Key", keys, es);
}

/* Name the modes of all streams below. */
static bool
collect_mode(PlanState *node, void *context)
{
	px_receive_state *receive = px_receive_from_node(node);

	if (receive)
	{
		*(uint32 *) context |= 1u << receive->mode;
		return false;
	}
	return planstate_tree_walker(node, collect_mode, context);
}

static void
explain_gather(CustomScanState *css, List *ancestors, ExplainState *es)
{
	px_gather_state *state = (px_gather_state *) css;
	StringInfoData modes;
	uint32		seen = 0;

	for (int i = 0; i < state->nchildren; i++)
		(void) collect_mode(state->children[i].node, &seen);
	initStringInfo(&modes);
	for (int mode = PX_MODE_NONE; mode <= PX_MODE_AUTO; mode++)
	{
		if (seen & (1u << mode))
			appendStringInfo(&modes, "%s%s", modes.len > 0 ? ", " : "", px_mode_name(mode));
	}

	ExplainPropertyText("Exchange Type", state->heap ? "Merge" : "Gather", es);
	if (modes.len > 0)
		ExplainPropertyText("Compression", modes.data, es);
	if (state->heap)
		explain_sort_key(state, ancestors, es);
	if (es->analyze && es->timing && state->started && state->heap == NULL)
	{
		double		wait_ms = INSTR_TIME_GET_MILLISEC(state->receive_wait);

		if (es->format == EXPLAIN_FORMAT_TEXT)
			ExplainPropertyText("Time", psprintf("receive wait %.1f ms", wait_ms), es);
		else
			ExplainPropertyFloat("Receive Wait Time (ms)", NULL, wait_ms, 3, es);
	}
	if (state->npruned > 0 || (state->prune_state && es->format != EXPLAIN_FORMAT_TEXT))
		ExplainPropertyInteger("Subplans Removed", NULL, state->npruned, es);
}
