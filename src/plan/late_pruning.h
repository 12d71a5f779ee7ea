/*-------------------------------------------------------------------------
 *
 * late_pruning.h
 *		Partitions that are pruned when the query runs, below joins and
 *		aggregates of partitions.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_PLAN_LATE_PRUNING_H
#define PX_PLAN_LATE_PRUNING_H

#include "nodes/pathnodes.h"

/*
 * The planner has made this scan of rel, one of postgres_fdw.  To be called
 * for each of the plan, and maybe for others, while the query is planned.  scan
 * must stay until that has ended.
 */
extern void px_late_pruning_note(PlannerInfo *root, const RelOptInfo *rel,
								 const ForeignScan *scan);

/*
 * Could partitions of table, which is partitioned and stands in the query, be
 * pruned when the query runs, if it is an Append of their aggregates or joins?
 * False if its conditions are all known by now, or do not decide which rows
 * there are.
 */
extern bool px_late_pruning_is_possible(PlannerInfo *root,
										const RelOptInfo *table);

/*
 * Install the planner's hook; called by _PG_init after px_partitionwise_init,
 * and before px_place_init.
 */
extern void px_late_pruning_init(void);

#endif							/* PX_PLAN_LATE_PRUNING_H */
