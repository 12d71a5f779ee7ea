/*-------------------------------------------------------------------------
 *
 * patched.h
 *		Values that are integers but for a few, which travel as they are.
 *
 * A numeric column of form fixed has scaled integers of 8 bytes in values.
 * Those of its values that are none (NaN, infinities, another scale, too many
 * digits) stand in column->sent, of form bytes, and are those numbered by
 * column->positions; what stands at their places in values does not count.
 * A column without any is an ordinary one.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_COLUMN_FIXED_PATCHED_H
#define PX_COLUMN_FIXED_PATCHED_H

#include "column/chunk.h"

/*
 * Up to this many exceptions among n values, the encoding is not larger than
 * what numeric_send makes of all of them, even if nothing can be packed: that
 * is 9 bytes or more for each value, here it is 8, and for each exception up
 * to 8 + 4 + 3 (padding) besides its own, and 28 for headers.
 */
#define PX_PATCHES_FRACTION		16
#define PX_PATCHES_MAX(n) \
	((n) < 64 ? 0 : ((n) - 48) / PX_PATCHES_FRACTION)

static inline bool
px_column_is_patched(const px_column *column)
{
	return column->form == PX_FORM_FIXED && column->sent &&
		column->sent->nvalues > 0;
}

/* Size if both children are plain. */
extern size_t px_patched_plain_nbytes(const px_column *column);

/* Rows whose integers do not count; pointers as in px_decode_room. */
typedef struct px_patches
{
	uint32_t	n;
	const int64_t *rows;		/* [n] ascending */
	const uint8_t **sent;		/* [n] their values, packed */
} px_patches;

/*
 * Read the nvalues dense values; patches->rows numbers values, not rows, and
 * stands at room->scratch.  PX_TRUNCATED, PX_TRAILING, PX_BAD_VALUE,
 * PX_BAD_ENCODING.
 */
extern px_status px_patched_read(const px_chunk *chunk, const uint8_t *encoded,
								 const px_decode_room *room, int64_t *values,
								 px_patches *patches, px_fault *fault);

#endif							/* PX_COLUMN_FIXED_PATCHED_H */
