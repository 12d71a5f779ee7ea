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
 * Install the planner's hooks; called by _PG_init after px_paths_init.
 */
extern void px_partitionwise_init(void);

#endif							/* PX_PLAN_PARTITIONWISE_H */
