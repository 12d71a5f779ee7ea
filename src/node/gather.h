/*-------------------------------------------------------------------------
 *
 * gather.h
 *		ExchangeGather: several streams at once, in place of an Append.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_NODE_GATHER_H
#define PX_NODE_GATHER_H

#include "nodes/extensible.h"

#include "node/gather_order.h"

#define PX_GATHER_NAME	"ExchangeGather"

/*
 * For a CustomScan with the custom plans that an Append or MergeAppend had.
 * custom_private has that node, without its target list and children: it says
 * how to prune, and what to merge by; and for an Append, as an Integer, the
 * px_gather_order.  The target list is all columns.
 */
extern const CustomScanMethods px_gather_scan_methods;

/* Register the node; called by _PG_init. */
extern void px_gather_init(void);

#endif							/* PX_NODE_GATHER_H */
