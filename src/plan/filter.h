/*-------------------------------------------------------------------------
 *
 * filter.h
 *		Runtime filters in a finished plan.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_PLAN_FILTER_H
#define PX_PLAN_FILTER_H

#include "nodes/plannodes.h"

/* Keys that are expected to let through more of the rows are not sent. */
#define PX_FILTER_FRACTION_MAX	0.5

/*
 * A scan is filtered if so many rows of it are expected not to be sent; or of
 * all partitions together, if it is of one.
 */
#define PX_FILTER_ROWS_MIN		1000

/*
 * May rows of the query that is about to be planned be left out before they
 * are joined?  To be called before planning, because the planner changes it.
 */
extern bool px_filter_suits_query(Query *query);

/*
 * Let the hash joins of a finished plan hand their keys to the scans of their
 * outer sides, where that is expected to be worth it.  The plan is that of a
 * query that px_filter_suits_query was true for.  Must come after each
 * ExchangeGather was placed.
 */
extern void px_filter_place(PlannedStmt *stmt);

#endif							/* PX_PLAN_FILTER_H */
