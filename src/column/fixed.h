/*-------------------------------------------------------------------------
 *
 * fixed.h
 *		Encodings of fixed-width values that look at more than integers.
 *
 * As elsewhere, encoders are told what a look at the values has found, and
 * decoders check every count and number before they use it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_COLUMN_FIXED_H
#define PX_COLUMN_FIXED_H

#include "column/column.h"
#include "column/ints.h"

/* --- decimal.c: floats that are decimal numbers --------------------------- */

/*
 * Find how many decimals most floats of width 4 or 8 have; -1 if most are no
 * decimal numbers of a reasonable size.  Looks at a sample.
 */
extern int	px_decimal_find(const uint8_t *values, uint32_t n, uint8_t width);

/*
 * Write floats as integers: value * 10^decimals.  Exceptions travel as they
 * are; if there are too many, *stale is set and nothing is written.  scratch
 * has 4 * n words.
 */
extern px_status px_decimal_write(px_writer *out, const uint8_t *values,
								  uint32_t n, uint8_t width, int decimals,
								  const px_ints_plan *plan, uint8_t *scratch,
								  bool *stale);

/* The integers only, for px_ints_choose; 8 bytes each. */
extern void px_decimal_numbers(const uint8_t *values, uint32_t n,
							   uint8_t width, int decimals, uint8_t *numbers);

/* out[n] gets the bits of the floats, extended by sign; scratch[n]. */
extern px_status px_decimal_decode(const uint8_t *encoded,
								   size_t encoded_nbytes, uint32_t n,
								   uint8_t width, int64_t *out,
								   int64_t *scratch, px_fault *fault);

/* --- planes.c: first bytes of all values, then second bytes, ... ---------- */

/* Encoded size, exactly. */
extern size_t px_planes_nbytes(const uint8_t *values, uint32_t n, uint8_t width);
extern px_status px_planes_write(px_writer *out, const uint8_t *values,
								 uint32_t n, uint8_t width, uint8_t *scratch);

/* Value i goes to out + i * stride; scratch[n]. */
extern px_status px_planes_decode(const uint8_t *encoded,
								  size_t encoded_nbytes, uint32_t n,
								  uint8_t width, uint8_t *out, size_t stride,
								  int64_t *scratch, px_fault *fault);

/* --- related.c: the difference to another column of the batch ------------- */

/* Earlier columns that are looked at. */
#define PX_RELATED_CANDIDATES	8

/*
 * Among the columns before columns[index], find one whose difference to it
 * takes at least a quarter fewer bits than the value alone (*b), or return
 * -1.  Looks at a sample.
 */
extern int	px_related_find(const px_column *columns, uint16_t index,
							unsigned *b);

/* May the two columns of a batch be written as a difference? */
extern bool px_related_suits(const px_column *column, const px_column *reference);

/* scratch has 3 * n words. */
extern px_status px_related_write(px_writer *out, const px_column *columns,
								  uint16_t index, uint16_t reference,
								  uint8_t *scratch);

/* references[i] is column i as it was decoded, or NULL. */
extern px_status px_related_decode(const uint8_t *encoded,
								   size_t encoded_nbytes, uint32_t n,
								   uint8_t width, bool is_signed,
								   const int64_t *const *references,
								   uint16_t nreferences, int64_t *out,
								   int64_t *scratch, px_fault *fault);

#endif							/* PX_COLUMN_FIXED_H */
