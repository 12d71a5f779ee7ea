/*-------------------------------------------------------------------------
 *
 * totals.h
 *		What a sender has sent so far, and whether a frame may come next.
 *
 * Whoever reads frames keeps a px_sender_totals for each sender, all zero at
 * first.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_WIRE_TOTALS_H
#define PX_WIRE_TOTALS_H

#include "wire/frame.h"

/* What one sender has sent so far, to be compared with its end frame. */
typedef struct px_sender_totals
{
	uint32_t	sender;
	uint32_t	next_sequence;
	bool		ended;
	px_end		received;		/* rows, batches and sizes counted here */
} px_sender_totals;

/*
 * Is it the frame's turn?  PX_BAD_HEADER if a frame of this sender is missing
 * before it, if it comes after the end, or if it should have been the schema,
 * which comes first, or second after a slice frame if has_slice.  Not for plan
 * frames.
 */
extern px_status px_totals_take(px_sender_totals *totals,
								const px_frame_header *header, bool has_slice,
								px_fault *fault);

/* Count a frame of nbytes that is not the end. */
extern void px_totals_count(px_sender_totals *totals,
							const px_frame_header *header, size_t nbytes);

/*
 * Read the body of the end frame into *end, and compare it with what was
 * counted.  Errors: those of px_end_read, PX_BAD_HEADER.
 */
extern px_status px_totals_finish(px_sender_totals *totals,
								  const uint8_t *body,
								  const px_frame_header *header, px_end *end,
								  px_fault *fault);

/*
 * All of this for a frame of a stream that has neither slices nor a plan:
 * whether it is its turn, and what it adds, or that its totals are right.  Its
 * CRC has been verified.  Errors: those above; PX_BAD_HEADER for a plan.
 */
extern px_status px_totals_add(px_sender_totals *totals, const uint8_t *frame,
							   const px_frame_header *header, px_fault *fault);

#endif							/* PX_WIRE_TOTALS_H */
