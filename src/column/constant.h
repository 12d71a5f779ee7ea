/*-------------------------------------------------------------------------
 *
 * constant.h
 *		The constant encoding: one value that stands for all.
 *
 * The encoded form is the value, as it stands first in a plain chunk.  Every
 * decoder fills out[n], n >= 1.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_COLUMN_CONSTANT_H
#define PX_COLUMN_CONSTANT_H

#include "base/status.h"

/*
 * If the n >= 1 values of width bytes each are all equal, the size of one of
 * them; else 0.
 */
extern size_t px_constant_measure_fixed(const uint8_t *values, uint32_t n,
										unsigned width);

/* Are the n >= 1 values, of these lengths, one behind the other, all equal? */
extern bool px_constant_bytes(const uint8_t *values, const uint32_t *lengths,
							  uint32_t n);

/* As px_plain_decode_ints, from width bytes. */
extern void px_constant_decode_ints(const uint8_t *encoded, uint32_t n,
									unsigned width, bool is_signed,
									int64_t *out);

/* n pointers to the one value. */
extern void px_constant_decode_fixed(const uint8_t *encoded, uint32_t n,
									 const uint8_t **out);

/* n pointers to the one packed value; errors of px_plain_decode_bytes. */
extern px_status px_constant_decode_bytes(const uint8_t *encoded,
										  size_t encoded_nbytes, uint32_t n,
										  const uint8_t **out,
										  px_fault *fault);

#endif							/* PX_COLUMN_CONSTANT_H */
