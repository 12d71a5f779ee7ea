/*-------------------------------------------------------------------------
 *
 * write_mark.c
 *		Marks plans that write, if no function looks at what is written.
 *
 * Whether functions of users may run queries while rows are made is seen best
 * from the query, before functions are inlined.  Writes are prepared when the
 * plan is run, perhaps in a later transaction.  So the answer is added to the
 * private list that postgres_fdw has for each target, where copies of the plan
 * keep it.  A plan without the mark was made without this library, or may not
 * be written by frames if rows must be seen one by one.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/plannodes.h"
#include "optimizer/planner.h"

#include "compat.h"
#include "exec/write_rules.h"
#include "plan/write_mark.h"

static planner_hook_type prev_planner_hook = NULL;

static bool
writes(const Query *query)
{
	return query->commandType == CMD_INSERT ||
		query->commandType == CMD_UPDATE || query->commandType == CMD_DELETE;
}

/* The first list belongs to a partitioned table if rows are routed. */
static void
add_marks(ModifyTable *modify)
{
	int			i = 0;
	ListCell   *lc;

	foreach(lc, modify->fdwPrivLists)
	{
		if (!bms_is_member(i++, modify->fdwDirectModifyPlans))
			lfirst(lc) = lappend(list_copy(lfirst(lc)),
								 makeString(pstrdup(PX_WRITE_MARK)));
	}
}

static PlannedStmt *
mark_planner(PX_PLANNER_PARAMETERS)
{
	bool		marked = writes(parse) &&
		!px_write_calls_user_code((Node *) parse);
	PlannedStmt *stmt = prev_planner_hook ?
		prev_planner_hook(PX_PLANNER_ARGUMENTS(parse)) :
		standard_planner(PX_PLANNER_ARGUMENTS(parse));

	if (marked && IsA(stmt->planTree, ModifyTable))
		add_marks((ModifyTable *) stmt->planTree);
	return stmt;
}

void
px_write_mark_init(void)
{
	prev_planner_hook = planner_hook;
	planner_hook = mark_planner;
}
