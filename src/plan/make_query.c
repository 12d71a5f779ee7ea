/*-------------------------------------------------------------------------
 *
 * make_query.c
 *		Parts of queries, for those who write queries anew.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type_d.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "parser/parse_oper.h"

#include "plan/make_query.h"

/* Does the query, or the expression, refer to any query around it? */
static bool
refers_outside(Node *node, int *depth)
{
	int			levelsup = 0;

	if (node == NULL)
		return false;
	if (IsA(node, Query))
	{
		bool		found;

		(*depth)++;
		found = query_tree_walker((Query *) node, refers_outside, depth,
								  QTW_EXAMINE_RTES_BEFORE);
		(*depth)--;
		return found;
	}
	if (IsA(node, RangeTblEntry))
		return ((RangeTblEntry *) node)->rtekind == RTE_CTE &&
			(int) ((RangeTblEntry *) node)->ctelevelsup >= *depth;
	if (IsA(node, Var))
		levelsup = ((Var *) node)->varlevelsup;
	else if (IsA(node, Aggref))
		levelsup = ((Aggref *) node)->agglevelsup;
	else if (IsA(node, GroupingFunc))
		levelsup = ((GroupingFunc *) node)->agglevelsup;
	if (levelsup > 0 && levelsup >= *depth)
		return true;
	return expression_tree_walker(node, refers_outside, depth);
}

bool
px_is_uncorrelated(Node *node)
{
	int			depth = 0;

	return !refers_outside(node, &depth);
}

Query *
px_make_query(void)
{
	Query	   *query = makeNode(Query);

	query->commandType = CMD_SELECT;
	query->querySource = QSRC_ORIGINAL;
	query->canSetTag = true;
	query->jointree = makeFromExpr(NIL, NULL);
	return query;
}

Index
px_add_from_last(Query *query)
{
	RangeTblRef *ref = makeNode(RangeTblRef);

	ref->rtindex = list_length(query->rtable);
	query->jointree->fromlist = lappend(query->jointree->fromlist, ref);
	return ref->rtindex;
}

Index
px_add_subquery(Query *query, Query *subquery, const char *name)
{
	RangeTblEntry *rte = makeNode(RangeTblEntry);
	List	   *names = NIL;
	ListCell   *lc;

	/* Like the parser: a resjunk column, which has no name, is the last. */
	foreach(lc, subquery->targetList)
	{
		TargetEntry *target = lfirst_node(TargetEntry, lc);

		if (!target->resjunk)
			names = lappend(names, makeString(target->resname));
	}
	rte->rtekind = RTE_SUBQUERY;
	rte->subquery = subquery;
	rte->alias = makeAlias(name, NIL);
	rte->eref = makeAlias(name, names);
	rte->inFromCl = true;
	query->rtable = lappend(query->rtable, rte);
	return px_add_from_last(query);
}

void
px_left_join_last(Query *query, List *quals)
{
	List	  **from = &query->jointree->fromlist;
	RangeTblEntry *rte = makeNode(RangeTblEntry);
	JoinExpr   *join = makeNode(JoinExpr);

	rte->rtekind = RTE_JOIN;
	rte->jointype = JOIN_LEFT;
	rte->eref = makeAlias("unnamed_join", NIL);
	rte->inFromCl = true;
	query->rtable = lappend(query->rtable, rte);

	join->jointype = JOIN_LEFT;
	join->rarg = llast(*from);
	*from = list_delete_last(*from);
	join->larg = list_length(*from) == 1 ? linitial(*from) :
		(Node *) makeFromExpr(*from, NULL);
	join->quals = (Node *) make_ands_explicit(quals);
	join->rtindex = list_length(query->rtable);
	*from = list_make1(join);
}

Expr *
px_subquery_column(const Query *subquery, Index rtindex, int resno)
{
	return (Expr *) makeVarFromTargetEntry(
		rtindex, list_nth_node(TargetEntry, subquery->targetList, resno - 1));
}

Expr *
px_make_int8(int64 value)
{
	return (Expr *) makeConst(INT8OID, -1, InvalidOid, sizeof(int64),
							  Int64GetDatum(value), false, FLOAT8PASSBYVAL);
}

Expr *
px_zero_if_null(Expr *count)
{
	CoalesceExpr *coalesce = makeNode(CoalesceExpr);

	coalesce->coalescetype = INT8OID;
	coalesce->args = list_make2(count, px_make_int8(0));
	coalesce->location = -1;
	return (Expr *) coalesce;
}

int
px_add_target(Query *query, Expr *expr, const char *name)
{
	int			resno = list_length(query->targetList) + 1;

	query->targetList = lappend(
		query->targetList,
		makeTargetEntry(expr, resno,
						name ? pstrdup(name) : psprintf("key%d", resno),
						false));
	return resno;
}

void
px_add_clause(Query *query, List **clauses, const SortGroupClause *model)
{
	TargetEntry *target = llast_node(TargetEntry, query->targetList);
	SortGroupClause *clause = copyObject(
		unconstify(SortGroupClause *, model));

	target->ressortgroupref = clause->tleSortGroupRef = target->resno;
	*clauses = lappend(*clauses, clause);
}

SortGroupClause *
px_make_group_clause(Oid type)
{
	SortGroupClause *clause = makeNode(SortGroupClause);

	get_sort_group_operators(type, true, true, false, &clause->sortop,
							 &clause->eqop, NULL, &clause->hashable);
	return clause;
}
