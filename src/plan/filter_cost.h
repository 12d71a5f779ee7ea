/*-------------------------------------------------------------------------
 *
 * filter_cost.h
 *		What runtime filters save, in the planner's comparison of joins.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_PLAN_FILTER_COST_H
#define PX_PLAN_FILTER_COST_H

#include <stdbool.h>

/*
 * May the query that is being planned have runtime filters?  Returns what was
 * true before, to be set again when planning has ended: a function that is
 * called meanwhile may have a query planned.
 */
extern bool px_filter_cost_set(bool wanted);

/* Install the hook; called by _PG_init. */
extern void px_filter_cost_init(void);

#endif							/* PX_PLAN_FILTER_COST_H */
