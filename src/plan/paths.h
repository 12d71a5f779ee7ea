/*-------------------------------------------------------------------------
 *
 * paths.h
 *		Putting an ExchangeReceive in place of each ForeignPath.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_PLAN_PATHS_H
#define PX_PLAN_PATHS_H

#include "foreign/fdwapi.h"
#include "nodes/extensible.h"
#include "nodes/pathnodes.h"

/*
 * Make an ExchangeReceive path in place of a ForeignPath.  It has the same
 * costs, except that the transfer is charged by bytes.  It is never more
 * expensive.
 */
extern CustomPath *px_receive_path(PlannerInfo *root, ForeignPath *foreign);

/* PlanCustomPath of such a path. */
extern Plan *px_receive_plan(PlannerInfo *root, RelOptInfo *rel,
							 CustomPath *best_path, List *tlist,
							 List *clauses, List *custom_plans);

/* The planner's estimate of a parallel scan's speedup; see costsize.c. */
extern double px_parallel_divisor(int nworkers);

/*
 * The routines of postgres_fdw itself, for a relation of postgres_fdw; NULL
 * for other relations.
 */
extern const FdwRoutine *px_original_routine(const RelOptInfo *rel);

/* Install the planner's hook for relations; called by _PG_init. */
extern void px_paths_init(void);

#endif							/* PX_PLAN_PATHS_H */
