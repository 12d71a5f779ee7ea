/*-------------------------------------------------------------------------
 *
 * correlation.c
 *		How a scalar subquery refers to the query around it.
 *
 * See decorrelate.c, which makes a join of such a subquery.
 *
 * Restricting keys: only groups are of interest that a table of the query has
 * keys of, in rows that the conditions on it alone leave over.  The subquery
 *
 *		SELECT i.a, avg(i.y) FROM i WHERE i.c > 1 GROUP BY i.a
 *
 * is then joined with the keys of such rows,
 *
 *		SELECT i.a, avg(i.y) FROM i,
 *			(SELECT DISTINCT o.b FROM o WHERE <conditions on o>) k
 *		WHERE i.c > 1 AND i.a = k.b GROUP BY i.a
 *
 * or, where o.b IN (SELECT c FROM p ...) is such a condition, with these c.
 * This reads o, or p, once more.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/stratnum.h"
#include "access/transam.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/lsyscache.h"

#include "compat.h"
#include "compat_query.h"
#include "plan/collation.h"
#include "plan/correlation.h"
#include "plan/harmless.h"
#include "plan/make_query.h"
#include "tuple/policy.h"

/* ---------------------------------------------------------------------
 * Correlations
 * --------------------------------------------------------------------- */

/* Is this a column of a query so many levels up, with a type of equal form? */
static bool
is_column(Node *node, Index levelsup)
{
	while (IsA(node, RelabelType))
		node = (Node *) ((RelabelType *) node)->arg;
	return IsA(node, Var) && ((Var *) node)->varlevelsup == levelsup &&
		((Var *) node)->varattno > 0;
}

static Var *
column_of(Node *node)
{
	while (IsA(node, RelabelType))
		node = (Node *) ((RelabelType *) node)->arg;
	return castNode(Var, node);
}

static void
add_qual(Query *query, Node *qual)
{
	query->jointree->quals = (Node *) make_and_qual(query->jointree->quals,
													qual);
}

/*
 * Do both operators, of a condition and of GROUP BY, mean the same equality?
 */
static bool
is_same_equality(Oid condition, Oid eq_operator)
{
	ListCell   *lc;

	foreach(lc, get_mergejoin_opfamilies(condition))
	{
		if (get_op_opfamily_strategy(eq_operator, lfirst_oid(lc)) ==
			BTEqualStrategyNumber)
			return true;
	}
	return false;
}

/*
 * Does equality of these types compare the values themselves?  timestamp and
 * timestamptz, for instance, have operators, too, but two timestamps can equal
 * the same timestamptz.
 */
static bool
compares_identity(Oid left, Oid right)
{
	if (left == right)
		return px_type_compares_safely(left);
	return px_type_is_integer(left) && px_type_is_integer(right);
}

/*
 * If the qual of a subquery is a condition inner = outer, describe it.  The
 * operators are built in, so that they are strict and harmless.
 */
static px_correlation *
get_correlation(Node *qual)
{
	OpExpr	   *op = (OpExpr *) qual;
	px_correlation *result;
	Node	   *left;
	Node	   *right;

	if (!IsA(op, OpExpr) || list_length(op->args) != 2 ||
		op->opno >= FirstNormalObjectId ||
		!px_is_deterministic(op->inputcollid))
		return NULL;
	left = linitial(op->args);
	right = lsecond(op->args);
	result = palloc0(sizeof(px_correlation));
	result->inner_is_left = is_column(left, 0) && is_column(right, 1);
	if (!result->inner_is_left &&
		!(is_column(right, 0) && is_column(left, 1)))
		return NULL;
	result->op = op;
	result->inner = (Expr *) (result->inner_is_left ? left : right);
	result->outer = copyObject(
		(Expr *) (result->inner_is_left ? right : left));
	IncrementVarSublevelsUp((Node *) result->outer, -1, 1);

	if (!compares_identity(exprType((Node *) result->inner),
						   exprType((Node *) result->outer)) ||
		!px_is_deterministic(exprCollation((Node *) result->inner)) ||
		!px_is_deterministic(exprCollation((Node *) result->outer)))
		return NULL;
	result->group_clause = px_make_group_clause(
		exprType((Node *) result->inner));
	if (!op_hashjoinable(op->opno, exprType(left)) ||
		!is_same_equality(op->opno, result->group_clause->eqop))
		return NULL;
	return result;
}

List *
px_take_correlations(Query *subquery)
{
	List	   *correlations = NIL;
	List	   *rest = NIL;
	ListCell   *lc;

	foreach(lc, make_ands_implicit((Expr *) canonicalize_qual(
					(Expr *) subquery->jointree->quals, false)))
	{
		px_correlation *found = get_correlation(lfirst(lc));

		if (found)
			correlations = lappend(correlations, found);
		else
			rest = lappend(rest, lfirst(lc));
	}
	subquery->jointree->quals = rest == NIL
		? NULL
		: (Node *) make_ands_explicit(rest);
	if (!px_is_uncorrelated((Node *) subquery) ||
		!px_from_is_harmless(subquery))
		return NIL;
	return correlations;
}

/* ---------------------------------------------------------------------
 * Restricting keys
 * --------------------------------------------------------------------- */

/*
 * Is this table of the query in FROM, below no outer join that might put nulls
 * in the place of its rows?  Then WHERE sees these as they are, and all rows of
 * the query fulfil the quals on it.
 */
static bool
is_inner_joined(Node *node, Index rtindex)
{
	ListCell   *lc;

	check_stack_depth();
	if (IsA(node, RangeTblRef))
		return (Index) ((RangeTblRef *) node)->rtindex == rtindex;
	if (IsA(node, FromExpr))
	{
		foreach(lc, ((FromExpr *) node)->fromlist)
		{
			if (is_inner_joined(lfirst(lc), rtindex))
				return true;
		}
		return false;
	}
	if (!IsA(node, JoinExpr))
		return false;
	switch (((JoinExpr *) node)->jointype)
	{
		case JOIN_INNER:
			return is_inner_joined(((JoinExpr *) node)->larg, rtindex) ||
				is_inner_joined(((JoinExpr *) node)->rarg, rtindex);
		case JOIN_LEFT:
			return is_inner_joined(((JoinExpr *) node)->larg, rtindex);
		default:
			return false;
	}
}

/* Has the qual subqueries of other forms than uncorrelated x IN (...)? */
static bool
has_other_sublinks(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, SubLink))
	{
		SubLink    *sublink = (SubLink *) node;

		return sublink->subLinkType != ANY_SUBLINK ||
			!px_is_uncorrelated(sublink->subselect) ||
			has_other_sublinks(sublink->testexpr, context);
	}
	return expression_tree_walker(node, has_other_sublinks, context);
}

/* Is this a condition on one table of the query alone? */
static bool
is_restriction(Node *qual, Index rtindex)
{
	Bitmapset  *varnos = pull_varnos(NULL, qual);
	int			member;

	return bms_get_singleton_member(varnos, &member) &&
		member == (int) rtindex && px_is_uncorrelated(qual) &&
		!has_other_sublinks(qual, NULL);
}

/* The conditions on one table of the query alone. */
static List *
restrictions_of(Query *query, Index rtindex)
{
	List	   *result = NIL;
	ListCell   *lc;

	foreach(lc, make_ands_implicit((Expr *) query->jointree->quals))
	{
		if (is_restriction(lfirst(lc), rtindex))
			result = lappend(result, copyObject(lfirst(lc)));
	}
	return result;
}

/* The operator for inner = a key of this type, or InvalidOid. */
static Oid
operator_for_key(const px_correlation *corr, Oid key_type)
{
	ListCell   *lc;

	foreach(lc, get_mergejoin_opfamilies(corr->op->opno))
	{
		Oid			left;
		Oid			right;
		Oid			operator;

		/* What the condition's operator takes is binary-coercible from it. */
		op_input_types(corr->op->opno, &left, &right);
		if (!corr->inner_is_left)
			left = right;
		operator = get_opfamily_member(
			lfirst_oid(lc), left,
			key_type == exprType((Node *) corr->inner) ? left : key_type,
			BTEqualStrategyNumber);
		if (OidIsValid(operator) && operator < FirstNormalObjectId)
			return operator;
	}
	return InvalidOid;
}

/*
 * Append a key to the target list of a query of keys, which is to be number
 * rtindex in the FROM of the subquery, and the condition inner = key to the
 * subquery's WHERE.
 */
static void
restrict_inner(Query *subquery, px_correlation *corr, Oid operator, Query *keys,
			   Index rtindex, Expr *key)
{
	int			resno = px_add_target(keys, key, NULL);

	px_add_clause(keys, &keys->distinctClause,
				  px_make_group_clause(exprType((Node *) key)));
	add_qual(subquery, (Node *) make_opclause(
				 operator, BOOLOID, false, copyObject(corr->inner),
				 px_subquery_column(keys, rtindex, resno), InvalidOid,
				 corr->op->inputcollid));
	corr->restricted = true;
}

/*
 * If the query has a condition outer IN (SELECT c FROM ...), join the subquery
 * with these c.
 */
static void
restrict_by_in(Query *query, Query *subquery, px_correlation *corr)
{
	ListCell   *lc;

	foreach(lc, make_ands_implicit((Expr *) query->jointree->quals))
	{
		SubLink    *sublink = lfirst(lc);
		OpExpr	   *test;
		Query	   *select;
		Query	   *keys;
		TargetEntry *target;
		Oid			operator;
		Index		rtindex;

		if (!IsA(sublink, SubLink) || sublink->subLinkType != ANY_SUBLINK ||
			!IsA(sublink->testexpr, OpExpr) ||
			!px_is_uncorrelated(sublink->subselect))
			continue;
		test = (OpExpr *) sublink->testexpr;
		select = castNode(Query, sublink->subselect);
		target = linitial_node(TargetEntry, select->targetList);
		if (list_length(test->args) != 2 ||
			!equal(linitial(test->args), corr->outer) ||
			!IsA(lsecond(test->args), Param) ||
			test->inputcollid != corr->op->inputcollid ||
			!is_same_equality(corr->op->opno, test->opno) ||
			!px_is_deterministic(exprCollation((Node *) target->expr)) ||
			!compares_identity(exprType((Node *) corr->inner),
							   exprType((Node *) target->expr)))
			continue;

		operator = operator_for_key(corr, exprType((Node *) target->expr));
		if (!OidIsValid(operator))
			continue;

		keys = px_make_query();
		rtindex = px_add_subquery(keys, copyObject(select), "keys");
		restrict_inner(subquery, corr, operator, keys,
					   list_length(subquery->rtable) + 1,
					   px_subquery_column(select, rtindex, 1));
		(void) px_add_subquery(subquery, keys, "outer_keys");
		return;
	}
}

/*
 * Join the subquery with the distinct values that its correlations with one
 * table of the query can have there.
 */
static void
restrict_by_table(Query *query, Query *subquery, List *correlations,
				  Index rtindex)
{
	RangeTblEntry *rte = rt_fetch(rtindex, query->rtable);
	List	   *quals = restrictions_of(query, rtindex);
	Query	   *keys;
	Index		keys_rtindex = list_length(subquery->rtable) + 1;
	ListCell   *lc;

	if (rte->rtekind != RTE_RELATION || rte->tablesample != NULL ||
		!is_inner_joined((Node *) query->jointree, rtindex))
		return;

	keys = px_make_query();
	px_copy_rte(query, rte, keys);
	(void) px_add_from_last(keys);
	keys->jointree->quals = quals == NIL ? NULL :
		(Node *) make_ands_explicit(quals);
	ChangeVarNodes(keys->jointree->quals, rtindex, 1, 0);
	keys->hasSubLinks = checkExprHasSubLink(keys->jointree->quals);

	foreach(lc, correlations)
	{
		px_correlation *corr = lfirst(lc);
		Expr	   *outer = copyObject(corr->outer);
		Oid			operator = operator_for_key(corr,
												exprType((Node *) outer));

		if ((Index) column_of((Node *) outer)->varno != rtindex ||
			!OidIsValid(operator))
			continue;
		ChangeVarNodes((Node *) outer, rtindex, 1, 0);
		restrict_inner(subquery, corr, operator, keys, keys_rtindex, outer);
	}
	if (keys->targetList != NIL)
		(void) px_add_subquery(subquery, keys, "outer_keys");
}

void
px_restrict_keys(Query *query, Query *subquery, List *correlations)
{
	bool		any = false;
	ListCell   *lc;

	foreach(lc, correlations)
	{
		restrict_by_in(query, subquery, lfirst(lc));
		any |= ((px_correlation *) lfirst(lc))->restricted;
	}
	if (any)
		return;
	foreach(lc, correlations)
	{
		px_correlation *corr = lfirst(lc);

		if (!corr->restricted)
			restrict_by_table(query, subquery, correlations,
							  column_of((Node *) corr->outer)->varno);
	}
}
