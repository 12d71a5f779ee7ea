/*-------------------------------------------------------------------------
 *
 * send_offer.h
 *		Frames of a query that are not returned, but offered.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_EXEC_SEND_OFFER_H
#define PX_EXEC_SEND_OFFER_H

#include "nodes/execnodes.h"

#include "transport/offer.h"

/*
 * The topmost node of a query that sends has a frame, or an empty slot after
 * the last one.  True if it was put into a queue for another session: then the
 * next one is wanted.  See transport/offer.h.
 */
extern bool px_send_offer(CustomScanState *node, px_offer_run *run,
						  const px_request *request, TupleTableSlot *slot);

#endif							/* PX_EXEC_SEND_OFFER_H */
