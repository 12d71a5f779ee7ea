/*-------------------------------------------------------------------------
 *
 * packed.h
 *		Packed values: how values of any length stand one after the other.
 *
 * A value of n <= 126 bytes is one byte ((n + 1) << 1 | 1) and the bytes; a
 * longer one is zero bytes up to the next multiple of 4 counted from the start
 * of the values, a little-endian 32-bit (n + 4) << 2, and the bytes.  On a
 * little-endian machine that is PostgreSQL's own varlena layout: a decoded
 * value is a pointer into the batch, usable as a Datum.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_COLUMN_PACKED_H
#define PX_COLUMN_PACKED_H

#include "column/column.h"

/* Longest value with a packed header of one byte. */
#define PX_PACKED_SHORT_MAX		126

/* Where a packed value of n bytes ends if the one before it ends at pos. */
static inline size_t
px_packed_end(size_t pos, size_t n)
{
	if (n <= PX_PACKED_SHORT_MAX)
		return pos + 1 + n;
	return ((pos + 3) & ~(size_t) 3) + 4 + n;
}

/* Length and start of the bytes of a packed value. */
static inline size_t
px_packed_nbytes(const uint8_t *packed)
{
	if (*packed & 1)
		return (size_t) (*packed >> 1) - 1;
	return (size_t) (px_load_u32(packed) >> 2) - 4;
}

static inline const uint8_t *
px_packed_data(const uint8_t *packed)
{
	return packed + ((*packed & 1) ? 1 : 4);
}

/*
 * Write the header of a packed value of nbytes at or after *pos, and move *pos
 * to the end of the value.  Sets *packed to the header, and returns where the
 * bytes are to go.
 */
static inline uint8_t *
px_packed_begin(uint8_t *buffer, size_t *pos, size_t nbytes,
				const uint8_t **packed)
{
	uint8_t    *p = buffer + *pos;

	if (nbytes <= PX_PACKED_SHORT_MAX)
	{
		*packed = p;
		*p = (uint8_t) ((nbytes + 1) << 1 | 1);
		*pos += nbytes + 1;
		return p + 1;
	}
	*pos = (*pos + 3) & ~(size_t) 3;
	p = buffer + *pos;
	*packed = p;
	px_store_u32(p, (uint32_t) (nbytes + 4) << 2);
	*pos += nbytes + 4;
	return p + 4;
}

/*
 * Write a packed value at or after out + pos: nbytes bytes of value, then
 * blanks up to a length of pad if that is more.  Returns where it ends:
 * px_packed_end(pos, Max(nbytes, pad)).
 */
extern size_t px_packed_put(uint8_t *out, size_t pos, const uint8_t *value,
							size_t nbytes, size_t pad);

/* Size of the values of a column of form bytes, packed as they are. */
extern size_t px_packed_values_nbytes(const px_column *column);

/* Write them.  PX_NO_SPACE. */
extern px_status px_packed_values_write(px_writer *out,
										const px_column *column);

/*
 * Pointers to n >= 1 packed values, which must take up encoded_nbytes exactly.
 * PX_TRUNCATED, PX_TRAILING, PX_BAD_VALUE (a header that the format forbids,
 * padding that is not zero).
 */
extern px_status px_packed_values_read(const uint8_t *encoded,
									   size_t encoded_nbytes, uint32_t n,
									   const uint8_t **values,
									   px_fault *fault);

#endif							/* PX_COLUMN_PACKED_H */
