/*-------------------------------------------------------------------------
 *
 * paths.h
 *		Putting an ExchangeReceive in place of each ForeignPath.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_PLAN_PATHS_H
#define PX_PLAN_PATHS_H

/* Install the planner's hook for relations; called by _PG_init. */
extern void px_paths_init(void);

#endif							/* PX_PLAN_PATHS_H */
