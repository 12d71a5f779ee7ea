/*-------------------------------------------------------------------------
 *
 * partition_key.h
 *		Partition keys in the conditions of a query.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_PLAN_PARTITION_KEY_H
#define PX_PLAN_PARTITION_KEY_H

#include "nodes/pathnodes.h"

/*
 * Is the expression that column of the partition key of rel?  Outer joins that
 * may null a Var do not matter here, nor do RelabelTypes.
 */
extern bool px_is_partition_key(const void *expr, const RelOptInfo *rel,
								int column);

/*
 * Do conditions of the query compare the partition keys of the two tables, so
 * that these could perhaps be joined partition by partition?  A guess, for the
 * planner's time.
 */
extern bool px_partition_keys_joined(PlannerInfo *root, const RelOptInfo *a,
									 const RelOptInfo *b);

/*
 * Are the partition keys equal in all rows that the query returns?  Neither
 * table may be on a side of an outer join whose columns may become null.  Not
 * known, so false, of hash partitions.
 */
extern bool px_partition_keys_equal(PlannerInfo *root, const RelOptInfo *a,
									const RelOptInfo *b);

#endif							/* PX_PLAN_PARTITION_KEY_H */
