/*-------------------------------------------------------------------------
 *
 * lookup.h
 *		Joins that ask a foreign table for the keys of the other side.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_PLAN_LOOKUP_H
#define PX_PLAN_LOOKUP_H

#include "nodes/plannodes.h"

/*
 * Has the plan a lookup whose outer side may raise an error for rows that
 * nobody wants?  It cannot read them all at once if the query is read in
 * portions.
 */
extern bool px_lookup_may_fail(const PlannedStmt *stmt);

/* Install the planner's hook for joins; called by _PG_init. */
extern void px_lookup_plan_init(void);

#endif							/* PX_PLAN_LOOKUP_H */
