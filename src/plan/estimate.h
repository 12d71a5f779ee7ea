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

#include "nodes/pathnodes.h"

/*
 * Set pages, tuples and width of a base relation that is a foreign table of
 * postgres_fdw, if it was not analyzed and its server knows more.  To be
 * called before postgres_fdw's GetForeignRelSize.  Tables of the query with
 * the same GetForeignRelSize are asked about at the same time.  Blocks, for
 * some seconds at most, serving interrupts.
 */
extern void px_estimate_size(PlannerInfo *root, RelOptInfo *rel);

/*
 * The bytes that the path is expected to return, for comparison with
 * min_bytes.  A table that was never analyzed is assumed to be larger than
 * postgres_fdw assumes.
 */
extern double px_expected_nbytes(PlannerInfo *root, const Path *path);

/* Install the hooks; called by _PG_init. */
extern void px_estimate_init(void);

#endif							/* PX_PLAN_ESTIMATE_H */
