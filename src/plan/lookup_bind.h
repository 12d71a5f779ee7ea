/*-------------------------------------------------------------------------
 *
 * lookup_bind.h
 *		The parameters of the lookups of a finished plan.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_PLAN_LOOKUP_BIND_H
#define PX_PLAN_LOOKUP_BIND_H

#include "nodes/plannodes.h"

/*
 * PARAM_EXTERN numbers of the arrays of keys: from this one up.  A client's
 * message has room for 65535 parameters.
 */
#define PX_LOOKUP_MARKER_FIRST	1000000000

/* The parameters that init plans of the statement set once. */
extern Bitmapset *px_constant_params(PlannedStmt *stmt);

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

#endif							/* PX_PLAN_LOOKUP_BIND_H */
