/*-------------------------------------------------------------------------
 *
 * early_end.h
 *		Scans that a LIMIT or an EXISTS ends early.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_PLAN_EARLY_END_H
#define PX_PLAN_EARLY_END_H

#include "nodes/plannodes.h"

/*
 * Mark the ExchangeReceives of a finished plan that end after few rows.  Call
 * it after px_limit_push_all, and before an ExchangeGather is placed.
 */
extern void px_early_end_mark(const PlannedStmt *stmt);

/* Tell each ExchangeGather how many rows are wanted, if that is not all. */
extern void px_early_end_bound_gathers(const PlannedStmt *stmt);

#endif							/* PX_PLAN_EARLY_END_H */
