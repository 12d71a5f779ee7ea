/*-------------------------------------------------------------------------
 *
 * correlation.h
 *		How a scalar subquery refers to the query around it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_PLAN_CORRELATION_H
#define PX_PLAN_CORRELATION_H

#include "nodes/parsenodes.h"

/* A condition inner = outer of a subquery; it is one operator. */
typedef struct px_correlation
{
	OpExpr	   *op;
	Expr	   *inner;			/* of the subquery's tables only */
	Expr	   *outer;			/* of the outer query's, as the outer query
								 * sees them; a Var below RelabelTypes */
	bool		inner_is_left;
	SortGroupClause *group_clause;	/* GROUP BY inner */
	bool		restricted;		/* its keys were restricted */
} px_correlation;

/*
 * Split the WHERE clause of a copy of a subquery into correlations, which are
 * returned, and the rest, which is left there.  NIL if the subquery has none,
 * refers to the outer query in another way, too, or may raise errors.
 */
extern List *px_take_correlations(Query *subquery);

/*
 * Join the subquery with the keys that rows of the query can have, for as many
 * of its correlations as that is possible.
 */
extern void px_restrict_keys(Query *query, Query *subquery,
							 List *correlations);

#endif							/* PX_PLAN_CORRELATION_H */
