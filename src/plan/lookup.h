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
 * Give the ExchangeLookups of a finished plan their parameters.  Before, the
 * arrays of keys are markers.  Must come before an ExchangeGather is placed.
 */
extern void px_lookup_bind(PlannedStmt *stmt);

/* Install the planner's hook for joins; called by _PG_init. */
extern void px_lookup_plan_init(void);

#endif							/* PX_PLAN_LOOKUP_H */
