/*-------------------------------------------------------------------------
 *
 * frame_queue.h
 *		Queues in shared memory, for frames from parallel workers to their
 *		leader.
 *
 * Gather has a queue of 64 kB for each worker, and a leader that takes part
 * looks into it only between two batches of its own.  A frame may be larger:
 * then its worker waits for several batches of the leader.  A queue here has
 * room for whole frames, so a worker makes the next one meanwhile.  And Gather
 * does not tell the leader of the last 16 kB before a worker has sent more.
 *
 * A worker puts all of its frames into its queue, and none into Gather's.  The
 * leader takes them out when it is asked for a frame.  So these queues can
 * only be used if Gather runs its child in the leader, too.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_EXEC_FRAME_QUEUE_H
#define PX_EXEC_FRAME_QUEUE_H

#include "access/parallel.h"
#include "storage/shm_mq.h"

/* The leader's side, in the memory context in which it was created. */
typedef struct px_frame_queues px_frame_queues;

/*
 * Bytes of shared memory for queues.  batch_nbytes is the size of batches
 * before they are encoded, or less if a worker is not expected to send that.
 */
extern Size px_frame_queues_nbytes(int workers, Size batch_nbytes);

/*
 * Leader, before workers are launched: make the queues in that memory, and
 * open them in the current memory context.  batch_nbytes is as above.  If not
 * wanted, or there is no shared memory, returns NULL, and workers find that
 * they have no queue.
 */
extern px_frame_queues *px_frame_queues_create(void *memory,
											   ParallelContext *pcxt,
											   Size batch_nbytes, bool wanted);

/*
 * Leader, after workers were launched: take a frame from any of them.  It is
 * valid until the next call.  If there is none, wait for one, or return NULL.
 * When waiting, NULL means that all workers have put their last one.  Serves
 * interrupts, and so raises the errors of workers.
 */
extern bytea *px_frame_queues_take(px_frame_queues *queues, bool wait);

/* Leader: want no more frames.  This frees queues; NULL is allowed. */
extern void px_frame_queues_close(px_frame_queues *queues);

/* Worker: open its queue, in the current memory context; NULL if none. */
extern shm_mq_handle *px_frame_queue_open(void *memory);

/*
 * Worker: put a frame.  Waits for room, serving interrupts.  Returns false if
 * the leader wants no more.
 */
extern bool px_frame_queue_put(shm_mq_handle *queue, const bytea *frame);

#endif							/* PX_EXEC_FRAME_QUEUE_H */
