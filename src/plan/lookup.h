/*-------------------------------------------------------------------------
 *
 * lookup.h
 *		Joins that ask a foreign table for the keys of the other side.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_PLAN_LOOKUP_H
#define PX_PLAN_LOOKUP_H

/* Install the planner's hook for joins; called by _PG_init. */
extern void px_lookup_plan_init(void);

#endif							/* PX_PLAN_LOOKUP_H */
