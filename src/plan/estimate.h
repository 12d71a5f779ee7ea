/*-------------------------------------------------------------------------
 *
 * estimate.h
 *		Estimates for foreign tables that were never analyzed here.
 *
 * When the planner wants the size of such a table, the servers of the query's
 * tables are asked for what they know: rows, pages, and the statistics of
 * columns.  The answers are kept for the session.  The planner then sees the
 * table as if it had been analyzed.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_PLAN_ESTIMATE_H
#define PX_PLAN_ESTIMATE_H

#include "foreign/foreign.h"
#include "nodes/pathnodes.h"

/*
 * Set pages, tuples and width of a base relation that is a foreign table of
 * postgres_fdw, if it was not analyzed and its server knows more.  To be
 * called before postgres_fdw's GetForeignRelSize.  Tables of the query with
 * the same GetForeignRelSize are asked about at the same time.  Blocks, for
 * some seconds at most, serving interrupts.
 */
extern void px_estimate_size(PlannerInfo *root, RelOptInfo *rel);

/* Has px_estimate_size known the size of this table in this session? */
extern bool px_estimate_is_known(Oid relid);

/* Does postgres_fdw itself ask the server for costs and rows of the table? */
extern bool px_uses_remote_estimate(const ForeignTable *table);

/* Install the hooks; called by _PG_init. */
extern void px_estimate_init(void);

#endif							/* PX_PLAN_ESTIMATE_H */
