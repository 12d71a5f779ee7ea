/*-------------------------------------------------------------------------
 *
 * final_hash.c
 *		Hash tables for groups that come from hash tables.
 *
 * A server that groups by hashing returns its groups in the order of their
 * hash values.  Those of several servers come here in that order: for partial
 * aggregates, or for UNION.  In a hash table that is smaller than those of the
 * servers, all groups so far are neighbours then.  simplehash.h takes long
 * searches among neighbours for a table that is too full, and doubles it, again
 * and again.  The table exceeds work_mem with few groups in it, and keeps its
 * size for all batches of what is spilled: a query over 2 million groups did
 * not end in nine minutes, instead of 2 s.
 *
 * Core has the same problem where its parallel workers group, and gives each
 * worker another initial hash value (use_variable_hash_iv in nodeAgg.c).  From
 * out here, a plan can have another hash function in one way: a key that it
 * has twice.  Hash values of the keys are combined by rotating and xor, so
 *
 *		rotate(hash(a), 1) ^ hash(a)
 *
 * has nothing to do with hash(a), by whose order the rows come.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "nodes/value.h"
#include "utils/lsyscache.h"

#include "exec/plan_walk.h"
#include "plan/final_hash.h"

/*
 * Count the remote queries below plan that return groups in their order.  What
 * another Agg or a Sort reads is in another order above that.
 */
static void
count_groups(Plan *plan, int *n)
{
	List	  **list;
	ListCell   *lc;

	if (plan == NULL || IsA(plan, Agg) || IsA(plan, Sort))
		return;
	check_stack_depth();
	if (px_plan_is_receive(plan))
	{
		const ForeignScan *foreign = linitial_node(
			ForeignScan, ((CustomScan *) plan)->custom_plans);

		if (strstr(strVal(linitial(foreign->fdw_private)), " GROUP BY "))
			(*n)++;
		return;
	}
	count_groups(plan->lefttree, n);
	count_groups(plan->righttree, n);
	if (IsA(plan, SubqueryScan))
		count_groups(((SubqueryScan *) plan)->subplan, n);
	list = px_plan_list(plan);
	if (list == NULL)
		return;
	foreach(lc, *list)
		count_groups(lfirst(lc), n);
}

static bool
combines_groups(const Agg *agg)
{
	int			n = 0;

	if (agg->aggstrategy != AGG_HASHED || agg->groupingSets != NIL ||
		agg->numCols == 0)
		return false;
	count_groups(outerPlan(agg), &n);
	return n > 1;
}

/* The number of the key that takes least memory in each group. */
static int
shortest_key(const Agg *agg)
{
	for (int i = 0; i < agg->numCols; i++)
	{
		const TargetEntry *column = list_nth_node(
			TargetEntry, outerPlan(agg)->targetlist, agg->grpColIdx[i] - 1);

		if (get_typbyval(exprType((Node *) column->expr)))
			return i;
	}
	return 0;
}

/* Called for each node. */
static bool
spread(Plan *plan, void *arg)
{
	Agg		   *agg = (Agg *) plan;
	int			n;
	int			key;
	AttrNumber *columns;
	Oid		   *operators;
	Oid		   *collations;

	if (!IsA(plan, Agg) || !combines_groups(agg))
		return false;

	n = agg->numCols;
	key = shortest_key(agg);
	columns = palloc((n + 1) * sizeof(AttrNumber));
	operators = palloc((n + 1) * sizeof(Oid));
	collations = palloc((n + 1) * sizeof(Oid));
	memcpy(columns, agg->grpColIdx, n * sizeof(AttrNumber));
	memcpy(operators, agg->grpOperators, n * sizeof(Oid));
	memcpy(collations, agg->grpCollations, n * sizeof(Oid));
	columns[n] = columns[key];
	operators[n] = operators[key];
	collations[n] = collations[key];
	agg->numCols = n + 1;
	agg->grpColIdx = columns;
	agg->grpOperators = operators;
	agg->grpCollations = collations;
	return false;
}

void
px_final_hash_spread(const PlannedStmt *stmt)
{
	(void) px_plan_walk_all(stmt, spread, NULL);
}
