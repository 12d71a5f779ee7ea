/*-------------------------------------------------------------------------
 *
 * gather_start.c
 *		Which children of an ExchangeGather begin, and when.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"

#include "compat_executor.h"
#include "exec/ask_session.h"
#include "exec/merge.h"
#include "exec/plan_walk.h"
#include "exec/scan_filter.h"
#include "exec/siblings_ask.h"
#include "exec/start.h"
#include "guc.h"
#include "node/broadcast.h"
#include "node/gather_child.h"
#include "node/gather_parallel.h"
#include "node/gather_start.h"
#include "node/receive.h"

/* How long an Append's children are waited for in order; see gather.c. */
#define FIRST_IN_ORDER_MS		300

/* Is the session going to read it, as soon as its rows are wanted? */
static bool
waits_for_session(const px_receive_state *receive)
{
	return receive->phase == PX_RECEIVE_NEW && receive->session_next != NULL;
}

bool
px_gather_holds_up_later(const px_gather_child *child)
{
	const px_receive_state *receive = child->receive;

	return receive && !child->done && !receive->asked.harmless &&
		(waits_for_session(receive) || px_receive_uses_session(receive));
}

void
px_gather_begin_ahead(px_gather_state *state)
{
	int			i = -1;

	while ((i = bms_next_member(state->valid, i)) >= 0)
	{
		px_gather_child *child = &state->children[i];
		px_receive_state *receive = child->receive;

		if (receive == NULL || child->done)
			continue;
		if (state->merge && receive->asked.deferred)
			(void) px_siblings_ask_deferred(state->siblings);
		if (state->merge ? px_start_ahead(receive) :
			px_siblings_begin(state->siblings, i))
			child->done = px_scan_filter_excludes(receive);
		if (!state->any_order && px_gather_holds_up_later(child))
			break;
		if (state->any_order && waits_for_session(receive))
			(void) px_start_begin(receive, true);
	}
	state->reading_known = false;
}

void
px_gather_pass_on(px_gather_state *state, int i)
{
	int			limit = state->nchildren;
	int			waiting = -1;

	if (!px_siblings_has_spare(state->siblings, i))
		return;
	while (!state->any_order &&
		   (waiting = bms_next_member(state->valid, waiting)) >= 0)
	{
		if (px_gather_holds_up_later(&state->children[waiting]))
			limit = Min(limit, waiting);
	}
	state->children[i].passed_on =
		px_siblings_pass_on(state->siblings, i, limit);
	state->reading_known = false;
}

static bool start_ahead(px_gather_state *state);

/* Parameters may not be known yet, nor the keys of a hash join. */
static bool
awaits_values(const px_receive_state *receive)
{
	return receive->param_exprs != NIL || px_scan_filter_is_awaited(receive);
}

/*
 * Begin the streams of a subtree that is not going to be run at once.  True if
 * a lock has to be waited for when it is: then nothing after it may begin.
 */
static bool
begin_nested(PlanState *node, void *context)
{
	px_receive_state *receive = px_receive_from_node(node);

	/* Streams below a core Gather are its participants' to claim. */
	if (IsA(node, GatherState) || IsA(node, GatherMergeState))
		return false;

	/* Below a filter that is evaluated once, rows may not be wanted. */
	if (IsA(node, ResultState) && ((ResultState *) node)->resconstantqual)
		return false;

	if (px_plan_is_gather(node->plan))
		return start_ahead((px_gather_state *) node);

	/* Its sources and fragments begin when the servers have been asked. */
	if (IsA(node->plan, CustomScan) &&
		((const CustomScan *) node->plan)->methods ==
		&px_hash_partition_scan_methods)
		return false;
	if (receive == NULL)
		return planstate_tree_walker(node, begin_nested, context);

	if (!awaits_values(receive))
		(void) px_start_ahead(receive);
	return false;
}

long
px_gather_keep_awake(const px_gather_state *state)
{
	long		timeout_ms = -1;
	int			i = -1;

	if (!px_ask_has_idle_timeouts())
		return timeout_ms;
	while ((i = bms_next_member(state->unpruned, i)) >= 0)
	{
		px_receive_state *receive = state->children[i].receive;

		if (receive && receive->phase == PX_RECEIVE_FRAMES &&
			receive->asked.idle_ms > 0)
			timeout_ms = px_earlier_ms(timeout_ms,
									   px_ask_keep_awake(receive));
	}
	return timeout_ms;
}

/* What the children with a LIMIT are expected to return, at most. */
static double
expected_limited_nbytes(const px_gather_state *state)
{
	double		nbytes = 0;
	int			i = -1;

	while ((i = bms_next_member(state->valid, i)) >= 0)
	{
		const px_receive_state *receive = state->children[i].receive;

		if (receive && receive->limited)
			nbytes += px_plan_nbytes(&receive->foreign->scan.plan);
	}
	return nbytes;
}

/*
 * Begin all children of a merge, although there are fewer connections than
 * children.  A child whose remote query has a LIMIT is read to its end when
 * its first rows have come: then another one gets its connection.  Otherwise
 * postgres_fdw's session would have to read those that cannot begin, one after
 * the other, and a merge wants rows of all of them.
 *
 * Children that have no LIMIT keep their connections.  So do all if too much is
 * expected.
 */
static void
read_limited(px_gather_state *state)
{
	if (expected_limited_nbytes(state) > px_receive_buffer)
		return;
	for (;;)
	{
		bool		unbegun = false;
		bool		freed = false;
		int			nwaiting = 0;
		int			i = -1;

		while ((i = bms_next_member(state->valid, i)) >= 0)
		{
			px_receive_state *receive = state->children[i].receive;

			if (receive && !px_start_ahead(receive))
			{
				if (waits_for_session(receive))
					break;		/* see px_gather_holds_up_later */
				unbegun = true;
			}
		}
		if (!unbegun)
			return;

		i = -1;
		while ((i = bms_next_member(state->valid, i)) >= 0)
		{
			px_receive_state *receive = state->children[i].receive;

			if (receive == NULL || !receive->limited ||
				px_receive_waiting(receive, state->waiting + nwaiting) == 0)
				continue;
			if (px_receive_advance(receive, false))
			{
				px_receive_spool(receive);
				freed = true;
			}
			else
				nwaiting += px_receive_waiting(receive,
											   state->waiting + nwaiting);
		}
		if (freed)
			continue;
		if (nwaiting == 0)
			return;				/* others have the connections */
		(void) px_stream_wait_any(state->waiting, nwaiting,
								  px_gather_keep_awake(state),
								  &state->receive_wait);
	}
}

/* In order, only streams have the servers work at the same time. */
static void
work_at_once(px_gather_state *state)
{
	for (int i = 0; i < state->nchildren; i++)
	{
		px_receive_state *receive = state->children[i].receive;

		if (receive)
			receive->smallness &= ~PX_IS_SMALL_IF_NEAR;
	}
}

/*
 * Choose the children to be read next: all that are left; or, if not all rows
 * are wanted, those that are expected to have what is missing.  If the children
 * before had more or fewer rows than was expected, so much more or fewer are
 * expected of these.
 *
 * postgres_fdw reads one after the other: it has no locks, and no snapshot, at
 * servers that it does not come to.
 */
static void
take_next(px_gather_state *state)
{
	MemoryContext oldcontext =
		MemoryContextSwitchTo(state->css.ss.ps.state->es_query_cxt);
	double		missing = state->wanted_rows - state->returned_rows;
	double		ratio = state->expected_rows > 0 ?
		state->returned_rows / state->expected_rows : 1;
	bool		all = state->wanted_rows == 0 || ratio <= 0;
	int			i;

	/* More are wanted than was expected: as many again, at a guess. */
	if (missing <= 0)
		missing = state->returned_rows;

	bms_free(state->valid);
	state->valid = NULL;
	while ((all || missing > 0) &&
		   (i = bms_next_member(state->later, -1)) >= 0)
	{
		double		rows = state->children[i].node->plan->plan_rows;

		state->later = bms_del_member(state->later, i);
		state->valid = bms_add_member(state->valid, i);
		state->expected_rows += rows;
		missing -= rows * ratio;
	}
	MemoryContextSwitchTo(oldcontext);
}

/*
 * Is postgres_fdw going to read the child, without a question before?  Then its
 * locks are waited for when its first row is wanted.
 */
static bool
locks_unasked(const px_gather_child *child)
{
	return child->receive ? px_start_is_unasked(child->receive) :
		IsA(child->node, ForeignScanState);
}

/*
 * Begin all children that can begin before their rows are wanted.  If waits is
 * true, the first one's rows are, and its locks are waited for.
 */
static void
begin_children(px_gather_state *state, bool waits)
{
	int			limit;
	int			i = -1;

	state->awaited = NULL;
	px_siblings_ask(state->siblings, waits);
	limit = px_siblings_first_to_wait(state->siblings);
	while ((i = bms_next_member(state->valid, i)) >= 0 && i < limit)
	{
		px_gather_child *child = &state->children[i];

		/*
		 * After a rescan, nodes below learn of it only when they are run.
		 * EvalPlanQual may have no use for them.
		 */
		if (child->receive == NULL && !child->rescanned && !child->done &&
			state->css.ss.ps.state->es_epq_active == NULL &&
			begin_nested(child->node, NULL))
			break;
	}
	px_gather_begin_ahead(state);
	if (state->merge)
		read_limited(state);
}

void
px_gather_note_row(px_gather_state *state, int i)
{
	if (&state->children[i] == state->awaited)
		begin_children(state, true);
}

/*
 * Whoever locks all partitions in their order has the first one before others.
 * We have to wait for him there, and without locks of others: see
 * px_siblings_ask.  In a merge, all children are going to be read anyway.
 */
static void
begin_in_order(px_gather_state *state, bool waits)
{
	int			first = bms_next_member(state->valid, -1);

	if (first >= 0 && !state->any_order &&
		bms_num_members(state->valid) > 1 &&
		locks_unasked(&state->children[first]))
	{
		if (state->merge == NULL)
		{
			state->awaited = &state->children[first];
			return;
		}
		px_merge_read_first(state->merge, first);
	}
	begin_children(state, waits);
}

/* Begin to read the children that come next. */
static bool
start_next(px_gather_state *state, bool waits)
{
	int			i = -1;

	state->patience_ms = FIRST_IN_ORDER_MS;
	state->local_turns = 0;
	state->current = -1;
	if (state->nparticipants > 1)
		return px_gather_start_share(state);
	if (state->started && bms_is_empty(state->later))
		return false;

	take_next(state);
	while ((i = bms_next_member(state->valid, i)) >= 0)
		state->children[i].rescanned =
			px_gather_rescan_child(&state->children[i]);
	px_siblings_reset(state->siblings, state->valid, state->any_order);
	begin_in_order(state, waits);
	return true;
}

bool
px_gather_start_later(px_gather_state *state)
{
	return start_next(state, true);
}

/* How many take part, and what that changes. */
static void
start_participation(px_gather_state *state)
{
	state->nparticipants = 1;
	if (!state->css.ss.ps.plan->parallel_aware)
		return;
	state->nparticipants = px_gather_participants(state);
	if (state->nparticipants > 1)
	{
		state->order = PX_GATHER_ANY;
		px_gather_meet(state);
	}

	/* Each stream that one has claimed must begin at once. */
	for (int i = 0; i < state->nchildren; i++)
	{
		if (state->children[i].receive)
			state->children[i].receive->passes_on = state->nparticipants == 1;
	}
}

static void
start(px_gather_state *state, bool waits)
{
	const CustomScan *scan = (const CustomScan *) state->css.ss.ps.plan;
	MemoryContext oldcontext =
		MemoryContextSwitchTo(state->css.ss.ps.state->es_query_cxt);

	if (state->prune_state && state->unpruned == NULL)
		state->unpruned = px_prune(state->prune_state);
	bms_free(state->later);
	state->later = bms_copy(state->unpruned);
	MemoryContextSwitchTo(oldcontext);

	state->order = intVal(list_nth(scan->custom_private,
								   PX_GATHER_PRIVATE_ORDER));
	if (!state->any_order)
		work_at_once(state);
	start_participation(state);
	state->awaited = NULL;
	state->expected_rows = 0;
	state->returned_rows = 0;
	(void) start_next(state, waits);
	state->started = true;
}

void
px_gather_start(px_gather_state *state)
{
	start(state, true);
}

/*
 * Start a gather before it is run, without waiting for a lock; see
 * begin_nested.  If few rows are wanted, or if it is not known yet which
 * children are read, it is started when it is run.
 */
static bool
start_ahead(px_gather_state *state)
{
	const PlanState *node = &state->css.ss.ps;

	if (state->started || state->wanted_rows > 0 || state->merge ||
		node->plan->parallel_aware || node->chgParam != NULL ||
		(state->prune_state && state->unpruned == NULL))
		return false;
	for (int i = 0; i < state->nchildren; i++)
	{
		const px_receive_state *receive = state->children[i].receive;

		if (receive && awaits_values(receive))
			return false;
	}
	start(state, false);
	return state->awaited != NULL ||
		px_siblings_first_to_wait(state->siblings) < state->nchildren;
}
