/*-------------------------------------------------------------------------
 *
 * rewrite.h
 *		Queries over foreign tables in a form that is planned better.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_PLAN_REWRITE_H
#define PX_PLAN_REWRITE_H

/* Install the planner hook; called by _PG_init, after px_place_init. */
extern void px_rewrite_init(void);

#endif							/* PX_PLAN_REWRITE_H */
