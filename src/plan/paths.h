/*-------------------------------------------------------------------------
 *
 * paths.h
 *		Puts an ExchangeReceive in place of each ForeignPath.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_PLAN_PATHS_H
#define PX_PLAN_PATHS_H

/* Install the path hooks; called by _PG_init. */
extern void px_plan_init(void);

#endif							/* PX_PLAN_PATHS_H */
