/*-------------------------------------------------------------------------
 *
 * forward.c
 *		ExchangeForward: what the leader of a parallel query sees of the link.
 *
 * Below a Gather, mode auto sees nothing of the link: workers have no socket,
 * and a leader that has enough to do with their frames does not make any of
 * its own.  This node stands above the Gather.  It passes frames on,
 * and tells the leader's ExchangeSend when each has been handed over.  What
 * ExchangeSend learns so of the link, it shares with the workers.
 *
 * A frame counts as a statement for time-outs (timeout.h), whoever made it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"

#include "compat.h"
#include "exec/auto.h"
#include "exec/send_offer.h"
#include "exec/timeout.h"
#include "library.h"
#include "node/forward.h"
#include "node/send.h"

typedef struct px_forward_state
{
	CustomScanState css;		/* must be first */
	const px_request *request;
	px_offer_run offer;
	px_auto    *adaptive;		/* of the leader's ExchangeSend; or NULL */
} px_forward_state;

static const CustomExecMethods forward_exec_methods;

static Node *
forward_create_state(CustomScan *scan)
{
	px_forward_state *state = palloc0(sizeof(px_forward_state));

	px_library_check();
	NodeSetTag(state, T_CustomScanState);
	state->css.methods = &forward_exec_methods;
	return (Node *) state;
}

static void
forward_begin(CustomScanState *node, EState *estate, int eflags)
{
	CustomScan *scan = castNode(CustomScan, node->ss.ps.plan);
	px_forward_state *state = (px_forward_state *) node;
	PlanState  *gather = ExecInitNode(linitial(scan->custom_plans), estate,
									  eflags);

	node->custom_ps = list_make1(gather);
	state->request = px_send_request(outerPlanState(gather));
	state->adaptive = px_send_adaptive(outerPlanState(gather));
}

static TupleTableSlot *
forward_exec(CustomScanState *node)
{
	px_forward_state *state = (px_forward_state *) node;
	px_auto    *adaptive = state->adaptive;
	TupleTableSlot *slot;

	px_timeout_restart(node);
	if (adaptive)
		px_auto_forwarding(adaptive);
	do
	{
		slot = ExecProcNode(linitial(node->custom_ps));
	} while (px_send_offer(node, &state->offer, state->request, slot));
	if (!TupIsNull(slot))
	{
		struct varlena *frame;

		slot_getallattrs(slot);
		frame = (struct varlena *) DatumGetPointer(slot->tts_values[0]);
		if (adaptive)
			px_auto_forwarded(adaptive, VARSIZE_ANY(frame));
		px_timeout_stop(node);
	}
	return slot;
}

static void
forward_end(CustomScanState *node)
{
	px_offer_leave(&((px_forward_state *) node)->offer);
	ExecEndNode(linitial(node->custom_ps));
}

static void
forward_rescan(CustomScanState *node)
{
	px_offer_leave(&((px_forward_state *) node)->offer);
	px_send_close_queues(outerPlanState(linitial(node->custom_ps)));
	px_send_rescan_child(node);
}

const CustomScanMethods px_forward_scan_methods = {
	.CustomName = "ExchangeForward",
	.CreateCustomScanState = forward_create_state,
};

static const CustomExecMethods forward_exec_methods = {
	.CustomName = "ExchangeForward",
	.BeginCustomScan = forward_begin,
	.ExecCustomScan = forward_exec,
	.EndCustomScan = forward_end,
	.ReScanCustomScan = forward_rescan,
};

void
px_forward_node_init(void)
{
	RegisterCustomScanMethods(&px_forward_scan_methods);
}
