/*-------------------------------------------------------------------------
 *
 * decode.h
 *		Undoing the encoding of a chunk.
 *
 * Chunks are what px_batch_verify has accepted; encoded is what
 * px_chunk_unpack has made of one.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_COLUMN_DECODE_H
#define PX_COLUMN_DECODE_H

#include "column/array.h"
#include "column/chunk.h"
#include "column/fixed/patched.h"
#include "column/packed.h"

/*
 * Bytes of room->buffer that px_chunk_decode_pointers is going to need; 0 for
 * most encodings.  No more than PX_BUFFER_SLACK above what the values take as
 * plain ones, if the sender is honest, which is for the caller to check; and
 * never much above PX_FRAME_NBYTES_MAX.
 */
#define PX_BUFFER_SLACK(rows)	(8 * (size_t) (rows) + 32)

extern px_status px_chunk_buffer_nbytes(const px_chunk *chunk,
										const uint8_t *encoded, size_t *nbytes,
										px_fault *fault);

/*
 * What such a buffer counts for: what those of all chunks count for, and the
 * elements of arrays, is within the batch's raw size.
 */
static inline size_t
px_buffer_counted_nbytes(size_t nbytes, uint32_t rows)
{
	return nbytes > PX_BUFFER_SLACK(rows) ? nbytes - PX_BUFFER_SLACK(rows) : 0;
}

/*
 * Decode a chunk of form fixed and width 1, 2, 4 or 8 to values[rows],
 * extended to 64 bits by sign or with zeros as is_signed says; 0 where null.
 * The null flags are px_chunk_nulls' business.  room->buffer is not used.
 * PX_BAD_VALUE, PX_TRUNCATED, PX_TRAILING, PX_BAD_ENCODING, PX_OVER_LIMIT if
 * an encoding is malformed.
 */
extern px_status px_chunk_decode_ints(const px_chunk *chunk,
									  const uint8_t *encoded, bool is_signed,
									  const px_decode_room *room,
									  int64_t *values, px_fault *fault);

/*
 * The same for a chunk of class numeric: of encoding patched, or any of the
 * others, which have no patches.  Valid until the room is used again.
 */
extern px_status px_chunk_decode_patched(const px_chunk *chunk,
										 const uint8_t *encoded,
										 const px_decode_room *room,
										 int64_t *values, px_patches *patches,
										 px_fault *fault);

/*
 * Decode a chunk of any form to values[rows], pointers to each row's value,
 * NULL where null.  Form fixed: pointer to width bytes, of any alignment; only
 * encodings plain, constant and planes.  Form bytes: pointer to a packed
 * value, whose long form is 4-aligned if encoded and buffer are; every length
 * has been checked against the bounds, padding is zero, and the values use
 * the bytes up.  Valid as long as encoded and room->buffer are.  Errors as
 * above.
 */
extern px_status px_chunk_decode_pointers(const px_chunk *chunk,
										  const uint8_t *encoded,
										  const px_decode_room *room,
										  const uint8_t **values,
										  px_fault *fault);

/*
 * Of a chunk of form bytes that was decoded: a piece of encoded that holds
 * all the bytes that its values are made of, besides ASCII digits and blanks,
 * and perhaps the headers of packed values.  False if there is none.
 */
extern bool px_chunk_text(const px_chunk *chunk, const uint8_t *encoded,
						  const uint8_t **text, size_t *nbytes);

/*
 * Take a chunk of form array that has values apart.  Errors as above.  With
 * encoding plain, the elements' nbytes has been checked.
 */
extern px_status px_chunk_decode_arrays(const px_chunk *chunk,
										const uint8_t *encoded,
										const px_decode_room *room,
										px_arrays *arrays, px_fault *fault);

/* Decode the elements to values[nelements], extended to 64 bits. */
extern px_status px_chunk_decode_elements(const px_arrays *arrays,
										  bool is_signed, int64_t *values,
										  px_fault *fault);

#endif							/* PX_COLUMN_DECODE_H */
