/*-------------------------------------------------------------------------
 *
 * parent_stats.h
 *		Statistics of tables whose rows are those of other tables.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_PLAN_PARENT_STATS_H
#define PX_PLAN_PARENT_STATS_H

#include "access/htup.h"
#include "nodes/pathnodes.h"

/*
 * Statistics of a column of a partitioned table, an inheritance parent or a
 * UNION ALL that has foreign tables below it: a row of pg_statistic derived
 * from those of the tables below it which the query reads.  NULL if it has
 * statistics of its own, or nothing is known.  Valid until the next call.
 */
extern HeapTuple px_parent_stats(PlannerInfo *root, RelOptInfo *rel,
								 const RangeTblEntry *rte, AttrNumber attnum);

#endif							/* PX_PLAN_PARENT_STATS_H */
