/*-------------------------------------------------------------------------
 *
 * distinct.c
 *		DISTINCT as GROUP BY.
 *
 * The planner pushes GROUP BY down to the servers of foreign tables, also for
 * each partition of a table, but neither SELECT DISTINCT nor aggregates of
 * DISTINCT values.  So
 *
 *		SELECT DISTINCT a, b FROM t
 *
 * becomes SELECT a, b FROM t GROUP BY a, b, and
 *
 *		SELECT k, count(DISTINCT x), max(y), avg(z) FROM t GROUP BY k
 *
 * becomes
 *
 *		SELECT k, count(x), max(max), sum(sum) / sum(count)
 *		FROM (SELECT k, x, max(y), sum(z), count(z) FROM t GROUP BY k, x) d
 *		GROUP BY k
 *
 * The second aggregation reads ahead, and a key that nobody wants is computed
 * in any case.  So what may raise an error must be needed.
 *
 * All aggregates of DISTINCT values must be of the same value.  The other ones
 * must be of the list below, where the second aggregation gives the very value
 * that one aggregation gives.
 *
 * A SELECT DISTINCT stays recognizable (px_groups_were_distinct), because for
 * postgres_fdw no server would group its rows.
 *
 * A group is represented by one of several equal values.  Which one that is
 * may change, so equal values must not look different: px_key_is_exact.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_type_d.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "compat.h"
#include "compat_query.h"
#include "plan/distinct.h"
#include "plan/harmless.h"
#include "plan/make_query.h"
#include "tuple/agg_state.h"

/* How an aggregate is computed from those of parts of its rows. */
typedef enum second_kind
{
	SECOND_NONE,				/* it cannot */
	SECOND_SAME,				/* by the same aggregate */
	SECOND_COUNT,				/* sum, of bigint */
	SECOND_INT_SUM,				/* sum, of bigint, NULL for no rows */
	SECOND_NUMERIC_SUM,			/* sum */
	SECOND_AVERAGE				/* sum of sums by sum of counts */
} second_kind;

static bool
is_exact_expr(Node *expr)
{
	return px_key_is_exact(exprType(expr), exprTypmod(expr),
						   exprCollation(expr));
}

/* ---------------------------------------------------------------------
 * SELECT DISTINCT
 * --------------------------------------------------------------------- */

void
px_group_instead_of_distinct(Query *query)
{
	ListCell   *lc;

	if (query->commandType != CMD_SELECT || query->distinctClause == NIL ||
		query->hasDistinctOn || query->hasAggs || query->hasWindowFuncs ||
		query->hasTargetSRFs || query->groupClause != NIL ||
		query->groupingSets != NIL || query->havingQual != NULL ||
		query->setOperations != NULL ||
		checkExprHasSubLink((Node *) query->targetList) ||
		!contain_vars_of_level((Node *) query->targetList, 0) ||
		contain_volatile_functions((Node *) query->targetList))
		return;
	foreach(lc, query->distinctClause)
	{
		if (!is_exact_expr(get_sortgroupclause_expr(
				lfirst_node(SortGroupClause, lc), query->targetList)))
			return;
	}
	query->groupClause = query->distinctClause;
	query->groupDistinct = true;
	query->distinctClause = NIL;
}

bool
px_groups_were_distinct(const Query *query)
{
	return query->groupDistinct && query->groupingSets == NIL;
}

/* ---------------------------------------------------------------------
 * Which aggregates
 * --------------------------------------------------------------------- */

static Expr *
argument_of(const Aggref *aggref)
{
	return list_length(aggref->args) == 1
		? linitial_node(TargetEntry, aggref->args)->expr
		: NULL;
}

/* Is it one of those for which one row of equal ones is enough? */
static bool
ignores_duplicates(Oid aggregate)
{
	char	   *name = get_func_name(aggregate);

	switch (aggregate)
	{
		case F_BOOL_AND:
		case F_BOOL_OR:
		case F_EVERY:
		case F_BIT_AND_INT2:
		case F_BIT_AND_INT4:
		case F_BIT_AND_INT8:
		case F_BIT_OR_INT2:
		case F_BIT_OR_INT4:
		case F_BIT_OR_INT8:
			return true;
		default:
			return name && (strcmp(name, "min") == 0 ||
							strcmp(name, "max") == 0);
	}
}

static second_kind
second_kind_of(const Aggref *aggref)
{
	Expr	   *arg = argument_of(aggref);

	if (aggref->aggfnoid >= FirstNormalObjectId ||
		aggref->aggkind != AGGKIND_NORMAL || aggref->aggvariadic ||
		aggref->agglevelsup != 0 || aggref->aggdirectargs != NIL ||
		aggref->aggorder != NIL)
		return SECOND_NONE;
	switch (aggref->aggfnoid)
	{
		case F_COUNT_:
		case F_COUNT_ANY:
			return SECOND_COUNT;
		case F_SUM_INT2:
		case F_SUM_INT4:
			return SECOND_INT_SUM;
		case F_SUM_INT8:
		case F_SUM_NUMERIC:
			return SECOND_NUMERIC_SUM;
		case F_AVG_INT2:
		case F_AVG_INT4:
		case F_AVG_INT8:
		case F_AVG_NUMERIC:
			return SECOND_AVERAGE;
		default:
			return arg && ignores_duplicates(aggref->aggfnoid) &&
				is_exact_expr((Node *) arg) ? SECOND_SAME : SECOND_NONE;
	}
}

/* What is found out about the aggregates of a query. */
typedef struct aggregates_found
{
	Expr	   *distinct;		/* the value of DISTINCT, or NULL */
	SortGroupClause *clause;	/* how its values are compared */
	bool		unsuitable;
	bool		harmful;		/* one may raise an error */
} aggregates_found;

static bool
is_harmful(const Aggref *aggref)
{
	Aggref		plain = *aggref;

	plain.aggdistinct = NIL;
	return !px_aggregate_is_harmless(&plain);
}

static bool
check_aggregates(Node *node, void *arg)
{
	aggregates_found *found = arg;
	Aggref	   *aggref = (Aggref *) node;

	if (node == NULL)
		return false;
	if (!IsA(node, GroupingFunc) && !IsA(node, Aggref))
		return expression_tree_walker(node, check_aggregates, arg);
	if (IsA(node, GroupingFunc) || second_kind_of(aggref) == SECOND_NONE)
	{
		found->unsuitable = true;
		return true;
	}

	found->harmful |= is_harmful(aggref);
	if (aggref->aggdistinct != NIL)
	{
		Expr	   *value = argument_of(aggref);

		if (value == NULL || aggref->aggfilter != NULL ||
			(found->distinct && !equal(found->distinct, value)))
			found->unsuitable = true;
		found->distinct = value;
		found->clause = linitial_node(SortGroupClause, aggref->aggdistinct);
	}
	return found->unsuitable;
}

/* ---------------------------------------------------------------------
 * The two queries
 * --------------------------------------------------------------------- */

/* While the target list of the query is rewritten. */
typedef struct twice_context
{
	Query	   *inner;			/* is number 1 in FROM of the outer query */
	int			nkeys;			/* GROUP BY of both are the first columns */
	int			distinct;		/* the column of the value of DISTINCT */
	bool		grouped;		/* the outer query has GROUP BY */
	bool		failed;
} twice_context;

/* An aggregate over a column of the inner query. */
static Expr *
aggregate_column(const Aggref *model, Oid aggregate, Oid type, Expr *column)
{
	Aggref	   *result = copyObject(unconstify(Aggref *, model));

	result->aggfnoid = aggregate;
	result->aggtype = type;
	result->aggargtypes = list_make1_oid(exprType((Node *) column));
	result->args = list_make1(makeTargetEntry(column, 1, NULL, false));
	result->aggdistinct = NIL;
	result->aggfilter = NULL;
	result->aggstar = false;
	return (Expr *) result;
}

/* Have the inner query compute an aggregate; return the column. */
static Expr *
inner_column(twice_context *context, const Aggref *aggref)
{
	Query	   *inner = context->inner;

	inner->hasAggs = true;
	return px_subquery_column(
		inner, 1, px_add_target(inner, (Expr *) aggref,
								get_func_name(aggref->aggfnoid)));
}

/* The same aggregate as model, of another kind. */
static Aggref *
other_aggregate(const Aggref *model, Oid aggregate, Oid type)
{
	Aggref	   *result = copyObject(unconstify(Aggref *, model));

	result->aggfnoid = aggregate;
	result->aggtype = type;
	return result;
}

static Expr *
to_bigint(Expr *value)
{
	return (Expr *) makeFuncExpr(F_INT8_NUMERIC, INT8OID, list_make1(value),
								 InvalidOid, InvalidOid,
								 COERCE_EXPLICIT_CAST);
}

/* The sum of an aggregate of the inner query, which is bigint. */
static Expr *
sum_column(twice_context *context, const Aggref *aggref)
{
	return aggregate_column(aggref, F_SUM_INT8, NUMERICOID,
							inner_column(context, aggref));
}

/* avg: the sum and the count, which is not 0 unless the sum is NULL. */
static Expr *
average(twice_context *context, const Aggref *aggref)
{
	Expr	   *sum;
	Expr	   *count = sum_column(
		context, other_aggregate(aggref, F_COUNT_ANY, INT8OID));

	switch (aggref->aggfnoid)
	{
		case F_AVG_INT2:
			sum = sum_column(context,
							 other_aggregate(aggref, F_SUM_INT2, INT8OID));
			break;
		case F_AVG_INT4:
			sum = sum_column(context,
							 other_aggregate(aggref, F_SUM_INT4, INT8OID));
			break;
		default:
			sum = inner_column(context, other_aggregate(
								   aggref,
								   aggref->aggfnoid == F_AVG_INT8
								   ? F_SUM_INT8 : F_SUM_NUMERIC,
								   NUMERICOID));
			sum = aggregate_column(aggref, F_SUM_NUMERIC, NUMERICOID, sum);
			break;
	}
	return (Expr *) makeFuncExpr(F_NUMERIC_DIV, NUMERICOID,
								 list_make2(sum, count), InvalidOid,
								 InvalidOid, COERCE_EXPLICIT_CALL);
}

/* count is 0, not NULL, if the query has no GROUP BY and no rows. */
static Expr *
count_again(twice_context *context, const Aggref *aggref)
{
	Expr	   *count = to_bigint(sum_column(context, aggref));

	return context->grouped ? count : px_zero_if_null(count);
}

/* What the outer query has in place of an aggregate. */
static Expr *
aggregate_again(twice_context *context, const Aggref *aggref)
{
	if (aggref->aggdistinct != NIL)
		return aggregate_column(aggref, aggref->aggfnoid, aggref->aggtype,
								px_subquery_column(context->inner, 1,
												   context->distinct));
	switch (second_kind_of(aggref))
	{
		case SECOND_SAME:
			return aggregate_column(aggref, aggref->aggfnoid, aggref->aggtype,
									inner_column(context, aggref));
		case SECOND_COUNT:
			return count_again(context, aggref);
		case SECOND_INT_SUM:
			return to_bigint(sum_column(context, aggref));
		case SECOND_NUMERIC_SUM:
			return aggregate_column(aggref, F_SUM_NUMERIC, NUMERICOID,
									inner_column(context, aggref));
		case SECOND_AVERAGE:
			return average(context, aggref);
		case SECOND_NONE:
			break;
	}
	elog(ERROR, "aggregate %u cannot be computed in two steps",
		 aggref->aggfnoid);
}

/* Replace keys by columns of the inner query, and aggregates. */
static Node *
make_outer(Node *node, twice_context *context)
{
	ListCell   *lc;

	if (node == NULL)
		return NULL;
	if (IsA(node, Aggref))
		return (Node *) aggregate_again(context, (Aggref *) node);
	if (!IsA(node, List) && !IsA(node, TargetEntry))
	{
		foreach(lc, context->inner->targetList)
		{
			TargetEntry *target = lfirst_node(TargetEntry, lc);

			if (target->resno > context->nkeys)
				break;
			if (equal(target->expr, node))
				return (Node *) px_subquery_column(context->inner, 1,
												   target->resno);
		}
	}
	if (IsA(node, Var))
		context->failed = true; /* depends on a key */
	return expression_tree_mutator(node, make_outer, context);
}

/* The part of the query that stays below: FROM, WHERE, and the keys. */
static Query *
make_inner(Query *query, const aggregates_found *found)
{
	Query	   *inner = px_make_query();
	ListCell   *lc;

	px_share_from(query, inner);
	inner->hasSubLinks = checkExprHasSubLink((Node *) inner->jointree);
	foreach(lc, query->groupClause)
	{
		SortGroupClause *clause = lfirst_node(SortGroupClause, lc);

		px_add_target(inner,
					  (Expr *) get_sortgroupclause_expr(clause,
														query->targetList),
					  NULL);
		px_add_clause(inner, &inner->groupClause, clause);
	}
	px_add_target(inner, found->distinct, "value");
	px_add_clause(inner, &inner->groupClause, found->clause);
	return inner;
}

/* Does the query have nothing that we do not know of? */
static bool
has_simple_form(const Query *query)
{
	return query->commandType == CMD_SELECT && query->hasAggs &&
		!query->hasWindowFuncs && !query->hasTargetSRFs &&
		query->cteList == NIL && query->groupingSets == NIL &&
		query->setOperations == NULL;
}

/* Has it no LIMIT that may end it before all groups are computed? */
static bool
computes_all_groups(const Query *query)
{
	return query->groupClause == NIL ||
		(query->limitCount == NULL && query->limitOffset == NULL) ||
		(query->sortClause != NIL &&
		 contain_agg_clause(get_sortgroupclause_expr(
			 linitial(query->sortClause), query->targetList)));
}

/*
 * May the value of DISTINCT be a key?  A server can be asked for rows in the
 * order of keys, and computes these before a join or a condition here has
 * removed rows.
 */
static bool
value_suits_key(const Query *query, Expr *value)
{
	const RangeTblRef *from = linitial(query->jointree->fromlist);

	return px_condition_is_harmless((Node *) value) ||
		(list_length(query->jointree->fromlist) == 1 &&
		 IsA(from, RangeTblRef) &&
		 rt_fetch(from->rtindex, query->rtable)->rtekind == RTE_RELATION &&
		 px_from_is_harmless(query));
}

bool
px_aggregate_twice(Query *query, bool needs_all)
{
	aggregates_found found = {0};
	twice_context context = {.grouped = query->groupClause != NIL};
	List	   *targets;
	Node	   *having;
	ListCell   *lc;

	if (!has_simple_form(query) || !px_is_uncorrelated((Node *) query))
		return false;
	px_flatten_group(query);
	if (check_aggregates((Node *) query->targetList, &found) ||
		check_aggregates(query->havingQual, &found) ||
		found.distinct == NULL || !found.clause->hashable ||
		((found.harmful || !px_rows_are_harmless(query)) &&
		 !(needs_all && computes_all_groups(query))) ||
		!is_exact_expr((Node *) found.distinct) ||
		!contain_vars_of_level((Node *) found.distinct, 0) ||
		!value_suits_key(query, found.distinct) ||
		contain_volatile_functions((Node *) query->targetList) ||
		checkExprHasSubLink((Node *) query->targetList) ||
		checkExprHasSubLink(query->havingQual) ||
		!px_having_has_no_order(make_ands_implicit(
			(Expr *) query->havingQual)))
		return false;
	foreach(lc, query->groupClause)
	{
		if (!is_exact_expr(get_sortgroupclause_expr(
				lfirst_node(SortGroupClause, lc), query->targetList)))
			return false;
	}

	context.inner = make_inner(query, &found);
	context.nkeys = list_length(query->groupClause);
	context.distinct = context.nkeys + 1;
	targets = (List *) make_outer((Node *) query->targetList, &context);
	having = make_outer(query->havingQual, &context);
	if (context.failed)
		return false;

	query->targetList = targets;
	query->havingQual = having;
	query->hasSubLinks = false;
	px_share_from(px_make_query(), query);
	(void) px_add_subquery(query, context.inner, "distinct_values");
	return true;
}
