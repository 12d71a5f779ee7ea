/*-------------------------------------------------------------------------
 *
 * bitpack.h
 *		Frame of reference + vertical bit-packing for integers.
 *
 * Encoded form: the base (8 bytes, little-endian, the smallest value), the
 * bit width b (1 byte, 1 .. 63, and below 8 * width of the column), 7 zero
 * bytes, then value - base in b bits each.
 *
 * Values are packed in blocks of 256, each 32 * b bytes, "vertically": with
 * b <= 32, value i of a block is in lane i % 8, and each lane is a stream of
 * 32-bit words whose k-th word is the block's word k * 8 + lane; with b > 32
 * there are 4 lanes of 64-bit words.  Within a lane, value j occupies bits
 * j * b .. j * b + b - 1, least significant first.  So one step of a loop
 * over 8 lanes shifts eight values by the same amount, which compilers turn
 * into vector instructions.  The rest (fewer than 256 values) is one plain
 * stream of bits, least significant first, in (rest * b + 7) / 8 bytes with
 * spare bits 0.
 *
 * Sources: Goldstein, Ramakrishnan, Shaft, "Compressing Relations and
 * Indexes" (ICDE 1998) for the frame of reference; Lemire and Boytsov,
 * "Decoding billions of integers per second through vectorization" (2015)
 * for the vertical layout.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_COLUMN_INTS_BITPACK_H
#define PX_COLUMN_INTS_BITPACK_H

#include "base/status.h"

#define PX_BITPACK_BLOCK_VALUES		256
#define PX_BITPACK_HEADER_NBYTES	16

/* Encoded size of n values at b bits. */
extern size_t px_bitpack_nbytes(uint32_t n, unsigned b);

/*
 * The range of n >= 1 dense little-endian values of width 1, 2, 4 or 8, as
 * base and the bit width of the largest difference (0 .. 64; 0 means all
 * values are equal).
 */
extern void px_bitpack_measure(const uint8_t *values, uint32_t n,
							   unsigned width, bool is_signed, int64_t *base,
							   unsigned *b);

/*
 * Write px_bitpack_nbytes(n, b) bytes; base and b are px_bitpack_measure's,
 * with b in 1 .. 63 and below 8 * width.
 */
extern void px_bitpack_encode(const uint8_t *values, uint32_t n,
							  unsigned width, int64_t base, unsigned b,
							  uint8_t *out);

/*
 * Decode exactly n values from exactly encoded_nbytes bytes to out[n].
 * PX_TRUNCATED, PX_TRAILING, PX_BAD_VALUE (b out of range, spare or reserved
 * bits set, a value beyond what width bytes hold).
 */
extern px_status px_bitpack_decode(const uint8_t *encoded,
								   size_t encoded_nbytes, uint32_t n,
								   unsigned width, bool is_signed,
								   int64_t *out, px_fault *fault);

#endif							/* PX_COLUMN_INTS_BITPACK_H */
