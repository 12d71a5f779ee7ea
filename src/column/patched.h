/*-------------------------------------------------------------------------
 *
 * patched.h
 *		Integers, most of them: the few values that are none travel beside.
 *
 * A numeric column of form fixed has scaled integers of 8 bytes in values.
 * Those of its values that are none (NaN, infinities, another scale, too many
 * digits) stand in column->sent, of form bytes, and are those numbered by
 * column->positions; what stands at their places in values does not count.
 * A column without any is an ordinary one.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_COLUMN_PATCHED_H
#define PX_COLUMN_PATCHED_H

#include "column/column.h"
#include "column/ints.h"

/*
 * Up to this many exceptions among n values, the encoding is not larger than
 * what numeric_send makes of all of them, even if nothing can be packed: that
 * is 9 bytes or more for each value, here it is 8, and for each exception up
 * to 8 + 4 + 3 (padding) besides its own, and 28 for headers.
 */
#define PX_PATCHES_FRACTION		16
#define PX_PATCHES_MAX(n)		((n) < 64 ? 0 : ((n) - 48) / PX_PATCHES_FRACTION)

static inline bool
px_column_is_patched(const px_column *column)
{
	return column->form == PX_FORM_FIXED && column->sent &&
		column->sent->nvalues > 0;
}

/* Size if both children are plain. */
extern size_t px_patched_plain_nbytes(const px_column *column);

/*
 * Write a column that has exceptions, its integers by the plan, or plain
 * without one; scratch and *stale as of px_ints_write.  PX_NO_SPACE.
 */
extern px_status px_patched_write(px_writer *out, const px_column *column,
								  const px_ints_plan *plan, uint8_t *scratch,
								  bool *stale);

/*
 * Decode n values to out[n].  patches->rows numbers values, not rows.
 * scratch[2 * n] holds what patches points to.  PX_TRUNCATED, PX_TRAILING,
 * PX_BAD_VALUE, PX_BAD_ENCODING.
 */
extern px_status px_patched_decode(const uint8_t *encoded, size_t encoded_nbytes,
								   uint32_t n, int64_t *out, int64_t *scratch,
								   px_patches *patches, px_fault *fault);

#endif							/* PX_COLUMN_PATCHED_H */
