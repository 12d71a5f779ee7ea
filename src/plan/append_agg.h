/*-------------------------------------------------------------------------
 *
 * append_agg.h
 *		Partial aggregates of the children of UNION ALL and of inheritance.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_PLAN_APPEND_AGG_H
#define PX_PLAN_APPEND_AGG_H

/* Install the planner's hook for upper relations; called by _PG_init. */
extern void px_append_agg_init(void);

#endif							/* PX_PLAN_APPEND_AGG_H */
