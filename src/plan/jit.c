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
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"

#include "exec/plan_walk.h"
#include "plan/jit.h"

/* Add the cost of an exchange that arises on the remote and on the way. */
static bool
add_remote_cost(Plan *plan, void *arg)
{
	Cost	   *remote = arg;

	if (px_plan_is_receive(plan))
		*remote += Max(0, plan->total_cost -
					   plan->plan_rows * cpu_tuple_cost);
	return false;
}

void
px_jit_choose(PlannedStmt *stmt)
{
	Cost		remote = 0;
	Cost		local;

	if ((stmt->jitFlags & PGJIT_PERFORM) == 0)
		return;
	(void) px_plan_walk_all(stmt, add_remote_cost, &remote);
	local = stmt->planTree->total_cost - remote;
	if (local <= jit_above_cost)
		stmt->jitFlags = PGJIT_NONE;
	if (local <= jit_optimize_above_cost)
		stmt->jitFlags &= ~PGJIT_OPT3;
	if (local <= jit_inline_above_cost)
		stmt->jitFlags &= ~PGJIT_INLINE;
}
