/*-------------------------------------------------------------------------
 *
 * decorrelate.c
 *		Correlated scalar subqueries as joins.
 *
 * A scalar subquery that refers to the query around it is executed for each
 * row of that query.  If it reads foreign tables, that is a remote query for
 * each row.  So
 *
 *		SELECT ... FROM o
 *		WHERE o.x < (SELECT 0.2 * avg(i.y) FROM i WHERE i.a = o.b AND i.c > 1)
 *
 * becomes
 *
 *		SELECT ... FROM o,
 *			(SELECT i.a, avg(i.y) FROM i WHERE i.c > 1 GROUP BY i.a) s
 *		WHERE o.x < 0.2 * s.avg AND s.a = o.b
 *
 * The result is the same if the condition is not true where the subquery finds
 * no row, which is so if all in it is strict: the aggregates but count are
 * NULL then.  s has one row for each a, because GROUP BY and the condition
 * i.a = o.b agree about what is equal.
 *
 * In other conditions, and in the target list, rows without a match must stay.
 * So
 *
 *		SELECT o.x, (SELECT 0.2 * avg(i.y) / count(*) FROM i WHERE i.a = o.b)
 *		FROM o
 *
 * becomes
 *
 *		SELECT o.x, 0.2 * s.avg / coalesce(s.count, 0)
 *		FROM o LEFT JOIN (SELECT i.a, avg(i.y), count(*) FROM i GROUP BY i.a) s
 *			ON s.a = o.b
 *
 * A subquery without aggregates must find one row at most.  So
 *
 *		SELECT o.x, (SELECT i.y FROM i WHERE i.a = o.b) FROM o
 *
 * becomes
 *
 *		SELECT o.x, CASE WHEN 1 < s.count
 *			THEN (SELECT s.min FROM (VALUES (1), (2)) v) ELSE s.min END
 *		FROM o LEFT JOIN (SELECT i.a, min(i.y), count(*) FROM i GROUP BY i.a) s
 *			ON s.a = o.b
 *
 * where a subquery of two rows raises the error that the other one would.
 *
 * The aggregates are computed for groups that nobody has asked for, and
 * conditions are evaluated on rows that the subquery would have removed.  So
 * all that is moved must be harmless (harmless.h).
 *
 * If there are conditions on o alone, only groups that they leave over are of
 * interest: see correlation.c.  Whether any of that is cheaper is for the
 * planner's costs to tell: see rewrite.c.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_aggregate.h"
#include "catalog/pg_operator_d.h"
#include "catalog/pg_type_d.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "parser/parse_func.h"
#include "rewrite/rewriteManip.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "compat.h"
#include "plan/correlation.h"
#include "plan/decorrelate.h"
#include "plan/harmless.h"
#include "plan/make_query.h"

/* ---------------------------------------------------------------------
 * Is the subquery suitable?
 * --------------------------------------------------------------------- */

/* Is it SELECT expression FROM ... WHERE ..., and nothing else? */
static bool
has_simple_form(const Query *query)
{
	return query->commandType == CMD_SELECT &&
		!query->hasWindowFuncs && !query->hasTargetSRFs &&
		!query->hasSubLinks && !query->hasDistinctOn &&
		!query->hasModifyingCTE && !query->hasForUpdate &&
		!query->hasRowSecurity &&
		query->cteList == NIL && query->groupClause == NIL &&
		query->groupingSets == NIL && query->havingQual == NULL &&
		query->windowClause == NIL && query->distinctClause == NIL &&
		query->sortClause == NIL && query->limitOffset == NULL &&
		query->limitCount == NULL && query->rowMarks == NIL &&
		query->setOperations == NULL &&
		list_length(query->targetList) == 1;
}

static bool
is_count(const Aggref *aggref)
{
	return aggref->aggfnoid == F_COUNT_ || aggref->aggfnoid == F_COUNT_ANY;
}

/* What the expression consists of. */
typedef struct leaves
{
	bool		null_if_empty;	/* an aggregate is NULL if there is no row */
	bool		others;			/* columns, which are the outer query's, or
								 * parameters */
} leaves;

static bool
find_leaves(Node *node, void *arg)
{
	leaves	   *found = arg;

	if (node == NULL)
		return false;
	if (IsA(node, Aggref))
	{
		found->null_if_empty |= !is_count((Aggref *) node);
		return false;
	}
	if (IsA(node, Var) || IsA(node, Param))
		found->others = true;
	return expression_tree_walker(node, find_leaves, arg);
}

/*
 * Is an expression of aggregates suitable?  With an inner join, all of it must
 * be strict.
 */
static bool
aggregates_are_suitable(Node *value, JoinType jointype)
{
	leaves		found = {0};

	(void) find_leaves(value, &found);
	if (found.others)
		return false;
	return jointype == JOIN_INNER ?
		found.null_if_empty && px_is_harmless_strict(value, NULL) :
		px_value_is_harmless(value);
}

/* The aggregate min of a type's values, or InvalidOid. */
static Oid
find_min(Oid type)
{
	if (!px_type_compares_safely(type))
		return InvalidOid;
	if (type == VARCHAROID)
		type = TEXTOID;
	return LookupFuncName(list_make2(makeString("pg_catalog"),
									 makeString("min")), 1, &type, true);
}

static bool
row_is_suitable(Node *value)
{
	return px_value_is_harmless(value) && OidIsValid(find_min(exprType(value))) &&
		(OidIsValid(exprCollation(value)) ||
		 !type_is_collatable(exprType(value)));
}

/* ---------------------------------------------------------------------
 * The join
 * --------------------------------------------------------------------- */

/* A subquery that is joined. */
typedef struct joined
{
	Query	   *subquery;		/* it has no columns at first */
	Index		rtindex;		/* which it is to have in the query */
	Index		outer_join;		/* and that of its left join; or 0 */
	List	   *quals;			/* on which it is joined */
} joined;

/* A column of the subquery as the query around it sees it. */
static Expr *
get_column(const joined *join, int resno)
{
	Expr	   *column = px_subquery_column(join->subquery, join->rtindex,
											resno);

	return px_add_nulling_relid(column, bms_make_singleton(join->rtindex),
								join->outer_join);
}

/* Replace aggregates by columns of the subquery, which computes them. */
static Node *
take_aggregates(Node *node, joined *join)
{
	Aggref	   *aggref = (Aggref *) node;
	Expr	   *column;
	int			resno;

	if (node == NULL)
		return NULL;
	if (!IsA(node, Aggref))
		return expression_tree_mutator(node, take_aggregates, join);

	resno = px_add_target(join->subquery, (Expr *) node,
						  get_func_name(aggref->aggfnoid));
	column = get_column(join, resno);
	return (Node *) (join->outer_join != 0 && is_count(aggref) ?
					 px_zero_if_null(column) : column);
}

/* The aggregate of all rows, or of an argument. */
static Aggref *
make_aggregate(Oid function, Expr *arg)
{
	Aggref	   *aggref = makeNode(Aggref);

	aggref->aggfnoid = function;
	aggref->aggtype = get_func_rettype(function);
	aggref->aggkind = AGGKIND_NORMAL;
	aggref->aggsplit = AGGSPLIT_SIMPLE;
	aggref->aggno = aggref->aggtransno = -1;
	aggref->location = -1;
	aggref->aggstar = arg == NULL;
	if (arg)
	{
		aggref->aggargtypes = list_make1_oid(exprType((Node *) arg));
		aggref->args = list_make1(makeTargetEntry(arg, 1, NULL, false));
		aggref->inputcollid = exprCollation((Node *) arg);
		if (type_is_collatable(aggref->aggtype))
			aggref->aggcollid = aggref->inputcollid;
	}
	return aggref;
}

/* SELECT value FROM (VALUES (1), (2)): an error, if it is evaluated. */
static Node *
make_two_rows(const Expr *value)
{
	Query	   *query = px_make_query();
	RangeTblEntry *rte = makeNode(RangeTblEntry);
	RangeTblRef *ref = makeNode(RangeTblRef);
	SubLink    *sublink = makeNode(SubLink);
	Expr	   *outer = copyObject(unconstify(Expr *, value));

	rte->rtekind = RTE_VALUES;
	rte->eref = makeAlias("*VALUES*", list_make1(makeString("column1")));
	rte->inFromCl = true;
	for (int i = 1; i <= 2; i++)
		rte->values_lists = lappend(
			rte->values_lists,
			list_make1(makeConst(INT4OID, -1, InvalidOid, sizeof(int32),
								 Int32GetDatum(i), false, true)));
	rte->coltypes = list_make1_oid(INT4OID);
	rte->coltypmods = list_make1_int(-1);
	rte->colcollations = list_make1_oid(InvalidOid);
	query->rtable = list_make1(rte);
	ref->rtindex = 1;
	query->jointree->fromlist = list_make1(ref);
	IncrementVarSublevelsUp((Node *) outer, 1, 0);
	(void) px_add_target(query, outer, "value");

	sublink->subLinkType = EXPR_SUBLINK;
	sublink->subselect = (Node *) query;
	sublink->location = -1;
	return (Node *) sublink;
}

/* Replace the value of the only row. */
static Node *
take_only_row(Node *value, joined *join)
{
	Oid			type = exprType(value);
	Oid			function = find_min(type);
	Expr	   *arg = (Expr *) value;
	Expr	   *row;
	Expr	   *count;
	CaseExpr   *choice = makeNode(CaseExpr);
	CaseWhen   *several = makeNode(CaseWhen);

	if (get_func_rettype(function) != type)
		arg = (Expr *) makeRelabelType(arg, get_func_rettype(function), -1,
									   exprCollation(value),
									   COERCE_IMPLICIT_CAST);
	row = get_column(join, px_add_target(
						 join->subquery,
						 (Expr *) make_aggregate(function, arg), "min"));
	if (get_func_rettype(function) != type || exprTypmod(value) != -1)
		row = (Expr *) makeRelabelType(row, type, exprTypmod(value),
									   exprCollation(value),
									   COERCE_IMPLICIT_CAST);
	count = get_column(join, px_add_target(
						   join->subquery,
						   (Expr *) make_aggregate(F_COUNT_, NULL), "count"));

	several->expr = make_opclause(Int8LessOperator, BOOLOID, false,
								  (Expr *) makeConst(INT8OID, -1, InvalidOid,
													 sizeof(int64),
													 Int64GetDatum(1), false,
													 true),
								  count, InvalidOid, InvalidOid);
	several->result = (Expr *) make_two_rows(row);
	several->location = -1;
	choice->casetype = type;
	choice->casecollid = exprCollation(value);
	choice->args = list_make1(several);
	choice->defresult = row;
	choice->location = -1;
	return (Node *) choice;
}

/* The condition inner = outer, for the query, with a column for inner. */
static Node *
join_condition(const px_correlation *corr, Expr *column)
{
	OpExpr	   *op = copyObject(corr->op);
	Expr	   *outer = copyObject(corr->outer);

	op->args = corr->inner_is_left ? list_make2(column, outer)
		: list_make2(outer, column);
	return (Node *) op;
}

/*
 * Join a scalar subquery with the query, if it is suitable.  Returns its value
 * there, or NULL.  The quals of an inner join are left to the caller, who adds
 * them to WHERE.
 */
static Node *
join_subquery(Query *query, const SubLink *sublink, JoinType jointype,
			  px_decorrelate_options options, List **quals)
{
	joined		join = {
		.subquery = copyObject(castNode(Query, sublink->subselect)),
		.rtindex = list_length(query->rtable) + 1,
	};
	bool		aggregates = join.subquery->hasAggs;
	Node	   *value;
	List	   *correlations;
	ListCell   *lc;

	if (!has_simple_form(join.subquery))
		return NULL;
	value = (Node *) linitial_node(TargetEntry,
								   join.subquery->targetList)->expr;
	if (aggregates ? !aggregates_are_suitable(value, jointype) :
		jointype == JOIN_INNER || options.may_stop || !row_is_suitable(value))
		return NULL;
	correlations = px_take_correlations(join.subquery);
	if (correlations == NIL)
		return NULL;

	if (options.restrict_keys)
		px_restrict_keys(query, join.subquery, correlations);
	join.subquery->targetList = NIL;
	foreach(lc, correlations)
	{
		px_correlation *corr = lfirst(lc);
		int			resno = px_add_target(join.subquery, corr->inner, NULL);

		px_add_clause(join.subquery, &join.subquery->groupClause,
					  corr->group_clause);
		join.quals = lappend(join.quals,
							 join_condition(corr, get_column(&join, resno)));
	}
	if (jointype == JOIN_LEFT)
		join.outer_join = join.rtindex + 1;
	value = aggregates ? take_aggregates(value, &join) :
		take_only_row(value, &join);
	join.subquery->hasAggs = true;
	(void) px_add_subquery(query, join.subquery, "scalar_subquery");
	if (jointype == JOIN_LEFT)
		px_left_join_last(query, join.quals);
	else
		*quals = list_concat(*quals, join.quals);
	return value;
}

/* ---------------------------------------------------------------------
 * Where subqueries stand
 * --------------------------------------------------------------------- */

/* While subqueries in an expression are replaced by their values. */
typedef struct replace_context
{
	SubLink    *sublink;		/* by value, for an inner join */
	Node	   *value;
	Query	   *query;			/* else: join all that are suitable with it */
	px_decorrelate_options options;
	bool		changed;
} replace_context;

static Node *
replace_sublinks(Node *node, replace_context *context)
{
	Node	   *value = NULL;

	if (node == NULL)
		return NULL;
	if (!IsA(node, SubLink))
		return expression_tree_mutator(node, replace_sublinks, context);
	if (context->query == NULL)
		return node == (Node *) context->sublink ? context->value : node;
	if (((SubLink *) node)->subLinkType == EXPR_SUBLINK)
		value = join_subquery(context->query, (SubLink *) node, JOIN_LEFT,
							  context->options, NULL);
	context->changed |= value != NULL;
	return value ? value : node;
}

/* Inner joins, by conjuncts of WHERE that are strict. */
static bool
decorrelate_strict(Query *query, px_decorrelate_options options)
{
	List	   *kept = NIL;
	List	   *joined = NIL;
	ListCell   *lc;

	query->jointree->quals = (Node *) canonicalize_qual(
		(Expr *) query->jointree->quals, false);
	foreach(lc, make_ands_implicit((Expr *) query->jointree->quals))
	{
		replace_context replace = {0};
		Node	   *qual = lfirst(lc);

		if (px_is_harmless_strict(qual, &replace.sublink) && replace.sublink)
			replace.value = join_subquery(query, replace.sublink, JOIN_INNER,
										  options, &joined);
		if (replace.value)
			joined = lappend(joined, replace_sublinks(qual, &replace));
		else
			kept = lappend(kept, qual);
	}
	if (joined == NIL)
		return false;
	query->jointree->quals = (Node *) make_ands_explicit(
		list_concat(kept, joined));
	return true;
}

/* Left joins, by all others in WHERE. */
static bool
decorrelate_others(Query *query, px_decorrelate_options options)
{
	replace_context replace = {.query = query, .options = options};

	query->jointree->quals = replace_sublinks(query->jointree->quals,
											  &replace);
	return replace.changed;
}

/*
 * Left joins, by the target list.  With GROUP BY, a value would have to be a
 * column of it.
 *
 * If not all rows are wanted, the planner has the target list evaluated for
 * those that are, unless it is cheap, which it is about to become.  So it must
 * be harmless, too.
 */
static bool
decorrelate_targets(Query *query, px_decorrelate_options options)
{
	replace_context replace = {.query = query, .options = options};
	ListCell   *lc;

	if (query->hasAggs || query->groupClause != NIL ||
		query->groupingSets != NIL || query->havingQual != NULL ||
		query->hasTargetSRFs)
		return false;
	foreach(lc, query->targetList)
	{
		TargetEntry *target = lfirst_node(TargetEntry, lc);

		if (!options.may_stop || px_value_is_harmless((Node *) target->expr))
			target->expr = (Expr *) replace_sublinks((Node *) target->expr,
													 &replace);
	}
	return replace.changed;
}

bool
px_decorrelate(Query *query, px_decorrelate_options options)
{
	bool		changed;

	if (query->commandType != CMD_SELECT || !query->hasSubLinks ||
		query->setOperations != NULL || !px_from_is_harmless(query))
		return false;
	changed = decorrelate_strict(query, options);
	changed |= decorrelate_others(query, options);
	changed |= decorrelate_targets(query, options);
	return changed;
}
