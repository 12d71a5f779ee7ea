/*-------------------------------------------------------------------------
 *
 * final_hash.h
 *		Hash tables for groups that come from hash tables.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_PLAN_FINAL_HASH_H
#define PX_PLAN_FINAL_HASH_H

#include "nodes/plannodes.h"

/*
 * Have each HashAggregate of the plan that combines groups of several remote
 * queries hash them in another way than the servers do; see final_hash.c.
 */
extern void px_final_hash_spread(const PlannedStmt *stmt);

#endif							/* PX_PLAN_FINAL_HASH_H */
