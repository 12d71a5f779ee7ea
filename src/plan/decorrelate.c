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
 * where a subquery of two rows raises the error that the other one would.  That
 * must stay where it is: another subquery that uses the value could send it to
 * a server with its parts as parameters, all evaluated before.
 *
 * The aggregates are computed for groups that nobody has asked for, and
 * conditions are evaluated on rows that the subquery would have removed.  So
 * all that is moved must be harmless (harmless.h).
 *
 * The planner goes on from there.  Conditions of queries around become HAVING
 * of the groups, rows come in another order, and target lists of subqueries are
 * evaluated for all rows, where before a scan by an index found some.  So if
 * the query is not the outermost one, all of the statement must be harmless,
 * and the subquery must aggregate.
 *
 * Only groups are of interest that o has keys of: see correlation.c.  Whether
 * any of that is cheaper is for the planner's costs to tell: see rewrite.c.
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
#include "optimizer/planmain.h"
#include "parser/parse_func.h"
#include "rewrite/rewriteManip.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "compat.h"
#include "compat_query.h"
#include "exec/receive_state.h"
#include "plan/correlation.h"
#include "plan/decorrelate.h"
#include "plan/harmless.h"
#include "plan/make_query.h"
#include "tuple/agg_rule.h"

/*
 * Of so many left joins at most, each takes as long to plan as all before it:
 * 60 take 0.1 s, and 200 take 1 s.
 */
#define LEFT_JOINS_MAX	32

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

/* Has it columns whose values may be errors where they are read? */
static bool
reads_unsafely(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Var))
		return !px_type_reads_safely(((Var *) node)->vartype);
	if (IsA(node, Query))
		return query_tree_walker((Query *) node, reads_unsafely, context,
								 QTW_IGNORE_JOINALIASES);
	return expression_tree_walker(node, reads_unsafely, context);
}

/* What the expression consists of. */
typedef struct leaves
{
	bool		null_if_empty;	/* an aggregate is NULL if there is no row */
	bool		inexact;		/* an aggregate depends on the order of rows */
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
		found->inexact |= px_agg_rule_for((Aggref *) node, true) == NULL;
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
	if (found.others || found.inexact)
		return false;
	return jointype == JOIN_INNER ?
		found.null_if_empty && px_is_harmless_strict(value, NULL) :
		px_value_is_harmless(value);
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

/* min(value), or NULL if there is no such aggregate. */
static Aggref *
make_min(Expr *value)
{
	Oid			type = exprType((Node *) value);
	Oid			function;

	if (type == VARCHAROID)
	{
		type = TEXTOID;
		value = (Expr *) makeRelabelType(value, type, -1,
										 exprCollation((Node *) value),
										 COERCE_IMPLICIT_CAST);
	}
	function = LookupFuncName(list_make2(makeString("pg_catalog"),
										 makeString("min")), 1, &type, true);
	return OidIsValid(function) ? make_aggregate(function, value) : NULL;
}

static bool
row_is_suitable(Node *value)
{
	const Aggref *min = make_min((Expr *) value);

	return min && px_aggregate_is_harmless(min);
}

/* ---------------------------------------------------------------------
 * The join
 * --------------------------------------------------------------------- */

/* A subquery that is joined. */
typedef struct joined
{
	Query	   *rows;			/* see rows_of; of a left join */
	Query	   *subquery;
	RangeTblEntry *rte;			/* its entry in the query */
	Index		rtindex;
	Index		outer_join;		/* that of its left join; or 0 */
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

/* Add such a column. */
static Expr *
add_column(joined *join, Expr *expr, char *name)
{
	int			resno = px_add_target(join->subquery, expr, name);
	Alias	   *names = join->rte->eref;

	names->colnames = lappend(names->colnames, makeString(name));
	return get_column(join, resno);
}

/* Replace aggregates by columns of the subquery, which computes them. */
static Node *
take_aggregates(Node *node, joined *join)
{
	Aggref	   *aggref = (Aggref *) node;
	Expr	   *column;

	if (node == NULL)
		return NULL;
	if (!IsA(node, Aggref))
		return expression_tree_mutator(node, take_aggregates, join);

	column = add_column(join, (Expr *) node, get_func_name(aggref->aggfnoid));
	return (Node *) (join->outer_join != 0 && is_count(aggref) ?
					 px_zero_if_null(column) : column);
}

/* SELECT value FROM (VALUES (1), (2)): an error, if it is evaluated. */
static Node *
make_two_rows(const Expr *value)
{
	Query	   *query = px_make_query();
	RangeTblEntry *rte = makeNode(RangeTblEntry);
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
	(void) px_add_from_last(query);
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
	Aggref	   *min = make_min((Expr *) value);
	Expr	   *row = add_column(join, (Expr *) min, "min");
	Expr	   *count;
	CaseExpr   *choice = makeNode(CaseExpr);
	CaseWhen   *several = makeNode(CaseWhen);

	if (min->aggtype != type || exprTypmod(value) != -1)
		row = (Expr *) makeRelabelType(row, type, exprTypmod(value),
									   exprCollation(value),
									   COERCE_IMPLICIT_CAST);
	count = add_column(join, (Expr *) make_aggregate(F_COUNT_, NULL), "count");

	several->expr = make_opclause(Int8LessOperator, BOOLOID, false,
								  px_make_int8(1), count, InvalidOid,
								  InvalidOid);
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
 * Join a scalar subquery, grouped by its correlations, with the query.  Returns
 * NULL if it is not suitable.  The quals of an inner join are left to the
 * caller, who adds them to WHERE.
 */
static joined *
join_groups(Query *query, const Query *original, JoinType jointype,
			bool restrict_keys, List **quals)
{
	joined	   *join = palloc0(sizeof(joined));
	Query	   *subquery = copyObject(unconstify(Query *, original));
	List	   *correlations = px_take_correlations(subquery);
	List	   *on = NIL;
	ListCell   *lc;

	if (correlations == NIL)
		return NULL;
	if (restrict_keys)
		px_restrict_keys(query, subquery, correlations);
	join->subquery = subquery;
	join->rtindex = list_length(query->rtable) + 1;
	subquery->targetList = NIL;
	foreach(lc, correlations)
	{
		px_correlation *corr = lfirst(lc);
		int			resno = px_add_target(subquery, corr->inner, NULL);

		px_add_clause(subquery, &subquery->groupClause, corr->group_clause);
		on = lappend(on, join_condition(corr, get_column(join, resno)));
	}
	subquery->hasAggs = true;
	(void) px_add_subquery(query, subquery, "scalar_subquery");
	join->rte = llast_node(RangeTblEntry, query->rtable);
	if (jointype == JOIN_LEFT)
	{
		px_left_join_last(query, on);
		join->outer_join = list_length(query->rtable);
	}
	else
		*quals = list_concat(*quals, on);
	return join;
}

/*
 * Is this SELECT of any expression suitable, where it is to be joined so?  If
 * it has no aggregates, one_row says whether that may be joined.
 */
static bool
is_suitable(const Query *query, JoinType jointype, bool one_row)
{
	Node	   *value;

	if (!has_simple_form(query) ||
		reads_unsafely((Node *) unconstify(Query *, query), NULL))
		return false;
	value = (Node *) linitial_node(TargetEntry, query->targetList)->expr;
	if (!px_is_uncorrelated(value))
		return false;
	if (query->hasAggs)
		return aggregates_are_suitable(value, jointype);
	return jointype == JOIN_LEFT && one_row && row_is_suitable(value);
}

/* The value of a subquery, by columns of the one that is joined. */
static Node *
take_value(const Query *query, joined *join)
{
	TargetEntry *target = copyObject(linitial_node(TargetEntry,
												   query->targetList));

	return query->hasAggs ? take_aggregates((Node *) target->expr, join) :
		take_only_row((Node *) target->expr, join);
}

/* ---------------------------------------------------------------------
 * Where subqueries stand
 * --------------------------------------------------------------------- */

/* While one subquery in an expression is replaced. */
typedef struct replace_context
{
	SubLink    *sublink;
	Node	   *value;
} replace_context;

static Node *
replace_sublink(Node *node, replace_context *context)
{
	if (node == NULL)
		return NULL;
	if (node == (Node *) context->sublink)
		return context->value;
	return expression_tree_mutator(node, replace_sublink, context);
}

/* While all that are suitable are left-joined with a query. */
typedef struct left_join_context
{
	Query	   *query;
	bool		restrict_keys;
	bool		one_row;		/* a subquery without aggregates may be joined */
	List	   *joins;			/* of joined */
	bool		changed;
} left_join_context;

/* A copy of the subquery without what it says about columns. */
static Query *
rows_of(const Query *query)
{
	Query	   *copy = copyObject(unconstify(Query *, query));
	ListCell   *lc;

	copy->targetList = NIL;
	copy->hasAggs = false;
	foreach(lc, copy->rtable)
	{
		Bitmapset **columns = px_selected_columns(copy, lfirst(lc));

		if (columns)
			*columns = NULL;
	}
	return copy;
}

/* Let a join read the columns, too, that another subquery reads. */
static void
read_columns(joined *join, const Query *query)
{
	ListCell   *to;
	ListCell   *from;

	forboth(to, join->subquery->rtable, from, query->rtable)
	{
		Bitmapset **columns = px_selected_columns(join->subquery, lfirst(to));

		if (columns)
			*columns = bms_add_members(
				*columns, *px_selected_columns(query, lfirst(from)));
	}
}

/* The join with a subquery; those that read the same rows are joined once. */
static joined *
find_or_make_join(left_join_context *context, const Query *query)
{
	Query	   *rows = rows_of(query);
	joined	   *join;
	ListCell   *lc;

	foreach(lc, context->joins)
	{
		join = lfirst(lc);
		if (equal(join->rows, rows))
		{
			read_columns(join, query);
			return join;
		}
	}
	if (list_length(context->joins) >= LEFT_JOINS_MAX)
		return NULL;
	join = join_groups(context->query, query, JOIN_LEFT,
					   context->restrict_keys, NULL);
	if (join == NULL)
		return NULL;
	join->rows = rows;
	context->joins = lappend(context->joins, join);
	return join;
}

static Node *
left_join_sublinks(Node *node, left_join_context *context)
{
	const Query *query;
	joined	   *join;

	if (node == NULL)
		return NULL;
	if (!IsA(node, SubLink))
		return expression_tree_mutator(node, left_join_sublinks, context);
	if (((SubLink *) node)->subLinkType != EXPR_SUBLINK)
		return node;

	query = castNode(Query, ((SubLink *) node)->subselect);
	if (!is_suitable(query, JOIN_LEFT, context->one_row))
		return node;
	join = find_or_make_join(context, query);
	if (join == NULL)
		return node;
	context->changed = true;
	return take_value(query, join);
}

/*
 * May FROM have another item?  The planner tries all orders of these, so it
 * does not pull up subqueries beyond this limit either.
 */
static bool
has_room(const Query *query)
{
	return list_length(query->jointree->fromlist) < from_collapse_limit;
}

/*
 * Turn the subquery in a strict condition into an inner join.  Returns what
 * takes its place, or NULL.
 */
static Node *
inner_join_condition(Query *query, Node *qual, bool restrict_keys,
					 List **quals)
{
	replace_context replace = {0};
	const Query *subquery;
	joined	   *join;

	if (!has_room(query) ||
		!px_is_harmless_strict(qual, &replace.sublink) ||
		replace.sublink == NULL)
		return NULL;
	subquery = castNode(Query, replace.sublink->subselect);
	if (!is_suitable(subquery, JOIN_INNER, true))
		return NULL;
	join = join_groups(query, subquery, JOIN_INNER, restrict_keys, quals);
	if (join == NULL)
		return NULL;
	replace.value = take_value(subquery, join);
	return replace_sublink(qual, &replace);
}

static bool
inner_join_conditions(Query *query, bool restrict_keys)
{
	List	   *kept = NIL;
	List	   *joined = NIL;
	ListCell   *lc;

	query->jointree->quals = (Node *) canonicalize_qual(
		(Expr *) query->jointree->quals, false);
	foreach(lc, make_ands_implicit((Expr *) query->jointree->quals))
	{
		Node	   *replacement = inner_join_condition(
			query, lfirst(lc), restrict_keys, &joined);

		if (replacement)
			joined = lappend(joined, replacement);
		else
			kept = lappend(kept, lfirst(lc));
	}
	if (joined == NIL)
		return false;
	query->jointree->quals = (Node *) make_ands_explicit(
		list_concat(kept, joined));
	return true;
}

/* The value of a LIMIT or OFFSET; 0 if there is none, -1 if it is not known. */
static double
limit_value(Node *expr)
{
	const Const *value = (const Const *) eval_const_expressions(NULL, expr);

	if (value == NULL)
		return 0;
	return IsA(value, Const) && !value->constisnull ?
		(double) DatumGetInt64(value->constvalue) : -1;
}

/*
 * Does a LIMIT return so few rows that a remote query for each takes less time
 * than one for all?  The planner has a subquery of the target list evaluated
 * for these alone, and knows of no index there.
 */
static bool
returns_few_rows(Query *query)
{
	double		count = limit_value(query->limitCount);
	double		offset = limit_value(query->limitOffset);

	return query->limitCount != NULL && count >= 0 && offset >= 0 &&
		count + offset < PX_LOOKUP_ROWS &&
		query->distinctClause == NIL && !query->hasWindowFuncs;
}

/*
 * All others: in WHERE, and in the target list.  With GROUP BY, a value would
 * have to be a column of it.
 */
static bool
left_join_others(Query *query, px_decorrelate_options options)
{
	left_join_context context = {
		.query = query,
		.restrict_keys = options.restrict_keys,
		.one_row = options.outermost && !options.passed_on &&
			px_evaluates_all(query)};
	bool		few;
	ListCell   *lc;

	query->jointree->quals = left_join_sublinks(query->jointree->quals,
												&context);
	if (query->hasAggs || query->groupClause != NIL ||
		query->groupingSets != NIL || query->havingQual != NULL ||
		query->hasTargetSRFs)
		return context.changed;
	few = returns_few_rows(query);
	foreach(lc, query->targetList)
	{
		TargetEntry *target = lfirst_node(TargetEntry, lc);

		/* What is sorted by is evaluated for all rows. */
		if (!few || target->ressortgroupref != 0)
			target->expr = (Expr *) left_join_sublinks((Node *) target->expr,
													   &context);
	}
	return context.changed;
}

bool
px_decorrelate(Query *query, px_decorrelate_options options)
{
	bool		changed;

	if (query->commandType != CMD_SELECT || !query->hasSubLinks ||
		query->setOperations != NULL || !px_from_is_harmless(query) ||
		!px_having_is_harmless(query) ||
		!(options.outermost || options.harmless) ||
		!(px_evaluates_all(query) || px_targets_are_harmless(query)))
		return false;
	changed = inner_join_conditions(query, options.restrict_keys);
	changed |= left_join_others(query, options);
	return changed;
}
