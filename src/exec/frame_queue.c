/*-------------------------------------------------------------------------
 *
 * frame_queue.c
 *		Queues in shared memory, for frames from parallel workers to their
 *		leader.
 *
 * They are PostgreSQL's own message queues (shm_mq), like those of Gather, and
 * are read in the same way (nodeGather.c).  Workers that end, fail or were
 * never started are noticed by shm_mq.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/latch.h"
#include "storage/proc.h"

#include "compat.h"
#include "exec/frame_queue.h"

/*
 * Bounds for the size of a queue.  A larger frame passes it in pieces.  The
 * lower bound is what Gather has.  The upper one has room for some frames that
 * are compressed, or one that is not.  With half of that, four workers take
 * half as long again to send frames of 860 kB; with twice that, as long
 * (bench/README.md).
 */
#define QUEUE_NBYTES_MIN		((Size) 64 * 1024)
#define QUEUE_NBYTES_MAX		((Size) 1024 * 1024)

/* All queues of a query have no more, unless they are as small as Gather's. */
#define QUEUES_NBYTES_MAX		((Size) 16 * 1024 * 1024)

/* At the beginning of the shared memory.  Queues follow, one after another. */
typedef struct px_shared_queues
{
	int			count;			/* 0: workers use Gather's */
	Size		queue_nbytes;
	dsm_handle	segment;		/* that all this is in */
} px_shared_queues;

struct px_frame_queues
{
	ParallelContext *pcxt;
	bool		launched;		/* do handles know their workers? */
	int			count;			/* of handles */
	int			next;			/* the one to look into first */
	shm_mq_handle *handles[FLEXIBLE_ARRAY_MEMBER];	/* that are still open */
};

static Size
queue_nbytes(int workers, Size batch_nbytes)
{
	Size		nbytes = Min(batch_nbytes, QUEUE_NBYTES_MAX);

	nbytes = Min(nbytes, QUEUES_NBYTES_MAX / Max(workers, 1));
	return MAXALIGN(Max(nbytes, QUEUE_NBYTES_MIN));
}

static void *
queue_address(px_shared_queues *shared, int worker)
{
	return (char *) shared + MAXALIGN(sizeof(px_shared_queues)) +
		worker * shared->queue_nbytes;
}

Size
px_frame_queues_nbytes(int workers, Size batch_nbytes)
{
	return add_size(MAXALIGN(sizeof(px_shared_queues)),
					mul_size(workers,
							 queue_nbytes(workers, batch_nbytes)));
}

/* ---------------------------------------------------------------------
 * The leader
 * --------------------------------------------------------------------- */

px_frame_queues *
px_frame_queues_create(void *memory, ParallelContext *pcxt, Size batch_nbytes,
					   bool wanted)
{
	px_shared_queues *shared = memory;
	px_frame_queues *queues;

	shared->count = wanted && pcxt->seg ? pcxt->nworkers : 0;
	if (shared->count == 0)
		return NULL;
	shared->queue_nbytes = queue_nbytes(shared->count, batch_nbytes);
	shared->segment = dsm_segment_handle(pcxt->seg);

	queues = palloc0(offsetof(px_frame_queues, handles) +
					 shared->count * sizeof(shm_mq_handle *));
	queues->pcxt = pcxt;
	queues->count = shared->count;
	for (int i = 0; i < shared->count; i++)
	{
		shm_mq	   *mq = shm_mq_create(queue_address(shared, i),
									   shared->queue_nbytes);

		shm_mq_set_receiver(mq, MyProc);
		queues->handles[i] = shm_mq_attach(mq, pcxt->seg, NULL);
	}
	return queues;
}

static void
close_queue(px_frame_queues *queues, int i)
{
	shm_mq_detach(queues->handles[i]);
	queues->count--;
	for (; i < queues->count; i++)
		queues->handles[i] = queues->handles[i + 1];
}

/* Only now we know which workers there are. */
static void
find_workers(px_frame_queues *queues)
{
	ParallelContext *pcxt = queues->pcxt;

	while (queues->count > pcxt->nworkers_launched)
		close_queue(queues, queues->count - 1);
	for (int i = 0; i < queues->count; i++)
		shm_mq_set_handle(queues->handles[i], pcxt->worker[i].bgwhandle);
	queues->launched = true;
}

/* Look into each queue once. */
static bytea *
take_any(px_frame_queues *queues)
{
	for (int visits = queues->count; visits > 0; visits--)
	{
		Size		nbytes;
		void	   *data;

		if (queues->next >= queues->count)
			queues->next = 0;
		switch (shm_mq_receive(queues->handles[queues->next], &nbytes, &data,
							   true))
		{
			case SHM_MQ_SUCCESS:
				queues->next++;
				Assert(nbytes == VARSIZE(data));
				return (bytea *) data;
			case SHM_MQ_WOULD_BLOCK:
				queues->next++;
				break;
			case SHM_MQ_DETACHED:
				close_queue(queues, queues->next);
				break;
		}
	}
	return NULL;
}

bytea *
px_frame_queues_take(px_frame_queues *queues, bool wait)
{
	if (!queues->launched)
		find_workers(queues);
	for (;;)
	{
		bytea	   *frame;

		CHECK_FOR_INTERRUPTS();
		frame = take_any(queues);
		if (frame || !wait || queues->count == 0)
			return frame;
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_EXIT_ON_PM_DEATH, 0,
						 WAIT_EVENT_EXECUTE_GATHER);
		ResetLatch(MyLatch);
	}
}

void
px_frame_queues_close(px_frame_queues *queues)
{
	if (queues == NULL)
		return;
	while (queues->count > 0)
		close_queue(queues, queues->count - 1);
	pfree(queues);
}

/* ---------------------------------------------------------------------
 * A worker
 * --------------------------------------------------------------------- */

shm_mq_handle *
px_frame_queue_open(void *memory)
{
	px_shared_queues *shared = memory;
	shm_mq	   *mq;

	if (shared->count == 0)
		return NULL;
	Assert(ParallelWorkerNumber < shared->count);
	mq = queue_address(shared, ParallelWorkerNumber);
	shm_mq_set_sender(mq, MyProc);
	return shm_mq_attach(mq, dsm_find_mapping(shared->segment), NULL);
}

bool
px_frame_queue_put(shm_mq_handle *queue, const bytea *frame)
{
	/*
	 * The leader must see the whole frame now.  Without force_flush, its end
	 * might have to wait for the next one.
	 */
	return shm_mq_send(queue, VARSIZE(frame), frame, false, true) ==
		SHM_MQ_SUCCESS;
}
