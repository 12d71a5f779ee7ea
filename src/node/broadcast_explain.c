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
#include "node/broadcast_state.h"

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
						 state->sent_rows, state->sent_nbytes[i],
						 state->receives[i]->servername),
				es);
		return;
	}
	ExplainOpenGroup("Sent", "Sent", false, es);
	for (int i = 0; i < state->nreceives; i++)
	{
		ExplainOpenGroup("Fragment", NULL, true, es);
		ExplainPropertyText("Server", state->receives[i]->servername, es);
		ExplainPropertyUInteger("Sent Rows", NULL, state->sent_rows, es);
		ExplainPropertyUInteger("Sent Bytes", NULL, state->sent_nbytes[i], es);
		ExplainCloseGroup("Fragment", NULL, true, es);
	}
	ExplainCloseGroup("Sent", "Sent", false, es);
}

void
px_broadcast_explain(CustomScanState *css, List *ancestors, ExplainState *es)
{
	const px_broadcast_state *state = (const px_broadcast_state *) css;

	ExplainPropertyText("Exchange Type", "Broadcast", es);
	ExplainPropertyList("Keys", state->keys, es);
	if (state->local_reason)
		ExplainPropertyText("Not Sent", state->local_reason, es);
	else if (es->analyze && state->receives)
		explain_sent(state, es);
}
