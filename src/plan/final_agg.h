/*-------------------------------------------------------------------------
 *
 * final_agg.h
 *		Aggregates in two steps whose first step is not the planner's own.
 *
 * The first step returns partial aggregates: transition states, serialized.
 * The second step combines them, and checks HAVING.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_PLAN_FINAL_AGG_H
#define PX_PLAN_FINAL_AGG_H

#include "nodes/pathnodes.h"

/*
 * The target of the first step: the grouping keys, and all aggregates and
 * other columns that target, that of the groups, and HAVING use.
 */
extern PathTarget *px_final_agg_input(PlannerInfo *root, PathTarget *target,
									  Node *having);

/*
 * A relation for the partial groups of rel's rows, with the given target.  It
 * belongs to rel's server, if it has one.
 */
extern RelOptInfo *px_final_agg_input_rel(const RelOptInfo *grouped_rel,
										  const RelOptInfo *rel,
										  PathTarget *target);

/*
 * Add the second step over path, which returns all partial groups of
 * input_rel, to grouped_rel.
 */
extern void px_final_agg_add(PlannerInfo *root, const RelOptInfo *input_rel,
							 RelOptInfo *grouped_rel,
							 const GroupPathExtraData *extra, Path *path);

#endif							/* PX_PLAN_FINAL_AGG_H */
