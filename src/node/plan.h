/*-------------------------------------------------------------------------
 *
 * plan.h
 *		ExchangePlan, which adds a frame with the remote's plan.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_NODE_PLAN_H
#define PX_NODE_PLAN_H

#include "nodes/extensible.h"

/* Its custom_private is an IntList: explain and version of the request. */
extern const CustomScanMethods px_plan_scan_methods;

/*
 * Register the node, and install the hook that makes the executor measure its
 * plan; called by _PG_init.
 */
extern void px_plan_node_init(void);

#endif							/* PX_NODE_PLAN_H */
