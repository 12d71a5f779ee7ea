/*-------------------------------------------------------------------------
 *
 * load.h
 *		Integers as they stand in a column, extended to 64 bits.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_COLUMN_INTS_LOAD_H
#define PX_COLUMN_INTS_LOAD_H

#include "base/status.h"

/*
 * Read n little-endian values of width 1, 2, 4 or 8 to out[n], extended by
 * sign or with zeros.  out and values do not overlap, unless n is 1.
 */
extern void px_ints_load(const uint8_t *values, uint32_t n, unsigned width,
						 bool is_signed, int64_t *out);

#endif							/* PX_COLUMN_INTS_LOAD_H */
