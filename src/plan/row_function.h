/*-------------------------------------------------------------------------
 *
 * row_function.h
 *		Planning exchange.unpack and exchange.inbox in FROM as custom scans.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_PLAN_ROW_FUNCTION_H
#define PX_PLAN_ROW_FUNCTION_H

#include "nodes/extensible.h"
#include "nodes/parsenodes.h"
#include "nodes/pathnodes.h"

/*
 * The custom scan that takes the place of the scan of a function, if the
 * relation is one of these functions; else NULL.
 */
extern const CustomScanMethods *px_row_function_methods(
	const RangeTblEntry *rte);

/*
 * What the planner support function of one of them returns: request, with the
 * rows that estimate says; NULL if that is negative, or for other requests.
 */
extern Node *px_row_function_support(
	Node *request,
	double (*estimate) (PlannerInfo *root, const FuncExpr *call));

/* Install the planner's hook for relations; called by _PG_init. */
extern void px_row_function_plan_init(void);

#endif							/* PX_PLAN_ROW_FUNCTION_H */
