/*-------------------------------------------------------------------------
 *
 * send.h
 *		ExchangeSend, and what the other nodes of a sender ask of it.
 *
 * A receiver requests frames by the query
 *
 *		SELECT exchange.send('request', t.*) FROM (query) t
 *
 * or by the same query with exchange.send_text, which returns the frames as
 * text for a cursor.
 *
 * plan/marker.c recognizes such a query before planning, has the planner plan
 * the inner query, and calls px_send_add_node (plan/attach.c) to put the nodes
 * on top of the plan:
 *
 *		ExchangeSend		send.c		rows in, frames out; tuple/ makes them
 *		ExchangeForward		forward.c	above the Gather of a parallel plan
 *		ExchangePlan		plan.c		adds a frame with the remote's plan
 *		ExchangeArmour		armour.c	turns frames into text
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_NODE_SEND_H
#define PX_NODE_SEND_H

#include "nodes/extensible.h"
#include "nodes/plannodes.h"

#include "wire/request.h"

/*
 * The list in CustomScan.custom_private of an ExchangeSend.
 *
 * The request is not in it.  It is the first argument of the FuncExpr
 * exchange.send or exchange.send_text, which is the only entry of
 * custom_scan_tlist.  EXPLAIN VERBOSE prints that as the node's output, and
 * the node checks the privilege to execute the function when it begins.
 *
 * custom_exprs has the target of a row if the child does not compute it.
 */
typedef enum px_send_private
{
	PX_SEND_PRIVATE_COLUMNS,	/* IntList: resnos of the child's columns, in
								 * the order in which they are sent; 0 for the
								 * target in custom_exprs */
	PX_SEND_PRIVATE_BELOW_GATHER,	/* Integer: 1 if below a Gather, else 0 */
	PX_SEND_PRIVATE_SINGLE_COPY,	/* Integer: 1 if that is a single_copy */
	PX_SEND_PRIVATE_SLICE,		/* IntList: the fields of the px_slice */
	PX_SEND_PRIVATE_TEXT		/* Integer: 1 for exchange.send_text, else 0 */
} px_send_private;

extern const CustomScanMethods px_send_scan_methods;

/*
 * The state of mode auto of an ExchangeSend, which owns it.  NULL if the
 * request has one choice only.
 */
struct px_auto;
extern struct px_auto *px_send_adaptive(PlanState *send);

/*
 * Find the ExchangeSend of a plan without workers: top itself, or a node below
 * it.
 */
extern PlanState *px_send_below(PlanState *top);

/* The request of an ExchangeSend, which owns it. */
extern const px_request *px_send_request(PlanState *send);

/* Has an ExchangeSend got all rows from its child? */
extern bool px_send_is_exhausted(PlanState *send);

/*
 * Leader: want no more frames of workers, which may wait for room in their
 * queues.  To be called before Gather is rescanned, because it begins by
 * waiting for them.
 */
extern void px_send_close_queues(PlanState *send);

/*
 * Rescan the only child of one of the nodes above, with the node's changed
 * parameters.
 */
extern void px_send_rescan_child(CustomScanState *node);

/* Register ExchangeSend; called by _PG_init. */
extern void px_send_init(void);

/*
 * Read the request of a marker, exchange.send(request, ...), for a query of
 * ncolumns columns.  Sets *request, and returns what it says about each
 * column, palloc'd in the current context.  Errors:
 * ERRCODE_INVALID_PARAMETER_VALUE if the request cannot be read or is for
 * another number of columns.  With targets, the query has one more.
 */
extern px_request_column *px_send_read_request(const FuncExpr *marker,
											   int ncolumns,
											   px_request *request);

#endif							/* PX_NODE_SEND_H */
