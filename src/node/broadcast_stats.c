/*-------------------------------------------------------------------------
 *
 * broadcast_stats.c
 *		What an ExchangeBroadcast measures and counts.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "node/broadcast_stats.h"
#include "stats/counters.h"

void
px_broadcast_begin_progress(px_broadcast_state *state)
{
	double		rows = 0;

	for (int i = 0; i < state->nsides; i++)
		rows += state->side_plans[i]->plan->plan_rows;
	px_send_progress_begin(state->progress, PX_DIRECTION_BROADCAST, rows);
}

void
px_broadcast_show_progress(px_broadcast_state *state)
{
	for (int i = 0; i < state->nreceives; i++)
	{
		uint64		rows = 0;
		uint64		raw_nbytes = 0;
		uint64		wire_nbytes = 0;

		for (int j = 0; j < state->nsides && state->sides[j]; j++)
		{
			rows += px_broadcast_side_rows(state->sides[j]);
			raw_nbytes += px_broadcast_side_raw_nbytes(state->sides[j]);
			wire_nbytes += px_broadcast_side_mode_nbytes(state->sides[j],
														 state->modes[i]);
		}
		px_send_progress_set(state->progress, i, rows, raw_nbytes, wire_nbytes);
	}
}

void
px_broadcast_begin_stages(px_broadcast_state *state)
{
	INSTR_TIME_SET_CURRENT(state->stage_begun);
}

void
px_broadcast_end_stage(px_broadcast_state *state, px_broadcast_stage stage)
{
	instr_time	now;

	INSTR_TIME_SET_CURRENT(now);
	INSTR_TIME_ACCUM_DIFF(state->stage_times[stage], now, state->stage_begun);
	state->stage_begun = now;
	if (stage == PX_BROADCAST_STAGE_SIDES)
		state->fragments_begun = now;
}

void
px_broadcast_end_fragments(px_broadcast_state *state)
{
	/* The parent may ask again for what has ended. */
	if (INSTR_TIME_IS_ZERO(state->fragments_begun))
		return;
	for (int i = 0; i < state->nreceives; i++)
	{
		const px_receive_state *receive = state->receives[i];

		if (receive->phase != PX_RECEIVE_FRAMES || receive->nreaders == 0 ||
			!receive->readers[0]->finished)
			continue;
		INSTR_TIME_ACCUM_DIFF(state->fragment_times[i],
							  receive->readers[0]->finished_at,
							  state->fragments_begun);
	}
	INSTR_TIME_SET_ZERO(state->fragments_begun);
}

double
px_broadcast_skew(const px_broadcast_state *state)
{
	double		sum = 0;
	double		longest = 0;

	for (int i = 0; i < state->nreceives; i++)
	{
		double		ms = INSTR_TIME_GET_MILLISEC(state->fragment_times[i]);

		if (ms == 0)
			return 0;
		sum += ms;
		longest = Max(longest, ms);
	}
	return state->nreceives > 1 ? longest * state->nreceives / sum : 0;
}

void
px_broadcast_count(const px_broadcast_state *state, uint64 nrows,
				   const uint64 *nbytes)
{
	for (int i = 0; i < state->nreceives; i++)
	{
		const px_receive_state *receive = state->receives[i];
		px_counters *counters = px_counters_get(receive->foreign->fs_server,
												receive->userid,
												receive->servername);

		if (nbytes == NULL)
		{
			counters->joins_not_sent++;
			continue;
		}
		counters->broadcasts++;
		counters->broadcast_rows += nrows;
		counters->broadcast_bytes += nbytes[i];
	}
}
