/*-------------------------------------------------------------------------
 *
 * agg_rule.c
 *		Which aggregates are computed in parts, and of which values.
 *
 * Everything that is known of an aggregate is one line of the table of rules:
 * its OID, the kind of its state, and whether its result may depend on how the
 * rows are divided.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/namespace.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/tlist.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "tuple/agg_rule.h"

#define EXACT_ALWAYS	PX_EXACT_ALWAYS
#define EXACT_AS_KEY	PX_EXACT_AS_KEY
#define EXACT_NEVER		PX_EXACT_NEVER

static const px_agg_rule rules[] = {
	{F_COUNT_, PX_AGG_COUNT, EXACT_ALWAYS},
	{F_COUNT_ANY, PX_AGG_COUNT, EXACT_ALWAYS},
	{F_REGR_COUNT, PX_AGG_COUNT, EXACT_ALWAYS},

	{F_SUM_INT2, PX_AGG_VALUE, EXACT_ALWAYS},
	{F_SUM_INT4, PX_AGG_VALUE, EXACT_ALWAYS},
	{F_SUM_MONEY, PX_AGG_VALUE, EXACT_ALWAYS},
	{F_SUM_FLOAT4, PX_AGG_VALUE, EXACT_NEVER},
	{F_SUM_FLOAT8, PX_AGG_VALUE, EXACT_NEVER},
	{F_SUM_INT8, PX_AGG_INT8_SUM, EXACT_ALWAYS},
	{F_AVG_INT8, PX_AGG_INT8_SUM, EXACT_ALWAYS},
	{F_SUM_NUMERIC, PX_AGG_NUMERIC_SUM, EXACT_ALWAYS},
	{F_AVG_NUMERIC, PX_AGG_NUMERIC_SUM, EXACT_ALWAYS},
	{F_SUM_INTERVAL, PX_AGG_INTERVAL_SUM, EXACT_ALWAYS},
	{F_AVG_INTERVAL, PX_AGG_INTERVAL_AVG, EXACT_ALWAYS},
	{F_AVG_INT2, PX_AGG_INT_AVG, EXACT_ALWAYS},
	{F_AVG_INT4, PX_AGG_INT_AVG, EXACT_ALWAYS},
	{F_AVG_FLOAT4, PX_AGG_FLOAT, EXACT_NEVER},
	{F_AVG_FLOAT8, PX_AGG_FLOAT, EXACT_NEVER},

	{F_VARIANCE_INT2, PX_AGG_INT_VARIANCE, EXACT_ALWAYS},
	{F_VARIANCE_INT4, PX_AGG_INT_VARIANCE, EXACT_ALWAYS},
	{F_VARIANCE_INT8, PX_AGG_INT8_VARIANCE, EXACT_ALWAYS},
	{F_VARIANCE_NUMERIC, PX_AGG_NUMERIC_VARIANCE, EXACT_ALWAYS},
	{F_VARIANCE_FLOAT4, PX_AGG_FLOAT, EXACT_NEVER},
	{F_VARIANCE_FLOAT8, PX_AGG_FLOAT, EXACT_NEVER},
	{F_VAR_POP_INT2, PX_AGG_INT_VARIANCE, EXACT_ALWAYS},
	{F_VAR_POP_INT4, PX_AGG_INT_VARIANCE, EXACT_ALWAYS},
	{F_VAR_POP_INT8, PX_AGG_INT8_VARIANCE, EXACT_ALWAYS},
	{F_VAR_POP_NUMERIC, PX_AGG_NUMERIC_VARIANCE, EXACT_ALWAYS},
	{F_VAR_POP_FLOAT4, PX_AGG_FLOAT, EXACT_NEVER},
	{F_VAR_POP_FLOAT8, PX_AGG_FLOAT, EXACT_NEVER},
	{F_VAR_SAMP_INT2, PX_AGG_INT_VARIANCE, EXACT_ALWAYS},
	{F_VAR_SAMP_INT4, PX_AGG_INT_VARIANCE, EXACT_ALWAYS},
	{F_VAR_SAMP_INT8, PX_AGG_INT8_VARIANCE, EXACT_ALWAYS},
	{F_VAR_SAMP_NUMERIC, PX_AGG_NUMERIC_VARIANCE, EXACT_ALWAYS},
	{F_VAR_SAMP_FLOAT4, PX_AGG_FLOAT, EXACT_NEVER},
	{F_VAR_SAMP_FLOAT8, PX_AGG_FLOAT, EXACT_NEVER},
	{F_STDDEV_INT2, PX_AGG_INT_VARIANCE, EXACT_ALWAYS},
	{F_STDDEV_INT4, PX_AGG_INT_VARIANCE, EXACT_ALWAYS},
	{F_STDDEV_INT8, PX_AGG_INT8_VARIANCE, EXACT_ALWAYS},
	{F_STDDEV_NUMERIC, PX_AGG_NUMERIC_VARIANCE, EXACT_ALWAYS},
	{F_STDDEV_FLOAT4, PX_AGG_FLOAT, EXACT_NEVER},
	{F_STDDEV_FLOAT8, PX_AGG_FLOAT, EXACT_NEVER},
	{F_STDDEV_POP_INT2, PX_AGG_INT_VARIANCE, EXACT_ALWAYS},
	{F_STDDEV_POP_INT4, PX_AGG_INT_VARIANCE, EXACT_ALWAYS},
	{F_STDDEV_POP_INT8, PX_AGG_INT8_VARIANCE, EXACT_ALWAYS},
	{F_STDDEV_POP_NUMERIC, PX_AGG_NUMERIC_VARIANCE, EXACT_ALWAYS},
	{F_STDDEV_POP_FLOAT4, PX_AGG_FLOAT, EXACT_NEVER},
	{F_STDDEV_POP_FLOAT8, PX_AGG_FLOAT, EXACT_NEVER},
	{F_STDDEV_SAMP_INT2, PX_AGG_INT_VARIANCE, EXACT_ALWAYS},
	{F_STDDEV_SAMP_INT4, PX_AGG_INT_VARIANCE, EXACT_ALWAYS},
	{F_STDDEV_SAMP_INT8, PX_AGG_INT8_VARIANCE, EXACT_ALWAYS},
	{F_STDDEV_SAMP_NUMERIC, PX_AGG_NUMERIC_VARIANCE, EXACT_ALWAYS},
	{F_STDDEV_SAMP_FLOAT4, PX_AGG_FLOAT, EXACT_NEVER},
	{F_STDDEV_SAMP_FLOAT8, PX_AGG_FLOAT, EXACT_NEVER},

	{F_COVAR_POP, PX_AGG_REGRESSION, EXACT_NEVER},
	{F_COVAR_SAMP, PX_AGG_REGRESSION, EXACT_NEVER},
	{F_CORR, PX_AGG_REGRESSION, EXACT_NEVER},
	{F_REGR_AVGX, PX_AGG_REGRESSION, EXACT_NEVER},
	{F_REGR_AVGY, PX_AGG_REGRESSION, EXACT_NEVER},
	{F_REGR_INTERCEPT, PX_AGG_REGRESSION, EXACT_NEVER},
	{F_REGR_R2, PX_AGG_REGRESSION, EXACT_NEVER},
	{F_REGR_SLOPE, PX_AGG_REGRESSION, EXACT_NEVER},
	{F_REGR_SXX, PX_AGG_REGRESSION, EXACT_NEVER},
	{F_REGR_SXY, PX_AGG_REGRESSION, EXACT_NEVER},
	{F_REGR_SYY, PX_AGG_REGRESSION, EXACT_NEVER},

	{F_BOOL_AND, PX_AGG_VALUE, EXACT_ALWAYS},
	{F_BOOL_OR, PX_AGG_VALUE, EXACT_ALWAYS},
	{F_EVERY, PX_AGG_VALUE, EXACT_ALWAYS},
	{F_BIT_AND_INT2, PX_AGG_VALUE, EXACT_ALWAYS},
	{F_BIT_AND_INT4, PX_AGG_VALUE, EXACT_ALWAYS},
	{F_BIT_AND_INT8, PX_AGG_VALUE, EXACT_ALWAYS},
	{F_BIT_AND_BIT, PX_AGG_VALUE, EXACT_ALWAYS},
	{F_BIT_OR_INT2, PX_AGG_VALUE, EXACT_ALWAYS},
	{F_BIT_OR_INT4, PX_AGG_VALUE, EXACT_ALWAYS},
	{F_BIT_OR_INT8, PX_AGG_VALUE, EXACT_ALWAYS},
	{F_BIT_OR_BIT, PX_AGG_VALUE, EXACT_ALWAYS},
	{F_BIT_XOR_INT2, PX_AGG_VALUE, EXACT_ALWAYS},
	{F_BIT_XOR_INT4, PX_AGG_VALUE, EXACT_ALWAYS},
	{F_BIT_XOR_INT8, PX_AGG_VALUE, EXACT_ALWAYS},
	{F_BIT_XOR_BIT, PX_AGG_VALUE, EXACT_ALWAYS},

	{F_MAX_INT2, PX_AGG_VALUE, EXACT_AS_KEY},
	{F_MAX_INT4, PX_AGG_VALUE, EXACT_AS_KEY},
	{F_MAX_INT8, PX_AGG_VALUE, EXACT_AS_KEY},
	{F_MAX_OID, PX_AGG_VALUE, EXACT_AS_KEY},
	{F_MAX_FLOAT4, PX_AGG_VALUE, EXACT_AS_KEY},
	{F_MAX_FLOAT8, PX_AGG_VALUE, EXACT_AS_KEY},
	{F_MAX_NUMERIC, PX_AGG_VALUE, EXACT_AS_KEY},
	{F_MAX_MONEY, PX_AGG_VALUE, EXACT_AS_KEY},
	{F_MAX_DATE, PX_AGG_VALUE, EXACT_AS_KEY},
	{F_MAX_TIME, PX_AGG_VALUE, EXACT_AS_KEY},
	{F_MAX_TIMETZ, PX_AGG_VALUE, EXACT_AS_KEY},
	{F_MAX_TIMESTAMP, PX_AGG_VALUE, EXACT_AS_KEY},
	{F_MAX_TIMESTAMPTZ, PX_AGG_VALUE, EXACT_AS_KEY},
	{F_MAX_INTERVAL, PX_AGG_VALUE, EXACT_AS_KEY},
	{F_MAX_TEXT, PX_AGG_VALUE, EXACT_AS_KEY},
	{F_MAX_BPCHAR, PX_AGG_VALUE, EXACT_AS_KEY},
	{F_MAX_INET, PX_AGG_VALUE, EXACT_AS_KEY},
	{F_MAX_PG_LSN, PX_AGG_VALUE, EXACT_AS_KEY},
	{F_MAX_TID, PX_AGG_VALUE, EXACT_AS_KEY},
	{F_MAX_XID8, PX_AGG_VALUE, EXACT_AS_KEY},
	{F_MAX_ANYARRAY, PX_AGG_VALUE, EXACT_AS_KEY},

	{F_MIN_INT2, PX_AGG_VALUE, EXACT_AS_KEY},
	{F_MIN_INT4, PX_AGG_VALUE, EXACT_AS_KEY},
	{F_MIN_INT8, PX_AGG_VALUE, EXACT_AS_KEY},
	{F_MIN_OID, PX_AGG_VALUE, EXACT_AS_KEY},
	{F_MIN_FLOAT4, PX_AGG_VALUE, EXACT_AS_KEY},
	{F_MIN_FLOAT8, PX_AGG_VALUE, EXACT_AS_KEY},
	{F_MIN_NUMERIC, PX_AGG_VALUE, EXACT_AS_KEY},
	{F_MIN_MONEY, PX_AGG_VALUE, EXACT_AS_KEY},
	{F_MIN_DATE, PX_AGG_VALUE, EXACT_AS_KEY},
	{F_MIN_TIME, PX_AGG_VALUE, EXACT_AS_KEY},
	{F_MIN_TIMETZ, PX_AGG_VALUE, EXACT_AS_KEY},
	{F_MIN_TIMESTAMP, PX_AGG_VALUE, EXACT_AS_KEY},
	{F_MIN_TIMESTAMPTZ, PX_AGG_VALUE, EXACT_AS_KEY},
	{F_MIN_INTERVAL, PX_AGG_VALUE, EXACT_AS_KEY},
	{F_MIN_TEXT, PX_AGG_VALUE, EXACT_AS_KEY},
	{F_MIN_BPCHAR, PX_AGG_VALUE, EXACT_AS_KEY},
	{F_MIN_INET, PX_AGG_VALUE, EXACT_AS_KEY},
	{F_MIN_PG_LSN, PX_AGG_VALUE, EXACT_AS_KEY},
	{F_MIN_TID, PX_AGG_VALUE, EXACT_AS_KEY},
	{F_MIN_XID8, PX_AGG_VALUE, EXACT_AS_KEY},
	{F_MIN_ANYARRAY, PX_AGG_VALUE, EXACT_AS_KEY},
};

bool
px_key_is_exact(Oid type, int32 typmod, Oid collation)
{
	type = getBaseTypeAndTypmod(type, &typmod);
	switch (type)
	{
		case BOOLOID:
		case BYTEAOID:
		case CHAROID:
		case INT2OID:
		case INT4OID:
		case INT8OID:
		case OIDOID:
		case CASHOID:
		case DATEOID:
		case TIMEOID:
		case TIMETZOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
		case UUIDOID:
		case INETOID:
		case CIDROID:
		case MACADDROID:
		case MACADDR8OID:
		case BITOID:
		case VARBITOID:
		case PG_LSNOID:
		case TIDOID:
		case XID8OID:
			return true;

			/* Without a typmod, 1.0 equals 1.00, and 'a' equals 'a '. */
		case NUMERICOID:
			return typmod >= (int32) VARHDRSZ;
		case BPCHAROID:
			return typmod >= (int32) VARHDRSZ && OidIsValid(collation) &&
				get_collation_isdeterministic(collation);

		case NAMEOID:
		case TEXTOID:
		case VARCHAROID:
			return OidIsValid(collation) &&
				get_collation_isdeterministic(collation);

			/* float8 has 0 and -0; interval has '1 month' and '30 days'. */
		default:
			return false;
	}
}

bool
px_group_is_exact(List *group_clause, List *targetlist)
{
	ListCell   *lc;

	foreach(lc, group_clause)
	{
		const Node *key =
			get_sortgroupclause_expr(lfirst_node(SortGroupClause, lc),
									 targetlist);

		if (!px_key_is_exact(exprType(key), exprTypmod(key),
							 exprCollation(key)))
			return false;
	}
	return true;
}

/* Is the aggregate's result the same, however the rows are divided? */
static bool
is_exact(const px_agg_rule *rule, const Aggref *aggref)
{
	Node	   *arg;
	Oid			type;

	if (rule->exactness != PX_EXACT_AS_KEY)
		return rule->exactness == PX_EXACT_ALWAYS;
	arg = (Node *) linitial_node(TargetEntry, aggref->args)->expr;
	type = exprType(arg);

	/* A domain's typmod gets lost where it is taken for its base type. */
	if (IsA(arg, RelabelType))
	{
		Node	   *inner = (Node *) ((RelabelType *) arg)->arg;

		if (getBaseType(exprType(inner)) == type)
			arg = inner;
	}
	return px_key_is_exact(exprType(arg), exprTypmod(arg),
						   aggref->inputcollid);
}

const px_agg_rule *
px_agg_rule_for(const Aggref *aggref, bool exact)
{
	if (aggref->aggkind != AGGKIND_NORMAL || aggref->aggvariadic ||
		aggref->aggdistinct != NIL || aggref->aggorder != NIL ||
		aggref->agglevelsup != 0)
		return NULL;
	for (size_t i = 0; i < lengthof(rules); i++)
		if (rules[i].function == aggref->aggfnoid)
			return !exact || is_exact(&rules[i], aggref) ? &rules[i] : NULL;
	return NULL;
}

/* The aggregate itself, over the same rows, computed as a whole. */
static Aggref *
itself(const Aggref *partial)
{
	Aggref	   *plain = copyObject((Aggref *) partial);

	plain->aggtype = partial->aggtranstype;
	plain->aggsplit = AGGSPLIT_SIMPLE;
	plain->aggno = -1;
	plain->aggtransno = -1;
	plain->location = -1;
	return plain;
}

/*
 * An aggregate over the same rows, of other arguments: x and, if it has two, y
 * before it.  Where x is NULL, it counts rows.  transtype is that of
 * pg_aggregate, which nobody needs for a plain aggregate but equal().
 */
static Aggref *
aggregate(const Aggref *partial, Oid function, Expr *y, Expr *x)
{
	Aggref	   *plain = makeNode(Aggref);

	plain->aggfnoid = function;
	plain->aggtype = get_func_rettype(function);
	plain->aggtranstype = InvalidOid;
	if (x)
		plain->args = list_make1(x);
	if (y)
		plain->args = lcons(y, plain->args);
	for (int i = 0; i < list_length(plain->args); i++)
	{
		ListCell   *cell = list_nth_cell(plain->args, i);
		Expr	   *arg = copyObject((Expr *) lfirst(cell));

		plain->aggargtypes = lappend_oid(plain->aggargtypes,
										 exprType((Node *) arg));
		lfirst(cell) = makeTargetEntry(arg, (AttrNumber) (i + 1), NULL, false);
	}
	plain->aggfilter = copyObject(partial->aggfilter);
	plain->aggstar = x == NULL;
	plain->aggkind = AGGKIND_NORMAL;
	plain->aggsplit = AGGSPLIT_SIMPLE;
	plain->aggno = -1;
	plain->aggtransno = -1;
	plain->location = -1;
	return plain;
}

/* Let the aggregate take only rows where arg is not NULL. */
static Aggref *
where_not_null(Aggref *plain, const Expr *arg)
{
	NullTest   *test = makeNode(NullTest);
	List	   *filter = NIL;

	test->arg = copyObject((Expr *) arg);
	test->nulltesttype = IS_NOT_NULL;
	test->location = -1;
	if (plain->aggfilter)
		filter = make_ands_implicit(plain->aggfilter);
	plain->aggfilter = make_ands_explicit(lappend(filter, test));
	return plain;
}

/* Is it a built-in function that returns NULL for NULL arguments only? */
static bool
null_for_null_only(Oid function, void *context)
{
	switch (function)
	{
		case F_INT2PL:
		case F_INT2MI:
		case F_INT2MUL:
		case F_INT4PL:
		case F_INT4MI:
		case F_INT4MUL:
		case F_INT8PL:
		case F_INT8MI:
		case F_INT8MUL:
		case F_INT8_INT2:
		case F_INT8_INT4:
		case F_FLOAT8PL:
		case F_FLOAT8MI:
		case F_FLOAT8MUL:
		case F_FLOAT8_FLOAT4:
		case F_NUMERIC_ADD:
		case F_NUMERIC_SUB:
		case F_NUMERIC_MUL:
		case F_NUMERIC_DIV:
		case F_NUMERIC_UMINUS:
		case F_NUMERIC_INT2:
		case F_NUMERIC_INT4:
		case F_NUMERIC_INT8:
		case F_NUMERIC_NUMERIC_INT4:
			return false;
		default:
			return true;
	}
}

/*
 * Is the expression NULL if and only if one of the columns in it is?  It is
 * made of such functions, columns and constants that are not NULL.
 */
static bool
null_by_columns(Node *expr)
{
	ListCell   *lc;
	List	   *args;

	if (expr == NULL)
		return false;
	if (IsA(expr, Var))
		return true;
	if (IsA(expr, Const))
		return !((Const *) expr)->constisnull;
	if (IsA(expr, RelabelType))
		return null_by_columns((Node *) ((RelabelType *) expr)->arg);
	if (IsA(expr, OpExpr))
	{
		set_opfuncid((OpExpr *) expr);
		args = ((OpExpr *) expr)->args;
	}
	else if (IsA(expr, FuncExpr))
		args = ((FuncExpr *) expr)->args;
	else
		return false;
	if (check_functions_in_node(expr, null_for_null_only, NULL))
		return false;
	foreach(lc, args)
		if (!null_by_columns(lfirst(lc)))
			return false;
	return true;
}

/*
 * count(x).  The remote would compute an expression x once more for that, and
 * arithmetic of numeric is most of what such a query costs.  So it is asked to
 * count the rows where the columns are not NULL, if that is the same.
 */
static Aggref *
count(const Aggref *partial, Expr *x)
{
	Aggref	   *plain;
	List	   *columns = NIL;
	ListCell   *lc;

	if (!IsA(x, Var) && null_by_columns((Node *) x))
		foreach(lc, pull_var_clause((Node *) x, 0))
			columns = list_append_unique(columns, lfirst(lc));
	if (columns == NIL)
		return aggregate(partial, F_COUNT_ANY, NULL, x);
	if (list_length(columns) == 1)
		return aggregate(partial, F_COUNT_ANY, NULL, linitial(columns));
	plain = aggregate(partial, F_COUNT_, NULL, NULL);
	foreach(lc, columns)
		where_not_null(plain, lfirst(lc));
	return plain;
}

static Expr *
cast(Oid function, Oid type, Expr *x)
{
	return (Expr *) makeFuncExpr(function, type, list_make1(x), InvalidOid,
								 InvalidOid, COERCE_EXPLICIT_CAST);
}

/* x as float8, which is float4 or float8. */
static Expr *
as_float8(Expr *x)
{
	if (exprType((Node *) x) == FLOAT4OID)
		return cast(F_FLOAT8_FLOAT4, FLOAT8OID, x);
	return x;
}

/* x * x, of a type that holds it. */
static Expr *
square(Expr *x)
{
	Oid			type = exprType((Node *) x);
	Oid			multiply;

	switch (type)
	{
		case INT2OID:
			x = cast(F_INT8_INT2, type = INT8OID, x);
			break;
		case INT4OID:
			x = cast(F_INT8_INT4, type = INT8OID, x);
			break;
		case INT8OID:
			x = cast(F_NUMERIC_INT8, type = NUMERICOID, x);
			break;
	}
	multiply = OpernameGetOprid(list_make2(makeString("pg_catalog"),
										   makeString("*")),
								type, type);
	x = make_opclause(multiply, type, false, x, copyObject(x), InvalidOid,
					  InvalidOid);
	set_opfuncid((OpExpr *) x);
	return x;
}

/* The sum of x's squares. */
static Aggref *
sum_of_squares(const Aggref *partial, Expr *x)
{
	x = square(x);
	if (exprType((Node *) x) == INT8OID)
		return aggregate(partial, F_SUM_INT8, NULL, x);
	return aggregate(partial, F_SUM_NUMERIC, NULL, x);
}

/* sum(x), for all types that a kind other than PX_AGG_VALUE has. */
static Aggref *
sum(const Aggref *partial, Expr *x)
{
	switch (exprType((Node *) x))
	{
		case INT2OID:
			return aggregate(partial, F_SUM_INT2, NULL, x);
		case INT4OID:
			return aggregate(partial, F_SUM_INT4, NULL, x);
		case INT8OID:
			return aggregate(partial, F_SUM_INT8, NULL, x);
		case INTERVALOID:
			return aggregate(partial, F_SUM_INTERVAL, NULL, x);
		case FLOAT8OID:
			return aggregate(partial, F_SUM_FLOAT8, NULL, x);
		default:
			return aggregate(partial, F_SUM_NUMERIC, NULL, x);
	}
}

/*
 * postgres_fdw leaves out a cast that the parser has added, because it would
 * be added there, too.  That is not so below another function: sum(float4)
 * adds numbers of 6 digits, and sum(float4::float8) does not.
 */
static Expr *
with_visible_cast(Expr *x)
{
	FuncExpr   *function = (FuncExpr *) x;

	if (!IsA(x, FuncExpr) || function->funcformat != COERCE_IMPLICIT_CAST)
		return x;
	function = copyObject(function);
	function->funcformat = COERCE_EXPLICIT_CAST;
	return (Expr *) function;
}

/* What PX_AGG_REGRESSION is made of. */
static List *
regression(const Aggref *partial, Expr *y, Expr *x)
{
	List	   *plain;

	x = with_visible_cast(x);
	y = with_visible_cast(y);
	plain = list_make5(
		aggregate(partial, F_REGR_COUNT, y, x),
		where_not_null(sum(partial, x), y),
		aggregate(partial, F_REGR_SXX, y, x),
		where_not_null(sum(partial, y), x),
		aggregate(partial, F_REGR_SYY, y, x));
	plain = lappend(plain, aggregate(partial, F_REGR_SXY, y, x));
	if (PX_REGRESSION_STATE_HAS_COMMON)
		plain = list_concat(plain, list_make4(
			where_not_null(aggregate(partial, F_MIN_FLOAT8, NULL, x), y),
			where_not_null(aggregate(partial, F_MAX_FLOAT8, NULL, x), y),
			where_not_null(aggregate(partial, F_MIN_FLOAT8, NULL, y), x),
			where_not_null(aggregate(partial, F_MAX_FLOAT8, NULL, y), x)));
	return plain;
}

List *
px_agg_plain_aggrefs(const px_agg_rule *rule, const Aggref *partial)
{
	Expr	   *x = NULL;
	Expr	   *y;

	if (partial->args != NIL)
		x = llast_node(TargetEntry, partial->args)->expr;

	switch (rule->kind)
	{
		case PX_AGG_COUNT:
		case PX_AGG_VALUE:
			return list_make1(itself(partial));
		case PX_AGG_INTERVAL_SUM:
			if (!PX_INTERVAL_STATE_IS_INTERNAL)
				return list_make1(itself(partial));
			pg_fallthrough;
		case PX_AGG_INTERVAL_AVG:
		case PX_AGG_INT_AVG:
		case PX_AGG_INT8_SUM:
		case PX_AGG_NUMERIC_SUM:
			return list_make2(count(partial, x), sum(partial, x));
		case PX_AGG_INT_VARIANCE:
		case PX_AGG_INT8_VARIANCE:
		case PX_AGG_NUMERIC_VARIANCE:
			return list_make3(count(partial, x), sum(partial, x),
							  sum_of_squares(partial, x));
		case PX_AGG_FLOAT:
			x = as_float8(x);
			return list_make3(count(partial, x), sum(partial, x),
							  aggregate(partial, F_VAR_POP_FLOAT8, NULL, x));
		case PX_AGG_REGRESSION:
			y = linitial_node(TargetEntry, partial->args)->expr;
			return regression(partial, y, x);
	}
	pg_unreachable();
}
