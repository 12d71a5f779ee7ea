/*-------------------------------------------------------------------------
 *
 * apply_call.c
 *		Planning a call of exchange.apply.
 *
 * The planner makes constants of parameters, and a cursor copies its plan.  So
 * there would be two more copies of the piece.  Here the piece stays a
 * parameter, because nothing can be planned better by its value.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "catalog/pg_type_d.h"
#include "optimizer/planner.h"

#include "compat.h"
#include "exec/apply_state.h"
#include "plan/apply_call.h"

static planner_hook_type prev_planner_hook = NULL;

/* Is it SELECT exchange.apply(...), with nothing else? */
static bool
is_apply_call(const Query *query)
{
	const FuncExpr *call;
	FmgrInfo	finfo;

	if (query->commandType != CMD_SELECT || query->rtable != NIL ||
		list_length(query->targetList) != 1)
		return false;
	call = (const FuncExpr *) linitial_node(TargetEntry,
											query->targetList)->expr;
	if (!IsA(call, FuncExpr) || call->funcid < FirstNormalObjectId ||
		call->funcresulttype != TEXTOID || list_length(call->args) != 3)
		return false;
	fmgr_info(call->funcid, &finfo);
	return finfo.fn_addr == px_sql_apply;
}

/* The same parameters, which may have other values when the plan is run. */
static ParamListInfo
as_variables(const ParamListInfoData *params)
{
	Size		nbytes = offsetof(ParamListInfoData, params) +
		params->numParams * sizeof(ParamExternData);
	ParamListInfo copy = palloc(nbytes);

	memcpy(copy, params, nbytes);
	for (int i = 0; i < copy->numParams; i++)
		copy->params[i].pflags &= ~PARAM_FLAG_CONST;
	return copy;
}

static PlannedStmt *
apply_call_planner(PX_PLANNER_PARAMETERS)
{
	if (params && params->paramFetch == NULL && is_apply_call(parse))
		params = as_variables(params);
	return prev_planner_hook ?
		prev_planner_hook(PX_PLANNER_ARGUMENTS(parse)) :
		standard_planner(PX_PLANNER_ARGUMENTS(parse));
}

void
px_apply_call_plan_init(void)
{
	prev_planner_hook = planner_hook;
	planner_hook = apply_call_planner;
}
