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
 * The cost of a subplan that is run for each row is part of an expression's
 * cost.  It counts as before, except for its first run.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "jit/jit.h"
#include "miscadmin.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"

#include "exec/plan_walk.h"
#include "plan/jit.h"

/*
 * The cost of the exchanges below plan, which is run so many times, that arises
 * on the remotes and on the way.  Nodes that keep their rows run what is below
 * once; of a Memoize, it is not known how often.
 */
static Cost
remote_cost(const Plan *plan, double loops)
{
	Cost		cost = 0;
	List	  **list;
	ListCell   *lc;

	if (plan == NULL)
		return 0;
	check_stack_depth();
	if (px_plan_is_receive(plan))
		return loops * Max(0, plan->total_cost -
						   plan->plan_rows * cpu_tuple_cost);
	if (IsA(plan, Material) || IsA(plan, Hash) || IsA(plan, Sort))
		loops = 1;
	cost += remote_cost(plan->lefttree, loops);
	cost += remote_cost(plan->righttree, IsA(plan, NestLoop) ?
						loops * Max(plan->lefttree->plan_rows, 1) : loops);
	if (IsA(plan, SubqueryScan))
		cost += remote_cost(((const SubqueryScan *) plan)->subplan, loops);
	list = px_plan_list(unconstify(Plan *, plan));
	if (list == NULL)
		return cost;
	foreach(lc, *list)
		cost += remote_cost(lfirst(lc), loops);
	return cost;
}

void
px_jit_choose(PlannedStmt *stmt)
{
	Cost		local;
	ListCell   *lc;

	if ((stmt->jitFlags & PGJIT_PERFORM) == 0)
		return;
	local = stmt->planTree->total_cost - remote_cost(stmt->planTree, 1);
	foreach(lc, stmt->subplans)
		local -= remote_cost(lfirst(lc), 1);
	if (local <= jit_above_cost)
		stmt->jitFlags = PGJIT_NONE;
	if (local <= jit_optimize_above_cost)
		stmt->jitFlags &= ~PGJIT_OPT3;
	if (local <= jit_inline_above_cost)
		stmt->jitFlags &= ~PGJIT_INLINE;
}
