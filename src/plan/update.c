/*-------------------------------------------------------------------------
 *
 * update.c
 *		Scans that feed an UPDATE or DELETE of foreign tables.
 *
 * postgres_fdw reads the rows with ctid, FOR UPDATE, and an ExchangeReceive
 * may do so in its place.  Other statements are sent to the remote as a whole:
 * then postgres_fdw makes the update of its ForeignScan, which it looks for
 * right below ModifyTable.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "compat.h"
#include "exec/plan_walk.h"
#include "node/receive.h"
#include "plan/update.h"

/*
 * Where in the plan postgres_fdw is going to look for the scan: below
 * ModifyTable, or below its Append, which may have a Result on top.
 */
static Plan **
place_of_scan(ModifyTable *plan, int subplan_index)
{
	Plan	  **place = &outerPlan(plan);
	Plan	   *append = *place;

	if (IsA(append, Result) && outerPlan(append) != NULL)
		append = outerPlan(append);
	if (IsA(append, Append))
	{
		List	   *children = ((Append *) append)->appendplans;

		if (subplan_index < list_length(children))
			place = (Plan **) &lfirst(list_nth_cell(children, subplan_index));
	}
	return place;
}

bool
px_update_plan_direct(const FdwRoutine *fdw, PlannerInfo *root,
					  ModifyTable *plan, Index target, int subplan_index)
{
	Plan	  **place = place_of_scan(plan, subplan_index);
	Plan	   *receive = *place;
	ForeignScan *foreign;

	if (!px_plan_is_receive(receive))
		return fdw->PlanDirectModify(root, plan, target, subplan_index);

	/* The scan as postgres_fdw has made it: see px_receive_plan. */
	foreign = makeNode(ForeignScan);
	*foreign = *linitial_node(ForeignScan,
							  ((CustomScan *) receive)->custom_plans);
	foreign->scan.plan.targetlist = receive->targetlist;
	foreign->scan.plan.qual = receive->qual;

	*place = &foreign->scan.plan;
	if (fdw->PlanDirectModify(root, plan, target, subplan_index))
		return true;
	*place = receive;
	return false;
}

/* Does it read rows for the UPDATE or DELETE, or change them? */
static bool
is_target_scan(Plan *plan, void *arg)
{
	if (IsA(plan, ForeignScan))
		return ((ForeignScan *) plan)->operation != CMD_SELECT;
	return px_plan_is_receive(plan) &&
		px_receive_get((const CustomScan *) plan,
					   PX_RECEIVE_PRIVATE_LOCKS) == 2;
}

/*
 * Rows must be changed in the order in which postgres_fdw would return them.
 */
bool
px_update_allows_gather(List *children)
{
	ListCell   *lc;

	foreach(lc, children)
	{
		if (px_plan_walk(lfirst(lc), is_target_scan, NULL))
			return false;
	}
	return true;
}
