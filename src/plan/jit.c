/*-------------------------------------------------------------------------
 *
 * jit.c
 *		Whether a query over exchanges is worth compiling.
 *
 * Core compiles the expressions of a query whose plan is expensive.  The cost
 * of a plan over exchanges includes the work of the remote servers, which
 * compile what they run themselves.  To compile the little that is done here
 * can take longer than to run it: for Q21 of TPC-H over four servers, each
 * process compiled for 1.2 seconds.  So the work of the remotes does not count.
 *
 * The cost of a subplan that is run for each row is part of its expression's,
 * and so of the node's that evaluates that.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "foreign/foreign.h"
#include "jit/jit.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"

#include "conn/foreign_server.h"
#include "exec/plan_walk.h"
#include "plan/jit.h"

static Cost remote_cost(const PlannedStmt *stmt, const Plan *plan,
						double loops);

/* ---------------------------------------------------------------------
 * Subplans in expressions
 * --------------------------------------------------------------------- */

/* What one evaluation of expressions costs in their subplans. */
typedef struct subplans_cost
{
	const PlannedStmt *stmt;
	Cost		all;
	Cost		remote;			/* of that: on the remotes */
	Cost		hashed;			/* on the remotes, for all evaluations */
} subplans_cost;

static bool
add_subplans(Node *node, void *arg)
{
	subplans_cost *cost = arg;

	if (node == NULL)
		return false;
	if (IsA(node, SubPlan))
	{
		const SubPlan *subplan = (const SubPlan *) node;
		const Plan *plan = exec_subplan_get_plan(cost->stmt, subplan);
		Cost		remote = remote_cost(cost->stmt, plan, 1);

		cost->all += subplan->per_call_cost;
		if (subplan->useHashTable)
			cost->hashed += remote;
		else if (plan->total_cost > 0)
			cost->remote += subplan->per_call_cost *
				Min(remote / plan->total_cost, 1);
	}
	return expression_tree_walker(node, add_subplans, arg);
}

static subplans_cost
cost_of_subplans(const PlannedStmt *stmt, const List *expressions)
{
	subplans_cost cost = {.stmt = stmt};

	(void) add_subplans((Node *) expressions, &cost);
	return cost;
}

/* ---------------------------------------------------------------------
 * Plans
 * --------------------------------------------------------------------- */

/* Does a remote server do the work of this node? */
static bool
is_remote(const Plan *plan)
{
	Oid			server;

	if (px_plan_is_receive(plan))
		return true;
	if (!IsA(plan, ForeignScan))
		return false;
	server = ((const ForeignScan *) plan)->fs_server;
	return OidIsValid(server) &&
		px_server_is_postgres_fdw(GetForeignServer(server));
}

/*
 * How often the conditions of a node are evaluated.  Of a scan, it is known
 * what that costs.
 */
static double
runs_of_quals(const Plan *plan, const subplans_cost *quals)
{
	return plan->lefttree ? plan->lefttree->plan_rows :
		plan->total_cost / (cpu_tuple_cost + quals->all);
}

/* The remotes' part of the cost of a node alone, which they do not run. */
static Cost
remote_cost_of_local(const PlannedStmt *stmt, const Plan *plan)
{
	subplans_cost targets = cost_of_subplans(stmt, plan->targetlist);
	subplans_cost quals = cost_of_subplans(stmt, plan->qual);
	Cost		cost = plan->plan_rows * targets.remote + targets.hashed +
		quals.hashed;

	if (quals.remote > 0)
		cost += runs_of_quals(plan, &quals) * quals.remote;
	return cost;
}

/* The same for a node that they run: all but to take the rows, and ours. */
static Cost
remote_cost_of_remote(const PlannedStmt *stmt, const Plan *plan)
{
	subplans_cost targets = cost_of_subplans(stmt, plan->targetlist);
	subplans_cost quals = cost_of_subplans(stmt, plan->qual);

	return Max(0, plan->total_cost - plan->plan_rows *
			   (cpu_tuple_cost + targets.all - targets.remote +
				quals.all - quals.remote));
}

/*
 * The cost of plan, which is run so many times, that arises on the remotes and
 * on the way.  Nodes that keep their rows run what is below once; of a
 * Memoize, it is not known how often.
 */
static Cost
remote_cost(const PlannedStmt *stmt, const Plan *plan, double loops)
{
	Cost		cost = 0;
	List	  **list;
	ListCell   *lc;

	if (plan == NULL)
		return 0;
	check_stack_depth();
	foreach(lc, plan->initPlan)
		cost += remote_cost(
			stmt, exec_subplan_get_plan(stmt, lfirst_node(SubPlan, lc)),
			loops);
	if (is_remote(plan))
		return cost + loops * remote_cost_of_remote(stmt, plan);

	cost += loops * remote_cost_of_local(stmt, plan);
	if (IsA(plan, Material) || IsA(plan, Hash) || IsA(plan, Sort))
		loops = 1;
	cost += remote_cost(stmt, plan->lefttree, loops);
	cost += remote_cost(stmt, plan->righttree, IsA(plan, NestLoop) ?
						loops * Max(plan->lefttree->plan_rows, 1) : loops);
	if (IsA(plan, SubqueryScan))
		cost += remote_cost(stmt, ((const SubqueryScan *) plan)->subplan,
							loops);
	list = px_plan_list(unconstify(Plan *, plan));
	if (list == NULL)
		return cost;
	foreach(lc, *list)
		cost += remote_cost(stmt, lfirst(lc), loops);
	return cost;
}

void
px_jit_choose(PlannedStmt *stmt)
{
	Cost		local;

	if ((stmt->jitFlags & PGJIT_PERFORM) == 0)
		return;
	local = stmt->planTree->total_cost -
		remote_cost(stmt, stmt->planTree, 1);
	if (local <= jit_above_cost)
		stmt->jitFlags = PGJIT_NONE;
	if (local <= jit_optimize_above_cost)
		stmt->jitFlags &= ~PGJIT_OPT3;
	if (local <= jit_inline_above_cost)
		stmt->jitFlags &= ~PGJIT_INLINE;
}
