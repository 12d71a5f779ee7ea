/*-------------------------------------------------------------------------
 *
 * explain.h
 *		What EXPLAIN says of an ExchangeReceive.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_EXEC_EXPLAIN_H
#define PX_EXEC_EXPLAIN_H

#include "commands/explain.h"
#include "nodes/execnodes.h"

/* ExplainCustomScan callback. */
extern void px_receive_explain(CustomScanState *css, List *ancestors,
							   ExplainState *es);

#endif							/* PX_EXEC_EXPLAIN_H */
