/*-------------------------------------------------------------------------
 *
 * in_keys.c
 *		The SQL functions exchange.in_keys: is an integer one of many?
 *
 * The planner of a sender puts them in place of key = ANY (keys) where rows
 * are filtered (plan/in_keys.c).  Core has a hash table for that as well, but
 * calls functions to hash and to compare: of a scan of three million rows of
 * 64 bytes for 1,000 keys, that takes a third of the time.
 *
 * The table is made in the first call of an expression whose keys are
 * constant, and is gone with the expression.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type_d.h"
#include "nodes/primnodes.h"

#include "exec/in_keys.h"
#include "exec/key_table.h"

PG_FUNCTION_INFO_V1(px_sql_in_keys_int2);
PG_FUNCTION_INFO_V1(px_sql_in_keys_int4);
PG_FUNCTION_INFO_V1(px_sql_in_keys_int8);

static bool
has_constant_keys(const FmgrInfo *flinfo)
{
	const FuncExpr *call = (const FuncExpr *) flinfo->fn_expr;

	return call != NULL && IsA(call, FuncExpr) &&
		IsA(linitial(call->args), Const);
}

static bool
in_keys(FunctionCallInfo fcinfo, Oid type, int64 key)
{
	FmgrInfo   *flinfo = fcinfo->flinfo;

	if (flinfo->fn_extra == NULL)
	{
		if (!has_constant_keys(flinfo))
			return px_keys_have(PG_GETARG_ARRAYTYPE_P(0), type, key);
		flinfo->fn_extra = px_key_table_make(PG_GETARG_ARRAYTYPE_P(0), type,
											 flinfo->fn_mcxt);
	}
	return px_key_table_has(flinfo->fn_extra, key);
}

Datum
px_sql_in_keys_int2(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(in_keys(fcinfo, INT2OID, PG_GETARG_INT16(1)));
}

Datum
px_sql_in_keys_int4(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(in_keys(fcinfo, INT4OID, PG_GETARG_INT32(1)));
}

Datum
px_sql_in_keys_int8(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(in_keys(fcinfo, INT8OID, PG_GETARG_INT64(1)));
}

bool
px_in_keys_is(Oid function)
{
	FmgrInfo	finfo;

	fmgr_info(function, &finfo);
	return finfo.fn_addr == px_sql_in_keys_int2 ||
		finfo.fn_addr == px_sql_in_keys_int4 ||
		finfo.fn_addr == px_sql_in_keys_int8;
}
