/*-------------------------------------------------------------------------
 *
 * inbox.c
 *		Estimating the rows of exchange.inbox(number).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type_d.h"
#include "fmgr.h"
#include "nodes/supportnodes.h"
#include "optimizer/optimizer.h"

#include "transport/inbox.h"

extern PGDLLEXPORT Datum px_sql_inbox_support(PG_FUNCTION_ARGS);

PG_FUNCTION_INFO_V1(px_sql_inbox_support);

/* The rows of a call of exchange.inbox; -1 if they are not known. */
static double
estimate_rows(PlannerInfo *root, const FuncExpr *call)
{
	const Const *number = (const Const *)
		estimate_expression_value(root, linitial(call->args));

	if (!IsA(number, Const) || number->consttype != INT4OID)
		return -1;
	if (number->constisnull)
		return 0;
	return px_inbox_rows(DatumGetInt32(number->constvalue));
}

/* The planner support function of exchange.inbox. */
Datum
px_sql_inbox_support(PG_FUNCTION_ARGS)
{
	SupportRequestRows *request = (SupportRequestRows *) PG_GETARG_POINTER(0);

	if (IsA(request, SupportRequestRows) && request->root &&
		IsA(request->node, FuncExpr))
	{
		double		rows = estimate_rows(request->root,
										 (FuncExpr *) request->node);

		if (rows >= 0)
		{
			request->rows = clamp_row_est(rows);
			PG_RETURN_POINTER(request);
		}
	}
	PG_RETURN_POINTER(NULL);
}
