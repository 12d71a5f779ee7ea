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
	int			owner_pid;		/* of the snapshot */
	slock_t		mutex;			/* protects the rest */
	px_receive_stats stats;		/* of workers */
	uint32		codecs;			/* that they have seen */
	bool		has_learned;	/* lesson is a worker's */
	px_lesson	lesson;			/* else the leader's */
} px_receive_shared;

/*
 * The callbacks of a CustomScan for parallel plans.  When the leader sets up
 * the shared memory, it makes sure that the scan can be an exchange: if not,
 * no worker is launched, and the leader runs the child.  What goes wrong in a
 * worker after that is an error.  The last one collects statistics.
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
