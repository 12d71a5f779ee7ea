/*-------------------------------------------------------------------------
 *
 * gather_explain.c
 *		What EXPLAIN says of an ExchangeGather.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "lib/stringinfo.h"
#include "nodes/nodeFuncs.h"

#include "compat.h"
#include "compat_executor.h"
#include "node/gather_explain.h"
#include "node/gather_state.h"
#include "node/receive.h"

/* Name the modes of all streams below. */
static bool
collect_mode(PlanState *node, void *context)
{
	px_receive_state *receive = px_receive_from_node(node);

	if (receive)
	{
		*(uint32 *) context |= 1u << receive->mode;
		return false;
	}
	return planstate_tree_walker(node, collect_mode, context);
}

/* Count the scans below that are not read, because no key is theirs. */
static bool
count_excluded(PlanState *node, void *context)
{
	px_receive_state *receive = px_receive_from_node(node);

	if (receive == NULL)
		return planstate_tree_walker(node, count_excluded, context);
	*(int *) context += receive->excluded;
	return false;
}

void
px_gather_explain(CustomScanState *css, List *ancestors, ExplainState *es)
{
	px_gather_state *state = (px_gather_state *) css;
	StringInfoData modes;
	uint32		seen = 0;
	int			nexcluded = 0;

	for (int i = 0; i < state->nchildren; i++)
	{
		(void) collect_mode(state->children[i].node, &seen);
		(void) count_excluded(state->children[i].node, &nexcluded);
	}
	initStringInfo(&modes);
	for (int mode = PX_MODE_NONE; mode <= PX_MODE_AUTO; mode++)
	{
		if (seen & (1u << mode))
			appendStringInfo(&modes, "%s%s", modes.len > 0 ? ", " : "",
							 px_mode_name(mode));
	}

	ExplainPropertyText("Exchange Type", state->merge ? "Merge" : "Gather",
						es);
	if (modes.len > 0)
		ExplainPropertyText("Compression", modes.data, es);
	if (state->merge)
		px_merge_explain((const MergeAppend *) state->append, css->ss.ps.plan,
						 ancestors, es);
	if (es->analyze && es->timing && state->started && state->merge == NULL)
	{
		double		wait_ms = INSTR_TIME_GET_MILLISEC(state->receive_wait);

		if (es->format == EXPLAIN_FORMAT_TEXT)
			ExplainPropertyText("Time",
								psprintf("receive wait %.1f ms", wait_ms), es);
		else
			ExplainPropertyFloat("Receive Wait Time (ms)", NULL, wait_ms, 3,
								 es);
	}
	if (state->npruned > 0 ||
		(state->prune_state && es->format != EXPLAIN_FORMAT_TEXT))
		ExplainPropertyInteger("Subplans Removed", NULL, state->npruned, es);
	if (nexcluded > 0)
		ExplainPropertyInteger("Scans Without Keys", NULL, nexcluded, es);
}
