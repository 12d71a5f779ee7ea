/*-------------------------------------------------------------------------
 *
 * harmless.c
 *		Expressions and queries that cannot raise an error.
 *
 * When a query is rewritten, an expression may be evaluated on other rows than
 * before.  Nobody must see that.  So such expressions are built from a list of
 * functions that return a value for every argument: comparisons of built-in
 * types, LIKE with a plain pattern, conversions to wider types, and arithmetic
 * of numerics whose size is limited.
 *
 * An expression of immutable functions and constants is harmless, too, if it
 * has a value.  If it has not, it is the planner who raises the error, and only
 * for what the query needs: nothing happens in CASE WHEN false THEN 1 / 0 END.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "access/transam.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_type_d.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "compat.h"
#include "compat_query.h"
#include "plan/guarded.h"
#include "plan/harmless.h"

/*
 * Numerics have at most 131072 digits before the decimal point.  A numeric
 * column with a type modifier has at most 1000, its sum 19 more, and a
 * constant at most so many.  So no product of so many factors overflows.
 */
#define NUMERIC_CONST_DIGITS	1000
#define NUMERIC_FACTORS			100

/* What is known of the expression that is being looked at. */
typedef struct harmless_context
{
	bool		strict;			/* must be NULL if a leaf is */
	bool		aggregates;		/* may have aggregates */
	bool		trusts_sublinks;	/* scalar subqueries are harmless */
	SubLink   **sublink;		/* where to store a scalar subquery, or NULL */
	bool		has_sublink;	/* one was found */
} harmless_context;

static bool is_harmless(Node *node, harmless_context *context);
static bool is_bounded(Node *node, int *nfactors);

bool
px_type_compares_safely(Oid type)
{
	switch (type)
	{
		case BOOLOID:
		case CHAROID:
		case INT2OID:
		case INT4OID:
		case INT8OID:
		case OIDOID:
		case FLOAT4OID:
		case FLOAT8OID:
		case NUMERICOID:
		case MONEYOID:
		case TEXTOID:
		case VARCHAROID:
		case BPCHAROID:
		case NAMEOID:
		case BYTEAOID:
		case DATEOID:
		case TIMEOID:
		case TIMETZOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
		case INTERVALOID:
		case UUIDOID:
		case INETOID:
		case CIDROID:
		case MACADDROID:
		case MACADDR8OID:
		case BITOID:
		case VARBITOID:
			return true;
		default:
			return false;
	}
}

bool
px_type_reads_safely(Oid type)
{
	Oid			element = get_element_type(type);

	if (OidIsValid(element))
		return px_type_reads_safely(element);
	return type != INTERVALOID && type != MONEYOID &&
		px_type_compares_safely(type);
}

/* Is there something that differs from row to row, or between executions? */
static bool
has_variables(Node *node, void *context)
{
	if (node == NULL)
		return false;
	switch (nodeTag(node))
	{
		case T_Var:
		case T_Param:
		case T_Aggref:
		case T_GroupingFunc:
		case T_WindowFunc:
		case T_SubLink:
		case T_CaseTestExpr:
		case T_CoerceToDomain:
		case T_CoerceToDomainValue:
		case T_SetToDefault:
		case T_CurrentOfExpr:
		case T_NextValueExpr:
			return true;
		default:
			return expression_tree_walker(node, has_variables, context);
	}
}

static bool
is_of_user(Oid function, void *context)
{
	return function >= FirstNormalObjectId;
}

static bool
calls_function_of_user(Node *node, void *context)
{
	if (node == NULL)
		return false;
	return check_functions_in_node(node, is_of_user, context) ||
		expression_tree_walker(node, calls_function_of_user, context);
}

bool
px_calls_function_of_user(Node *node)
{
	return calls_function_of_user(node, NULL);
}

/* Called by px_guarded. */
static void
fold(void *arg)
{
	Node	  **node = arg;

	*node = eval_const_expressions(NULL, *node);
}

/* Is it an expression of constants that has a value? */
static bool
is_folded(Node *node)
{
	return !has_variables(node, NULL) && !contain_mutable_functions(node) &&
		!expression_returns_set(node) && !px_calls_function_of_user(node) &&
		px_guarded(fold, &node) && IsA(node, Const);
}

/* ---------------------------------------------------------------------
 * Operators and functions
 * --------------------------------------------------------------------- */

/* A comparison of built-in types; text needs a collation. */
static bool
is_comparison(Oid operator, Oid collation)
{
	Oid			left;
	Oid			right;

	if (operator >= FirstNormalObjectId || !px_is_comparison(operator))
		return false;
	op_input_types(operator, &left, &right);
	return px_type_compares_safely(left) && px_type_compares_safely(right) &&
		(OidIsValid(collation) || !type_is_collatable(left));
}

/* LIKE and NOT LIKE, with a pattern that has no escape character. */
static bool
is_plain_like(Oid function, Oid collation, List *args)
{
	Const	   *pattern = lsecond(args);

	switch (function)
	{
		case F_TEXTLIKE:
		case F_TEXTNLIKE:
		case F_BPCHARLIKE:
		case F_BPCHARNLIKE:
			break;
		default:
			return false;
	}
	if (!OidIsValid(collation) || !get_collation_isdeterministic(collation) ||
		!IsA(pattern, Const) || pattern->consttype != TEXTOID)
		return false;
	return pattern->constisnull ||
		strchr(TextDatumGetCString(pattern->constvalue), '\\') == NULL;
}

/* Conversions that lose nothing. */
static bool
is_widening(Oid function)
{
	switch (function)
	{
		case F_INT4_INT2:
		case F_INT8_INT2:
		case F_INT8_INT4:
		case F_NUMERIC_INT2:
		case F_NUMERIC_INT4:
		case F_NUMERIC_INT8:
		case F_FLOAT8_FLOAT4:
		case F_TEXT_BPCHAR:
			return true;
		default:
			return false;
	}
}

static bool
is_numeric_arithmetic(Oid function)
{
	switch (function)
	{
		case F_NUMERIC_ADD:
		case F_NUMERIC_SUB:
		case F_NUMERIC_MUL:
		case F_NUMERIC_DIV:
		case F_NUMERIC_UMINUS:
			return true;
		default:
			return false;
	}
}

/* Is this a numeric constant of few digits?  If nonzero: and not zero? */
static bool
is_short_const(Node *node, bool nonzero)
{
	const Const *value = (const Const *) node;
	char	   *digits;

	if (!IsA(node, Const) || value->consttype != NUMERICOID)
		return false;
	if (value->constisnull)
		return true;
	digits = DatumGetCString(DirectFunctionCall1(numeric_out,
												 value->constvalue));
	return strlen(digits) <= NUMERIC_CONST_DIGITS &&
		(!nonzero || strpbrk(digits, "123456789NI") != NULL);
}

/*
 * Is the size of this numeric limited?  *nfactors counts what may have been
 * multiplied.
 */
static bool
is_bounded(Node *node, int *nfactors)
{
	check_stack_depth();

	(*nfactors)++;
	switch (nodeTag(node))
	{
		case T_Const:
			return is_short_const(node, false);
		case T_Var:
			return ((Var *) node)->vartype == NUMERICOID &&
				((Var *) node)->vartypmod >= (int32) VARHDRSZ;
		case T_RelabelType:
			return is_bounded((Node *) ((RelabelType *) node)->arg, nfactors);
		case T_FuncExpr:
			return exprType(node) == NUMERICOID &&
				is_widening(((FuncExpr *) node)->funcid);
		case T_Aggref:
			{
				Aggref	   *aggref = (Aggref *) node;
				TargetEntry *arg = aggref->args
					? linitial_node(TargetEntry, aggref->args)
					: NULL;

				return aggref->aggtype == NUMERICOID && arg != NULL &&
					(exprType((Node *) arg->expr) != NUMERICOID ||
					 is_bounded((Node *) arg->expr, nfactors));
			}
		case T_SubLink:
			{
				Query	   *query = (Query *) ((SubLink *) node)->subselect;

				return is_bounded(
					(Node *) linitial_node(TargetEntry,
										   query->targetList)->expr,
					nfactors);
			}
		case T_OpExpr:
			{
				OpExpr	   *op = (OpExpr *) node;
				ListCell   *lc;

				if (!is_numeric_arithmetic(op->opfuncid))
					return false;
				if (op->opfuncid == F_NUMERIC_DIV &&
					!is_short_const(lsecond(op->args), true))
					return false;
				foreach(lc, op->args)
				{
					if (!is_bounded(lfirst(lc), nfactors))
						return false;
				}
				return true;
			}
		default:
			return false;
	}
}

/* ---------------------------------------------------------------------
 * Aggregates
 * --------------------------------------------------------------------- */

static bool
is_min_or_max(Oid aggregate)
{
	char	   *name = get_func_name(aggregate);

	return name && (strcmp(name, "min") == 0 || strcmp(name, "max") == 0);
}

bool
px_aggregate_is_harmless(const Aggref *aggref)
{
	harmless_context context = {0};
	Node	   *arg;
	Oid			type;
	int			nfactors = 0;

	if (aggref->aggfnoid >= FirstNormalObjectId || aggref->agglevelsup != 0 ||
		aggref->aggkind != AGGKIND_NORMAL || aggref->aggvariadic ||
		aggref->aggorder != NIL || aggref->aggdistinct != NIL ||
		list_length(aggref->args) > 1 ||
		!is_harmless((Node *) aggref->aggfilter, &context))
		return false;
	if (aggref->args == NIL)
		return aggref->aggfnoid == F_COUNT_;

	arg = (Node *) linitial_node(TargetEntry, aggref->args)->expr;
	type = exprType(arg);
	if (!is_harmless(arg, &context))
		return false;
	switch (aggref->aggfnoid)
	{
		case F_COUNT_ANY:
		case F_SUM_INT2:
		case F_SUM_INT4:
		case F_SUM_INT8:
		case F_AVG_INT2:
		case F_AVG_INT4:
		case F_AVG_INT8:
			return true;
		case F_SUM_NUMERIC:
		case F_AVG_NUMERIC:
			return is_bounded(arg, &nfactors) && nfactors <= NUMERIC_FACTORS;
		default:
			return is_min_or_max(aggref->aggfnoid) &&
				px_type_compares_safely(type) &&
				(OidIsValid(aggref->inputcollid) ||
				 !type_is_collatable(type));
	}
}

/* ---------------------------------------------------------------------
 * Expressions
 * --------------------------------------------------------------------- */

static bool
all_harmless(List *nodes, harmless_context *context)
{
	ListCell   *lc;

	foreach(lc, nodes)
	{
		if (!is_harmless(lfirst(lc), context))
			return false;
	}
	return true;
}

/* IN with a list, and = ANY. */
static bool
is_harmless_array_op(ScalarArrayOpExpr *op, harmless_context *context)
{
	Node	   *array = lsecond(op->args);

	if (context->strict || !is_harmless(linitial(op->args), context) ||
		!is_comparison(op->opno, op->inputcollid))
		return false;
	if (IsA(array, ArrayExpr))
		return !((ArrayExpr *) array)->multidims &&
			all_harmless(((ArrayExpr *) array)->elements, context);
	return is_folded(array) || IsA(array, Param);
}

static bool
is_harmless_sublink(SubLink *sublink, harmless_context *context)
{
	Query	   *query = castNode(Query, sublink->subselect);

	if (context->strict)
	{
		if (sublink->subLinkType != EXPR_SUBLINK ||
			context->sublink == NULL || context->has_sublink)
			return false;
		*context->sublink = sublink;
		context->has_sublink = true;
		return true;
	}
	switch (sublink->subLinkType)
	{
		case EXPR_SUBLINK:
			if (context->trusts_sublinks)
				return true;
			/* More than one row would be an error. */
			if (!query->hasAggs || query->groupClause != NIL)
				return false;
			break;
		case EXISTS_SUBLINK:
			break;
		case ANY_SUBLINK:
		case ALL_SUBLINK:
			if (!is_harmless(sublink->testexpr, context))
				return false;
			break;
		default:
			return false;
	}
	return px_query_is_harmless(query);
}

/* CASE WHEN ... END, not CASE x WHEN ... END. */
static bool
is_harmless_case(const CaseExpr *choice, harmless_context *context)
{
	ListCell   *lc;

	if (choice->arg || !is_harmless((Node *) choice->defresult, context))
		return false;
	foreach(lc, choice->args)
	{
		const CaseWhen *when = lfirst_node(CaseWhen, lc);

		if (!is_harmless((Node *) when->expr, context) ||
			!is_harmless((Node *) when->result, context))
			return false;
	}
	return true;
}

/* Does a BoolExpr, a test or another node that looks at NULL qualify? */
static bool
is_harmless_not_strict(Node *node, harmless_context *context)
{
	switch (nodeTag(node))
	{
		case T_BoolExpr:
			return all_harmless(((BoolExpr *) node)->args, context);
		case T_NullTest:
			return !((NullTest *) node)->argisrow &&
				is_harmless((Node *) ((NullTest *) node)->arg, context);
		case T_BooleanTest:
			return is_harmless((Node *) ((BooleanTest *) node)->arg, context);
		case T_CoalesceExpr:
			return all_harmless(((CoalesceExpr *) node)->args, context);
		case T_CaseExpr:
			return is_harmless_case((CaseExpr *) node, context);
		case T_DistinctExpr:
			return is_comparison(((DistinctExpr *) node)->opno,
								 ((DistinctExpr *) node)->inputcollid) &&
				all_harmless(((DistinctExpr *) node)->args, context);
		default:
			return false;
	}
}

static bool
is_harmless(Node *node, harmless_context *context)
{
	int			nfactors = 0;

	if (node == NULL)
		return true;
	check_stack_depth();
	switch (nodeTag(node))
	{
		case T_Var:
		case T_Const:
			return true;
		case T_Param:
			return ((Param *) node)->paramkind == PARAM_EXTERN ||
				((Param *) node)->paramkind == PARAM_SUBLINK;
		case T_Aggref:
			return context->aggregates &&
				px_aggregate_is_harmless((Aggref *) node);
		case T_RelabelType:
			return is_harmless((Node *) ((RelabelType *) node)->arg, context);
		case T_SubLink:
			return is_harmless_sublink((SubLink *) node, context);
		case T_ScalarArrayOpExpr:
			if (is_harmless_array_op((ScalarArrayOpExpr *) node, context))
				return true;
			break;
		case T_FuncExpr:
			if (is_widening(((FuncExpr *) node)->funcid) &&
				all_harmless(((FuncExpr *) node)->args, context))
				return true;
			break;
		case T_OpExpr:
			{
				OpExpr	   *op = (OpExpr *) node;

				set_opfuncid(op);
				if ((is_comparison(op->opno, op->inputcollid) ||
					 (list_length(op->args) == 2 &&
					  is_plain_like(op->opfuncid, op->inputcollid,
									op->args)) ||
					 (is_numeric_arithmetic(op->opfuncid) &&
					  is_bounded(node, &nfactors) &&
					  nfactors <= NUMERIC_FACTORS)) &&
					all_harmless(op->args, context))
					return true;
				break;
			}
		default:
			if (!context->strict && is_harmless_not_strict(node, context))
				return true;
			break;
	}
	return is_folded(node);
}

bool
px_having_has_no_order(List *having)
{
	harmless_context context = {.aggregates = true};

	return list_length(having) < 2 || all_harmless(having, &context);
}

bool
px_condition_is_harmless(Node *condition)
{
	harmless_context context = {0};

	return is_harmless(condition, &context);
}

bool
px_value_is_harmless(Node *value)
{
	harmless_context context = {.aggregates = true, .trusts_sublinks = true};

	return is_harmless(value, &context);
}

bool
px_is_harmless_strict(Node *node, SubLink **sublink)
{
	harmless_context context = {.strict = true, .aggregates = true,
	.sublink = sublink};

	return is_harmless(node, &context);
}

/* ---------------------------------------------------------------------
 * Queries
 * --------------------------------------------------------------------- */

static bool
jointree_is_harmless(Node *node, harmless_context *context)
{
	ListCell   *lc;

	check_stack_depth();
	if (node == NULL || IsA(node, RangeTblRef))
		return true;
	if (IsA(node, FromExpr))
	{
		foreach(lc, ((FromExpr *) node)->fromlist)
		{
			if (!jointree_is_harmless(lfirst(lc), context))
				return false;
		}
		return is_harmless(((FromExpr *) node)->quals, context);
	}
	if (IsA(node, JoinExpr))
		return jointree_is_harmless(((JoinExpr *) node)->larg, context) &&
			jointree_is_harmless(((JoinExpr *) node)->rarg, context) &&
			is_harmless(((JoinExpr *) node)->quals, context);
	return false;
}

/* A column that is computed when it is read may be any expression. */
static bool
has_virtual_columns(Oid relid)
{
	Relation	rel = table_open(relid, NoLock);	/* the parser has locked it */
	bool		found = px_has_virtual_columns(RelationGetDescr(rel));

	table_close(rel, NoLock);
	return found;
}

bool
px_rows_are_harmless(const Query *query)
{
	ListCell   *lc;

	foreach(lc, query->rtable)
	{
		RangeTblEntry *rte = lfirst_node(RangeTblEntry, lc);

		if (rte->tablesample != NULL || rte->securityQuals != NIL)
			return false;
		if (rte->rtekind == RTE_RELATION && has_virtual_columns(rte->relid))
			return false;
		if (rte->rtekind == RTE_SUBQUERY)
		{
			if (rte->security_barrier || !px_query_is_harmless(rte->subquery))
				return false;
		}
		else if (rte->rtekind != RTE_RELATION && rte->rtekind != RTE_JOIN &&
				 rte->rtekind != RTE_RESULT && !px_rte_is_group(rte))
			return false;
	}
	return true;
}

bool
px_from_is_harmless(const Query *query)
{
	harmless_context context = {0};

	return px_rows_are_harmless(query) &&
		jointree_is_harmless((Node *) query->jointree, &context);
}

/* Is there no set operation but UNION ALL? */
static bool
is_union_all(Node *node)
{
	SetOperationStmt *operation = (SetOperationStmt *) node;

	check_stack_depth();
	if (node == NULL || IsA(node, RangeTblRef))
		return true;
	return operation->op == SETOP_UNION && operation->all &&
		is_union_all(operation->larg) && is_union_all(operation->rarg);
}

bool
px_having_is_harmless(const Query *query)
{
	harmless_context context = {.aggregates = true};

	return is_harmless(query->havingQual, &context);
}

bool
px_targets_are_harmless(const Query *query)
{
	harmless_context context = {.aggregates = true};
	ListCell   *lc;

	foreach(lc, query->targetList)
	{
		TargetEntry *target = lfirst_node(TargetEntry, lc);

		if (!is_harmless((Node *) target->expr, &context))
			return false;
	}
	return true;
}

bool
px_query_is_harmless(const Query *query)
{
	if (query->commandType != CMD_SELECT || query->hasWindowFuncs ||
		query->hasTargetSRFs || query->hasModifyingCTE ||
		query->hasDistinctOn ||
		query->groupingSets != NIL || query->cteList != NIL ||
		query->limitCount != NULL || query->limitOffset != NULL ||
		query->rowMarks != NIL || query->hasRowSecurity ||
		!is_union_all(query->setOperations) ||
		!px_from_is_harmless(query) || !px_having_is_harmless(query))
		return false;
	return px_targets_are_harmless(query);
}

/* ---------------------------------------------------------------------
 * Statements
 * --------------------------------------------------------------------- */

bool
px_evaluates_all(const Query *query)
{
	return query->sortClause == NIL && query->distinctClause == NIL &&
		!query->hasWindowFuncs && query->limitCount == NULL &&
		query->limitOffset == NULL;
}

const Query *
px_subquery_of_all(const Query *query)
{
	const RangeTblRef *from;
	const RangeTblEntry *rte;

	/* A condition of HAVING without aggregates is one of WHERE. */
	if (!px_evaluates_all(query) || query->setOperations != NULL ||
		list_length(query->jointree->fromlist) != 1 ||
		query->jointree->quals != NULL || !px_having_is_harmless(query))
		return NULL;
	from = linitial(query->jointree->fromlist);
	if (!IsA(from, RangeTblRef))
		return NULL;
	rte = rt_fetch(from->rtindex, query->rtable);
	return rte->rtekind == RTE_SUBQUERY ? rte->subquery : NULL;
}

static bool
has_harmful_sublink(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, SubLink))
		return !is_harmless_sublink((SubLink *) node, context);
	return expression_tree_walker(node, has_harmful_sublink, context);
}

bool
px_statement_is_harmless(const Query *query)
{
	harmless_context context = {.aggregates = true};

	for (;;)
	{
		const Query *subquery = px_subquery_of_all(query);

		if (!px_evaluates_all(query) || query->setOperations != NULL ||
			query->cteList != NIL)
			return px_query_is_harmless(query);
		if (has_harmful_sublink((Node *) query->targetList, &context) ||
			!px_having_is_harmless(query) || query->returningList != NIL ||
			query->onConflict != NULL)
			return false;
		if (subquery == NULL)
			return px_from_is_harmless(query);
		query = subquery;
	}
}
