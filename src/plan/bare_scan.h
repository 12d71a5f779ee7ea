/*-------------------------------------------------------------------------
 *
 * bare_scan.h
 *		Scans below an ExchangeSend that need not project.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_PLAN_BARE_SCAN_H
#define PX_PLAN_BARE_SCAN_H

#include "nodes/plannodes.h"

/*
 * If the plan is a scan of a table, and the columns of these resnos are
 * columns of the table, have it return the table's rows as they are, and
 * return the resnos of the columns in these.  Otherwise return NIL, and leave
 * the plan as it is.
 *
 * If target is not NULL, the last column is the one with the target, which may
 * also be an expression.  Then its resno becomes 0, and *target that
 * expression, for a node above: its OUTER_VARs are columns of the row.
 */
extern List *px_bare_scan(const PlannedStmt *stmt, Plan *plan,
						  const List *columns, Expr **target);

#endif							/* PX_PLAN_BARE_SCAN_H */
