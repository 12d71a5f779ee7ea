/*-------------------------------------------------------------------------
 *
 * gather_explain.h
 *		What EXPLAIN says of an ExchangeGather.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_NODE_GATHER_EXPLAIN_H
#define PX_NODE_GATHER_EXPLAIN_H

#include "commands/explain.h"
#include "nodes/execnodes.h"

/* ExplainCustomScan callback. */
extern void px_gather_explain(CustomScanState *css, List *ancestors,
							  ExplainState *es);

#endif							/* PX_NODE_GATHER_EXPLAIN_H */
