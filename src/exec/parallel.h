/*-------------------------------------------------------------------------
 *
 * parallel.h
 *		ExchangeReceive as part of a parallel plan.
 *
 * Participants claim slices; an unsliced scan has one.  Each reads what it
 * claimed on a connection of its own, under the leader's snapshot.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_EXEC_PARALLEL_H
#define PX_EXEC_PARALLEL_H

#include "access/parallel.h"

#include "exec/receive_state.h"

/* What the participants share. */
typedef struct px_receive_shared
{
	px_slices	slices;
	int			participants;	/* with the leader; 1: there are no workers */
	char		snapshot[PX_SNAPSHOT_ID_NBYTES];
	px_admission admission;		/* of the leader's peer */
	slock_t		mutex;			/* protects the rest */
	px_receive_stats stats;		/* of workers */
	uint32		codecs;			/* that they have seen */
	bool		has_learned;	/* lesson is a worker's */
	px_lesson	lesson;			/* else the leader's */
} px_receive_shared;

/* In a worker, before a stream begins: the peer gets the leader's snapshot. */
extern void px_parallel_join_peer(px_receive_state *state, px_peer *peer);

/*
 * The callbacks of a CustomScan for parallel plans.  When the leader sets up
 * the shared memory, it finds out whether streams may read the scan: if not,
 * no worker is launched.  A worker that cannot begin to read a slice gives it
 * back, and the leader reads it in the end.  The last callback collects
 * statistics, and leaves streams that nobody reads any more.
 */
extern Size px_receive_estimate_dsm(CustomScanState *css, ParallelContext *pcxt);
extern void px_receive_initialize_dsm(CustomScanState *css, ParallelContext *pcxt,
									  void *coordinate);
extern void px_receive_reinitialize_dsm(CustomScanState *css, ParallelContext *pcxt,
										void *coordinate);
extern void px_receive_initialize_worker(CustomScanState *css, shm_toc *toc,
										 void *coordinate);
extern void px_receive_shutdown(CustomScanState *css);

#endif							/* PX_EXEC_PARALLEL_H */
