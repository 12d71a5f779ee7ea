/*-------------------------------------------------------------------------
 *
 * join_cost.h
 *		What a join costs that a remote server is to do.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_PLAN_JOIN_COST_H
#define PX_PLAN_JOIN_COST_H

#include "nodes/pathnodes.h"

/* The costs of join clauses and quals that were replaced. */
typedef struct px_join_cost
{
	List	   *clauses;		/* of RestrictInfo */
	List	   *costs;			/* of QualCost, palloc'd: theirs */
} px_join_cost;

/*
 * Have postgres_fdw count a hash join where it would count a nested loop, from
 * now to px_join_cost_end, for this join.  Nothing is changed if the join has
 * no clause that can be hashed.
 */
extern px_join_cost px_join_cost_begin(PlannerInfo *root,
									   const RelOptInfo *outer,
									   const RelOptInfo *inner,
									   const List *restrict_clauses);

/* Give the clauses their own costs again. */
extern void px_join_cost_end(px_join_cost *replaced);

#endif							/* PX_PLAN_JOIN_COST_H */
