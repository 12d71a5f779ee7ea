/*-------------------------------------------------------------------------
 *
 * plan_walk.h
 *		The nodes of a finished plan.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_EXEC_PLAN_WALK_H
#define PX_EXEC_PLAN_WALK_H

#include "nodes/plannodes.h"

/* Custom scans of this name are read from a server. */
#define PX_RECEIVE_NAME	"ExchangeReceive"

/* Those of this name read several plans at once. */
#define PX_GATHER_NAME	"ExchangeGather"

/* Called for a node before its children; true ends the walk. */
typedef bool (*px_plan_visitor) (Plan *plan, void *arg);

extern bool px_plan_is_receive(const Plan *plan);
extern bool px_plan_is_gather(const Plan *plan);

/* Is it one of core's scans whose rows come in the slots of a table? */
extern bool px_plan_is_table_scan(const Plan *plan);

/*
 * The children of a node that are run like it, beside left and right tree; the
 * list is the node's own.  NULL if it is of a kind that has none.
 */
extern List **px_plan_list(Plan *plan);

/*
 * Visit a plan, which may be NULL, and the nodes below it, but not the child
 * of an ExchangeReceive.  Returns whether a visit returned true.
 */
extern bool px_plan_walk(Plan *plan, px_plan_visitor visit, void *arg);

/* The same for all plans of a statement, those of subqueries, too. */
extern bool px_plan_walk_all(const PlannedStmt *stmt, px_plan_visitor visit,
							 void *arg);

/* Returns what stands in place of a plan, which may be itself. */
typedef Plan *(*px_plan_replacer) (Plan *plan, void *arg);

/*
 * Replace the children of a node that are run like it, one after another; but
 * not that of an ExchangeReceive.
 */
extern void px_plan_replace_children(Plan *plan, px_plan_replacer replace,
									 void *arg);

/* Replace the top nodes of all plans of a statement. */
extern void px_plan_replace_all(PlannedStmt *stmt, px_plan_replacer replace,
								void *arg);

/*
 * Let the plan be invalidated when the function is dropped or replaced.  The
 * planner does the same for all functions of a query, but does not see those
 * that come into the plan, or leave the query, without it.
 */
extern void px_plan_add_function(PlannedStmt *stmt, Oid function);

#endif							/* PX_EXEC_PLAN_WALK_H */
