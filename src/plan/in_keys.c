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
 * Keys may be integers of another width than the column.  Core would compare
 * such ones one after another, because they are hashed by other functions.  So
 * they are converted; those that the column's type does not have are left out.
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
#include "tuple/policy.h"

/* Core hashes as many (MIN_ARRAY_SIZE_FOR_HASHED_SAOP). */
#define KEYS_MIN	9

typedef struct replace_context
{
	PlannedStmt *stmt;
	Oid			marker;
} replace_context;

/* The type of the left side of an equality of integers, or InvalidOid. */
static Oid
type_compared(Oid function)
{
	switch (function)
	{
		case F_INT2EQ:
		case F_INT24EQ:
		case F_INT28EQ:
			return INT2OID;
		case F_INT4EQ:
		case F_INT42EQ:
		case F_INT48EQ:
			return INT4OID;
		case F_INT8EQ:
		case F_INT82EQ:
		case F_INT84EQ:
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

/* Keys that are integers, as integers of the type. */
static Const *
convert_keys(Const *keys, Oid type)
{
	Oid			from = get_element_type(keys->consttype);
	Oid			array_type = get_array_type(type);
	Datum	   *values;
	bool	   *nulls;
	int			n;
	int			nkept = 0;
	int16		len;
	bool		byval;
	char		align;

	if (from == type)
		return keys;
	get_typlenbyvalalign(from, &len, &byval, &align);
	deconstruct_array(DatumGetArrayTypeP(keys->constvalue), from, len, byval,
					  align, &values, &nulls, &n);
	for (int i = 0; i < n; i++)
	{
		int64		key = nulls[i] ? 0 : px_integer_of_value(from, values[i]);
		Datum		value = px_value_of_integer(type, key);

		if (!nulls[i] && px_integer_of_value(type, value) == key)
			values[nkept++] = value;
	}
	get_typlenbyvalalign(type, &len, &byval, &align);
	return makeConst(array_type, -1, InvalidOid, -1,
					 PointerGetDatum(construct_array(values, nkept, type, len,
													 byval, align)),
					 false, false);
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
								 list_make2(convert_keys(lsecond(clause->args),
														 type),
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
