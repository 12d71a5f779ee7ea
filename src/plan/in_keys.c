/*-------------------------------------------------------------------------
 *
 * in_keys.c
 *		Rows of a finished plan are filtered for many keys by exchange.in_keys.
 *
 * key = ANY (keys) is what an index can be asked for, so the query has that.
 * Where the planner has chosen to look at each row, it stays a filter, and
 * exchange.in_keys is faster than core's hash table (exec/in_keys.c).  A scan
 * of a whole heap, or of a range of its blocks, becomes an ExchangeKeyScan,
 * which does not even call it (plan/key_scan.c).
 *
 * A filter is a list of conditions that must all be true.  For it, null and
 * false are the same, so a null among the keys makes no difference.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type_d.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "parser/parse_func.h"
#include "utils/array.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "compat.h"
#include "exec/in_keys.h"
#include "exec/plan_walk.h"
#include "plan/in_keys.h"
#include "plan/key_scan.h"

/* Core hashes as many (MIN_ARRAY_SIZE_FOR_HASHED_SAOP). */
#define KEYS_MIN	9

typedef struct replace_context
{
	PlannedStmt *stmt;
	Oid			marker;
} replace_context;

/* The type of both sides of an equality of integers, or InvalidOid. */
static Oid
type_compared(Oid function)
{
	switch (function)
	{
		case F_INT2EQ:
			return INT2OID;
		case F_INT4EQ:
			return INT4OID;
		case F_INT8EQ:
			return INT8OID;
		default:
			return InvalidOid;
	}
}

static PGFunction
address_for(Oid type)
{
	return type == INT2OID ? px_sql_in_keys_int2 :
		type == INT4OID ? px_sql_in_keys_int4 : px_sql_in_keys_int8;
}

/* The extension's own function for keys of this type, or InvalidOid. */
static Oid
find_function(Oid marker, Oid type)
{
	char	   *schema = get_namespace_name(get_func_namespace(marker));
	Oid			types[2] = {get_array_type(type), type};
	Oid			function;
	FmgrInfo	finfo;

	if (schema == NULL)
		return InvalidOid;
	function = LookupFuncName(list_make2(makeString(schema),
										 makeString(pstrdup("in_keys"))),
							  2, types, true);
	if (!OidIsValid(function) ||
		px_function_aclcheck(function, GetUserId()) != ACLCHECK_OK)
		return InvalidOid;
	fmgr_info(function, &finfo);
	return finfo.fn_addr == address_for(type) ? function : InvalidOid;
}

static bool
has_many_keys(const Node *keys)
{
	ArrayType  *array;

	if (!IsA(keys, Const) || ((const Const *) keys)->constisnull)
		return false;
	array = DatumGetArrayTypeP(((const Const *) keys)->constvalue);
	return ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array)) >= KEYS_MIN;
}

/* What stands in place of a condition: itself, or a call. */
static Node *
replace_condition(Node *condition, const replace_context *context)
{
	const ScalarArrayOpExpr *clause = (ScalarArrayOpExpr *) condition;
	Oid			type;
	Oid			function;

	if (!IsA(condition, ScalarArrayOpExpr) || !clause->useOr ||
		!has_many_keys(lsecond(clause->args)))
		return condition;
	type = type_compared(clause->opfuncid);
	if (!OidIsValid(type))
		return condition;
	function = find_function(context->marker, type);
	if (!OidIsValid(function))
		return condition;
	px_plan_add_function(context->stmt, function);

	/* Others may not be allowed to call the function. */
	context->stmt->dependsOnRole = true;
	return (Node *) makeFuncExpr(function, BOOLOID,
								 list_make2(lsecond(clause->args),
											linitial(clause->args)),
								 InvalidOid, InvalidOid,
								 COERCE_EXPLICIT_CALL);
}

static Plan *
replace_in_plan(Plan *plan, void *arg)
{
	const replace_context *context = arg;
	ListCell   *lc;

	check_stack_depth();
	px_plan_replace_children(plan, replace_in_plan, arg);
	if (!px_plan_is_table_scan(plan))
		return plan;
	foreach(lc, plan->qual)
		lfirst(lc) = replace_condition(lfirst(lc), context);
	return px_key_scan_replace(context->stmt, plan);
}

void
px_in_keys_replace(PlannedStmt *stmt, Oid marker)
{
	replace_context context = {.stmt = stmt, .marker = marker};

	px_plan_replace_all(stmt, replace_in_plan, &context);
}
