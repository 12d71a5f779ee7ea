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
#include "exec/start.h"
#include "guc.h"
#include "tuple/decode.h"

/* Whoever reads it, it is one scan. */
static void
count_scan(px_receive_state *state)
{
	if (state->shared->participants > 1)
		state->readers[0]->stream->counters->scans++;
}

Size
px_receive_estimate_dsm(CustomScanState *css, ParallelContext *pcxt)
{
	return sizeof(px_receive_shared);
}

/*
 * Each participant has a connection.  Workers that could not have one are
 * better not launched.
 */
static void
limit_workers(ParallelContext *pcxt, int nworkers_max)
{
	pcxt->nworkers_to_launch = Min(pcxt->nworkers_to_launch, nworkers_max);
}

void
px_parallel_join_peer(px_receive_state *state, px_peer *peer)
{
	strlcpy(peer->snapshot, state->shared->snapshot, PX_SNAPSHOT_ID_NBYTES);
	peer->admission = state->shared->admission;
	peer->admitted = true;
	SpinLockAcquire(&state->shared->mutex);
	peer->lesson = state->shared->lesson;
	SpinLockRelease(&state->shared->mutex);
}

void
px_receive_initialize_dsm(CustomScanState *css, ParallelContext *pcxt, void *coordinate)
{
	px_receive_state *state = (px_receive_state *) css;
	px_receive_shared *shared = coordinate;
	bool		possible;

	memset(shared, 0, sizeof(px_receive_shared));
	SpinLockInit(&shared->mutex);
	px_slices_init(&shared->slices, state->nslices_max);
	state->slices = &shared->slices;

	possible = px_receive_ask_for_workers(state);
	if (possible)
	{
		const px_peer *peer = px_receive_peer(state);

		strlcpy(shared->snapshot, peer->snapshot, PX_SNAPSHOT_ID_NBYTES);
		shared->admission = peer->admission;
		shared->lesson = peer->lesson;
	}
	limit_workers(pcxt, possible ? px_max_connections_per_server - 1 : 0);
	shared->participants = pcxt->nworkers_to_launch + 1;
	state->shared = shared;
	count_scan(state);
}

void
px_receive_reinitialize_dsm(CustomScanState *css, ParallelContext *pcxt, void *coordinate)
{
	px_receive_state *state = (px_receive_state *) css;
	px_receive_shared *shared = coordinate;

	limit_workers(pcxt, px_max_connections_per_server - 1);
	shared->participants = pcxt->nworkers_to_launch + 1;
	px_slices_init(&shared->slices, state->nslices_max);
	state->shared = shared;
	state->slices = &shared->slices;
	count_scan(state);
}

void
px_receive_initialize_worker(CustomScanState *css, shm_toc *toc, void *coordinate)
{
	px_receive_state *state = (px_receive_state *) css;
	px_receive_shared *shared = coordinate;

	state->shared = shared;
	state->slices = &shared->slices;
}

static void
add_stats(px_receive_stats *sum, const px_receive_stats *stats)
{
	sum->streams += stats->streams;
	sum->sessions += stats->sessions;
	sum->batches += stats->batches;
	sum->raw_nbytes += stats->raw_nbytes;
	sum->wire_nbytes += stats->wire_nbytes;
	sum->encode_us += stats->encode_us;
	sum->send_wait_us += stats->send_wait_us;
	for (int choice = 0; choice < PX_CHOICE_COUNT; choice++)
		sum->choices[choice] += stats->choices[choice];
	if (stats->link_rate > 0)
		sum->link_rate = stats->link_rate;
	sum->link_rate_min = Max(sum->link_rate_min, stats->link_rate_min);
	INSTR_TIME_ADD(sum->receive_wait, stats->receive_wait);
	INSTR_TIME_ADD(sum->decode, stats->decode);
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
			px_receive_begin_anew(state);
	}
}

void
px_receive_shutdown(CustomScanState *css)
{
	px_receive_state *state = (px_receive_state *) css;
	px_receive_shared *shared = state->shared;

	leave_streams(state);
	if (shared == NULL)
		return;

	SpinLockAcquire(&shared->mutex);
	if (IsParallelWorker())
	{
		add_stats(&shared->stats, &state->stats);
		if (state->reader && state->reader->lesson)
		{
			shared->lesson = *state->reader->lesson;
			shared->has_learned = true;
		}
		for (int i = 0; i < state->nreaders; i++)
			shared->codecs |= px_decoder_codecs(state->readers[i]->decoder);
	}
	else
	{
		add_stats(&state->stats, &shared->stats);
		if (shared->has_learned && state->reader && state->reader->lesson)
			*state->reader->lesson = shared->lesson;
		state->worker_codecs |= shared->codecs;
	}
	SpinLockRelease(&shared->mutex);

	/* The memory goes: keep what EXPLAIN wants to know. */
	state->local_slices = shared->slices;
	state->slices = &state->local_slices;
	state->shared = NULL;
	for (int i = 0; i < state->nreaders; i++)
		state->readers[i]->slices = state->slices;
}
