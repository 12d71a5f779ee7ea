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
 * Do the conditions of the query say that partition keys of the two tables are
 * equal, so that these could be joined partition by partition?
 */
extern bool px_partition_keys_joined(PlannerInfo *root, const RelOptInfo *a,
									 const RelOptInfo *b);

#endif							/* PX_PLAN_PARTITION_KEY_H */
