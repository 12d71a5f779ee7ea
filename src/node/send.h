/*-------------------------------------------------------------------------
 *
 * send.h
 *		The sending side: the markers exchange.send and exchange.send_text, and
 *		the node ExchangeSend.
 *
 * A receiver asks for a stream of frames with the query
 *
 *		SELECT exchange.send('request', t.*) FROM (query) t
 *
 * or, for a stream that is text and goes through a cursor, in any portions, with
 * exchange.send_text.
 *
 * marker.c recognises it before planning, has the planner plan the inner
 * query, and calls px_send_add_node (attach.c) to put the node on top of the
 * plan.  send.c executes the node: fill.c turns rows into columns, column/
 * encodes them, wire/ frames them.  armour_node.c makes text of the frames.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_NODE_SEND_H
#define PX_NODE_SEND_H

#include "nodes/extensible.h"
#include "nodes/plannodes.h"

#include "wire/frame.h"
#include "wire/request.h"

/*
 * What ExchangeSend keeps in CustomScan.custom_private: an IntList of the
 * child's columns (their resnos) in the order in which they are sent; an
 * Integer, 1 if the node stands below a Gather, else 0; the px_slice as an
 * IntList of its fields; and an Integer, 1 if the frames become text.
 *
 * The request is the first argument of the FuncExpr exchange.send, or
 * exchange.send_text, that is the only entry of custom_scan_tlist.  EXPLAIN
 * VERBOSE prints it as the node's output, and executor start checks the right
 * to execute it.
 */
typedef enum px_send_private
{
	PX_SEND_PRIVATE_COLUMNS,
	PX_SEND_PRIVATE_BELOW_GATHER,
	PX_SEND_PRIVATE_SLICE,
	PX_SEND_PRIVATE_TEXT
} px_send_private;

extern const CustomScanMethods px_send_scan_methods;

/*
 * ExchangePlan, on top of all if the request asks for the plan: passes frames
 * on, and then makes one of what EXPLAIN says of the plan below.  Its
 * custom_private is an IntList: the request's explain and version.
 */
extern const CustomScanMethods px_plan_scan_methods;

/* ExchangeForward, above the Gather of a parallel query. */
extern const CustomScanMethods px_forward_scan_methods;

/*
 * ExchangeArmour, on top of the plan of exchange.send_text, and of an
 * ExchangePlan: makes text of frames.
 */
extern const CustomScanMethods px_armour_scan_methods;

/* What the ExchangeSend learns; owned by that, and NULL if it does not. */
struct px_auto;
extern struct px_auto *px_send_adaptive(PlanState *send);

/* The request that an ExchangeSend executes; owned by that. */
extern const px_request *px_send_request(PlanState *send);

/* Has an ExchangeSend got all rows, so that it will not wait for another? */
extern bool px_send_is_exhausted(PlanState *send);

/*
 * Rescan the only child of one of these nodes, with the node's changed
 * parameters.
 */
extern void px_send_rescan_child(CustomScanState *node);

/*
 * Register ExchangePlan, and have plans that have it measured; by
 * px_send_init.
 */
extern void px_send_plan_init(void);

/* Install the planner hook and register the node; called by _PG_init. */
extern void px_send_init(void);

/*
 * Read the request of a marker, exchange.send(request, ...), for a query of
 * ncolumns columns.  Returns what it asks of each column, palloc'd in the
 * current context.  Errors: ERRCODE_INVALID_PARAMETER_VALUE if the request
 * cannot be read or is for another number of columns.
 */
extern px_request_column *px_send_read_request(const FuncExpr *marker,
											   int ncolumns,
											   px_request *request);

#endif							/* PX_NODE_SEND_H */
