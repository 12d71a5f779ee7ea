/*-------------------------------------------------------------------------
 *
 * unpack.h
 *		Planning with exchange.unpack(piece).
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_PLAN_UNPACK_H
#define PX_PLAN_UNPACK_H

/* Install the planner's hook for relations; called by _PG_init. */
extern void px_unpack_plan_init(void);

#endif							/* PX_PLAN_UNPACK_H */
