/*-------------------------------------------------------------------------
 *
 * parallel_path.h
 *		Partial paths: scans by exchanges in parallel plans of the coordinator.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_PLAN_PARALLEL_PATH_H
#define PX_PLAN_PARALLEL_PATH_H

#include "nodes/pathnodes.h"

/* The planner's estimate of a parallel scan's speedup; see costsize.c. */
extern double px_parallel_divisor(int nworkers);

/* Could participants of a parallel plan share the scan of this path? */
extern bool px_parallel_path_is_allowed(PlannerInfo *root,
										RelOptInfo *rel,
										const Path *foreign);

/*
 * Add an ExchangeReceive of a table, the transfer of whose rows costs so much,
 * as a partial path.  It is changed.
 * Participants claim slices of it, or the whole scan if there is one slice: the
 * others have nothing to do then, but may read another partition.
 */
extern void px_parallel_path_add(PlannerInfo *root, RelOptInfo *rel,
								 CustomPath *receive, Cost transfer);

#endif							/* PX_PLAN_PARALLEL_PATH_H */
