/*-------------------------------------------------------------------------
 *
 * transform.h
 *		Delta, run-length and scaling of streams of 64-bit integers.
 *
 * Each makes another stream of integers, for frame of reference to pack, and
 * adds a few bytes of its own.  All arithmetic is modulo 2^64, so that every
 * stream can be transformed and no decoded value is undefined; who decodes a
 * narrower type checks the results.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_COLUMN_TRANSFORM_H
#define PX_COLUMN_TRANSFORM_H

#include "base/status.h"

/* --- delta.c: the differences of neighbours ----------------------------- */

/* values[i] becomes values[i] - values[i - 1], from 1 on; [0] stays. */
extern void px_delta_encode(uint64_t *values, uint32_t n);

/* The inverse. */
extern void px_delta_decode(uint64_t *values, uint32_t n);

/* --- rle.c: runs of equal values ---------------------------------------- */

/*
 * Replace the runs of values[n] by one value each, and write their lengths
 * less 1 to lengths; returns their number.
 */
extern uint32_t px_rle_encode(uint64_t *values, uint32_t n, uint64_t *lengths);

/*
 * Spread the nruns values that stand at out + n - nruns over out[n].
 * lengths are less 1; PX_BAD_VALUE unless they make n together.
 */
extern px_status px_rle_decode(uint64_t *out, uint32_t n,
							   const int64_t *lengths, uint32_t nruns,
							   px_fault *fault);

/* --- scaled.c: multiples of a common factor ----------------------------- */

/* The greatest common divisor; 0 if both are 0. */
extern uint64_t px_scaled_gcd(uint64_t a, uint64_t b);

/*
 * Replace values by (value - base) / factor, factor > 1; false if one of
 * these is not a whole number, and values is spoilt.
 */
extern bool px_scaled_encode(uint64_t *values, uint32_t n, uint64_t base,
							 uint64_t factor);

/* The inverse. */
extern void px_scaled_decode(uint64_t *values, uint32_t n, uint64_t base,
							 uint64_t factor);

#endif							/* PX_COLUMN_TRANSFORM_H */
