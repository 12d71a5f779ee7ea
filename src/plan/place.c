/*-------------------------------------------------------------------------
 *
 * place.c
 *		Changes to finished plans that have exchanges.
 *
 * An ExchangeGather takes the place of each Append and MergeAppend over
 * exchanges.  We do that after planning because no hook sees all of these
 * nodes: partitionwise joins and aggregates, inheritance and UNION ALL make
 * them in different ways.  So we must fill in all fields of a new node that
 * the planner would fill in.
 *
 * Below a core Gather, that is a node of which each participant runs its share.
 *
 * ExchangeReceive nodes also get facts about the whole query, which are not
 * known when their paths are made: see px_receive_private.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_proc.h"
#include "miscadmin.h"
#include "nodes/extensible.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/planner.h"
#include "utils/lsyscache.h"

#include "admit/user_code.h"
#include "compat.h"
#include "compat_executor.h"
#include "exec/plan_walk.h"
#include "guc.h"
#include "node/gather.h"
#include "node/receive.h"
#include "plan/early_end.h"
#include "plan/filter.h"
#include "plan/filter_cost.h"
#include "plan/final_hash.h"
#include "plan/insert.h"
#include "plan/jit.h"
#include "plan/limit.h"
#include "plan/lookup_bind.h"
#include "plan/partial_agg.h"
#include "plan/place.h"
#include "plan/update.h"

static planner_hook_type prev_planner_hook = NULL;

/* ---------------------------------------------------------------------
 * All ExchangeReceives
 * --------------------------------------------------------------------- */

/* What the exchanges of a query must know of the query. */
typedef struct query_facts
{
	int			nstreams;		/* number of ExchangeReceive nodes */
	bool		user_code;		/* see is_user_code */
} query_facts;

static bool
count_receive(Plan *plan, void *arg)
{
	if (px_plan_is_receive(plan))
		((query_facts *) arg)->nstreams++;
	return false;
}

static bool
finish_receive(Plan *plan, void *arg)
{
	const query_facts *facts = arg;
	CustomScan *receive = (CustomScan *) plan;
	const ForeignScan *foreign;

	if (!px_plan_is_receive(plan))
		return false;
	foreign = linitial_node(ForeignScan, receive->custom_plans);

	/* The streams of a query share receive_buffer. */
	px_receive_set(receive->custom_private, PX_RECEIVE_PRIVATE_STREAMS,
				   facts->nstreams);
	if (facts->user_code)
		px_receive_set(receive->custom_private, PX_RECEIVE_PRIVATE_USER_CODE,
					   1);

	/*
	 * EXPLAIN chooses names for the tables in custom_relids.  The planner has
	 * set it to the relids of the path's relation, but an upper relation has
	 * none.
	 */
	if (receive->scan.scanrelid == 0)
		receive->custom_relids = bms_copy(px_foreignscan_relids(foreign));
	return false;
}

/* ---------------------------------------------------------------------
 * ExchangeGather
 * --------------------------------------------------------------------- */

/*
 * Could an ExchangeGather begin this stream before its rows are requested?
 * Not if the remote query has parameters, whose values are not known then.
 */
static bool
is_startable(Plan *plan, void *arg)
{
	return px_plan_is_receive(plan) &&
		linitial_node(ForeignScan, ((CustomScan *) plan)->custom_plans)
			->fdw_exprs == NIL &&
		list_nth(((CustomScan *) plan)->custom_private,
				 PX_RECEIVE_PRIVATE_LOOKUP) == NIL;
}

/*
 * Is there a stream among these children, or below them?  One is enough for an
 * ExchangeGather: while the stream is under way, rows may come from local
 * tables, or from the fallback of a sibling.
 */
static bool
has_streams(List *plans)
{
	ListCell   *lc;

	foreach(lc, plans)
	{
		if (px_plan_is_receive(lfirst(lc)) ||
			px_plan_walk(lfirst(lc), is_startable, NULL))
			return true;
	}
	return false;
}

/*
 * Clear async_capable: only an Append executes its children asynchronously, an
 * ExchangeGather does not.  A ForeignScan that is left among the children is a
 * small one.
 */
static void
run_synchronously(Plan *plan)
{
	for (; plan; plan = plan->lefttree)
	{
		plan->async_capable = false;
		if (IsA(plan, SubqueryScan))
			run_synchronously(((SubqueryScan *) plan)->subplan);
	}
}

/* Skip nodes that only filter or project. */
static Plan *
skip_projections(Plan *plan)
{
	for (;;)
	{
		if (IsA(plan, Result) && plan->lefttree)
			plan = plan->lefttree;
		else if (IsA(plan, SubqueryScan))
			plan = ((SubqueryScan *) plan)->subplan;
		else
			return plan;
	}
}

/*
 * The order in which the children of an Append may be read.
 *
 * The planner may rely on an Append to return the rows of its children one
 * after the other: for range partitions, if each is sorted.  The finished plan
 * does not say so.  But then all children are sorted, so we keep the order if
 * they are.
 */
static px_gather_order
order_of_children(List *children)
{
	bool		sorted = true;
	bool		async = false;
	ListCell   *lc;

	foreach(lc, children)
	{
		const Plan *plan = skip_projections(lfirst(lc));
		const CustomScan *receive = (const CustomScan *) plan;

		if (!px_plan_is_receive(plan))
			continue;
		if (px_receive_get(receive, PX_RECEIVE_PRIVATE_SORTED) == 0)
			sorted = false;
		if (px_receive_get(receive, PX_RECEIVE_PRIVATE_ASYNC) != 0)
			async = true;
	}
	return sorted ? PX_GATHER_IN_ORDER :
		async ? PX_GATHER_ANY : PX_GATHER_FIRST_IN_ORDER;
}

/*
 * Make the entry of custom_scan_tlist for a target of an Append: EXPLAIN shows
 * it for the column.
 *
 * If the target is a Var that comes from a column of the parent table, we make
 * it that column again.  Other Vars refer to the first child, as in the
 * Append.  EXPLAIN resolves them in the left tree, so make_gather sets that.
 */
static TargetEntry *
describe_input(const TargetEntry *target)
{
	TargetEntry *input = copyObject(unconstify(TargetEntry *, target));
	Var		   *var = (Var *) input->expr;

	if (IsA(var, Var) && var->varnosyn > 0)
	{
		var->varno = var->varnosyn;
		var->varattno = var->varattnosyn;
	}
	return input;
}

/*
 * Make an ExchangeGather that replaces append, which is an Append or
 * MergeAppend with the given children.  append stays in custom_private,
 * without what the new node has: it says how to prune, and what to order by.
 */
static Plan *
make_gather(Plan *append, List *children, Bitmapset *relids)
{
	CustomScan *gather = makeNode(CustomScan);
	Plan	   *plan = &gather->scan.plan;
	ListCell   *lc;

	*plan = *append;
	plan->type = T_CustomScan;
	plan->async_capable = false;
	plan->targetlist = NIL;
	foreach(lc, append->targetlist)
	{
		const TargetEntry *target = lfirst_node(TargetEntry, lc);
		const Node *expr = (const Node *) target->expr;
		TargetEntry *output = flatCopyTargetEntry(
			unconstify(TargetEntry *, target));
		TargetEntry *input;

		/* ModifyTable looks for the nulls of dropped and generated columns. */
		if (!IsA(expr, Const) || !((const Const *) expr)->constisnull)
			output->expr = (Expr *) makeVar(
				INDEX_VAR, target->resno, exprType(expr), exprTypmod(expr),
				exprCollation(expr), 0);
		plan->targetlist = lappend(plan->targetlist, output);
		input = describe_input(target);
		gather->custom_scan_tlist = lappend(gather->custom_scan_tlist, input);

		/*
		 * The Append of an upper relation does not say whose columns it has.
		 */
		if (IsA(input->expr, Var) && ((Var *) input->expr)->varnosyn > 0)
			relids = bms_add_member(relids, ((Var *) input->expr)->varno);
	}
	plan->lefttree = linitial(children);	/* see describe_input */

	append->targetlist = NIL;
	append->initPlan = NIL;
	*px_plan_list(append) = NIL;
	gather->custom_plans = children;
	gather->custom_private = list_make3(	/* px_gather_private */
		append, makeInteger(order_of_children(children)), makeString("0"));
	gather->custom_relids = relids;
	gather->methods = &px_gather_scan_methods;
	foreach(lc, children)
		run_synchronously(lfirst(lc));
	return plan;
}

/*
 * If the child of a SetOp is an ExchangeGather, let it read its children in
 * order.  Before PostgreSQL 18, a hashed EXCEPT or INTERSECT reads an Append,
 * and all rows of the first child must come before those of the second.
 */
static void
keep_order(Plan *plan)
{
	if (plan && px_plan_is_gather(plan))
		lfirst(list_nth_cell(((CustomScan *) plan)->custom_private,
							 PX_GATHER_PRIVATE_ORDER)) =
			makeInteger(PX_GATHER_IN_ORDER);
}

static bool
keep_order_here(Plan *plan, void *arg)
{
	keep_order(plan);
	return false;
}

/*
 * Must the aggregate have its rows in postgres_fdw's order?  Sums of floats
 * must, if the user wants all of their digits.
 */
static bool
needs_order(const Agg *agg)
{
	return px_partial_aggregates_setting == PX_PARTIAL_EXACT &&
		(px_aggregates_need_order((Node *) agg->plan.targetlist) ||
		 px_aggregates_need_order((Node *) agg->plan.qual));
}

/*
 * Could a cursor with these children be used by WHERE CURRENT OF?  That looks
 * for the scan of a table in the cursor's plan, but not below a custom node.
 * So an Append over local tables is kept in the plan of a cursor.
 */
static bool
may_be_updated(List *children, int cursor_options)
{
	ListCell   *lc;

	if ((cursor_options & CURSOR_OPT_FAST_PLAN) == 0)
		return false;
	foreach(lc, children)
	{
		const Plan *child = skip_projections(lfirst(lc));

		if (px_plan_is_table_scan(child) || IsA(child, IndexOnlyScan))
			return true;
	}
	return false;
}

static bool
is_shared_stream(Plan *plan, void *arg)
{
	return px_plan_is_receive(plan) && plan->parallel_aware;
}

/*
 * Do the children of an Append below a core Gather include streams, of which
 * each participant can read its share?  That is so if each participant is to
 * run all of the children: not if some of them are for one participant.
 */
static bool
has_shared_streams(const Append *append)
{
	ListCell   *lc;

	if (append->plan.parallel_aware && append->first_partial_plan > 0)
		return false;
	foreach(lc, append->appendplans)
	{
		if (px_plan_walk(lfirst(lc), is_shared_stream, NULL))
			return true;
	}
	return false;
}

/* Find the first relation of the query that is scanned. */
static bool
find_first_relid(Plan *plan, void *arg)
{
	int		   *first = arg;
	int			relid = 0;

	if (px_plan_is_receive(plan))
		relid = bms_next_member(((CustomScan *) plan)->custom_relids, -1);
	else if (px_plan_is_table_scan(plan) || IsA(plan, IndexOnlyScan) ||
			 IsA(plan, SubqueryScan))
		relid = (int) ((Scan *) plan)->scanrelid;
	if (relid > 0)
		*first = Min(*first, relid);
	return false;
}

static int
compare_relids(const ListCell *a, const ListCell *b)
{
	int			first_a = INT_MAX;
	int			first_b = INT_MAX;

	(void) px_plan_walk(lfirst(a), find_first_relid, &first_a);
	(void) px_plan_walk(lfirst(b), find_first_relid, &first_b);
	return first_a < first_b ? -1 : first_a > first_b;
}

/*
 * A Parallel Append has its children in order of their costs.  Have them in the
 * query's, which is that of partitions: if not all rows are wanted, the same
 * ones come, and the same servers are asked, as without a parallel plan.
 */
static void
restore_order(Append *append)
{
	if (append->plan.parallel_aware && !px_has_pruning(&append->plan))
		list_sort(append->appendplans, compare_relids);
}

/* Replace each suitable Append below a core Gather. */
static Plan *
place_shared_gathers(Plan *plan, void *arg)
{
	check_stack_depth();

	px_plan_replace_children(plan, place_shared_gathers, arg);
	if (!IsA(plan, Append) || !has_shared_streams((Append *) plan))
		return plan;
	restore_order((Append *) plan);
	plan = make_gather(plan, ((Append *) plan)->appendplans,
					   ((Append *) plan)->apprelids);
	plan->parallel_aware = true;
	return plan;
}

/* Replace each suitable Append and MergeAppend in the plan. */
static Plan *
place_gathers(Plan *plan, void *arg)
{
	int			cursor_options = *(const int *) arg;
	List	  **list;

	check_stack_depth();

	if (IsA(plan, Gather) || IsA(plan, GatherMerge))
	{
		px_plan_replace_children(plan, place_shared_gathers, arg);
		return plan;
	}
	px_plan_replace_children(plan, place_gathers, arg);
	if (IsA(plan, SetOp))
		keep_order(plan->lefttree);
	if (IsA(plan, Agg) && needs_order((Agg *) plan))
		(void) px_plan_walk(plan->lefttree, keep_order_here, NULL);

	list = px_plan_list(plan);
	if (list == NULL || may_be_updated(*list, cursor_options) ||
		!px_update_allows_gather(*list))
		return plan;
	if (IsA(plan, Append) && has_streams(*list))
		return make_gather(plan, *list, ((Append *) plan)->apprelids);
	if (IsA(plan, MergeAppend) && has_streams(*list))
		return make_gather(plan, *list, ((MergeAppend *) plan)->apprelids);
	return plan;
}

/* ---------------------------------------------------------------------
 * Parallel plans
 * --------------------------------------------------------------------- */

static bool
mark_missed_here(Plan *plan, void *arg)
{
	CustomScan *receive = (CustomScan *) plan;
	px_missed	missed = *(px_missed *) arg;

	if (px_plan_is_receive(plan) &&
		px_receive_get(receive, PX_RECEIVE_PRIVATE_MISSED) < (int) missed)
		px_receive_set(receive->custom_private, PX_RECEIVE_PRIVATE_MISSED,
					   missed);
	return false;
}

/* Is it a filter that is evaluated once, and may end its scan before it begins? */
static bool
is_evaluated_once(Plan *plan, void *arg)
{
	return IsA(plan, Result) && ((Result *) plan)->resconstantqual != NULL;
}

/*
 * Does a node read some of its streams later than others, or later than other
 * rows?  An ExchangeGather begins at once what px_gather_find_receive finds.
 */
static bool
reads_in_turns(Plan *plan, void *arg)
{
	List	  **list = px_plan_list(plan);
	ListCell   *lc;

	if (list == NULL)
		return false;
	foreach(lc, *list)
	{
		Plan	   *child = lfirst(lc);

		if (px_plan_walk(child, is_shared_stream, NULL) &&
			(!px_plan_is_receive(skip_projections(child)) ||
			 px_plan_walk(child, is_evaluated_once, NULL)))
			return true;
	}
	return false;
}

/*
 * Mark the scans that the leader may not get to before workers are done with
 * them: those of a Parallel Hash Join, whose hash table may be complete when
 * the leader comes.  Workers wait for it when they begin such a scan.  But not
 * where they may have put rows into a hash table before that: to make the table
 * larger, participants wait for each other, and also for a worker that waits
 * for the leader.
 *
 * The leader may not get to a member of a Parallel Append at all, if a worker
 * is done with it.  And if an Append is pruned when the query runs, no server
 * may be asked before, as it must be for workers.
 */
static bool
mark_missed(Plan *plan, void *arg)
{
	px_missed	missed = PX_MISSED_ALWAYS;

	if (IsA(plan, HashJoin) && plan->parallel_aware)
	{
		if (!px_plan_walk(plan->righttree, reads_in_turns, NULL))
			missed = PX_MISSED_UNLESS_AWAITED;
	}
	else if (!IsA(plan, Append) ||
			 !(plan->parallel_aware || px_has_pruning(plan)))
		return false;
	(void) px_plan_walk(plan, mark_missed_here, &missed);
	return false;
}

/*
 * Does a hash join read the first row of its outer side before it builds the
 * hash table?  Else that side is not read at all if the table is empty, unless
 * the join returns its rows without a match.
 */
static bool
reads_outer_anyhow(const HashJoin *join)
{
	const Plan *plan = &join->join.plan;

	return join->join.jointype == JOIN_LEFT ||
		join->join.jointype == JOIN_FULL ||
		join->join.jointype == JOIN_ANTI ||
		outerPlan(plan)->startup_cost < innerPlan(plan)->total_cost;
}

/*
 * Mark the scans below a Gather that may turn out not to be wanted: servers
 * are asked about all before workers are launched, and that takes locks there.
 */
static bool
mark_unwanted(Plan *plan, void *arg)
{
	px_missed	missed = PX_MISSED_ALWAYS;

	if (is_evaluated_once(plan, NULL) ||
		(IsA(plan, HashJoin) && !reads_outer_anyhow((HashJoin *) plan)))
		(void) px_plan_walk(outerPlan(plan), mark_missed_here, &missed);
	return false;
}

static bool
mark_not_awaited(Plan *plan, void *arg)
{
	CustomScan *receive = (CustomScan *) plan;

	if (px_plan_is_receive(plan) &&
		px_receive_get(receive, PX_RECEIVE_PRIVATE_MISSED) != PX_MISSED_NEVER)
		px_receive_set(receive->custom_private, PX_RECEIVE_PRIVATE_MISSED,
					   PX_MISSED_ALWAYS);
	return false;
}

/*
 * A Gather that is executed anew ends its workers first, and tells no node of
 * that: so no worker below it may wait for the leader.  It may be so if it is
 * on the inner side of a nested loop, or in a recursive term.
 */
static bool
mark_gathers(Plan *plan, void *arg)
{
	if (IsA(plan, Gather) || IsA(plan, GatherMerge))
		(void) px_plan_walk(outerPlan(plan), mark_unwanted, NULL);
	if (IsA(plan, NestLoop) || IsA(plan, RecursiveUnion))
		(void) px_plan_walk(innerPlan(plan), mark_not_awaited, NULL);
	return false;
}

static void
mark_parallel_scans(PlannedStmt *stmt)
{
	ListCell   *lc;

	(void) px_plan_walk_all(stmt, mark_missed, NULL);
	(void) px_plan_walk_all(stmt, mark_gathers, NULL);

	/*
	 * So are subqueries whose parameters change, and others whose rows are not
	 * kept.
	 */
	foreach(lc, stmt->subplans)
	{
		if (lfirst(lc) && (!enable_material ||
						   !bms_is_empty(((Plan *) lfirst(lc))->extParam)))
			(void) px_plan_walk(lfirst(lc), mark_not_awaited, NULL);
	}
}

/* ---------------------------------------------------------------------
 * The query
 * --------------------------------------------------------------------- */

/*
 * Is this a function of a user, which may run queries itself while a stream of
 * the calling query is being read?  A function that is declared immutable
 * promises not to.
 */
static bool
is_user_code(Oid function, void *context)
{
	return px_is_user_code(function);
}

static bool
calls_user_code(Node *node, void *context)
{
	if (node == NULL || IsA(node, Var) || IsA(node, Const))
		return false;
	if (check_functions_in_node(node, is_user_code, context))
		return true;
	if (IsA(node, Query))
		return query_tree_walker((Query *) node, calls_user_code, context, 0);
	return expression_tree_walker(node, calls_user_code, context);
}

static PlannedStmt *
place_planner(PX_PLANNER_PARAMETERS)
{
	PlannedStmt *stmt;
	query_facts facts = {0};
	bool		filters;
	bool		outer_filters;

	/* Before planning, because the planner changes the query. */
	facts.user_code = px_enabled && calls_user_code((Node *) parse, NULL);
	filters = px_filter_suits_query(parse);
	outer_filters = px_filter_cost_set(filters);
	stmt = prev_planner_hook ?
		prev_planner_hook(PX_PLANNER_ARGUMENTS(parse)) :
		standard_planner(PX_PLANNER_ARGUMENTS(parse));
	(void) px_filter_cost_set(outer_filters);

	px_insert_place(stmt);
	if (px_enabled)
		px_jit_choose(stmt);
	(void) px_plan_walk_all(stmt, count_receive, &facts);
	if (facts.nstreams == 0)
		return stmt;

	px_limit_push_all(stmt);
	facts.nstreams = 0;			/* some may have been made one */
	(void) px_plan_walk_all(stmt, count_receive, &facts);
	px_final_hash_spread(stmt);
	px_early_end_mark(stmt);
	(void) px_plan_walk_all(stmt, finish_receive, &facts);
	px_lookup_bind(stmt);
	px_plan_replace_all(stmt, place_gathers, &cursor_options);
	mark_parallel_scans(stmt);
	px_early_end_bound_gathers(stmt);
	if (filters)
		px_filter_place(stmt);
	return stmt;
}

void
px_place_init(void)
{
	prev_planner_hook = planner_hook;
	planner_hook = place_planner;
}
