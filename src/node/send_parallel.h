/*-------------------------------------------------------------------------
 *
 * send_parallel.h
 *		ExchangeSend below a Gather: what participants share.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_NODE_SEND_PARALLEL_H
#define PX_NODE_SEND_PARALLEL_H

#include "access/parallel.h"
#include "executor/tuptable.h"
#include "nodes/execnodes.h"
#include "storage/shm_toc.h"

#include "node/send_state.h"

/*
 * A frame that a worker has put into its queue, valid until the next call, or
 * NULL; see px_frame_queues_take.  NULL without queues.
 */
extern bytea *px_send_take(px_send_state *state, bool wait);

/*
 * Put a worker's frame into its queue.  Returns false, empties the slot and
 * leaves the queue after the last frame, for which the slot is empty, or if
 * the leader wants no more.
 */
extern bool px_send_put(px_send_state *state, TupleTableSlot *slot);

/* Leader: want no more frames of workers. */
extern void px_send_leave_queues(px_send_state *state);

/* Callbacks of the CustomScan. */
extern Size px_send_estimate_dsm(CustomScanState *node, ParallelContext *pcxt);
extern void px_send_initialize_dsm(CustomScanState *node,
								   ParallelContext *pcxt, void *coordinate);
extern void px_send_reinitialize_dsm(CustomScanState *node,
									 ParallelContext *pcxt, void *coordinate);
extern void px_send_initialize_worker(CustomScanState *node, shm_toc *toc,
									  void *coordinate);
extern void px_send_shutdown(CustomScanState *node);

#endif							/* PX_NODE_SEND_PARALLEL_H */
