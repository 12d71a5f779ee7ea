/*-------------------------------------------------------------------------
 *
 * plan.h
 *		Which transforms make a stream of integers smallest.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_COLUMN_INTS_PLAN_H
#define PX_COLUMN_INTS_PLAN_H

#include "column/encoding.h"

/* A stream inside of something has a header; see ints.h. */
#define PX_CHILD_HEADER_NBYTES	8

/* Streams of fewer values are not worth a transform. */
#define PX_INTS_TRANSFORM_MIN	16

/* A stream to write; width 1, 2, 4 or 8, values little-endian and dense. */
typedef struct px_ints
{
	const uint8_t *values;
	uint32_t	n;
	uint8_t		width;
	bool		is_signed;
} px_ints;

/* The values of a column of form fixed. */
static inline px_ints
px_column_ints(const px_column *column)
{
	return (px_ints) {column->values, column->nvalues, column->width,
	column->is_signed};
}

/* n numbers of 64 bits, as encodings compute them. */
static inline px_ints
px_numbers(const uint8_t *values, uint32_t n)
{
	return (px_ints) {values, n, 8, true};
}

/*
 * Choose a plan from all of the values: the one whose result is smallest,
 * unless the flat one is hardly larger.  *nbytes is an estimate of the
 * encoded size.
 */
extern void px_ints_choose(const px_ints *ints, px_ints_plan *plan,
						   size_t *nbytes);

/* The greatest common divisor; 0 if both are 0. */
extern uint64_t px_ints_gcd(uint64_t a, uint64_t b);

#endif							/* PX_COLUMN_INTS_PLAN_H */
