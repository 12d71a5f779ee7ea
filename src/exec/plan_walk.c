/*-------------------------------------------------------------------------
 *
 * plan_walk.c
 *		The nodes of a finished plan.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "nodes/extensible.h"
#include "utils/syscache.h"

#include "exec/plan_walk.h"

static bool
is_custom(const Plan *plan, const char *name)
{
	return IsA(plan, CustomScan) &&
		strcmp(((const CustomScan *) plan)->methods->CustomName, name) == 0;
}

bool
px_plan_is_receive(const Plan *plan)
{
	return is_custom(plan, PX_RECEIVE_NAME);
}

bool
px_plan_is_gather(const Plan *plan)
{
	return is_custom(plan, PX_GATHER_NAME);
}

bool
px_plan_is_table_scan(const Plan *plan)
{
	switch (nodeTag(plan))
	{
		case T_SeqScan:
		case T_SampleScan:
		case T_IndexScan:
		case T_BitmapHeapScan:
		case T_TidScan:
		case T_TidRangeScan:
			return true;
		default:
			return false;
	}
}

List **
px_plan_list(Plan *plan)
{
	switch (nodeTag(plan))
	{
		case T_Append:
			return &((Append *) plan)->appendplans;
		case T_MergeAppend:
			return &((MergeAppend *) plan)->mergeplans;
		case T_CustomScan:
			return px_plan_is_receive(plan) ?
				NULL :
				&((CustomScan *) plan)->custom_plans;
		default:
			return NULL;
	}
}

bool
px_plan_walk(Plan *plan, px_plan_visitor visit, void *arg)
{
	List	  **list;
	ListCell   *lc;

	if (plan == NULL)
		return false;
	check_stack_depth();

	if (visit(plan, arg) ||
		(plan->lefttree && px_plan_walk(plan->lefttree, visit, arg)) ||
		(plan->righttree && px_plan_walk(plan->righttree, visit, arg)))
		return true;
	if (IsA(plan, SubqueryScan) &&
		px_plan_walk(((SubqueryScan *) plan)->subplan, visit, arg))
		return true;
	list = px_plan_list(plan);
	if (list == NULL)
		return false;
	foreach(lc, *list)
	{
		if (px_plan_walk(lfirst(lc), visit, arg))
			return true;
	}
	return false;
}

bool
px_plan_walk_all(const PlannedStmt *stmt, px_plan_visitor visit, void *arg)
{
	ListCell   *lc;

	if (px_plan_walk(stmt->planTree, visit, arg))
		return true;
	foreach(lc, stmt->subplans)
	{
		if (px_plan_walk(lfirst(lc), visit, arg))
			return true;
	}
	return false;
}

void
px_plan_replace_children(Plan *plan, px_plan_replacer replace, void *arg)
{
	List	  **list = px_plan_list(plan);
	ListCell   *lc;

	if (plan->lefttree)
		plan->lefttree = replace(plan->lefttree, arg);
	if (plan->righttree)
		plan->righttree = replace(plan->righttree, arg);
	if (IsA(plan, SubqueryScan))
	{
		SubqueryScan *scan = (SubqueryScan *) plan;

		scan->subplan = replace(scan->subplan, arg);
	}
	if (list == NULL)
		return;
	foreach(lc, *list)
		lfirst(lc) = replace(lfirst(lc), arg);
}

void
px_plan_replace_all(PlannedStmt *stmt, px_plan_replacer replace, void *arg)
{
	ListCell   *lc;

	if (stmt->planTree)
		stmt->planTree = replace(stmt->planTree, arg);
	foreach(lc, stmt->subplans)
	{
		if (lfirst(lc))
			lfirst(lc) = replace(lfirst(lc), arg);
	}
}

void
px_plan_add_function(PlannedStmt *stmt, Oid function)
{
	PlanInvalItem *item = makeNode(PlanInvalItem);

	item->cacheId = PROCOID;
	item->hashValue = GetSysCacheHashValue1(PROCOID,
											ObjectIdGetDatum(function));
	stmt->invalItems = lappend(stmt->invalItems, item);
}
