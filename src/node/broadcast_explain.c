/*-------------------------------------------------------------------------
 *
 * broadcast_explain.c
 *		What EXPLAIN says of an ExchangeBroadcast.
 *
 * What came back from the servers is said of the ExchangeReceives below it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "compat.h"
#include "node/broadcast_explain.h"
#include "node/broadcast_stats.h"

/* The keys whose rows are spread, and whether they were. */
static void
explain_frequent(const px_broadcast_state *state, ExplainState *es)
{
	if (state->nfrequent == 0)
		return;
	ExplainPropertyInteger("Frequent Keys", NULL, state->nfrequent, es);
	if (es->analyze && state->phase == PX_BROADCAST_FRAGMENTS &&
		!state->spreads)
		ExplainPropertyText("Not Spread", "a server has an older pg_exchange",
							es);
}

/* What was sent to the server of each fragment. */
static void
explain_sent(const px_broadcast_state *state, ExplainState *es)
{
	if (es->format == EXPLAIN_FORMAT_TEXT)
	{
		for (int i = 0; i < state->nreceives; i++)
			ExplainPropertyText(
				"Sent",
				psprintf(UINT64_FORMAT " rows, " UINT64_FORMAT " bytes to %s",
						 state->sent_rows[i], state->sent_nbytes[i],
						 state->receives[i]->servername),
				es);
		return;
	}
	ExplainOpenGroup("Sent", "Sent", false, es);
	for (int i = 0; i < state->nreceives; i++)
	{
		ExplainOpenGroup("Fragment", NULL, true, es);
		ExplainPropertyText("Server", state->receives[i]->servername, es);
		ExplainPropertyUInteger("Sent Rows", NULL, state->sent_rows[i], es);
		ExplainPropertyUInteger("Sent Bytes", NULL, state->sent_nbytes[i], es);
		if (es->timing)
			ExplainPropertyFloat("Fragment Time (ms)", NULL,
								 INSTR_TIME_GET_MILLISEC(
									 state->fragment_times[i]),
								 3, es);
		ExplainCloseGroup("Fragment", NULL, true, es);
	}
	ExplainCloseGroup("Sent", "Sent", false, es);
}

/* What each source has sent; it went to the fragments. */
static void
explain_sources(const px_broadcast_state *state, ExplainState *es)
{
	if (es->format == EXPLAIN_FORMAT_TEXT)
	{
		for (int i = 0; i < state->nsources; i++)
			ExplainPropertyText(
				"Cut",
				psprintf(UINT64_FORMAT " rows, " UINT64_FORMAT
						 " bytes from %s",
						 state->source_rows[i], state->source_nbytes[i],
						 state->sources[i].receive->servername),
				es);
		return;
	}
	ExplainOpenGroup("Sources", "Sources", false, es);
	for (int i = 0; i < state->nsources; i++)
	{
		ExplainOpenGroup("Source", NULL, true, es);
		ExplainPropertyText("Server", state->sources[i].receive->servername,
							es);
		ExplainPropertyUInteger("Inbox", NULL, state->sources[i].inbox, es);
		ExplainPropertyUInteger("Rows", NULL, state->source_rows[i], es);
		ExplainPropertyUInteger("Bytes", NULL, state->source_nbytes[i], es);
		ExplainCloseGroup("Source", NULL, true, es);
	}
	ExplainCloseGroup("Sources", "Sources", false, es);
}

/* What did not pass through here; and why not more. */
static void
explain_pulled(const px_broadcast_state *state, ExplainState *es)
{
	const char *not_pulled = state->targets[0].not_pulled;

	if (es->format == EXPLAIN_FORMAT_TEXT)
	{
		if (state->links_pulled > 0)
			ExplainPropertyText("Pulled",
								psprintf("%d of %d links, " UINT64_FORMAT
										 " bytes", state->links_pulled,
										 state->links, state->pulled_nbytes),
								es);
		if (not_pulled)
			ExplainPropertyText("Not Pulled", not_pulled, es);
		return;
	}
	if (not_pulled)
		ExplainPropertyText("Not Pulled", not_pulled, es);
	ExplainPropertyInteger("Links", NULL, state->links, es);
	ExplainPropertyInteger("Pulled Links", NULL, state->links_pulled, es);
	ExplainPropertyUInteger("Pulled Bytes", NULL, state->pulled_nbytes, es);
}

static double
stage_ms(const px_broadcast_state *state, px_broadcast_stage stage)
{
	return INSTR_TIME_GET_MILLISEC(state->stage_times[stage]);
}

/* How long the stages have taken, and how unequal the fragments were. */
static void
explain_times(const px_broadcast_state *state, ExplainState *es)
{
	double		ask_ms = stage_ms(state, PX_BROADCAST_STAGE_ASK);
	double		sides_ms = stage_ms(state, PX_BROADCAST_STAGE_SIDES);
	double		move_ms = stage_ms(state, PX_BROADCAST_STAGE_MOVE);
	double		fragments_ms = stage_ms(state, PX_BROADCAST_STAGE_FRAGMENTS);
	double		skew = px_broadcast_skew(state);

	if (es->format == EXPLAIN_FORMAT_TEXT)
	{
		const char *move = state->nsources > 0 ?
			psprintf("fill inboxes %.1f ms, ", move_ms) : "";

		ExplainPropertyText("Time",
							psprintf("ask servers %.1f ms, read sides %.1f ms, "
									 "%sfirst row %.1f ms",
									 ask_ms, sides_ms, move, fragments_ms),
							es);
	}
	else
	{
		if (state->nsources > 0)
			ExplainPropertyFloat("Fill Time (ms)", NULL, move_ms, 3, es);
		ExplainPropertyFloat("Ask Time (ms)", NULL, ask_ms, 3, es);
		ExplainPropertyFloat("Read Sides Time (ms)", NULL, sides_ms, 3, es);
		ExplainPropertyFloat("First Row Time (ms)", NULL, fragments_ms, 3, es);
	}
	if (skew > 0)
		ExplainPropertyFloat("Skew", NULL, skew, 2, es);
}

void
px_broadcast_explain(CustomScanState *css, List *ancestors, ExplainState *es)
{
	const px_broadcast_state *state = (const px_broadcast_state *) css;

	ExplainPropertyText("Exchange Type", state->nsources > 0 ?
						"HashPartition" : "Broadcast", es);
	ExplainPropertyList("Keys", state->keys, es);
	explain_frequent(state, es);
	if (state->local_reason)
		ExplainPropertyText("Not Sent", state->local_reason, es);
	else if (es->analyze && state->receives)
	{
		if (state->nsources > 0)
			explain_sources(state, es);
		explain_sent(state, es);
		if (state->nsources > 0)
			explain_pulled(state, es);
		if (es->timing)
			explain_times(state, es);
	}
}
