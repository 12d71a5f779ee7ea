/*-------------------------------------------------------------------------
 *
 * piece.h
 *		A piece: the frames of a whole stream in one place.
 *
 * Rows that are written travel in pieces.  A piece is what one sender, number
 * 0, sends: a schema frame, batch frames and an end frame, without gaps.  As
 * text it is in an armour (armour.h), which is not undone here.
 *
 * A piece is checked as a stream is.  px_piece_measure looks at all headers
 * before anything is decoded.  px_piece_next then takes one frame after the
 * other, and checks it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_WIRE_PIECE_H
#define PX_WIRE_PIECE_H

#include "wire/totals.h"

/*
 * The most values, null or not, of a batch of a piece.  Decoding takes some
 * memory for each value, however small the frame is.
 */
#define PX_PIECE_VALUES_MAX	(16 * 1024 * 1024)

/*
 * Check the limit above, of a header that px_frame_peek_header has accepted.
 * Errors: PX_OVER_LIMIT.
 */
extern px_status px_piece_check_header(const px_frame_header *header,
									   px_fault *fault);

typedef struct px_piece
{
	const uint8_t *frames;
	size_t		nbytes;
	size_t		used;			/* bytes of the frames that were taken */
	px_sender_totals totals;
} px_piece;

/*
 * Begin with the first frame of frames[nbytes], which must stay as long as the
 * piece is used.
 */
extern void px_piece_begin(px_piece *piece, const uint8_t *frames,
						   size_t nbytes);

/*
 * Set *rows to what the headers of all batches announce.  Errors: those of
 * px_frame_peek_header, PX_TRUNCATED if the last frame is not whole,
 * PX_OVER_LIMIT if a batch has more than PX_PIECE_VALUES_MAX values.
 */
extern px_status px_piece_measure(const uint8_t *frames, size_t nbytes,
								  uint64_t *rows, px_fault *fault);

/*
 * Take the next frame, which is not the end frame's successor: set *header,
 * and *frame, which is not aligned, to the whole frame.  An end frame was
 * compared with the frames before it, and nothing follows it.  Errors: those
 * of px_piece_measure, px_frame_verify and totals.h; PX_BAD_HEADER if there
 * is no frame left before the end, or for a frame of another kind or sender;
 * PX_TRAILING if bytes follow the end.
 */
extern px_status px_piece_next(px_piece *piece, px_frame_header *header,
							   const uint8_t **frame, px_fault *fault);

#endif							/* PX_WIRE_PIECE_H */
