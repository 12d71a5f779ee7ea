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
 * May rows of foreign tables be written while the plan is executed?  Not if it
 * has a lookup that is executed several times, because each time it reads the
 * other side anew; nor if a lookup may raise an error for rows that nobody
 * wants, because it reads all outer rows then.
 */
extern bool px_lookup_suits_writes(const PlannedStmt *stmt);

/* Install the planner's hook for joins; called by _PG_init. */
extern void px_lookup_plan_init(void);

#endif							/* PX_PLAN_LOOKUP_H */
