/*-------------------------------------------------------------------------
 *
 * may_match.c
 *		The SQL functions exchange.has_type and exchange.may_match.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/namespace.h"
#include "catalog/pg_type_d.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/supportnodes.h"
#include "optimizer/optimizer.h"
#include "parser/parse_coerce.h"
#include "parser/parse_func.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "compat.h"
#include "exec/ask_types.h"
#include "plan/join_key.h"
#include "plan/may_match.h"

PG_FUNCTION_INFO_V1(px_sql_has_type);
PG_FUNCTION_INFO_V1(px_sql_may_match);
PG_FUNCTION_INFO_V1(px_sql_may_match_support);

/* The row that is the first argument. */
typedef enum row_field
{
	FIELD_COLUMN,
	FIELD_TYPE,					/* a null of the declared type */
	FIELD_KEYS,					/* an array of keys, or a Bloom filter */
	FIELD_LOWEST = FIELD_KEYS,
	FIELD_COLLATION = FIELD_KEYS,	/* of has_type: optional */
	FIELD_HIGHEST,
	FIELDS_OF_TYPE = FIELD_KEYS,
	FIELDS_OF_KEYS = FIELD_HIGHEST,
	FIELDS_OF_BOUNDS
} row_field;

/* ---------------------------------------------------------------------
 * Types
 * --------------------------------------------------------------------- */

/* Is the output of each integer of one type input of the other? */
static bool
is_narrower_integer(Oid type, Oid than)
{
	switch (type)
	{
		case INT2OID:
			return than == INT4OID || than == INT8OID;
		case INT4OID:
			return than == INT8OID;
		default:
			return false;
	}
}

/*
 * Is a value of the one type, put out and read as one of the other, the same
 * value?  Reading it may not fail either: a remote that leaves out rows would
 * hide that error.
 */
static bool
is_same_type(Oid there, int32 typmod_there, Oid here, int32 typmod_here)
{
	there = getBaseTypeAndTypmod(there, &typmod_there);
	if (there == here)
		return typmod_here < 0 || typmod_here == typmod_there;
	if (typmod_here >= 0)
		return false;
	return is_narrower_integer(there, here) ||
		(there == VARCHAROID && here == TEXTOID) ||
		(there == TEXTOID && here == VARCHAROID);
}

/*
 * Are values of the column equal only if their bytes are?  With the collations
 * that may be declared they are so here.
 */
static bool
has_plain_equality(const Node *column)
{
	Oid			collation = exprCollation(column);

	return !OidIsValid(collation) || get_collation_isdeterministic(collation);
}

static bool
has_declared_type(const List *fields, int32 typmod)
{
	const Node *column = list_nth(fields, FIELD_COLUMN);

	return is_same_type(exprType(column), exprTypmod(column),
						exprType(list_nth(fields, FIELD_TYPE)), typmod) &&
		has_plain_equality(column);
}

/* Is the column's collation the one of PostgreSQL's that has this name? */
static bool
has_collation(const Node *column, const Const *name)
{
	const char *found = px_collation_name(exprCollation(column));

	return found && IsA(name, Const) && name->consttype == TEXTOID &&
		!name->constisnull &&
		strcmp(found, TextDatumGetCString(name->constvalue)) == 0;
}

/* What exchange.has_type returns. */
static bool
compares_as_declared(const List *fields, int32 typmod)
{
	return has_declared_type(fields, typmod) &&
		(list_length(fields) <= FIELD_COLLATION ||
		 has_collation(list_nth(fields, FIELD_COLUMN),
					   list_nth(fields, FIELD_COLLATION)));
}

/* ---------------------------------------------------------------------
 * Comparisons
 * --------------------------------------------------------------------- */

/* The column without domains, and with text for varchar, as operators want. */
static Node *
plain_column(const List *fields)
{
	Node	   *column = list_nth(fields, FIELD_COLUMN);
	Oid			type = getBaseType(exprType(column));

	if (type == VARCHAROID)
		type = TEXTOID;
	if (type == exprType(column))
		return column;
	return (Node *) makeRelabelType((Expr *) column, type, -1,
									exprCollation(column),
									COERCE_IMPLICIT_CAST);
}

static Oid
find_operator(const char *name, Oid left, Oid right)
{
	if (right == VARCHAROID)
		right = TEXTOID;
	return OpernameGetOprid(list_make2(makeString("pg_catalog"),
									   makeString(pstrdup(name))),
							left, right);
}

/* column = ANY (keys), or NULL if there is no such operator, or a slow one. */
static Node *
compare_with_keys(Node *column, Node *keys)
{
	ScalarArrayOpExpr *clause = makeNode(ScalarArrayOpExpr);

	clause->opno = find_operator("=", exprType(column),
								 get_element_type(exprType(keys)));
	if (!OidIsValid(clause->opno) || !px_keys_are_hashed(clause->opno))
		return NULL;
	clause->opfuncid = get_opcode(clause->opno);
	clause->useOr = true;
	clause->inputcollid = exprCollation(column);
	clause->args = list_make2(column, keys);
	clause->location = -1;
	return (Node *) clause;
}

static Expr *
compare_with_bound(const char *operator, Node *column, Node *bound)
{
	Oid			opno = find_operator(operator, exprType(column),
									 exprType(bound));

	if (!OidIsValid(opno))
		return NULL;
	return make_opclause(opno, BOOLOID, false, (Expr *) column,
						 (Expr *) bound, InvalidOid, exprCollation(column));
}

static Node *
compare_with_bounds(const List *fields, Node *column)
{
	Expr	   *lowest = compare_with_bound(">=", column,
											list_nth(fields, FIELD_LOWEST));
	Expr	   *highest = compare_with_bound("<=", column,
											 list_nth(fields, FIELD_HIGHEST));

	if (lowest == NULL || highest == NULL)
		return NULL;
	return (Node *) make_andclause(list_make2(lowest, highest));
}

/* exchange.in_filter(filter, column), or NULL if such columns have none. */
static Node *
look_into_filter(Oid caller, Node *column, Node *filter)
{
	char	   *schema = get_namespace_name(get_func_namespace(caller));
	Oid			types[2] = {BYTEAOID, exprType(column)};
	Oid			function;

	if (schema == NULL)
		return NULL;
	switch (types[1])
	{
		case INT2OID:
		case INT4OID:
			column = coerce_to_target_type(NULL, column, types[1], INT8OID, -1,
										   COERCION_IMPLICIT,
										   COERCE_IMPLICIT_CAST, -1);
			types[1] = INT8OID;
			break;
		case INT8OID:
		case TEXTOID:
		case BYTEAOID:
			break;
		case UUIDOID:
			column = (Node *) makeFuncExpr(F_UUID_SEND, BYTEAOID,
										   list_make1(column), InvalidOid,
										   InvalidOid, COERCE_EXPLICIT_CALL);
			types[1] = BYTEAOID;
			break;
		default:
			return NULL;
	}
	function = LookupFuncName(list_make2(makeString(schema),
										 makeString(pstrdup("in_filter"))),
							  2, types, true);
	if (!OidIsValid(function))
		return NULL;
	return (Node *) makeFuncExpr(function, BOOLOID,
								 list_make2(filter, column), InvalidOid,
								 exprCollation(column), COERCE_EXPLICIT_CALL);
}

/* The comparison, or NULL if there is none. */
static Node *
make_comparison(Oid caller, const List *fields)
{
	Node	   *column = plain_column(fields);
	Node	   *keys = list_nth(fields, FIELD_KEYS);

	if (list_length(fields) == FIELDS_OF_BOUNDS)
		return compare_with_bounds(fields, column);
	if (exprType(keys) == BYTEAOID)
		return look_into_filter(caller, column, keys);
	return compare_with_keys(column, keys);
}

/* ---------------------------------------------------------------------
 * The functions
 * --------------------------------------------------------------------- */

/*
 * What a call of exchange.may_match is: true if nothing can be compared.  NULL
 * if it lacks fields.
 */
static Node *
make_match(Oid caller, const List *fields, int32 typmod)
{
	Node	   *comparison = NULL;

	if (list_length(fields) < FIELDS_OF_KEYS)
		return NULL;
	if (has_declared_type(fields, typmod))
		comparison = make_comparison(caller, fields);
	return comparison ? comparison : makeBoolConst(true, false);
}

/* ---------------------------------------------------------------------
 * The planner's calls
 * --------------------------------------------------------------------- */

static Node *
replace_call(const FuncExpr *call)
{
	const RowExpr *row = linitial(call->args);
	const Const *typmod = lsecond(call->args);
	FmgrInfo	finfo;

	if (!IsA(row, RowExpr) || list_length(row->args) < FIELDS_OF_TYPE ||
		!IsA(typmod, Const) || typmod->constisnull)
		return NULL;
	fmgr_info(call->funcid, &finfo);
	if (finfo.fn_addr == px_sql_has_type)
		return makeBoolConst(
			compares_as_declared(row->args,
								 DatumGetInt32(typmod->constvalue)),
			false);
	return make_match(call->funcid, row->args,
					  DatumGetInt32(typmod->constvalue));
}

/* exchange.may_match_support(internal) returns internal */
Datum
px_sql_may_match_support(PG_FUNCTION_ARGS)
{
	Node	   *request = (Node *) PG_GETARG_POINTER(0);

	if (!IsA(request, SupportRequestSimplify))
		PG_RETURN_POINTER(NULL);
	PG_RETURN_POINTER(replace_call(
						  ((SupportRequestSimplify *) request)->fcall));
}

/* ---------------------------------------------------------------------
 * Calls with constants, which the planner evaluates
 * --------------------------------------------------------------------- */

pg_noreturn static void
refuse_row(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("row must have a column, a null of its type, and what it is compared with")));
}

/* The fields of the first argument, as constants. */
static List *
constant_fields(FunctionCallInfo fcinfo)
{
	HeapTupleHeader header;
	HeapTupleData tuple = {0};
	TupleDesc	tupdesc;
	List	   *fields = NIL;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
		refuse_row();
	header = PG_GETARG_HEAPTUPLEHEADER(0);
	tuple.t_len = HeapTupleHeaderGetDatumLength(header);
	tuple.t_data = header;
	tupdesc = lookup_rowtype_tupdesc(HeapTupleHeaderGetTypeId(header),
									 HeapTupleHeaderGetTypMod(header));
	for (int i = 0; i < tupdesc->natts; i++)
	{
		Form_pg_attribute attr = TupleDescAttr(tupdesc, i);
		bool		isnull;
		Datum		value = heap_getattr(&tuple, i + 1, tupdesc, &isnull);

		fields = lappend(fields, makeConst(attr->atttypid, attr->atttypmod,
										   attr->attcollation, attr->attlen,
										   value, isnull, attr->attbyval));
	}
	ReleaseTupleDesc(tupdesc);
	return fields;
}

/* exchange.has_type("column" record, typmod integer) returns boolean */
Datum
px_sql_has_type(PG_FUNCTION_ARGS)
{
	const List *fields = constant_fields(fcinfo);

	if (list_length(fields) < FIELDS_OF_TYPE)
		refuse_row();
	PG_RETURN_BOOL(compares_as_declared(fields, PG_GETARG_INT32(1)));
}

/* exchange.may_match("column" record, typmod integer) returns boolean */
Datum
px_sql_may_match(PG_FUNCTION_ARGS)
{
	Node	   *match = make_match(fcinfo->flinfo->fn_oid,
								   constant_fields(fcinfo),
								   PG_GETARG_INT32(1));
	const Const *result;

	if (match == NULL)
		refuse_row();
	result = (Const *) eval_const_expressions(NULL, match);
	if (!IsA(result, Const))
		elog(ERROR, "comparison of constants is not a constant");
	if (result->constisnull)
		PG_RETURN_NULL();
	PG_RETURN_DATUM(result->constvalue);
}
