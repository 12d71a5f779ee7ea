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
#include "optimizer/optimizer.h"

#include "plan/row_function.h"
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
	PG_RETURN_POINTER(px_row_function_support((Node *) PG_GETARG_POINTER(0),
											  estimate_rows));
}
