/*-------------------------------------------------------------------------
 *
 * forward.h
 *		ExchangeForward, above the Gather of a parallel plan.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_NODE_FORWARD_H
#define PX_NODE_FORWARD_H

#include "nodes/extensible.h"

/* Its custom_private is NIL. */
extern const CustomScanMethods px_forward_scan_methods;

/* Register the node; called by _PG_init. */
extern void px_forward_node_init(void);

#endif							/* PX_NODE_FORWARD_H */
