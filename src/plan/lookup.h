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

/*
 * If plan is an ExchangeLookup, let it begin with a small batch of outer rows
 * if a LIMIT wants a part of its rows only.  False if it is another node.
 */
extern bool px_lookup_mark_few_rows(Plan *plan, double rows);

/* Install the planner's hook for joins; called by _PG_init. */
extern void px_lookup_plan_init(void);

#endif							/* PX_PLAN_LOOKUP_H */
