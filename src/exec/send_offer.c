/*-------------------------------------------------------------------------
 *
 * send_offer.c
 *		Frames of a query that are not returned, but offered.
 *
 * As when a frame is returned, the time in which it is handed over is none of
 * the statement's.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/tuptable.h"

#include "compat.h"
#include "exec/send_offer.h"
#include "exec/timeout.h"

bool
px_send_offer(CustomScanState *node, px_offer_run *run,
			  const px_request *request, TupleTableSlot *slot)
{
	const struct varlena *frame;
	bool		taken;

	if (request->pulled == 0)
		return false;
	px_timeout_stop(node);
	if (TupIsNull(slot))
	{
		px_offer_finish(run, request);
		return false;
	}
	slot_getallattrs(slot);
	frame = (const struct varlena *) DatumGetPointer(slot->tts_values[0]);
	taken = px_offer_put(run, request, (const uint8_t *) VARDATA_ANY(frame),
						 VARSIZE_ANY_EXHDR(frame));
	px_timeout_restart(node);
	return taken;
}
