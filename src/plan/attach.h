/*-------------------------------------------------------------------------
 *
 * attach.h
 *		Putting ExchangeSend on top of a finished plan, or below its Gather.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_PLAN_ATTACH_H
#define PX_PLAN_ATTACH_H

#include "nodes/plannodes.h"

#include "wire/frame.h"
#include "wire/request.h"

/*
 * Put an ExchangeSend on top of a finished plan, or below its Gather if that
 * only passes columns through.  marker is the target "exchange.send(request,
 * t.*)" of the query that asked for it, request what it says; slice is what
 * the query was made of, if a slice was asked for.  text: an ExchangeArmour
 * goes on top of all.
 */
extern void px_send_add_node(PlannedStmt *stmt, const TargetEntry *marker,
							 const px_request *request, const px_slice *slice,
							 bool text);

/* Is the top of the plan a Gather that an ExchangeSend would go below? */
extern bool px_send_fits_below(const Plan *top);

#endif							/* PX_PLAN_ATTACH_H */
