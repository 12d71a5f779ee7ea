/*-------------------------------------------------------------------------
 *
 * hash_partition.c
 *		The part of an ExchangeHashPartition that an ExchangeBroadcast lacks.
 *
 * Beside its sides, the node has sources, which are ExchangeReceives.  They
 * are not executed: their frames go to the fragments' sessions, as they are
 * (exec/redistribute.h).  If that cannot be, the local plan runs, as for sides
 * that are too large.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"

#include "compat.h"
#include "exec/start.h"
#include "node/broadcast_stats.h"
#include "node/hash_partition.h"
#include "node/receive.h"
#include "stats/counters.h"

void
px_hash_partition_begin(px_broadcast_state *state)
{
	state->sources = palloc0(state->nsources *
							 sizeof(px_redistribute_source));
	state->source_rows = palloc0(state->nsources * sizeof(uint64));
	state->source_nbytes = palloc0(state->nsources * sizeof(uint64));
	for (int i = 0; i < state->nsources; i++)
	{
		const List *inbox = list_nth(state->inboxes, i);

		state->sources[i].receive =
			px_receive_from_node(state->source_plans[i]);
		state->sources[i].inbox = (uint16) linitial_int(inbox);
		state->sources[i].number = (uint16) lsecond_int(inbox);
		state->sources[i].parts = (uint16) lthird_int(inbox);
	}
	state->targets = palloc0(state->nreceives *
							 sizeof(px_redistribute_target));
	for (int i = 0; i < state->nreceives; i++)
		state->targets[i].receive = state->receives[i];
}

const char *
px_hash_partition_ask(px_broadcast_state *state, px_broadcast_peers *peers)
{
	int			n = state->nreceives + state->nsources;
	px_receive_state **receives = palloc(n * sizeof(px_receive_state *));
	const char *reason;

	memcpy(receives, state->receives,
		   state->nreceives * sizeof(px_receive_state *));
	for (int i = 0; i < state->nsources; i++)
		receives[state->nreceives + i] = state->sources[i].receive;
	reason = px_broadcast_ask(receives, n, true, peers);
	pfree(receives);
	if (reason == NULL)
		state->spreads = px_redistribute_choose_queries(state->sources,
														state->nsources);
	return reason;
}

/*
 * Rescan sources and fragments before their streams begin.  A node that is
 * still to be rescanned when its first row is wanted would leave its stream.
 * One that has all of its rows here would return them again: it begins anew,
 * too, as what the servers have got is gone.
 */
static void
rescan_all(px_broadcast_state *state)
{
	Bitmapset  *changed = state->fragments->chgParam;

	state->fragments->chgParam = NULL;
	ExecReScan(state->fragments);
	for (int i = 0; i < state->nreceives; i++)
	{
		PlanState  *fragment = &state->receives[i]->css.ss.ps;

		UpdateChangedParamSet(fragment, changed);
		ExecReScan(fragment);
		px_start_rescan(state->receives[i]);
	}
	for (int i = 0; i < state->nsources; i++)
	{
		ExecReScan(state->source_plans[i]);
		px_start_rescan(state->sources[i].receive);
	}
}

/* Add up what has travelled, for EXPLAIN and for the statistics. */
static void
count_moved(px_broadcast_state *state)
{
	for (int i = 0; i < state->nsources; i++)
	{
		state->source_rows[i] += state->sources[i].rows;
		state->source_nbytes[i] += state->sources[i].nbytes;
	}
	for (int i = 0; i < state->nreceives; i++)
	{
		const px_redistribute_target *target = &state->targets[i];
		px_counters *counters = px_counters_get(
			target->receive->foreign->fs_server, target->receive->userid,
			target->receive->servername);

		state->links += state->nsources;
		if (target->pulled)
		{
			state->links_pulled += state->nsources;
			state->pulled_nbytes += target->nbytes;
		}
		state->sent_rows[i] += target->rows;
		state->sent_nbytes[i] += target->nbytes;
		counters->hash_partitions++;
		counters->partition_rows += target->rows;
		counters->partition_bytes += target->nbytes;
	}
}

const char *
px_hash_partition_move(px_broadcast_state *state)
{
	const char *reason;

	rescan_all(state);
	reason = px_redistribute(state->sources, state->nsources, state->targets,
							 state->nreceives);
	px_broadcast_end_stage(state, PX_BROADCAST_STAGE_MOVE);
	if (reason == NULL)
		count_moved(state);
	return reason;
}
