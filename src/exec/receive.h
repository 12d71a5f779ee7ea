/*-------------------------------------------------------------------------
 *
 * receive.h
 *		ExchangeReceive: the scan node that reads a stream of frames.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_EXEC_RECEIVE_H
#define PX_EXEC_RECEIVE_H

#include "nodes/extensible.h"

#define PX_RECEIVE_NAME	"ExchangeReceive"

/*
 * For a CustomScan whose single custom plan is the ForeignScan that it
 * replaces.  That child must yield scan tuples of this node, unfiltered.
 */
extern const CustomScanMethods px_receive_scan_methods;

/* Register the node; called by _PG_init. */
extern void px_receive_init(void);

#endif							/* PX_EXEC_RECEIVE_H */
