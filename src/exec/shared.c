/*-------------------------------------------------------------------------
 *
 * shared.c
 *		What the participants of a parallel scan share.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "exec/shared.h"
#include "tuple/decode.h"

void
px_shared_offer_peer(px_receive_shared *shared, const px_peer *peer)
{
	strlcpy(shared->snapshot, peer->snapshot, PX_SNAPSHOT_ID_NBYTES);
	shared->admission = peer->admission;
	shared->link_history = peer->link_history;
}

void
px_shared_join_peer(px_receive_shared *shared, px_peer *peer)
{
	strlcpy(peer->snapshot, shared->snapshot, PX_SNAPSHOT_ID_NBYTES);
	peer->admission = shared->admission;
	peer->admitted = true;
	SpinLockAcquire(&shared->mutex);
	peer->link_history = shared->link_history;
	SpinLockRelease(&shared->mutex);
}

static void
add_stats(px_receive_stats *sum, const px_receive_stats *stats)
{
	sum->streams += stats->streams;
	sum->sessions += stats->sessions;
	sum->batches += stats->batches;
	sum->rows += stats->rows;
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

/* The peer's link history that the node's streams update, or NULL. */
static px_link_history *
link_history(const px_receive_state *state)
{
	return state->reader ? state->reader->link_history : NULL;
}

void
px_shared_add(px_receive_state *state)
{
	px_receive_shared *shared = state->shared;
	const px_link_history *history = link_history(state);

	SpinLockAcquire(&shared->mutex);
	add_stats(&shared->stats, &state->stats);
	if (history)
	{
		shared->link_history = *history;
		shared->has_measured = true;
	}
	for (int i = 0; i < state->nreaders; i++)
		shared->codecs |= px_decoder_codecs(state->readers[i]->decoder);
	if (state->version > 0)
	{
		shared->version = state->version;
		shared->locality = state->locality;
		shared->local = state->local;
	}
	SpinLockRelease(&shared->mutex);
}

void
px_shared_collect(px_receive_state *state)
{
	px_receive_shared *shared = state->shared;
	px_link_history *history = link_history(state);

	SpinLockAcquire(&shared->mutex);
	add_stats(&state->stats, &shared->stats);
	if (shared->has_measured && history)
		*history = shared->link_history;
	state->worker_codecs |= shared->codecs;

	/* If workers were faster, the leader has read nothing. */
	if (state->version == 0)
	{
		state->version = shared->version;
		state->locality = shared->locality;
		state->local = shared->local;
	}
	SpinLockRelease(&shared->mutex);
}
