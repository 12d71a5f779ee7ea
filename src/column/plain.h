/*-------------------------------------------------------------------------
 *
 * plain.h
 *		The plain encoding: values as they stand in a px_column.
 *
 * Fixed values are the encoded form already.  Every decoder takes n >= 1 dense values and
 * fills out[n]; out and encoded do not overlap.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_COLUMN_PLAIN_H
#define PX_COLUMN_PLAIN_H

#include "column/column.h"

/*
 * Write a packed value behind out + pos: nbytes bytes of value, then blanks
 * up to a length of pad if that is more.  Returns where it ends:
 * px_packed_end(pos, Max(nbytes, pad)).
 */
extern size_t px_plain_encode_value(uint8_t *out, size_t pos,
									const uint8_t *value, size_t nbytes,
									size_t pad);

/* Size of the values of a column of form bytes, as they stand there, packed. */
extern size_t px_packed_values_nbytes(const px_column *column);

/* Write them.  PX_NO_SPACE. */
extern px_status px_packed_values_write(px_writer *out, const px_column *column);

/*
 * n values of width 1, 2, 4 or 8 in n * width bytes, extended to 64 bits by
 * sign or with zeros.
 */
extern void px_plain_decode_ints(const uint8_t *encoded, uint32_t n,
								 unsigned width, bool is_signed,
								 int64_t *out);

/* Pointers to n values of any width in n * width bytes. */
extern void px_plain_decode_fixed(const uint8_t *encoded, uint32_t n,
								  unsigned width, const uint8_t **out);

/*
 * Pointers to n packed values, which must take up encoded_nbytes exactly.
 * PX_TRUNCATED, PX_TRAILING, PX_BAD_VALUE (a header that the format forbids,
 * padding that is not zero).
 */
extern px_status px_plain_decode_bytes(const uint8_t *encoded,
									   size_t encoded_nbytes, uint32_t n,
									   const uint8_t **out, px_fault *fault);

#endif							/* PX_COLUMN_PLAIN_H */
