/*-------------------------------------------------------------------------
 *
 * make_query.h
 *		Parts of queries, for those who write queries anew.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_PLAN_MAKE_QUERY_H
#define PX_PLAN_MAKE_QUERY_H

#include "nodes/parsenodes.h"

/*
 * Does this query, or expression of a query, refer to no query around it?
 * Columns, aggregates and common table expressions count.
 */
extern bool px_is_uncorrelated(Node *node);

/* A new SELECT of nothing from nothing. */
extern Query *px_make_query(void);

/* Append the last entry of the range table to the FROM.  Returns its index. */
extern Index px_add_from_last(Query *query);

/*
 * Append a subquery to the FROM of a query, with this alias.  Its columns must
 * have names.  Returns its range table index.
 */
extern Index px_add_subquery(Query *query, Query *subquery, const char *name);

/*
 * Let the last entry of the FROM of a query be the nullable side of a left join
 * with the others, on these quals.  The join is the last entry of the range
 * table then; no column of it can be named.
 */
extern void px_left_join_last(Query *query, List *quals);

/* Column resno of a subquery that is number rtindex in FROM. */
extern Expr *px_subquery_column(const Query *subquery, Index rtindex,
								int resno);

/* A constant of type bigint. */
extern Expr *px_make_int8(int64 value);

/* coalesce(count, 0), of a bigint. */
extern Expr *px_zero_if_null(Expr *count);

/*
 * Append an expression to the target list, with this name (copied) or, if that
 * is NULL, key1, key2 and so on.  Returns its resno.
 */
extern int	px_add_target(Query *query, Expr *expr, const char *name);

/*
 * Append the last expression of the target list to *clauses of the query, its
 * groupClause or distinctClause, with the operators of model.
 */
extern void px_add_clause(Query *query, List **clauses,
						  const SortGroupClause *model);

/*
 * A clause for DISTINCT or GROUP BY of a type, which must be hashable and
 * sortable.  Its tleSortGroupRef is not set.
 */
extern SortGroupClause *px_make_group_clause(Oid type);

#endif							/* PX_PLAN_MAKE_QUERY_H */
