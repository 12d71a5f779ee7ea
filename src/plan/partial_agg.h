/*-------------------------------------------------------------------------
 *
 * partial_agg.h
 *		Paths that have a remote aggregate its own rows.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_PLAN_PARTIAL_AGG_H
#define PX_PLAN_PARTIAL_AGG_H

#include "nodes/extensible.h"
#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"

/*
 * Make a path that returns the partial aggregates of output_rel->reltarget,
 * grouped, for a relation of postgres_fdw.  input_rel is what is aggregated: a
 * base or join relation.  extra->targetList is the query's target list,
 * translated for input_rel.  Returns NULL if the remote cannot compute all of
 * them, or may not because of pg_exchange.partial_aggregates.
 */
extern CustomPath *px_partial_agg_path(PlannerInfo *root,
									   RelOptInfo *input_rel,
									   RelOptInfo *output_rel,
									   const GroupPathExtraData *extra);

/*
 * The plain target that tells the rows of a target with partial aggregates:
 * the grouping keys, which have a sortgroupref, and after them plain
 * aggregates.  targetlist is the query's.  NULL if there is none.
 */
extern PathTarget *px_partial_agg_plain(PlannerInfo *root,
										const PathTarget *partial,
										List *targetlist);

/*
 * PlanCustomPath of a path that returns partial aggregates, those of
 * rel->reltarget.  The first custom plan is a ForeignScan whose fdw_scan_tlist
 * has the plain target; the second, if any, is that of px_local_agg_path.
 */
extern Plan *px_partial_agg_plan(PlannerInfo *root, RelOptInfo *rel,
								 CustomPath *best_path, List *tlist,
								 List *clauses, List *custom_plans);

/*
 * Does an aggregate in the expressions return other digits, or another of
 * several equal values, if its rows come in another order?  True also for
 * those of which that is not known.
 */
extern bool px_aggregates_need_order(Node *exprs);

/*
 * Install the planner's hook for relations, after that of plan/paths.h; called
 * by _PG_init.
 */
extern void px_partial_agg_init(void);

#endif							/* PX_PLAN_PARTIAL_AGG_H */
