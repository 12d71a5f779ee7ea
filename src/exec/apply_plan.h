/*-------------------------------------------------------------------------
 *
 * apply_plan.h
 *		Planning the statement of exchange.apply.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_EXEC_APPLY_PLAN_H
#define PX_EXEC_APPLY_PLAN_H

#include "nodes/parsenodes.h"
#include "nodes/plannodes.h"

/*
 * Plan a query that has its rows from exchange.unpack.  UPDATE and DELETE look
 * up each row of the piece by its ctid, in the order of the piece.
 */
extern PlannedStmt *px_apply_plan(Query *query, const char *sql);

#endif							/* PX_EXEC_APPLY_PLAN_H */
