/*-------------------------------------------------------------------------
 *
 * apply_call.h
 *		Planning a call of exchange.apply.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_PLAN_APPLY_CALL_H
#define PX_PLAN_APPLY_CALL_H

/* Install the planner hook; called by _PG_init. */
extern void px_apply_call_plan_init(void);

#endif							/* PX_PLAN_APPLY_CALL_H */
