/*-------------------------------------------------------------------------
 *
 * delivery.h
 *		Records: frames for the inboxes of a session.
 *
 * The argument of exchange.fill_inbox is a sequence of records.  Each has a
 * header and a frame, and there are no gaps.  doc/wire.md is the normative
 * description of the bytes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_WIRE_DELIVERY_H
#define PX_WIRE_DELIVERY_H

#include "wire/frame.h"

/* The header: u32 bytes of the frame, u16 inbox, u16 source. */
#define PX_DELIVERY_HEADER_NBYTES	8

/* The inboxes of a session are 1 to 256, the sources of each 0 to 4095. */
#define PX_INBOX_MAX			256
#define PX_INBOX_SOURCES_MAX	4096

typedef struct px_delivery
{
	uint16_t	inbox;			/* 1 .. UINT16_MAX: whoever keeps the frame
								 * compares it with PX_INBOX_MAX */
	uint16_t	source;			/* not compared with the limit either */
	px_frame_header header;
	const uint8_t *frame;		/* not aligned */
	size_t		nbytes;			/* of the frame */
} px_delivery;

/* Write the header of a record, whose frame of nbytes follows. */
extern void px_delivery_header_put(uint8_t *to, uint32_t nbytes,
								   uint16_t inbox, uint16_t source);

/*
 * Read the next record, of which there must be one.  The header of its frame
 * is checked, but not the checksum.  Errors: PX_TRUNCATED, PX_BAD_HEADER if
 * the inbox is 0, and those of px_frame_peek and px_piece_check_header.
 */
extern px_status px_delivery_next(px_reader *records, px_delivery *delivery,
								  px_fault *fault);

#endif							/* PX_WIRE_DELIVERY_H */
