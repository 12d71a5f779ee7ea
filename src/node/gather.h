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

#define PX_GATHER_NAME	"ExchangeGather"

/* In which order rows of the children may be returned. */
typedef enum px_gather_order
{
	PX_GATHER_IN_ORDER,			/* one child after the other */
	PX_GATHER_FIRST_IN_ORDER,	/* so too, as long as it costs nothing */
	PX_GATHER_ANY				/* whichever is ready */
} px_gather_order;

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
