/*-------------------------------------------------------------------------
 *
 * numeric.h
 *		numeric to and from a scaled 64-bit integer.
 *
 * A numeric with display scale d and value v is the integer v * 10^d.  The
 * on-disk form read and written here is that of numeric.c (NumericShort and
 * NumericLong), which pg_upgrade keeps stable.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_TYPE_NUMERIC_H
#define PX_TYPE_NUMERIC_H

#define PX_NUMERIC_SCALE_MAX	18

/* Largest datum px_numeric_from_scaled writes: header, word, 10 digits. */
#define PX_NUMERIC_SCALED_NBYTES_MAX	32

/*
 * Read a numeric datum that is neither compressed nor external (its header
 * may be short).  Returns false, and sets nothing, for NaN, infinities, and
 * whatever has more than 18 decimal digits counting all of its dscale.
 */
extern bool px_numeric_to_scaled(const struct varlena *datum,
								 int64 *value, int *dscale);

/*
 * Write value / 10^dscale with display scale dscale (0 ..
 * PX_NUMERIC_SCALE_MAX) as a numeric datum with a 4-byte header to dst, which
 * must be 4-aligned and have PX_NUMERIC_SCALED_NBYTES_MAX bytes.  Returns its
 * size.  Any value will do; the result is what numeric_in would make of the
 * same number.
 */
extern size_t px_numeric_from_scaled(int64 value, int dscale, char *dst);

#endif							/* PX_TYPE_NUMERIC_H */
