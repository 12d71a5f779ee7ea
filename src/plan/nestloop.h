/*-------------------------------------------------------------------------
 *
 * nestloop.h
 *		No joins that rest on a wrong guess.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_PLAN_NESTLOOP_H
#define PX_PLAN_NESTLOOP_H

/*
 * Install the planner's hook; called by _PG_init after px_paths_init and
 * px_lookup_plan_init.
 */
extern void px_nestloop_init(void);

#endif							/* PX_PLAN_NESTLOOP_H */
