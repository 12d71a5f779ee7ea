/*-------------------------------------------------------------------------
 *
 * armour.h
 *		The armour: bytes written as 7-bit text.
 *
 * In the session transport, frames are values of type text that are read
 * through postgres_fdw's cursor.  Text must be valid in every encoding, so
 * armoured text has only the characters 1 to 127, which are the same in all of
 * them.
 *
 * Bytes are armoured in blocks of 105; only the last block of a text may be
 * shorter.  A block becomes symbols of 7 bits.  A group of 7 bytes is taken as
 * a little-endian number and becomes 8 symbols, the lowest bits first.  A last
 * group of n < 7 bytes becomes n + 1 symbols, whose unused bits are 0.
 *
 * A symbol may be 0, but a character of text may not.  So each block has a
 * mask.  A block has at most 120 symbols, so at least one of the numbers 1 to
 * 127 is not among them: this is the mask.  It is the block's first character,
 * and each symbol follows XORed with it.  As no symbol equals the mask, no
 * character is 0.  The encoder uses the greatest possible mask; the decoder
 * accepts any.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_WIRE_ARMOUR_H
#define PX_WIRE_ARMOUR_H

#include "base/status.h"

#define PX_ARMOUR_BLOCK_NBYTES	105
#define PX_ARMOUR_BLOCK_NCHARS	121

/* The number of characters that n bytes become. */
extern size_t px_armour_nbytes(size_t n);

/*
 * The number of bytes that nchars characters become if px_armour_decode
 * accepts them.
 */
extern size_t px_armour_decoded_nbytes(size_t nchars);

/*
 * Write src[n] as px_armour_nbytes(n) characters to dst, without a NUL.  src
 * and dst must not overlap.
 */
extern void px_armour_encode(char *dst, const uint8_t *src, size_t n);

/*
 * Decode src[nchars] into dst[cap], and set *nbytes to the number of bytes.
 * src and dst must not overlap.  The contents of dst are undefined after these
 * bytes, and after an error.
 *
 * Errors: PX_TRUNCATED if no armoured text has this length, PX_BAD_VALUE if a
 * character is not in 1 .. 127 or an unused bit is set, PX_NO_SPACE if cap is
 * too small.
 */
extern px_status px_armour_decode(const char *src, size_t nchars,
								  uint8_t *dst, size_t cap,
								  size_t *nbytes, px_fault *fault);

#endif							/* PX_WIRE_ARMOUR_H */
