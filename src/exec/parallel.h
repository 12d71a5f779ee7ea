/*-------------------------------------------------------------------------
 *
 * parallel.h
 *		ExchangeReceive as part of a parallel plan.
 *
 * Participants claim slices.  A scan that is not sliced has one.  Each reads
 * what it has claimed on a connection of its own, under the leader's snapshot.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_EXEC_PARALLEL_H
#define PX_EXEC_PARALLEL_H

#include "access/parallel.h"
#include "nodes/execnodes.h"

#include "exec/receive_state.h"

/*
 * The callbacks of a CustomScan for parallel plans.  When the leader sets up
 * the shared memory, it finds out whether streams may read the scan.  If not,
 * no worker is launched.  A worker that cannot begin to read a slice gives it
 * back, and the leader reads it in the end.  The last callback collects
 * statistics, and leaves streams that nobody reads any more.
 */
extern Size px_parallel_estimate_dsm(CustomScanState *css,
									 ParallelContext *pcxt);
extern void px_parallel_initialize_dsm(CustomScanState *css,
									   ParallelContext *pcxt,
									   void *coordinate);
extern void px_parallel_reinitialize_dsm(CustomScanState *css,
										 ParallelContext *pcxt,
										 void *coordinate);
extern void px_parallel_initialize_worker(CustomScanState *css, shm_toc *toc,
										  void *coordinate);
extern void px_parallel_shutdown(CustomScanState *css);

/*
 * Leader: no more rows are wanted, so no worker need wait for us.  To be called
 * before the leader waits for workers to end.
 */
extern void px_parallel_abandon(px_receive_state *state);

#endif							/* PX_EXEC_PARALLEL_H */
