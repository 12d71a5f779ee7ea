/*-------------------------------------------------------------------------
 *
 * harmless.h
 *		Expressions and queries that cannot raise an error.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_PLAN_HARMLESS_H
#define PX_PLAN_HARMLESS_H

#include "nodes/parsenodes.h"

/*
 * Can none of these clauses of the query raise an error, on whatever rows they
 * are evaluated: WHERE, the ON clauses of joins, and the subqueries in them
 * and in FROM?  The query must be as the parser and the rewriter have left it.
 * Its target list, GROUP BY, HAVING and other clauses are not looked at.
 */
extern bool px_from_is_harmless(const Query *query);

/*
 * The same for the subqueries in FROM alone, and for columns that are computed
 * when they are read.
 */
extern bool px_rows_are_harmless(const Query *query);

/*
 * The same for all of the query.  It may aggregate, but it may not have any
 * other clause that a plain subquery has not.
 */
extern bool px_query_is_harmless(const Query *query);

/*
 * Is the target list of a query, all of whose rows are needed, evaluated for
 * all that FROM and WHERE leave?  If they are sorted, it is evaluated before or
 * after that, and after it maybe only for some.  (A portal, or a function, may
 * stop reading any query.)
 */
extern bool px_evaluates_all(const Query *query);

/* The subquery whose rows are then all those of FROM and WHERE, or NULL. */
extern const Query *px_subquery_of_all(const Query *query);

/*
 * Can HAVING of a query raise no error?  Can none of its target list, including
 * what it is sorted or grouped by?
 */
extern bool px_having_is_harmless(const Query *query);
extern bool px_targets_are_harmless(const Query *query);

/*
 * Can nothing in a statement raise an error, but target lists of queries that
 * are evaluated for all their rows, which are all needed?
 */
extern bool px_statement_is_harmless(const Query *query);

/*
 * Can this condition of a finished plan raise no error?  Subqueries, and values
 * that other parts of the plan compute, can.
 */
extern bool px_condition_is_harmless(Node *condition);

/*
 * The same of any expression of a query, if its scalar subqueries raise none.
 * Aggregates of the list below may stand in it.
 */
extern bool px_value_is_harmless(Node *value);

/*
 * Does it not matter in which order these conditions on groups are evaluated?
 * If one of them may raise an error, another one may keep it from that.
 */
extern bool px_having_has_no_order(List *having);

/*
 * Is the expression NULL whenever one of its leaves is, and can it raise no
 * error?  Leaves are columns, constants, parameters and aggregates of the
 * list below.  At most one of them may be a scalar subquery, which is stored
 * in *sublink, if that is not NULL; it is not looked into, but its value must
 * be harmless in the expression.
 */
extern bool px_is_harmless_strict(Node *node, SubLink **sublink);

/*
 * Is this one of the built-in aggregates that can raise no error?  Neither
 * DISTINCT nor ORDER BY may stand in it.
 */
extern bool px_aggregate_is_harmless(const Aggref *aggref);

/* Does an expression call a function that is not built in? */
extern bool px_calls_function_of_user(Node *node);

/* Is this a built-in type whose comparisons raise no errors? */
extern bool px_type_compares_safely(Oid type);

/*
 * Can each value that another server has of this type be read here?  Types of
 * users may have other values there, or none of some name.  Intervals are
 * infinite only from PostgreSQL 17 on, and money is as lc_monetary has it.
 */
extern bool px_type_reads_safely(Oid type);

#endif							/* PX_PLAN_HARMLESS_H */
