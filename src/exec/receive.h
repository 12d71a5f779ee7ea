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

/* What stands in CustomScan.custom_private: Integers, in this order. */
typedef enum px_receive_private
{
	PX_RECEIVE_PRIVATE_STREAMS, /* how many of the query share receive_buffer */
	PX_RECEIVE_PRIVATE_SORTED,	/* 1 if the planner may rely on the rows' order */
	PX_RECEIVE_PRIVATE_ASYNC,	/* 1 if postgres_fdw would run asynchronously */
	PX_RECEIVE_PRIVATE_SMALL,	/* 1 if less than min_bytes is expected */
	PX_RECEIVE_PRIVATE_LOCKS,	/* 1 if the remote query locks rows */
	PX_RECEIVE_PRIVATE_USER_CODE,	/* 1 if the query calls functions that might run
									 * others */
	PX_RECEIVE_PRIVATE_FEW_ROWS /* 1 if a LIMIT is going to end the scan early */
} px_receive_private;

/*
 * For a CustomScan whose single custom plan is the ForeignScan that it
 * replaces.  That child must yield scan tuples of this node, unfiltered.
 */
extern const CustomScanMethods px_receive_scan_methods;

/* Register the node; called by _PG_init. */
extern void px_receive_init(void);

#endif							/* PX_EXEC_RECEIVE_H */
