/*-------------------------------------------------------------------------
 *
 * distinct.h
 *		DISTINCT as GROUP BY.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_PLAN_DISTINCT_H
#define PX_PLAN_DISTINCT_H

#include "nodes/parsenodes.h"

/*
 * Turn SELECT DISTINCT into SELECT ... GROUP BY, in place, if that makes no
 * difference.  Subqueries of the query are not looked into.
 */
extern void px_group_instead_of_distinct(Query *query);

/*
 * Was it SELECT DISTINCT?  True also for GROUP BY DISTINCT, which says the
 * same as GROUP BY if there are no grouping sets.
 */
extern bool px_groups_were_distinct(const Query *query);

/*
 * Turn a query with aggregates of DISTINCT values into one that aggregates
 * twice, in place, if that makes no difference; see distinct.c.  Subqueries of
 * the query are not looked into.  Returns true if the query was changed.
 *
 * needs_all: does the statement need all that the query returns?  Otherwise
 * all of its aggregates must be harmless: what nobody reads is computed, too.
 */
extern bool px_aggregate_twice(Query *query, bool needs_all);

#endif							/* PX_PLAN_DISTINCT_H */
