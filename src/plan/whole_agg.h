/*-------------------------------------------------------------------------
 *
 * whole_agg.h
 *		Groups that servers compute for us, but not for postgres_fdw.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_PLAN_WHOLE_AGG_H
#define PX_PLAN_WHOLE_AGG_H

/*
 * Install the planner's hook for relations, after that of plan/paths.h; called
 * by _PG_init.
 */
extern void px_whole_agg_init(void);

#endif							/* PX_PLAN_WHOLE_AGG_H */
