/*-------------------------------------------------------------------------
 *
 * explain.c
 *		What EXPLAIN says of an ExchangeReceive.
 *
 * Without ANALYZE nothing is known but the settings and the plan; nothing is
 * connected to.  Text output is made for people; the other formats carry each
 * figure as a property of its own, with its unit in the name.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "commands/explain.h"
#include "foreign/fdwapi.h"
#include "lib/stringinfo.h"

#include "codec/codec.h"
#include "compat.h"
#include "exec/ask_plan.h"
#include "exec/explain.h"
#include "exec/explain_text.h"
#include "exec/receive_state.h"
#include "exec/remote_plan.h"
#include "exec/scan_filter.h"
#include "guc.h"
#include "tuple/decode.h"

/* Have frames come, or been asked for, by either transport? */
static bool
has_read(const px_receive_state *state)
{
	return state->stats.streams > 0 || state->stats.sessions > 0;
}

/* Names of the codecs that were used, "none" if none was. */
static char *
codecs_used(const px_receive_state *state)
{
	uint32		seen = state->worker_codecs;
	StringInfoData buf;

	for (int i = 0; i < state->nreaders; i++)
		seen |= px_decoder_codecs(state->readers[i]->decoder);
	initStringInfo(&buf);
	for (int id = PX_CODEC_NONE + 1; id < PX_CODEC_COUNT; id++)
	{
		if (seen & (1u << id))
			appendStringInfo(&buf, "%s%s", buf.len > 0 ? ", " : "",
							 px_codec_by_id(id)->name);
	}
	return buf.len > 0 ? buf.data : "none";
}

/*
 * FAST; with ANALYZE FAST (lz4), AUTO and how many batches had which codec, or
 * NONE and why if that is not the mode.
 */
static char *
compression_text(const px_receive_state *state)
{
	const char *name = px_mode_name(state->mode);
	const uint64 *choices = state->stats.choices;
	bool		used = has_read(state);

	if (used && state->local)
		return psprintf("NONE (%s)", state->locality == PX_SAME_INSTANCE ?
						"same instance" : "same host");
	if (state->fallback_reason)
		return "NONE (postgres_fdw)";
	if (used && state->mode == PX_MODE_AUTO)
		return psprintf("AUTO (lz4 " UINT64_FORMAT " batches, zstd "
						UINT64_FORMAT ", none " UINT64_FORMAT ")",
						choices[PX_CHOICE_LZ4], choices[PX_CHOICE_ZSTD],
						choices[PX_CHOICE_PLAIN] + choices[PX_CHOICE_ENCODED]);
	if (used && state->mode != PX_MODE_NONE)
		return psprintf("%s (%s)", name, codecs_used(state));
	return pstrdup(name);
}

static char *
transport_text(const px_receive_state *state)
{
	int			version = state->version;
	const char *streams = state->stats.streams > 0 ? "stream" : "";

	if (state->fallback_reason)
		return psprintf("postgres_fdw (%s)", state->fallback_reason);
	if (state->stats.sessions == 0)
		return psprintf("exchange v%d, stream", version);
	return psprintf("exchange v%d, %s%ssession (%s)", version, streams,
					streams[0] != '\0' ? " and " : "", state->session_reason);
}

static double
ratio(const px_receive_stats *stats)
{
	return stats->wire_nbytes > 0 ?
		(double) stats->raw_nbytes / stats->wire_nbytes : 0.0;
}

static void
explain_stats_text(const px_receive_stats *stats, ExplainState *es)
{
	ExplainPropertyText("Wire",
						px_explain_wire(stats->wire_nbytes, stats->batches,
										stats->raw_nbytes),
						es);
	if (es->timing)
		ExplainPropertyText("Time",
							psprintf("encode %.1f ms, send wait %.1f ms, "
									 "receive wait %.1f ms, decode %.1f ms",
									 stats->encode_us / 1000.0,
									 stats->send_wait_us / 1000.0,
									 INSTR_TIME_GET_MILLISEC(stats->receive_wait),
									 INSTR_TIME_GET_MILLISEC(stats->decode)),
							es);
}

static void
explain_stats_properties(const px_receive_stats *stats, ExplainState *es)
{
	ExplainPropertyUInteger("Wire Bytes", NULL, stats->wire_nbytes, es);
	ExplainPropertyUInteger("Wire Batches", NULL, stats->batches, es);
	ExplainPropertyUInteger("Raw Bytes", NULL, stats->raw_nbytes, es);
	ExplainPropertyFloat("Ratio", NULL, ratio(stats), 2, es);
	if (es->timing)
	{
		ExplainPropertyFloat("Encode Time (ms)", NULL,
							 stats->encode_us / 1000.0, 3, es);
		ExplainPropertyFloat("Send Wait Time (ms)", NULL,
							 stats->send_wait_us / 1000.0, 3, es);
		ExplainPropertyFloat("Receive Wait Time (ms)", NULL,
							 INSTR_TIME_GET_MILLISEC(stats->receive_wait), 3,
							 es);
		ExplainPropertyFloat("Decode Time (ms)", NULL,
							 INSTR_TIME_GET_MILLISEC(stats->decode), 3, es);
	}
}

/* What mode auto chose, by batches, for programs to read; and the link. */
static void
explain_auto(const px_receive_stats *stats, ExplainState *es)
{
	bool		measured = stats->link_rate > 0;
	bool		known = measured || stats->wire_nbytes >= PX_LINK_NBYTES_MIN;
	uint64		rate = measured ? stats->link_rate : stats->link_rate_min;
	double		mbit = rate * 8 / 1e6;

	if (es->format == EXPLAIN_FORMAT_TEXT)
	{
		if (known && mbit >= 0.05)
			ExplainPropertyText("Link",
								psprintf("%.1f Mbit/s%s", mbit,
										 measured ? "" : " or more"),
								es);
		return;
	}
	ExplainPropertyUInteger("Plain Batches", NULL,
							stats->choices[PX_CHOICE_PLAIN], es);
	ExplainPropertyUInteger("Encoded Batches", NULL,
							stats->choices[PX_CHOICE_ENCODED], es);
	ExplainPropertyUInteger("LZ4 Batches", NULL, stats->choices[PX_CHOICE_LZ4],
							es);
	ExplainPropertyUInteger("Zstd Batches", NULL,
							stats->choices[PX_CHOICE_ZSTD], es);
	ExplainPropertyFloat("Link Rate (Mbit/s)", NULL, mbit, 3, es);
	ExplainPropertyBool("Link Was Bottleneck", measured, es);
}

/*
 * The plan that has the remote SQL that is run: the keys of an ExchangeLookup
 * are in it if an exchange runs it, and a source may have a plainer one.
 */
static Plan *
shown_plan(const px_receive_state *state)
{
	ForeignScan *shown;

	if (state->remote_sql == strVal(linitial(state->foreign->fdw_private)) ||
		state->fallback_reason)
		return (Plan *) state->foreign;
	shown = makeNode(ForeignScan);
	*shown = *state->foreign;
	shown->fdw_private = list_copy(shown->fdw_private);
	linitial(shown->fdw_private) =
		makeString(pstrdup(state->remote_sql));
	return (Plan *) shown;
}

/*
 * The relations of a join and the remote SQL, as postgres_fdw shows them: its
 * callback looks at the plan alone.
 */
static void
explain_foreign(px_receive_state *state, ExplainState *es)
{
	FdwRoutine *routine = GetFdwRoutineByServerId(state->foreign->fs_server);
	ForeignScanState *node = makeNode(ForeignScanState);

	node->ss.ps.plan = shown_plan(state);
	node->ss.ps.state = state->css.ss.ps.state;
	routine->ExplainForeignScan(node, es);
	pfree(node);
}

static const char *
unsliced_text(uint32 reason)
{
	switch (reason)
	{
		case PX_SLICED:
			return NULL;
		case PX_UNSLICED_SHAPE:
			return "remote query is not a plain scan or join";
		case PX_UNSLICED_SORTED:
			return "remote query is sorted";
		case PX_UNSLICED_NO_HEAP:
			return "no plain table to slice";
		case PX_UNSLICED_SMALL:
			return "table is small";
	}
	return "remote gave no reason";
}

/* Slices that were asked for, and why there is but one, if so. */
static void
explain_slices(const px_receive_state *state, ExplainState *es)
{
	const px_slice *slice = &state->slices->slice;

	if (state->slices->wanted <= 1 || !state->slices->announced)
		return;
	ExplainPropertyUInteger("Slices", NULL, slice->slices, es);
	if (es->verbose && slice->reason != PX_SLICED)
		ExplainPropertyText("Not Sliced", unsliced_text(slice->reason), es);
}

/* The plan that has come after the rows of a stream. */
static px_outcome
received_plan(const px_receive_state *state, bool text, char **plan)
{
	for (int i = 0; i < state->nreaders; i++)
	{
		const px_stream_reader *reader = state->readers[i];

		*plan = text ? reader->plan_text : reader->plan_json;
		if (*plan)
			return px_ok();
	}
	return px_refused(state->css.ss.ps.plan->parallel_aware ?
					  "workers have read the scan" :
					  "the scan was not read to its end");
}

/*
 * The remote's plan: what has come after the rows; or, if nothing is to run,
 * what the remote answers.
 */
static void
explain_remote(px_receive_state *state, ExplainState *es)
{
	bool		text = es->format == EXPLAIN_FORMAT_TEXT;
	char	   *plan;
	px_outcome	outcome;

	if (state->child == NULL)
		outcome = px_ask_plan(state,
							  psprintf("VERBOSE %s%s",
									   es->verbose ? "ON" : "OFF",
									   text ? "" : ", FORMAT JSON"),
							  &plan);
	else if (!es->analyze || state->fallback_reason || !has_read(state))
		return;
	else
		outcome = received_plan(state, text, &plan);

	if (!px_is_ok(outcome))
		ExplainPropertyText("No Remote Plan", outcome.reason, es);
	else if (text)
		px_remote_plan_text(plan, es);
	else
		px_remote_plan_json(plan, es);
}

/*
 * Have EXPLAIN show the child that has read the rows.  No earlier: who asks
 * parallel workers what their nodes have done must not find one that was not
 * there when they began.
 */
static void
show_child(px_receive_state *state)
{
	MemoryContext oldcontext =
		MemoryContextSwitchTo(state->css.ss.ps.state->es_query_cxt);

	state->css.custom_ps = list_make1(state->fallback);
	MemoryContextSwitchTo(oldcontext);
}

void
px_receive_explain(CustomScanState *css, List *ancestors, ExplainState *es)
{
	px_receive_state *state = (px_receive_state *) css;

	ExplainPropertyText("Server", state->servername, es);
	ExplainPropertyText("Compression", compression_text(state), es);

	/* How tuples get from workers to the leader: never compressed. */
	if (css->ss.ps.plan->parallel_aware)
		ExplainPropertyText("Local Transport", "shm_mq (none)", es);
	if (es->analyze && (state->fallback_reason || has_read(state)))
		ExplainPropertyText("Transport", transport_text(state), es);
	if (es->analyze && has_read(state))
	{
		explain_slices(state, es);
		if (es->format == EXPLAIN_FORMAT_TEXT)
			explain_stats_text(&state->stats, es);
		else
			explain_stats_properties(&state->stats, es);
		if (state->mode == PX_MODE_AUTO && !state->local)
			explain_auto(&state->stats, es);

		/*
		 * Of several slices, the first is as good as any.  Frames that were
		 * passed on, or that workers have read, were not decoded.
		 */
		if (es->verbose && state->nreaders > 0 && state->ntargets == 1 &&
			!(css->ss.ps.plan->parallel_aware &&
			  state->readers[0]->nbatches == 0))
			ExplainPropertyList("Column Encodings",
								px_decoder_report(state->readers[0]->decoder),
								es);
	}
	explain_foreign(state, es);
	px_scan_filter_explain(state, ancestors, es);
	if (px_explain_remote)
		explain_remote(state, es);
	if (state->fallback_reason)
		show_child(state);
}
