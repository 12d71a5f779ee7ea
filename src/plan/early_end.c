/*-------------------------------------------------------------------------
 *
 * early_end.c
 *		Scans that a LIMIT, an EXISTS or a numbering of rows ends early.
 *
 * postgres_fdw has computed at most the rest of a FETCH in vain then, and has
 * not come to the servers of later partitions: it has neither a lock nor its
 * snapshot there.  So if few rows are wanted, no streams are begun.  If more
 * are, streams are begun only to as many children of an ExchangeGather as are
 * expected to have them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/fmgroids.h"

#include "exec/plan_walk.h"
#include "node/gather_order.h"
#include "node/receive.h"
#include "plan/early_end.h"
#include "plan/lookup_bind.h"

/*
 * A scan is not read by a stream if it is expected to end within so many
 * FETCHes.
 */
#define FEW_FETCHES		10

/*
 * The most rows of a merge that come by FETCHes, of all children together:
 * these come one after the other, while streams have all servers work at once.
 */
#define MERGED_ROWS_MAX	10000

static bool
is_window_aggregate(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, WindowFunc))
		return ((const WindowFunc *) node)->winagg;
	return expression_tree_walker(node, is_window_aggregate, context);
}

/* Is there an aggregate over all rows, such as count(*) OVER ()? */
static bool
aggregates_all(const WindowAgg *window)
{
	int			frame = window->frameOptions;
	bool		peers = window->ordNumCols == 0 &&
		(frame & FRAMEOPTION_ROWS) == 0 &&
		(frame & FRAMEOPTION_END_CURRENT_ROW) != 0;

	return window->partNumCols == 0 &&
		(peers || (frame & FRAMEOPTION_END_UNBOUNDED_FOLLOWING) != 0) &&
		is_window_aggregate((Node *) window->plan.targetlist, NULL);
}

/*
 * The input of a node that returns rows before it has read all of its input,
 * and about as many; NULL if it is none.
 */
static Plan *
get_input(const Plan *plan)
{
	switch (nodeTag(plan))
	{
		case T_Result:
		case T_ProjectSet:
		case T_Material:
		case T_LockRows:
		case T_Unique:
		case T_Limit:
		case T_NestLoop:
		case T_HashJoin:
		case T_Gather:
		case T_GatherMerge:
			return outerPlan(plan);
		case T_WindowAgg:
			return aggregates_all((const WindowAgg *) plan) ?
				NULL : outerPlan(plan);
		case T_SubqueryScan:
			return ((const SubqueryScan *) plan)->subplan;
		default:
			return NULL;
	}
}

/* If rows of plan are wanted, the same part of its input is. */
static double
rows_of_input(const Plan *plan, const Plan *input, double rows)
{
	return Min(rows / Max(plan->plan_rows, 1), 1) * input->plan_rows;
}

/* So many rows of plan are wanted. */
typedef void (*early_end_function) (Plan *plan, double rows);

/*
 * Call the function for the inputs of a node that reads sorted rows, and maybe
 * far more than it returns.  False if it is another one.
 */
static bool
follow_sorted(Plan *plan, double rows, early_end_function follow)
{
	switch (nodeTag(plan))
	{
		case T_Agg:
			if (((const Agg *) plan)->aggstrategy != AGG_SORTED)
				return false;
			break;
		case T_Group:
		case T_IncrementalSort:
			break;
		case T_MergeJoin:
			follow(innerPlan(plan),
				   rows_of_input(plan, innerPlan(plan), rows));
			break;
		default:
			return false;
	}
	follow(outerPlan(plan), rows_of_input(plan, outerPlan(plan), rows));
	return true;
}

/* The rows that a Limit reads to return so many, as far as they are known. */
static double
rows_of_limit(const Limit *limit, double rows)
{
	const Const *offset = (const Const *) limit->limitOffset;

	if (offset && IsA(offset, Const) && !offset->constisnull)
		rows += Max(DatumGetInt64(offset->constvalue), 0);
	return rows;
}

/* Does the expression call other window functions than those that count? */
static bool
calls_no_counter(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, WindowFunc))
	{
		Oid			function = ((const WindowFunc *) node)->winfnoid;

		return function != F_ROW_NUMBER && function != F_RANK_ &&
			function != F_DENSE_RANK_;
	}
	return expression_tree_walker(node, calls_no_counter, context);
}

/* The value of a constant integer; 0 for anything else. */
static double
integer_of(const Const *value)
{
	if (!IsA(value, Const) || value->constisnull)
		return 0;
	switch (value->consttype)
	{
		case INT2OID:
			return DatumGetInt16(value->constvalue);
		case INT4OID:
			return DatumGetInt32(value->constvalue);
		case INT8OID:
			return (double) DatumGetInt64(value->constvalue);
		default:
			return 0;
	}
}

/*
 * The rows that a WindowAgg reads until its run condition ends it, as in
 * "row_number() OVER (ORDER BY id) <= 20"; 0 if that is not known.
 */
static double
rows_of_run_condition(const WindowAgg *window)
{
	double		rows = 0;
	ListCell   *lc;

	if (window->partNumCols > 0 ||
		calls_no_counter((Node *) window->plan.targetlist, NULL))
		return 0;
	foreach(lc, window->runCondition)
	{
		const OpExpr *condition = lfirst(lc);
		ListCell   *arg;

		if (!IsA(condition, OpExpr))
			continue;
		foreach(arg, condition->args)
		{
			double		last = integer_of(lfirst(arg));

			if (last > 0 && (rows == 0 || last < rows))
				rows = last;
		}
	}
	return rows;
}

/* ---------------------------------------------------------------------
 * Few rows
 * --------------------------------------------------------------------- */

static void
mark_receive(CustomScan *receive, double rows)
{
	const ForeignScan *foreign =
		linitial_node(ForeignScan, receive->custom_plans);
	double		fetch_size = intVal(lthird(foreign->fdw_private));

	/* A merge has postgres_fdw fetch so many of each child anyway. */
	if (px_receive_get(receive, PX_RECEIVE_PRIVATE_LIMITED) != 0 &&
		receive->scan.plan.plan_rows <= fetch_size)
		return;
	if (rows <= FEW_FETCHES * fetch_size)
		px_receive_set(receive->custom_private, PX_RECEIVE_PRIVATE_FEW_ROWS,
					   1);
}

static void mark_few_rows(Plan *plan, double rows);

/*
 * Mark the children of a merge.  Each is expected to have been read in part
 * when the merge has returned so many rows.
 */
static void
mark_merged(const MergeAppend *merge, double rows)
{
	double		all = 0;
	double		part = 1;
	ListCell   *lc;

	foreach(lc, merge->mergeplans)
		all += ((const Plan *) lfirst(lc))->plan_rows;
	foreach(lc, merge->mergeplans)
	{
		Plan	   *child = lfirst(lc);

		if (rows <= MERGED_ROWS_MAX)
			part = child->plan_rows / Max(all, 1);
		mark_few_rows(child, rows * part);
	}
}

/* A nested loop whose inner side is expected to be read once, for one row. */
static bool
is_read_once(const Plan *plan)
{
	return IsA(plan, NestLoop) && outerPlan(plan)->plan_rows <= 1;
}

/* Mark the scans below plan that end after so many rows. */
static void
mark_few_rows(Plan *plan, double rows)
{
	ListCell   *lc;

	if (plan == NULL)
		return;
	check_stack_depth();

	if (px_plan_is_receive(plan))
		mark_receive((CustomScan *) plan, rows);
	else if (px_lookup_mark_few_rows(plan, rows))
		mark_few_rows(linitial(((CustomScan *) plan)->custom_plans), rows);
	else if (IsA(plan, Append))
	{
		foreach(lc, ((Append *) plan)->appendplans)
			mark_few_rows(lfirst(lc), rows);
	}
	else if (IsA(plan, MergeAppend))
		mark_merged((const MergeAppend *) plan, rows);
	else if (is_read_once(plan))
	{
		mark_few_rows(outerPlan(plan), rows);
		mark_few_rows(innerPlan(plan), rows);
	}
	else if (!follow_sorted(plan, rows, mark_few_rows))
		mark_few_rows(get_input(plan), rows);
}

/* ---------------------------------------------------------------------
 * Gathers
 * --------------------------------------------------------------------- */

/* If several nodes above want some rows only, the least is what is wanted. */
static void
set_wanted(CustomScan *gather, double rows)
{
	ListCell   *wanted = list_nth_cell(gather->custom_private,
									   PX_GATHER_PRIVATE_WANTED);
	double		known = strtod(strVal(lfirst(wanted)), NULL);

	if (known == 0 || rows < known)
		lfirst(wanted) = makeString(psprintf("%.0f", clamp_row_est(rows)));
}

static void
bound_gathers(Plan *plan, double rows)
{
	Plan	   *input;
	ListCell   *lc;

	check_stack_depth();
	if (px_plan_is_gather(plan))
	{
		set_wanted((CustomScan *) plan, rows);
		foreach(lc, ((CustomScan *) plan)->custom_plans)
			bound_gathers(lfirst(lc), rows);
		return;
	}
	if (IsA(plan, Limit))
	{
		bound_gathers(outerPlan(plan),
					  rows_of_limit((const Limit *) plan, rows));
		return;
	}
	if (follow_sorted(plan, rows, bound_gathers))
		return;
	input = get_input(plan);
	if (input)
		bound_gathers(input, rows_of_input(plan, input, rows));
}

/* ---------------------------------------------------------------------
 * All early ends
 * --------------------------------------------------------------------- */

typedef struct early_end_walk
{
	const PlannedStmt *stmt;
	early_end_function call;
} early_end_walk;

/* An EXISTS that is evaluated once wants one row. */
static void
call_for_exists(const early_end_walk *walk, const Plan *plan)
{
	ListCell   *lc;

	foreach(lc, plan->initPlan)
	{
		const SubPlan *subplan = lfirst_node(SubPlan, lc);

		if (subplan->subLinkType == EXISTS_SUBLINK)
			walk->call(exec_subplan_get_plan(walk->stmt, subplan), 1);
	}
}

/*
 * A merge join may end when one of its inputs does.  If the planner expects
 * that, it has taken a part of the other one's cost.
 */
static void
call_for_merged(const early_end_walk *walk, const Plan *merge, Plan *input)
{
	Cost		run = input->total_cost - input->startup_cost;
	Cost		paid = merge->total_cost - input->startup_cost;

	if (paid < run)
		walk->call(input, Max(paid, 0) / run * input->plan_rows);
}

static bool
call_for(Plan *plan, void *arg)
{
	const early_end_walk *walk = arg;

	if (IsA(plan, Limit))
		walk->call(outerPlan(plan),
				   rows_of_limit((const Limit *) plan, plan->plan_rows));
	if (IsA(plan, WindowAgg))
	{
		double		rows = rows_of_run_condition((const WindowAgg *) plan);

		if (rows > 0)
			walk->call(outerPlan(plan), rows + 1);
	}
	if (IsA(plan, MergeJoin))
	{
		call_for_merged(walk, plan, outerPlan(plan));
		call_for_merged(walk, plan, innerPlan(plan));
	}
	call_for_exists(walk, plan);
	return false;
}

void
px_early_end_mark(const PlannedStmt *stmt)
{
	early_end_walk walk = {stmt, mark_few_rows};

	(void) px_plan_walk_all(stmt, call_for, &walk);
}

void
px_early_end_bound_gathers(const PlannedStmt *stmt)
{
	early_end_walk walk = {stmt, bound_gathers};

	(void) px_plan_walk_all(stmt, call_for, &walk);
}
