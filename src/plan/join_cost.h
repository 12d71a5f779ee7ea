/*-------------------------------------------------------------------------
 *
 * join_cost.h
 *		What a join costs that a remote computes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_PLAN_JOIN_COST_H
#define PX_PLAN_JOIN_COST_H

#include "nodes/pathnodes.h"

/* A side of a join. */
typedef struct px_join_side
{
	const RelOptInfo *rel;
	Cost		cost;			/* of its rows at the remote */
} px_join_side;

/*
 * The remote's cost of a join whose clauses are RestrictInfos.  Negative if it
 * cannot be a hash join.
 */
extern Cost px_hash_join_cost(const RelOptInfo *joinrel,
							  const px_join_side *outer,
							  const px_join_side *inner, List *clauses);

/*
 * The cost of those of these clauses that are certainly checked here, for a
 * join of so many rows.  They are checked for more rows than that: *nchecked.
 */
extern Cost px_local_clauses_cost(PlannerInfo *root, List *clauses,
								  double rows, double *nchecked);

#endif							/* PX_PLAN_JOIN_COST_H */
