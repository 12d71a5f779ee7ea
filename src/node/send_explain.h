/*-------------------------------------------------------------------------
 *
 * send_explain.h
 *		EXPLAIN of an ExchangeSend.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_NODE_SEND_EXPLAIN_H
#define PX_NODE_SEND_EXPLAIN_H

#include "commands/explain.h"
#include "nodes/execnodes.h"

/* The node's ExplainCustomScan. */
extern void px_send_explain(CustomScanState *node, List *ancestors,
							ExplainState *es);

#endif							/* PX_NODE_SEND_EXPLAIN_H */
