/*-------------------------------------------------------------------------
 *
 * inbox_join.c
 *		Hash joins whose table has the rows of an inbox.
 *
 * The planner finds an inner relation unique by its indexes.  An inbox has
 * none, so the join goes on after a match, along the rest of the bucket, which
 * is rarely in the processor's cache.  But the inner rows of a hash join are
 * read to their end before the first one is looked up.  So the scan itself can
 * tell then that no two of them have the same key.
 *
 * Only integers are looked at: equal ones of any two types have the same
 * value, and a bitmap tells them apart at next to no cost.  If one key is
 * unique, so are all keys together, and so are the rows that pass a filter.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/nodeFuncs.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "node/inbox.h"
#include "node/inbox_join.h"
#include "tuple/policy.h"

/* Do integers match if they have the same value, and else not? */
static bool
compares_integers(Oid operator)
{
	switch (get_opcode(operator))
	{
		case F_INT2EQ:
		case F_INT24EQ:
		case F_INT28EQ:
		case F_INT42EQ:
		case F_INT4EQ:
		case F_INT48EQ:
		case F_INT82EQ:
		case F_INT84EQ:
		case F_INT8EQ:
			return true;
		default:
			return false;
	}
}

/* The column of the inbox that a hash key is; 0 if it is none, or no integer */
static AttrNumber
column_of(const CustomScan *scan, const Node *key)
{
	const TargetEntry *target;
	const Var  *var = (const Var *) key;

	if (!IsA(var, Var) || var->varno != OUTER_VAR || var->varattno <= 0)
		return 0;
	target = list_nth_node(TargetEntry, scan->scan.plan.targetlist,
						   var->varattno - 1);
	var = (const Var *) target->expr;
	if (!IsA(var, Var) || var->varno != INDEX_VAR || var->varattno <= 0)
		return 0;
	return px_type_is_integer(var->vartype) ? var->varattno : 0;
}

static void
watch_join(HashJoinState *join)
{
	const HashJoin *plan = castNode(HashJoin, join->js.ps.plan);
	const Hash *hash = castNode(Hash, innerPlan(plan));
	PlanState  *inner = outerPlanState(innerPlanState(join));
	ListCell   *key;
	ListCell   *operator;

	if (join->js.single_match || !px_inbox_is_scan(inner))
		return;
	forboth(key, hash->hashkeys, operator, plan->hashoperators)
	{
		AttrNumber	column = column_of((const CustomScan *) inner->plan,
									   lfirst(key));

		if (column > 0 && compares_integers(lfirst_oid(operator)))
		{
			px_inbox_watch(inner, column, &join->js.single_match);
			return;
		}
	}
}

static bool
watch(PlanState *node, void *context)
{
	if (IsA(node, HashJoinState))
		watch_join((HashJoinState *) node);
	return planstate_tree_walker(node, watch, context);
}

void
px_inbox_join_watch(PlanState *node)
{
	(void) watch(node, NULL);
}
