/*-------------------------------------------------------------------------
 *
 * array.h
 *		Arrays of fixed-width elements: counts, then the elements of all.
 *
 * A column of form array under construction has the elements one behind the
 * other in values.  lengths[i] is 0 for a value that travels as its type's
 * send function wrote it, for want of a simple form, and else the number of
 * its elements plus 1.  The former stand in column->sent, of form bytes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_COLUMN_ARRAY_H
#define PX_COLUMN_ARRAY_H

#include "column/column.h"
#include "column/ints.h"

/* Size of the plain encoding. */
extern size_t px_array_plain_nbytes(const px_column *column);

/*
 * Write a column.  Counts and elements are packed if encodings is true.
 * *head_nbytes is set to where the elements begin if they are plain, and to
 * all otherwise: what is behind is good for a codec.  PX_NO_SPACE.
 */
extern px_status px_array_write(px_writer *out, const px_column *column,
								bool encodings, size_t *head_nbytes);

/*
 * Read everything but the elements.  The counts must fit the elements that
 * are there.  PX_TRUNCATED, PX_TRAILING, PX_BAD_VALUE, PX_BAD_ENCODING,
 * PX_OVER_LIMIT if the elements, of 8 bytes each, exceed a frame's size.
 */
extern px_status px_array_read(const uint8_t *encoded, size_t encoded_nbytes,
							   uint32_t n, uint8_t width, int64_t *scratch,
							   px_arrays *arrays, px_fault *fault);

#endif							/* PX_COLUMN_ARRAY_H */
