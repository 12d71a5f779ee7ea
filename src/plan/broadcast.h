/*-------------------------------------------------------------------------
 *
 * broadcast.h
 *		Joins that run on the shards, to which the small side is sent.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_PLAN_BROADCAST_H
#define PX_PLAN_BROADCAST_H

/* Install the planner's hook for upper relations; called by _PG_init. */
extern void px_broadcast_plan_init(void);

#endif							/* PX_PLAN_BROADCAST_H */
