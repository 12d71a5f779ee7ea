/*-------------------------------------------------------------------------
 *
 * gather_child.c
 *		A child of an ExchangeGather, and the ExchangeReceive that its rows are
 *		of.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"

#include "node/gather_child.h"
#include "node/receive.h"

/*
 * The node that node passes on the rows of, projected and filtered maybe; NULL
 * if it does more.  Not through a filter that is evaluated once: it may end the
 * scan before that begins.
 */
static PlanState *
source(PlanState *node)
{
	if (IsA(node, ResultState) && outerPlanState(node) &&
		((ResultState *) node)->resconstantqual == NULL)
		return outerPlanState(node);
	if (IsA(node, SubqueryScanState))
		return ((SubqueryScanState *) node)->subplan;
	return NULL;
}

px_receive_state *
px_gather_find_receive(PlanState *node)
{
	while (node && px_receive_from_node(node) == NULL)
		node = source(node);
	return node ? px_receive_from_node(node) : NULL;
}

bool
px_gather_rescan_child(const px_gather_child *child)
{
	PlanState  *node = child->node;
	bool		changed = node->chgParam != NULL;

	while (node && node->chgParam != NULL)
	{
		ExecReScan(node);
		node = child->receive ? source(node) : NULL;
	}
	return changed;
}
