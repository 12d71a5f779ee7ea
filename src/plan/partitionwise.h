/*-------------------------------------------------------------------------
 *
 * partitionwise.h
 *		Partition-wise joins and aggregates of tables with foreign partitions.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_PLAN_PARTITIONWISE_H
#define PX_PLAN_PARTITIONWISE_H

/*
 * Would the planner consider aggregates of partitions without us?  Valid while
 * a query is planned.
 */
extern bool px_partitionwise_aggregates_by_core(void);

/*
 * Install the planner's hooks; called by _PG_init after px_paths_init.
 */
extern void px_partitionwise_init(void);

#endif							/* PX_PLAN_PARTITIONWISE_H */
