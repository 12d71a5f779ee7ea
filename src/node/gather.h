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

/*
 * For a CustomScan with the custom plans that an Append or MergeAppend had.
 * custom_private is a list as in px_gather_private.  The target list is all
 * columns.
 */
extern const CustomScanMethods px_gather_scan_methods;

/* Register the node; called by _PG_init. */
extern void px_gather_init(void);

#endif							/* PX_NODE_GATHER_H */
