/*-------------------------------------------------------------------------
 *
 * plain_explain.c
 *		Planning for EXPLAIN without ANALYZE.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "commands/defrem.h"
#include "tcop/utility.h"

#include "compat.h"
#include "guc.h"
#include "plan/plain_explain.h"

static ProcessUtility_hook_type next_process_utility = NULL;
static bool in_plain_explain = false;
static bool in_explain_execute = false;

static bool
is_plain_explain(const Node *stmt)
{
	bool		plain = true;
	ListCell   *lc;

	if (!IsA(stmt, ExplainStmt))
		return false;
	foreach(lc, ((const ExplainStmt *) stmt)->options)
	{
		DefElem    *option = lfirst_node(DefElem, lc);

		if (strcmp(option->defname, "analyze") == 0)
			plain = !defGetBoolean(option);
	}
	return plain;
}

static bool
is_explain_execute(const Node *stmt)
{
	const Node *query = ((const ExplainStmt *) stmt)->query;

	return IsA(query, Query) && ((const Query *) query)->utilityStmt &&
		IsA(((const Query *) query)->utilityStmt, ExecuteStmt);
}

static void
process_utility(PlannedStmt *pstmt, const char *query, bool read_only_tree,
				ProcessUtilityContext context, ParamListInfo params,
				QueryEnvironment *environment, DestReceiver *dest,
				QueryCompletion *completion)
{
	bool		in_plain_before = in_plain_explain;
	bool		in_execute_before = in_explain_execute;

	if (!px_explain_remote && is_plain_explain(pstmt->utilityStmt))
	{
		in_plain_explain = true;
		in_explain_execute |= is_explain_execute(pstmt->utilityStmt);
	}
	PG_TRY();
	{
		if (next_process_utility)
			next_process_utility(pstmt, query, read_only_tree, context,
								 params, environment, dest, completion);
		else
			standard_ProcessUtility(pstmt, query, read_only_tree, context,
									params, environment, dest, completion);
	}
	PG_FINALLY();
	{
		in_plain_explain = in_plain_before;
		in_explain_execute = in_execute_before;
	}
	PG_END_TRY();
}

bool
px_in_plain_explain(void)
{
	return in_plain_explain;
}

bool
px_in_explain_execute(void)
{
	return in_explain_execute;
}

void
px_plain_explain_init(void)
{
	next_process_utility = ProcessUtility_hook;
	ProcessUtility_hook = process_utility;
}
