/*-------------------------------------------------------------------------
 *
 * armour.h
 *		Bytes as 7-bit text: what frames are where only text can travel.
 *
 * In the session transport frames come as values of type text, through
 * postgres_fdw's cursor.  Text must be valid in every encoding, so it is made
 * of the characters 1 to 127 alone, which stand for themselves in all of them.
 *
 * A block of up to 105 bytes becomes symbols of 7 bits: 7 bytes, taken as one
 * little-endian number, are 8 symbols, the lowest bits first; a last group of
 * n < 7 bytes is n + 1 symbols, whose unused bits are 0.  A block has 120
 * symbols at most, so one of the numbers 1 to 127 is none of them: this mask is
 * the block's first character, and each symbol follows XORed with it, which
 * makes none of them 0.  The encoder takes the greatest mask that it can; the
 * decoder takes any.
 *
 * Every piece of text is armoured by itself: only its last block is shorter.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_WIRE_ARMOUR_H
#define PX_WIRE_ARMOUR_H

#include "base/status.h"

#define PX_ARMOUR_BLOCK_NBYTES	105
#define PX_ARMOUR_BLOCK_NCHARS	121

/* How many characters n bytes become. */
extern size_t px_armour_nbytes(size_t n);

/*
 * How many bytes nchars characters can at most become: exactly so many, if
 * px_armour_decode accepts them.
 */
extern size_t px_armour_decoded_nbytes(size_t nchars);

/*
 * Write src[n] as px_armour_nbytes(n) characters to dst, without a NUL.  The
 * two must not overlap.
 */
extern void px_armour_encode(char *dst, const uint8_t *src, size_t n);

/*
 * Read src[nchars]; *nbytes bytes are then in dst[cap], which must not overlap
 * src.  What is in dst behind those, or after an error, is undefined.
 *
 * Errors: PX_TRUNCATED if the text cannot end there, PX_BAD_VALUE if a
 * character is none of 1 .. 127 or a symbol has bits behind the last byte,
 * PX_NO_SPACE if cap is too small.
 */
extern px_status px_armour_decode(const char *src, size_t nchars,
								  uint8_t *dst, size_t cap,
								  size_t *nbytes, px_fault *fault);

#endif							/* PX_WIRE_ARMOUR_H */
