/*-------------------------------------------------------------------------
 *
 * partitionwise.h
 *		Partition-wise joins and aggregates of tables with foreign partitions.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_PLAN_PARTITIONWISE_H
#define PX_PLAN_PARTITIONWISE_H

#include "nodes/pathnodes.h"

/*
 * Would the planner consider aggregates of partitions without us?  Valid while
 * a query is planned.
 */
extern bool px_partitionwise_aggregates_by_core(void);

/*
 * Must the children of a table be aggregated at once?
 *
 * If a set-returning function makes keys of GROUP BY, postgres_fdw has the
 * remote sort partitions by such keys, which returns their rows more than once.
 * Without partial groups, core rarely wants them sorted before they are sets.
 *
 * If the groups may not be read to their end, each child has begun with its own
 * by then.  That must not be seen by a volatile function.
 */
extern bool px_aggregates_at_once(const PlannerInfo *root);

/*
 * Install the planner's hooks; called by _PG_init after px_paths_init.
 */
extern void px_partitionwise_init(void);

#endif							/* PX_PLAN_PARTITIONWISE_H */
