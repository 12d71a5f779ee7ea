/*-------------------------------------------------------------------------
 *
 * send_explain.c
 *		EXPLAIN of an ExchangeSend.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "lib/stringinfo.h"

#include "adapt/choice.h"
#include "compat.h"
#include "node/send_explain.h"
#include "node/send_state.h"

static void
explain_columns(const px_send_state *state, ExplainState *es)
{
	int			ncolumns = state->fill->ncolumns;
	int			ntext = px_fill_text_columns(state->fill);

	if (es->format == EXPLAIN_FORMAT_TEXT)
	{
		char	   *text = psprintf("%d (%d raw, %d text)",
									ncolumns, ncolumns - ntext, ntext);

		ExplainPropertyText("Columns", text, es);
		return;
	}
	ExplainPropertyInteger("Columns", NULL, ncolumns, es);
	ExplainPropertyInteger("Raw Columns", NULL, ncolumns - ntext, es);
	ExplainPropertyInteger("Text Columns", NULL, ntext, es);
}

/*
 * Show what this process has sent.  Workers report their totals to the
 * receiver, in their end frames, but not to their leader.  So below a Gather
 * these totals are of the leader only, and the labels say so.
 */
static void
explain_totals(const px_send_state *state, ExplainState *es)
{
	px_cut_totals sum = px_cut_sum(state->cut);
	const px_end *totals = &sum.end;
	double		encode_ms = INSTR_TIME_GET_MILLISEC(sum.encode_time);

	if (es->format == EXPLAIN_FORMAT_TEXT)
	{
		StringInfoData line;

		initStringInfo(&line);
		appendStringInfo(
			&line,
			UINT64_FORMAT ", raw " UINT64_FORMAT " kB, wire " UINT64_FORMAT
			" kB",
			sum.frames, (totals->raw_nbytes + 1023) / 1024,
			(totals->wire_nbytes + 1023) / 1024);
		if (es->timing)
			appendStringInfo(&line, ", encode %.3f ms", encode_ms);
		ExplainPropertyText(state->below_gather ? "Leader Frames" : "Frames",
							line.data, es);
		return;
	}
	ExplainPropertyBool("Leader Only", state->below_gather, es);
	ExplainPropertyInteger("Frames", NULL, (int64) sum.frames, es);
	ExplainPropertyInteger("Batches", NULL, (int64) totals->batches, es);
	ExplainPropertyInteger("Rows Sent", NULL, (int64) totals->rows, es);
	ExplainPropertyInteger("Raw Bytes", NULL, (int64) totals->raw_nbytes, es);
	ExplainPropertyInteger("Wire Bytes", NULL, (int64) totals->wire_nbytes,
						   es);
	if (es->timing)
		ExplainPropertyFloat("Encode Time", "ms", encode_ms, 3, es);
}

/* Show how often this process has made each choice. */
static void
explain_choices(const px_send_state *state, ExplainState *es)
{
	StringInfoData line;

	initStringInfo(&line);
	for (int choice = PX_CHOICE_PLAIN; choice < PX_CHOICE_COUNT; choice++)
		appendStringInfo(&line, "%s%s " UINT64_FORMAT, choice > 0 ? ", " : "",
						 px_choices[choice].name,
						 state->adaptive->counts[choice]);
	ExplainPropertyText("Choices", line.data, es);
}

void
px_send_explain(CustomScanState *node, List *ancestors, ExplainState *es)
{
	px_send_state *state = (px_send_state *) node;

	explain_columns(state, es);
	ExplainPropertyText("Codec", state->adaptive ? "auto" :
						px_codec_by_id(state->request.codec)->name, es);
	if (state->cut->targets > 1)
		ExplainPropertyInteger("Targets", NULL, state->cut->targets, es);
	if (es->analyze)
	{
		explain_totals(state, es);
		if (state->had_queues)
			ExplainPropertyInteger("Worker Frames", NULL,
								   (int64) state->worker_frames, es);
		if (state->adaptive)
			explain_choices(state, es);
	}
}
