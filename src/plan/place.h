/*-------------------------------------------------------------------------
 *
 * place.h
 *		Changes to finished plans that have exchanges.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_PLAN_PLACE_H
#define PX_PLAN_PLACE_H

/* Install the planner hook; called by _PG_init. */
extern void px_place_init(void);

#endif							/* PX_PLAN_PLACE_H */
