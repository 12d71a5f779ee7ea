/*-------------------------------------------------------------------------
 *
 * array.h
 *		Arrays of fixed-width elements: counts, then the elements of all.
 *
 * A column of form array under construction has the elements one after the
 * other in values.  lengths[i] is 0 for a value that travels as its type's
 * send function wrote it, for want of a simple form, and else the number of
 * its elements plus 1.  The former stand in column->sent, of form bytes.
 *
 * Chunks of form array have encoding plain, which leaves them to this file.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_COLUMN_ARRAY_H
#define PX_COLUMN_ARRAY_H

#include "column/encoding.h"

/* Elements of all arrays of a chunk: as 64-bit integers they fit a frame. */
#define PX_ARRAY_ELEMENTS_MAX	(PX_FRAME_NBYTES_MAX / 8)

/* A chunk of form array, taken apart; pointers as in px_decode_room. */
typedef struct px_arrays
{
	const int64_t *counts;		/* [nvalues] 0: see sent; else elements + 1 */
	uint32_t	nsent;
	const uint8_t **sent;		/* [nsent] packed values, in order */
	uint32_t	nelements;		/* of all arrays together */
	px_int_stream	elements;		/* not decoded yet */
} px_arrays;

/* Size of the plain encoding. */
extern size_t px_array_plain_nbytes(const px_column *column);

/*
 * Write a column; counts and elements are packed if pack is true.  The head
 * reaches to the elements if they are plain, else to the end.  PX_NO_SPACE.
 */
extern px_status px_array_write(px_writer *out, const px_column *column,
								bool pack, px_encoded *result);

/*
 * Read everything but the elements, whose number must be what the counts say.
 * PX_TRUNCATED, PX_TRAILING, PX_BAD_VALUE, PX_BAD_ENCODING, PX_OVER_LIMIT if
 * the elements, of 8 bytes each, exceed a frame's size.
 */
extern px_status px_array_read(const px_chunk *chunk, const uint8_t *encoded,
							   const px_decode_room *room, px_arrays *arrays,
							   px_fault *fault);

#endif							/* PX_COLUMN_ARRAY_H */
