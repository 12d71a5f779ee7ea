/*-------------------------------------------------------------------------
 *
 * gather.c
 *		ExchangeGather: several streams at once, in place of an Append.
 *
 * When its first row is wanted, the node begins the streams of its children, as
 * far as there are connections for them: of all, or of those that are expected
 * to have the rows that are wanted (gather_start.c).
 *
 * In place of an Append, it then returns rows of whichever child has some, a
 * batch at a time:
 *
 * - a stream, as soon as a frame of it is there;
 * - meanwhile a child without a stream: a local table, a join over streams, a
 *   scan that is left to postgres_fdw;
 * - if there is neither, it waits on the sockets of all streams.
 *
 * If the planner may rely on the order of the children, it reads one after
 * the other instead.
 *
 * In place of a MergeAppend, it merges the children's rows (exec/merge.c).
 *
 * Below a core Gather, each participant does all that for its share of the
 * children (gather_parallel.c).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/execPartition.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "compat_executor.h"
#include "exec/merge.h"
#include "exec/plan_walk.h"
#include "exec/siblings.h"
#include "exec/siblings_ask.h"
#include "library.h"
#include "node/gather.h"
#include "node/gather_child.h"
#include "node/gather_explain.h"
#include "node/gather_parallel.h"
#include "node/gather_start.h"
#include "node/gather_state.h"
#include "node/receive.h"

/* Rows of a child without a stream between two looks at the sockets. */
#define LOCAL_ROWS	100

/*
 * An Append returns its children's rows one child after the other, and users
 * rely on that even where a query has no ORDER BY.  So the children are read
 * in order at first, until that would hold up another child's stream: because
 * the current child has sent more than another stream can store in its socket
 * meanwhile, or because it is slow (FIRST_IN_ORDER_MS in gather_start.c).
 */
#define FIRST_IN_ORDER_NBYTES	(256 * 1024)
#define FIRST_IN_ORDER_TURNS	100 /* of LOCAL_ROWS rows */

static Node *create_state(CustomScan *scan);
static void begin_gather(CustomScanState *css, EState *estate, int eflags);
static TupleTableSlot *exec_gather(CustomScanState *css);
static void end_gather(CustomScanState *css);
static void rescan_gather(CustomScanState *css);

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
	.EstimateDSMCustomScan = px_gather_estimate_dsm,
	.InitializeDSMCustomScan = px_gather_initialize_dsm,
	.ExplainCustomScan = px_gather_explain,
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

	px_library_check();
	NodeSetTag(state, T_CustomScanState);
	state->css.methods = &gather_exec_methods;
	return (Node *) state;
}

static void
begin_siblings(px_gather_state *state)
{
	px_receive_state **scans =
		palloc(Max(state->nchildren, 1) * sizeof(px_receive_state *));

	for (int i = 0; i < state->nchildren; i++)
	{
		scans[i] = state->children[i].receive;
		if (scans[i])
			scans[i]->yields = state->merge == NULL;
	}
	state->siblings = px_siblings_new(state->nchildren, scans,
									  state->merge != NULL);
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

	state->append =
		list_nth(scan->custom_private, PX_GATHER_PRIVATE_APPEND);
	state->any_order = intVal(list_nth(scan->custom_private,
									   PX_GATHER_PRIVATE_ORDER)) ==
		PX_GATHER_ANY;
	state->prune_state =
		px_begin_pruning(&css->ss.ps, nplans, state->append, &valid);
	state->children = palloc0(nplans * sizeof(px_gather_child));
	while ((i = bms_next_member(valid, i)) >= 0)
	{
		px_gather_child *child = &state->children[state->nchildren++];

		child->node =
			ExecInitNode(list_nth(scan->custom_plans, i), estate, eflags);
		css->custom_ps = lappend(css->custom_ps, child->node);

		/* EvalPlanQual runs them in turn, as it does children of an Append. */
		child->receive = estate->es_epq_active ? NULL :
			px_gather_find_receive(child->node);
		if (child->receive)
			nstreams += child->receive->nslices_max;
	}
	state->waiting = palloc(nstreams * sizeof(px_stream *));
	state->reading = palloc(Max(state->nchildren, 1) * sizeof(int));
	state->npruned = nplans - state->nchildren;

	/*
	 * What remains is numbered anew; all of it is valid unless pruned later.
	 */
	if (state->prune_state == NULL && state->nchildren > 0)
		state->unpruned = bms_add_range(NULL, 0, state->nchildren - 1);

	if (IsA(state->append, MergeAppend))
		state->merge =
			px_merge_new((const MergeAppend *) state->append, css->custom_ps);
	else if (!state->any_order)
	{
		/* In any order, postgres_fdw begins to read all at once, too. */
		state->wanted_rows =
			strtod(strVal(list_nth(scan->custom_private,
								   PX_GATHER_PRIVATE_WANTED)), NULL);
	}
	begin_siblings(state);
}

/* ---------------------------------------------------------------------
 * Whichever is ready
 * --------------------------------------------------------------------- */

/* Read on, without waiting: px_receive_advance. */
static bool
advance_child(px_gather_state *state, int i)
{
	bool		has_row = px_receive_advance(state->children[i].receive, false);

	px_gather_pass_on(state, i);
	return has_row;
}

static bool
is_local(const px_gather_child *child)
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
 * Does postgres_fdw's session read another child?  It reads one after the
 * other: until its rows are wanted, a partition may be locked, or not be there.
 */
static bool
waits_for_other(const px_gather_state *state, int i)
{
	int			other = px_siblings_in_session(state->siblings, i);

	return other >= 0 && other != i && !state->children[other].done &&
		is_local(&state->children[other]);
}

/*
 * A child without a stream, if possible one after the current child, so that
 * all of them get their turn.  At first one that is local, as Append does: it
 * can run while streams begin.  -1 if there is none.
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
	for (int i = next_valid(state, state->current); n > 0;
		 n--, i = next_valid(state, i))
	{
		if (is_local(&state->children[i]) && !state->children[i].done &&
			!waits_for_other(state, i))
			return i;
	}
	return -1;
}

/*
 * Find the children whose streams were begun: of a thousand, most have not
 * begun, or are done.
 */
static void
find_reading(px_gather_state *state)
{
	int			i = -1;

	state->nreading = 0;
	while ((i = bms_next_member(state->valid, i)) >= 0)
	{
		const px_gather_child *child = &state->children[i];

		if (!child->done && !is_local(child) &&
			child->receive->phase != PX_RECEIVE_NEW)
			state->reading[state->nreading++] = i;
	}
	state->reading_known = true;
}

/*
 * A child that can return a row now: if possible a stream after the current
 * child, else a child without a stream; -1 if there is none.
 */
static int
find_ready(px_gather_state *state)
{
	int			first = 0;

	if (!state->reading_known)
		find_reading(state);
	while (first < state->nreading && state->reading[first] <= state->current)
		first++;
	for (int k = 0; k < state->nreading; k++)
	{
		int			i = state->reading[(first + k) % state->nreading];
		px_gather_child *child = &state->children[i];

		if (!child->done && !is_local(child) &&
			advance_child(state, i) && !is_local(child))
			return i;
	}
	return find_local(state);
}

/* It is the child's turn, whatever it has to wait for. */
static void
begin_and_wait(px_gather_state *state, px_receive_state *receive)
{
	if (receive->asked.deferred &&
		px_siblings_ask_deferred(state->siblings))
		px_gather_begin_ahead(state);
	(void) px_receive_advance(receive, true);
}

/*
 * No child has a row now.  Begin streams that had no connection before, and
 * wait until one of all streams has something.  If there is no stream, let
 * postgres_fdw's session read a child.  False if all children are done.
 */
static bool
wait_for_streams(px_gather_state *state)
{
	px_gather_child *unbegun = NULL;
	int			nwaiting = 0;
	int			i = -1;

	while ((i = bms_next_member(state->valid, i)) >= 0)
	{
		px_gather_child *child = &state->children[i];
		int			n;

		if (child->done)
			continue;
		if (!px_siblings_begin(state->siblings, i))
		{
			unbegun = unbegun ? unbegun : child;
			if (!state->any_order && px_gather_holds_up_later(child))
				break;
			continue;
		}
		n = px_receive_waiting(child->receive, state->waiting + nwaiting);
		if (n == 0)
		{
			state->reading_known = false;
			return true;		/* it fell back, or was spooled */
		}
		nwaiting += n;
	}
	state->reading_known = false;

	if (nwaiting > 0)
	{
		long		timeout_ms =
			px_earlier_ms(px_siblings_patience_ms(state->siblings),
						  px_gather_keep_awake(state));

		if (!px_stream_wait_any(state->waiting, nwaiting, timeout_ms,
								&state->receive_wait) &&
			px_siblings_hurry(state->siblings))
			px_gather_begin_ahead(state);
	}
	else if (unbegun)
		begin_and_wait(state, unbegun->receive);
	return nwaiting > 0 || unbegun;
}

/*
 * Is it still the current child's turn?  While a session fetches, others are
 * run.
 */
static bool
has_more(px_gather_state *state, const px_gather_child *child)
{
	if (child->done)
		return false;
	if (!is_local(child))
		return px_receive_has_rows(child->receive);
	if (state->any_order && child->receive &&
		child->receive->phase == PX_RECEIVE_FRAMES &&
		!px_receive_has_rows(child->receive))
	{
		px_receive_ask_session(child->receive);
		return false;
	}
	return state->local_rows++ < LOCAL_ROWS;
}

/*
 * Wait until the child whose turn it is in order can be run.  False if others
 * must not be held up any longer by it.
 */
static bool
wait_for_turn(px_gather_state *state, int i)
{
	px_gather_child *child = &state->children[i];
	px_receive_state *receive = child->receive;

	while (!is_local(child) && !advance_child(state, i))
	{
		int			nwaiting = px_receive_waiting(receive, state->waiting);
		TimestampTz began;
		long		timeout_ms;

		if (state->order == PX_GATHER_IN_ORDER || nwaiting == 0)
		{
			begin_and_wait(state, receive);
			break;
		}
		if (state->patience_ms <= 0)
			return false;
		began = GetCurrentTimestamp();
		timeout_ms = px_earlier_ms(state->patience_ms,
								   px_gather_keep_awake(state));
		(void) px_stream_wait_any(state->waiting, nwaiting, timeout_ms,
								  &state->receive_wait);
		state->patience_ms -=
			TimestampDifferenceMilliseconds(began, GetCurrentTimestamp());
	}
	return true;
}

/*
 * May the child have another turn in PX_GATHER_FIRST_IN_ORDER, without holding
 * up others?
 */
static bool
may_have_turn(px_gather_state *state, const px_gather_child *child)
{
	if (is_local(child))
		return state->local_turns++ < FIRST_IN_ORDER_TURNS;
	return child->receive->stats.raw_nbytes <= FIRST_IN_ORDER_NBYTES;
}

/*
 * The first child that is not done, ready to be run.  -1 if all are done, or
 * if it would hold up others.
 */
static int
choose_first(px_gather_state *state)
{
	int			i = -1;

	while ((i = bms_next_member(state->valid, i)) >= 0)
	{
		px_gather_child *child = &state->children[i];

		if (child->done)
			continue;
		if (!wait_for_turn(state, i))
			return -1;
		if (state->order == PX_GATHER_FIRST_IN_ORDER &&
			!may_have_turn(state, child))
			return -1;
		return i;
	}
	return -1;
}

/* Any child that can return a row without waiting; -1 if all are done. */
static int
choose_any(px_gather_state *state)
{
	/* The streams have just been begun: nothing of them is there yet. */
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
 * The child whose turn it is; -1 when all are done.  The current child goes on
 * until its batch is used up, or, without a stream, for some rows.
 */
static int
choose_child(px_gather_state *state)
{
	int			chosen = -1;

	if (state->current >= 0 &&
		has_more(state, &state->children[state->current]))
		return state->current;
	(void) px_gather_keep_awake(state);
	if (px_siblings_may_begin_held(state->siblings))
		px_gather_begin_ahead(state);

	if (state->order != PX_GATHER_ANY)
	{
		chosen = choose_first(state);

		/* The first one holds up others. */
		if (chosen < 0 && state->order == PX_GATHER_FIRST_IN_ORDER)
			state->order = PX_GATHER_ANY;
	}
	if (state->order == PX_GATHER_ANY)
		chosen = choose_any(state);
	if (chosen >= 0 && is_local(&state->children[chosen]))
		px_siblings_note_session(state->siblings, chosen);
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
		px_gather_child *child;
		TupleTableSlot *slot;

		CHECK_FOR_INTERRUPTS();
		if (i < 0)
		{
			if (!px_gather_start_later(state))
				return NULL;
			continue;
		}
		child = &state->children[i];
		slot = ExecProcNode(child->node);
		px_gather_note_row(state, i);
		if (!TupIsNull(slot))
		{
			state->returned_rows++;
			return slot;
		}

		/* The end, unless a filter let no row of the batch through. */
		child->done = child->receive == NULL ||
			px_receive_is_done(child->receive);
		px_gather_pass_on(state, i);
		if (child->done && !child->passed_on)
			px_gather_begin_ahead(state);
	}
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
		px_gather_start(state);
	slot = state->merge ? px_merge_next_row(state->merge, state->valid) :
		next_ready_row(state);
	return slot ? slot : ExecClearTuple(css->ss.ps.ps_ResultTupleSlot);
}

static void
rescan_gather(CustomScanState *css)
{
	px_gather_state *state = (px_gather_state *) css;
	Bitmapset  *changed = css->ss.ps.chgParam;

	if (state->prune_state &&
		bms_overlap(changed, state->prune_state->execparamids))
	{
		bms_free(state->unpruned);
		state->unpruned = NULL;
	}

	for (int i = 0; i < state->nchildren; i++)
	{
		px_gather_child *child = &state->children[i];

		if (changed)
			UpdateChangedParamSet(child->node, changed);

		/* If its parameters have changed, it is rescanned when it is run. */
		if (child->node->chgParam == NULL)
			ExecReScan(child->node);
		child->done = child->passed_on = child->given_back = false;
	}
	if (state->merge)
		px_merge_reset(state->merge);
	px_siblings_end(state->siblings);
	state->started = false;
}

static void
end_gather(CustomScanState *css)
{
	px_gather_state *state = (px_gather_state *) css;

	for (int i = 0; i < state->nchildren; i++)
		ExecEndNode(state->children[i].node);
	px_siblings_end(state->siblings);
}
