/*-------------------------------------------------------------------------
 *
 * gather_parallel.c
 *		An ExchangeGather as part of a parallel plan.
 *
 * A participant that has claimed a slice has others wait: the leader, which
 * reads what is given back, and whoever wants to know what the slices of a
 * table are.  So it may not return a row, and wait for somebody to take it,
 * before it knows that it can read all that it has claimed.  That is why it
 * begins its share at once, and then waits for each stream's first frame.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/nodeFuncs.h"

#include "exec/shared.h"
#include "exec/siblings.h"
#include "exec/siblings_ask.h"
#include "exec/start.h"
#include "guc.h"
#include "node/gather_child.h"
#include "node/gather_parallel.h"
#include "node/receive.h"

Size
px_gather_estimate_dsm(CustomScanState *css, ParallelContext *pcxt)
{
	return 0;
}

/*
 * May all servers be asked before workers are launched?  Not if partitions are
 * pruned when the query runs, or if not all rows are wanted, or none maybe.
 */
static bool
wants_all(const px_gather_state *state)
{
	if (state->prune_state || state->wanted_rows > 0)
		return false;
	for (int i = 0; i < state->nchildren; i++)
	{
		const px_receive_state *receive = state->children[i].receive;

		if (receive && receive->missed == PX_MISSED_ALWAYS)
			return false;
	}
	return true;
}

void
px_gather_initialize_dsm(CustomScanState *css, ParallelContext *pcxt,
						 void *coordinate)
{
	px_gather_state *state = (px_gather_state *) css;

	if (!wants_all(state))
		pcxt->nworkers_to_launch = 0;
	if (pcxt->nworkers_to_launch == 0 || !px_enabled)
		return;
	px_siblings_reset(state->siblings, state->unpruned, state->any_order);
	px_siblings_ask(state->siblings, true);
}

/* Find a scan that is shared; all that are have the same participants. */
static bool
find_shared(PlanState *node, void *context)
{
	px_receive_state *receive = px_receive_from_node(node);

	if (receive == NULL)
		return planstate_tree_walker(node, find_shared, context);
	*(int *) context = px_receive_participants(receive);
	return receive->shared != NULL;
}

int
px_gather_participants(px_gather_state *state)
{
	int			n = 1;

	(void) planstate_tree_walker(&state->css.ss.ps, find_shared, &n);
	return n;
}

/*
 * Collect the streams of a subtree that can begin before it is run.  Not those
 * of a hash join that may be over by then: they would be claimed, and not read.
 */
static bool
collect_streams(PlanState *node, void *context)
{
	List	  **streams = context;
	px_receive_state *receive = px_receive_from_node(node);

	if (receive == NULL)
		return planstate_tree_walker(node, collect_streams, context);
	if (receive->param_exprs == NIL && receive->missed == PX_MISSED_NEVER)
		*streams = lappend(*streams, receive);
	return false;
}

void
px_gather_meet(px_gather_state *state)
{
	MemoryContext oldcontext =
		MemoryContextSwitchTo(state->css.ss.ps.state->es_query_cxt);

	for (int i = 0; i < state->nchildren; i++)
	{
		px_gather_child *child = &state->children[i];
		bool		rescanned = px_gather_rescan_child(child);

		/* Before any row is returned: see mark_missed in plan/place.c. */
		if (child->receive)
			px_start_meet(child->receive);

		/*
		 * A subtree would rescan what was begun before it is run, and what
		 * was claimed would be lost.
		 */
		list_free(child->streams);
		child->streams = NIL;
		if (child->receive)
			child->streams = list_make1(child->receive);
		else if (!rescanned)
			(void) collect_streams(child->node, &child->streams);
	}
	MemoryContextSwitchTo(oldcontext);
}

/* Has it a stream that this participant could still claim? */
static bool
is_left(const px_gather_child *child)
{
	ListCell   *lc;

	if (child->given_back)
		return false;
	foreach(lc, child->streams)
	{
		const px_receive_state *receive = lfirst(lc);

		if (px_slices_are_left(receive->slices))
			return true;
	}
	return false;
}

static int
count_left(const px_gather_state *state)
{
	int			n = 0;
	int			i = -1;

	while ((i = bms_next_member(state->later, i)) >= 0)
		n += is_left(&state->children[i]);
	return n;
}

static bool
is_same_server(const px_receive_state *one, const px_receive_state *other)
{
	return one->user->umid == other->user->umid && one->userid == other->userid;
}

/* Of each server, there may be connections for so many of our streams. */
static int
streams_of_server(const px_gather_state *state)
{
	return Max(px_max_connections_per_server / state->nparticipants, 1);
}

/* How many streams of the same server and user does a child begin ahead? */
static int
count_in_child(const px_gather_state *state, const px_gather_child *child,
			   const px_receive_state *receive)
{
	int			n = 0;
	ListCell   *lc;

	foreach(lc, child->streams)
		n += is_same_server(lfirst(lc), receive);
	return Min(n, streams_of_server(state));
}

/*
 * Have the chosen children so many streams of a server already that there are
 * no connections for those of this child?
 */
static bool
exceeds_server(const px_gather_state *state, const px_gather_child *child)
{
	ListCell   *lc;

	foreach(lc, child->streams)
	{
		const px_receive_state *receive = lfirst(lc);
		int			n = 0;
		int			i = -1;

		while ((i = bms_next_member(state->valid, i)) >= 0)
			n += count_in_child(state, &state->children[i], receive);
		if (n > 0 && n + count_in_child(state, child, receive) >
			streams_of_server(state))
			return true;
	}
	return false;
}

/*
 * Choose this participant's share of the children whose streams are left: as
 * many as each of the others has, and of each server no more than there may be
 * connections for it.  They begin at different children.  A child without a
 * stream is run by all participants.
 */
static void
choose_share(px_gather_state *state)
{
	int			n = state->nchildren;
	int			share = (count_left(state) + state->nparticipants - 1) /
		state->nparticipants;
	int			first = (int) ((int64) (ParallelWorkerNumber + 1) * n /
							   state->nparticipants);

	bms_free(state->valid);
	state->valid = NULL;
	for (int k = 0; k < n; k++)
	{
		int			i = (first + k) % n;
		const px_gather_child *child = &state->children[i];

		if (!bms_is_member(i, state->later))
			continue;
		if (child->streams != NIL &&
			(share == 0 || !is_left(child) || exceeds_server(state, child)))
			continue;
		share -= child->streams != NIL;
		state->later = bms_del_member(state->later, i);
		state->valid = bms_add_member(state->valid, i);
	}
}

/* How many streams of the same server are before receive in streams? */
static int
count_before(const List *streams, const px_receive_state *receive)
{
	int			n = 0;
	ListCell   *lc;

	foreach(lc, streams)
	{
		if (lfirst(lc) == receive)
			break;
		n += is_same_server(lfirst(lc), receive);
	}
	return n;
}

/*
 * Begin the streams of a child; false if that cannot be.  A subtree begins the
 * others itself then, when it is run.
 */
static bool
begin_streams(const px_gather_state *state, const px_gather_child *child)
{
	ListCell   *lc;

	foreach(lc, child->streams)
	{
		px_receive_state *receive = lfirst(lc);

		if (count_before(child->streams, receive) >= streams_of_server(state))
			continue;
		if (!px_start_ahead(receive))
		{
			if (child->receive)
				return false;
		}
		else if (receive->nslices_max > 1)
		{
			/* Another one's slices may have to be waited for next. */
			(void) px_receive_advance(receive, true);
		}
	}
	return true;
}

/* Begin the chosen streams.  Those that cannot be begun are given back. */
static void
begin_share(px_gather_state *state)
{
	Bitmapset  *chosen = bms_copy(state->valid);
	int			i = -1;

	while ((i = bms_next_member(chosen, i)) >= 0)
	{
		px_gather_child *child = &state->children[i];

		if (begin_streams(state, child))
			continue;
		child->given_back = true;
		state->valid = bms_del_member(state->valid, i);
		state->later = bms_add_member(state->later, i);
	}
	bms_free(chosen);
}

/* Wait until it is known of each stream that it can be read. */
static void
confirm_share(px_gather_state *state)
{
	int			i = -1;

	while ((i = bms_next_member(state->valid, i)) >= 0)
	{
		const px_gather_child *child = &state->children[i];
		ListCell   *lc;

		foreach(lc, child->streams)
		{
			px_receive_state *receive = lfirst(lc);

			if (child->receive || receive->phase != PX_RECEIVE_NEW)
				(void) px_receive_advance(receive, true);
		}
	}
}

/* All streams are claimed: is anything of the next one left in the end? */
static void
choose_claimed(px_gather_state *state)
{
	int			i = bms_next_member(state->later, -1);

	state->later = bms_del_member(state->later, i);
	state->valid = bms_add_member(state->valid, i);
}

bool
px_gather_start_share(px_gather_state *state)
{
	MemoryContext oldcontext =
		MemoryContextSwitchTo(state->css.ss.ps.state->es_query_cxt);

	do
	{
		if (bms_is_empty(state->later))
		{
			MemoryContextSwitchTo(oldcontext);
			return false;
		}
		choose_share(state);
		if (bms_is_empty(state->valid))
			choose_claimed(state);
		else
			begin_share(state);
	} while (bms_is_empty(state->valid));

	px_siblings_reset(state->siblings, state->valid, state->any_order);
	confirm_share(state);
	MemoryContextSwitchTo(oldcontext);
	return true;
}
