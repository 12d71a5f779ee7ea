/*-------------------------------------------------------------------------
 *
 * parallel.c
 *		ExchangeReceive as part of a parallel plan.
 *
 * Tuples go from workers to the leader through PostgreSQL's own tuple queues,
 * which is Gather's business.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "exec/parallel.h"
#include "exec/shared.h"
#include "exec/start.h"
#include "guc.h"

Size
px_parallel_estimate_dsm(CustomScanState *css, ParallelContext *pcxt)
{
	return sizeof(px_receive_shared);
}

/*
 * Launch no more workers than can have connections, beside the leader's: a
 * worker without one has nothing to do.
 */
static void
limit_workers(ParallelContext *pcxt, bool allowed)
{
	int			nworkers_max = allowed ? px_max_connections_per_server - 1 : 0;

	pcxt->nworkers_to_launch = Min(pcxt->nworkers_to_launch, nworkers_max);
}

/* The workers are about to be launched, and read from shared memory. */
static void
begin_sharing(px_receive_state *state, px_receive_shared *shared,
			  const ParallelContext *pcxt)
{
	shared->participants = pcxt->nworkers_to_launch + 1;
	state->shared = shared;
	state->pcxt = pcxt;
	state->slices = &shared->slices;
	state->claimed = false;

	/* However many read it, it is one scan. */
	if (shared->participants > 1)
		px_counters_add_scan(state->readers[0]->stream->counters,
							 state->scan_kinds);
}

void
px_parallel_initialize_dsm(CustomScanState *css, ParallelContext *pcxt,
						   void *coordinate)
{
	px_receive_state *state = (px_receive_state *) css;
	px_receive_shared *shared = coordinate;
	bool		allowed = pcxt->nworkers_to_launch > 0 &&
		px_start_allows_workers(state);

	memset(shared, 0, sizeof(px_receive_shared));
	SpinLockInit(&shared->mutex);
	px_slices_init(&shared->slices, state->nslices_max);
	if (allowed)
		px_shared_offer_peer(shared, px_receive_peer(state));
	limit_workers(pcxt, allowed);
	begin_sharing(state, shared, pcxt);
}

void
px_parallel_reinitialize_dsm(CustomScanState *css, ParallelContext *pcxt,
							 void *coordinate)
{
	px_receive_state *state = (px_receive_state *) css;
	px_receive_shared *shared = coordinate;

	limit_workers(pcxt, true);
	px_slices_init(&shared->slices, state->nslices_max);
	begin_sharing(state, shared, pcxt);
}

void
px_parallel_initialize_worker(CustomScanState *css, shm_toc *toc,
							  void *coordinate)
{
	px_receive_state *state = (px_receive_state *) css;
	px_receive_shared *shared = coordinate;

	state->shared = shared;
	state->slices = &shared->slices;
}

/*
 * No more rows are wanted: no stream may hold locks for a query that somebody
 * has yet to close.
 */
static void
leave_streams(px_receive_state *state)
{
	for (int i = 0; i < state->nreaders; i++)
	{
		px_stream  *stream = state->readers[i]->stream;

		if (stream->phase == PX_STREAM_CLOSED)
			continue;
		px_stream_close(stream);
		state->readers[i]->active = false;
		state->finished = true;
		if (state->phase == PX_RECEIVE_BEGUN)
			px_start_anew(state);
	}
}

void
px_parallel_abandon(px_receive_state *state)
{
	if (state->shared && !IsParallelWorker())
		px_slices_come(&state->shared->slices);
}

void
px_parallel_shutdown(CustomScanState *css)
{
	px_receive_state *state = (px_receive_state *) css;

	px_parallel_abandon(state);
	leave_streams(state);
	if (state->shared == NULL)
		return;
	if (IsParallelWorker())
		px_shared_add(state);
	else
		px_shared_collect(state);

	/* The shared memory goes: keep what EXPLAIN wants to know. */
	state->local_slices = state->shared->slices;
	state->slices = &state->local_slices;
	state->shared = NULL;
	state->pcxt = NULL;
	for (int i = 0; i < state->nreaders; i++)
		state->readers[i]->slices = state->slices;
}
