/*-------------------------------------------------------------------------
 *
 * timeout.c
 *		Time-outs of the session that sends.
 *
 * postgres.c begins STATEMENT_TIMEOUT with a statement, if it is not active,
 * and at the end stops it, if it is.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/parallel.h"
#include "storage/proc.h"
#include "tcop/pquery.h"
#include "utils/guc.h"
#include "utils/timeout.h"

#include "exec/timeout.h"

/*
 * Is the node's query what the client has asked for, and is it limited?  If
 * the time is up already, the next check for interrupts reports it.
 */
static bool
is_limited(const CustomScanState *node)
{
	return StatementTimeout > 0 && !IsParallelWorker() && ActivePortal &&
		ActivePortal->queryDesc &&
		ActivePortal->queryDesc->estate == node->ss.ps.state &&
		!get_timeout_indicator(STATEMENT_TIMEOUT, false);
}

void
px_timeout_restart(const CustomScanState *node)
{
	if (is_limited(node))
		enable_timeout_after(STATEMENT_TIMEOUT, StatementTimeout);
}

void
px_timeout_stop(const CustomScanState *node)
{
	if (is_limited(node) && get_timeout_active(STATEMENT_TIMEOUT))
		disable_timeout(STATEMENT_TIMEOUT, false);
}

bool
px_timeout_is_of_call(Oid function)
{
	const Plan *plan;
	const TargetEntry *target;

	if (IsParallelWorker() || ActivePortal == NULL ||
		ActivePortal->queryDesc == NULL)
		return false;
	plan = ActivePortal->queryDesc->plannedstmt->planTree;
	if (!IsA(plan, Result) || plan->lefttree != NULL ||
		list_length(plan->targetlist) != 1)
		return false;
	target = linitial_node(TargetEntry, plan->targetlist);
	return IsA(target->expr, FuncExpr) &&
		((const FuncExpr *) target->expr)->funcid == function;
}

void
px_timeout_next_statement(void)
{
	if (StatementTimeout > 0 &&
		!get_timeout_indicator(STATEMENT_TIMEOUT, false))
		enable_timeout_after(STATEMENT_TIMEOUT, StatementTimeout);
}

void
px_timeout_pause(void)
{
	if (get_timeout_active(STATEMENT_TIMEOUT))
		disable_timeout(STATEMENT_TIMEOUT, false);
}

void
px_timeout_reset_lock(void)
{
	(void) set_config_option("lock_timeout",
							 GetConfigOptionResetString("lock_timeout"),
							 PGC_USERSET, PGC_S_SESSION, GUC_ACTION_LOCAL,
							 true, 0, false);
}
