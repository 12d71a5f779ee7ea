/*-------------------------------------------------------------------------
 *
 * frame_totals.h
 *		What a sender has sent so far, and whether a frame may come next.
 *
 * Whoever reads frames keeps a px_sender_totals for each sender.  Errors name
 * the server, as those of fault.h do.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_TUPLE_FRAME_TOTALS_H
#define PX_TUPLE_FRAME_TOTALS_H

#include "wire/frame.h"

/* What one sender has sent so far, to be compared with its end frame. */
typedef struct px_sender_totals
{
	uint32		sender;
	uint32		next_sequence;
	bool		ended;
	px_end		received;		/* rows, batches and sizes counted here */
} px_sender_totals;

/*
 * It is the frame's turn, or ERRCODE_PROTOCOL_VIOLATION is raised: no frame of
 * this sender is missing, none comes after its end, and the schema comes
 * first, or second after a slice frame if has_slice.  Not for plan frames.
 */
extern void px_totals_check_order(const char *servername,
								  px_sender_totals *totals,
								  const px_frame_header *header,
								  bool has_slice);

/* Count a frame of nbytes that is not the end. */
extern void px_totals_count(px_sender_totals *totals,
							const px_frame_header *header, size_t nbytes);

/*
 * Read the body of the end frame into *end, and compare it with what was
 * counted.  Errors: ERRCODE_PROTOCOL_VIOLATION.
 */
extern void px_totals_finish(const char *servername, px_sender_totals *totals,
							 const uint8_t *body,
							 const px_frame_header *header, px_end *end);

#endif							/* PX_TUPLE_FRAME_TOTALS_H */
