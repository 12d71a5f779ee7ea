/*-------------------------------------------------------------------------
 *
 * gather_parallel.h
 *		An ExchangeGather as part of a parallel plan.
 *
 * Each participant reads its share of the children, and all of the share at the
 * same time.  Their ExchangeReceives are parallel-aware: whoever claims the
 * slices of one reads it (exec/parallel.h).
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_NODE_GATHER_PARALLEL_H
#define PX_NODE_GATHER_PARALLEL_H

#include "access/parallel.h"

#include "node/gather_state.h"

/*
 * The callbacks of a CustomScan for parallel plans.  The node itself shares
 * nothing.  Before the children set up what they share, the servers are asked
 * about all of them at once.
 */
extern Size px_gather_estimate_dsm(CustomScanState *css,
								   ParallelContext *pcxt);
extern void px_gather_initialize_dsm(CustomScanState *css,
									 ParallelContext *pcxt, void *coordinate);

/* How many read the children?  Known when the node is run. */
extern int	px_gather_participants(px_gather_state *state);

/*
 * There are several: find the streams of all children.  Waits as px_start_meet
 * does.
 */
extern void px_gather_meet(px_gather_state *state);

/*
 * Begin this participant's share of the children that are left; or, if all of
 * them are claimed, see to one of those that others may have given back.
 * Returns when all of its streams have sent something, or were given back.
 * False if nothing is left.  Serves interrupts.
 */
extern bool px_gather_start_share(px_gather_state *state);

#endif							/* PX_NODE_GATHER_PARALLEL_H */
