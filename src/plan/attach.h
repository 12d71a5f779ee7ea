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
 * t.*)" of the query, and request what its first argument says.  slice is the
 * result of px_slice_query, or {.slices = 1} if no slice was requested.  If
 * text is true, the marker is exchange.send_text: ExchangeSend is then never
 * below a Gather, and an ExchangeArmour becomes the top of the plan.  Changes
 * stmt; new nodes are palloc'd in the current context.
 */
extern void px_send_add_node(PlannedStmt *stmt, const TargetEntry *marker,
							 const px_request *request, const px_slice *slice,
							 bool text);

/* Would px_send_add_node put ExchangeSend below the top of this plan? */
extern bool px_send_fits_below(const Plan *top);

#endif							/* PX_PLAN_ATTACH_H */
