/*-------------------------------------------------------------------------
 *
 * delivery.c
 *		Records: frames for the inboxes of a session.
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include "wire/delivery.h"
#include "wire/piece.h"

void
px_delivery_header_put(uint8_t *to, uint32_t nbytes, uint16_t inbox,
					   uint16_t source)
{
	px_store_u32(to, nbytes);
	px_store_u16(to + 4, inbox);
	px_store_u16(to + 6, source);
}

px_status
px_delivery_next(px_reader *records, px_delivery *delivery, px_fault *fault)
{
	size_t		left = px_reader_left(records);
	uint32_t	nbytes;
	px_status	status;

	if (left < PX_DELIVERY_HEADER_NBYTES ||
		!px_read_u32(records, &nbytes) ||
		!px_read_u16(records, &delivery->inbox) ||
		!px_read_u16(records, &delivery->source))
		return px_fail(fault, PX_TRUNCATED, "record",
					   PX_DELIVERY_HEADER_NBYTES, left);
	if (delivery->inbox == 0)
		return px_fail(fault, PX_BAD_HEADER, "inbox", 1, 0);

	left = px_reader_left(records);
	if (!px_read_bytes(records, nbytes, &delivery->frame))
		return px_fail(fault, PX_TRUNCATED, "frame of a record", nbytes, left);
	delivery->nbytes = nbytes;
	status = px_frame_peek(delivery->frame, nbytes, &delivery->header, fault);
	if (status != PX_OK)
		return status;
	return px_piece_check_header(&delivery->header, fault);
}
