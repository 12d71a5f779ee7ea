/*-------------------------------------------------------------------------
 *
 * send_parallel.c
 *		ExchangeSend below a Gather: what participants share.
 *
 * In the shared memory of a parallel plan are, for mode auto, what senders
 * have measured, and then the queues by which frames get to the leader.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"
#include "optimizer/optimizer.h"

#include "node/send_parallel.h"

/* ---------------------------------------------------------------------
 * Frames
 * --------------------------------------------------------------------- */

bytea *
px_send_take(px_send_state *state, bool wait)
{
	bytea	   *frame;

	if (state->queues == NULL)
		return NULL;
	frame = px_frame_queues_take(state->queues, wait);
	if (frame)
		state->worker_frames++;
	return frame;
}

bool
px_send_put(px_send_state *state, TupleTableSlot *slot)
{
	if (!TupIsNull(slot) &&
		px_frame_queue_put(state->queue,
						   (bytea *) DatumGetPointer(slot->tts_values[0])))
		return true;
	ExecClearTuple(slot);
	shm_mq_detach(state->queue);
	state->queue = NULL;
	return false;
}

void
px_send_leave_queues(px_send_state *state)
{
	px_frame_queues_close(state->queues);
	state->queues = NULL;
}

/* ---------------------------------------------------------------------
 * Shared memory
 * --------------------------------------------------------------------- */

/*
 * Do workers use the queues?  The leader must run this node, too, as only then
 * it takes frames out of them.  Gather decides on that in the same way.
 */
static bool
wants_queues(const px_send_state *state)
{
	return !state->single_copy && parallel_leader_participation;
}

static Size
adaptive_nbytes(const px_send_state *state)
{
	return state->adaptive ? MAXALIGN(sizeof(px_auto_shared)) : 0;
}

static void *
queues_in(const px_send_state *state, void *coordinate)
{
	return (char *) coordinate + adaptive_nbytes(state);
}

/*
 * What a batch has at most, or all rows that are expected.  The estimate is
 * for one participant of several, but it may get all of them.
 */
static Size
batch_nbytes(const px_send_state *state, const ParallelContext *pcxt)
{
	const PlanState *child = linitial(state->css.custom_ps);
	double		nbytes = child->plan->plan_rows * child->plan->plan_width *
		(pcxt->nworkers + 1);

	return (Size) Min(nbytes, (double) state->request.batch_bytes);
}

Size
px_send_estimate_dsm(CustomScanState *node, ParallelContext *pcxt)
{
	px_send_state *state = (px_send_state *) node;

	return add_size(adaptive_nbytes(state),
					px_frame_queues_nbytes(pcxt->nworkers,
										   batch_nbytes(state, pcxt)));
}

void
px_send_initialize_dsm(CustomScanState *node, ParallelContext *pcxt,
					   void *coordinate)
{
	px_send_state *state = (px_send_state *) node;
	MemoryContext old_context = MemoryContextSwitchTo(state->context);

	if (state->adaptive)
		px_auto_share(state->adaptive, coordinate);
	state->queues = px_frame_queues_create(queues_in(state, coordinate), pcxt,
										   batch_nbytes(state, pcxt),
										   wants_queues(state));
	state->had_queues = state->queues != NULL;
	MemoryContextSwitchTo(old_context);
}

/* Stop using the shared memory, before it is destroyed or used again. */
void
px_send_shutdown(CustomScanState *node)
{
	px_send_state *state = (px_send_state *) node;

	px_send_leave_queues(state);
	if (state->adaptive && !IsParallelWorker())
		px_auto_unshare(state->adaptive);
}

void
px_send_reinitialize_dsm(CustomScanState *node, ParallelContext *pcxt,
						 void *coordinate)
{
	px_send_shutdown(node);
	px_send_initialize_dsm(node, pcxt, coordinate);
}

void
px_send_initialize_worker(CustomScanState *node, shm_toc *toc,
						  void *coordinate)
{
	px_send_state *state = (px_send_state *) node;
	MemoryContext old_context = MemoryContextSwitchTo(state->context);

	if (state->adaptive)
		px_auto_join(state->adaptive, coordinate);
	state->queue = px_frame_queue_open(queues_in(state, coordinate));
	MemoryContextSwitchTo(old_context);
}
