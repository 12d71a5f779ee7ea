/*-------------------------------------------------------------------------
 *
 * place.c
 *		What is done to a plan that has exchanges, once it is finished.
 *
 * An ExchangeGather takes the place of each Append and MergeAppend over
 * exchanges.  That is done after planning because no hook sees all of them
 * before: partition-wise joins and aggregates, inheritance and UNION ALL make
 * theirs in different ways.  So everything that the planner would fill in for
 * a new node is filled in here.
 *
 * Nothing below a core Gather is touched: there it is the participants that
 * run side by side.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "catalog/pg_proc.h"
#include "miscadmin.h"
#include "nodes/extensible.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/planner.h"
#include "utils/lsyscache.h"

#include "compat.h"
#include "exec/plan_walk.h"
#include "guc.h"
#include "node/gather.h"
#include "node/receive.h"
#include "plan/place.h"

static planner_hook_type prev_planner_hook = NULL;

/* ---------------------------------------------------------------------
 * All ExchangeReceives
 * --------------------------------------------------------------------- */

/* What its exchanges are to know of the query. */
typedef struct query_facts
{
	int			nstreams;
	bool		user_code;
} query_facts;

static void
set_private(CustomScan *receive, int item, int value)
{
	lfirst(list_nth_cell(receive->custom_private, item)) = makeInteger(value);
}

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
	set_private(receive, PX_RECEIVE_PRIVATE_STREAMS, facts->nstreams);
	if (facts->user_code)
		set_private(receive, PX_RECEIVE_PRIVATE_USER_CODE, 1);

	/*
	 * EXPLAIN looks here for the tables it needs names of.  The planner has
	 * put the relids of the path's relation, which for an upper relation are
	 * none.
	 */
	if (receive->scan.scanrelid == 0)
		receive->custom_relids = bms_copy(px_foreignscan_relids(foreign));
	return false;
}

/* ---------------------------------------------------------------------
 * Few rows
 * --------------------------------------------------------------------- */

/*
 * What a LIMIT leaves unread, postgres_fdw does not compute, but for the rest
 * of a FETCH: so do not have it computed either, where it takes few of these.
 */
#define FEW_FETCHES		10

/* All scans whose rows a node returns as they come, without reading on. */
static void
note_few_rows(Plan *plan, double rows)
{
	List	  **list;
	ListCell   *lc;

	if (plan == NULL)
		return;
	check_stack_depth();

	if (px_plan_is_receive(plan))
	{
		const ForeignScan *foreign = linitial_node(
			ForeignScan, ((CustomScan *) plan)->custom_plans);

		if (rows <=
			(double) FEW_FETCHES * intVal(lthird(foreign->fdw_private)))
			set_private((CustomScan *) plan, PX_RECEIVE_PRIVATE_FEW_ROWS, 1);
		return;
	}
	switch (nodeTag(plan))
	{
		case T_Result:
		case T_ProjectSet:
		case T_LockRows:
		case T_Unique:
		case T_Limit:
		case T_WindowAgg:
		case T_NestLoop:
		case T_HashJoin:
			note_few_rows(outerPlan(plan), rows);
			break;
		case T_SubqueryScan:
			note_few_rows(((SubqueryScan *) plan)->subplan, rows);
			break;
		case T_Append:
		case T_MergeAppend:
			list = px_plan_list(plan);
			foreach(lc, *list)
				note_few_rows(lfirst(lc), rows);
			break;
		default:
			break;
	}
}

static bool
note_limit(Plan *plan, void *arg)
{
	if (IsA(plan, Limit))
		note_few_rows(outerPlan(plan), plan->plan_rows);
	return false;
}

/* ---------------------------------------------------------------------
 * ExchangeGather
 * --------------------------------------------------------------------- */

/* Could a gather begin this stream before its rows are asked for? */
static bool
is_startable(Plan *plan, void *arg)
{
	return px_plan_is_receive(plan) &&
		linitial_node(ForeignScan, ((CustomScan *) plan)->custom_plans)
			->fdw_exprs == NIL;
}

/*
 * Is it worth while to run these children side by side?  One stream is
 * enough: others may come from the fallback of a sibling, or local tables.
 */
static bool
gathers_streams(List *plans)
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
 * Asynchronous execution is between Append and ForeignScan.  A foreign scan
 * that is left among exchanges is a small one; under us it runs like any
 * other node.
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

/* Through nodes that only filter or project. */
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
 * The order in which the children of an Append may be read.  The finished
 * plan does not say whether the planner counts on theirs (as it does for
 * partitions by range, each sorted); but if so, all of them are sorted.
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
		const List *private;

		if (!px_plan_is_receive(plan))
			continue;
		private = ((const CustomScan *) plan)->custom_private;
		if (intVal(list_nth(private, PX_RECEIVE_PRIVATE_SORTED)) == 0)
			sorted = false;
		if (intVal(list_nth(private, PX_RECEIVE_PRIVATE_ASYNC)) != 0)
			async = true;
	}
	return sorted ? PX_GATHER_IN_ORDER :
		async ? PX_GATHER_ANY : PX_GATHER_FIRST_IN_ORDER;
}

/*
 * What EXPLAIN shows for a column of the children, given the target of an
 * Append: the parent's column, which is where the planner has had it from; or
 * a constant; or else a Var of the first child's, which EXPLAIN takes to be
 * the left tree, as it does for nodes that it does not know.
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
 * An ExchangeGather instead of append, an Append or MergeAppend with the given
 * children.  Stripped of all that is the new node's, append becomes the
 * description of what is to be done: how to prune, what to order by.
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

		output->expr = (Expr *) makeVar(INDEX_VAR, target->resno,
										exprType(expr), exprTypmod(expr),
										exprCollation(expr), 0);
		plan->targetlist = lappend(plan->targetlist, output);
		gather->custom_scan_tlist = lappend(gather->custom_scan_tlist,
											describe_input(target));
	}
	plan->lefttree = linitial(children);	/* for EXPLAIN, see above */

	append->targetlist = NIL;
	append->initPlan = NIL;
	*px_plan_list(append) = NIL;
	gather->custom_plans = children;
	gather->custom_private = list_make2(
		append, makeInteger(order_of_children(children)));
	gather->custom_relids = relids;
	gather->methods = &px_gather_scan_methods;
	foreach(lc, children)
		run_synchronously(lfirst(lc));
	return plan;
}

/*
 * A hashed EXCEPT or INTERSECT reads an Append (before PostgreSQL 18), and
 * wants all rows of the first child before any of the second.
 */
static void
keep_order(Plan *plan)
{
	if (plan && IsA(plan, CustomScan) &&
		((CustomScan *) plan)->methods == &px_gather_scan_methods)
		lsecond(((CustomScan *) plan)->custom_private) = makeInteger(
			PX_GATHER_IN_ORDER);
}

/*
 * WHERE CURRENT OF looks for a table's scan in the plan of the cursor, but not
 * below a custom node.  So a cursor keeps an Append that has local tables.
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

		if (IsA(child, SeqScan) || IsA(child, IndexScan) ||
			IsA(child, IndexOnlyScan) || IsA(child, BitmapHeapScan) ||
			IsA(child, TidScan) || IsA(child, TidRangeScan))
			return true;
	}
	return false;
}

static Plan *
place_gathers(Plan *plan, int cursor_options)
{
	List	  **list;
	ListCell   *lc;

	if (plan == NULL)
		return NULL;
	check_stack_depth();

	if (IsA(plan, Gather) || IsA(plan, GatherMerge))
		return plan;

	plan->lefttree = place_gathers(plan->lefttree, cursor_options);
	plan->righttree = place_gathers(plan->righttree, cursor_options);
	if (IsA(plan, SetOp))
		keep_order(plan->lefttree);
	if (IsA(plan, SubqueryScan))
	{
		SubqueryScan *scan = (SubqueryScan *) plan;

		scan->subplan = place_gathers(scan->subplan, cursor_options);
	}
	list = px_plan_list(plan);
	if (list)
	{
		foreach(lc, *list)
			lfirst(lc) = place_gathers(lfirst(lc), cursor_options);
	}

	if (list == NULL || may_be_updated(*list, cursor_options))
		return plan;
	if (IsA(plan, Append) && gathers_streams(*list))
		return make_gather(plan, *list, ((Append *) plan)->apprelids);
	if (IsA(plan, MergeAppend) && gathers_streams(*list))
		return make_gather(plan, *list, ((MergeAppend *) plan)->apprelids);
	return plan;
}

/*
 * Is the function one that could run queries, while a stream of the query that
 * calls it is being read?  Who declares a function immutable says that it does
 * not.
 */
static bool
is_user_code(Oid function, void *context)
{
	return function >= FirstNormalObjectId &&
		func_volatile(function) != PROVOLATILE_IMMUTABLE;
}

static bool
calls_user_code(Node *node, void *context)
{
	if (node == NULL)
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
	ListCell   *lc;
	query_facts facts = {0};

	/* The planner is going to scribble on the query. */
	facts.user_code = px_enabled && calls_user_code((Node *) parse, NULL);
	stmt = prev_planner_hook ?
		prev_planner_hook(PX_PLANNER_ARGUMENTS(parse)) :
		standard_planner(PX_PLANNER_ARGUMENTS(parse));

	(void) px_plan_walk_all(stmt, count_receive, &facts);
	if (facts.nstreams == 0)
		return stmt;

	(void) px_plan_walk_all(stmt, note_limit, NULL);
	(void) px_plan_walk_all(stmt, finish_receive, &facts);
	stmt->planTree = place_gathers(stmt->planTree, cursor_options);
	foreach(lc, stmt->subplans)
		lfirst(lc) = place_gathers(lfirst(lc), cursor_options);
	return stmt;
}

void
px_place_init(void)
{
	prev_planner_hook = planner_hook;
	planner_hook = place_planner;
}
