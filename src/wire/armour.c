/*-------------------------------------------------------------------------
 *
 * armour.c
 *		The armour: bytes written as 7-bit text.
 *
 * The form is described in armour.h and in doc/wire.md.  Eight symbols are
 * processed at a time, as the bytes of a 64-bit word.
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include "base/bytes.h"
#include "wire/armour.h"

#define GROUP_NBYTES	7
#define GROUP_NCHARS	8
#define BLOCK_GROUPS	(PX_ARMOUR_BLOCK_NBYTES / GROUP_NBYTES)

#define LOW_BITS		UINT64_C(0x0101010101010101)
#define HIGH_BITS		UINT64_C(0x8080808080808080)
#define SEVEN_BITS		UINT64_C(0x7f7f7f7f7f7f7f7f)

/* Spread the low 56 bits over the eight bytes, seven to each. */
static inline uint64_t
spread_bits(uint64_t x)
{
	x = (x & UINT64_C(0x000000000fffffff)) |
		((x << 4) & UINT64_C(0x0fffffff00000000));
	x = (x & UINT64_C(0x00003fff00003fff)) |
		((x << 2) & UINT64_C(0x3fff00003fff0000));
	x = (x & UINT64_C(0x007f007f007f007f)) |
		((x << 1) & UINT64_C(0x7f007f007f007f00));
	return x;
}

/* Undo spread_bits. */
static inline uint64_t
gather_bits(uint64_t x)
{
	x = (x & UINT64_C(0x007f007f007f007f)) |
		((x & UINT64_C(0x7f007f007f007f00)) >> 1);
	x = (x & UINT64_C(0x00003fff00003fff)) |
		((x & UINT64_C(0x3fff00003fff0000)) >> 2);
	x = (x & UINT64_C(0x000000000fffffff)) |
		((x & UINT64_C(0x0fffffff00000000)) >> 4);
	return x;
}

/*
 * Set the high bit of each byte that is not 0.  All bytes of x must be below
 * 128.  The low bits of the result mean nothing.
 */
static inline uint64_t
mark_nonzero_bytes(uint64_t x)
{
	return x + SEVEN_BITS;
}

static inline uint64_t
load_partly(const void *src, size_t n)
{
	uint8_t		bytes[8] = {0};

	memcpy(bytes, src, n);
	return px_load_u64(bytes);
}

static inline void
store_partly(void *dst, uint64_t x, size_t n)
{
	uint8_t		bytes[8];

	px_store_u64(bytes, x);
	memcpy(dst, bytes, n);
}

/* The number of symbols that a block of n bytes has. */
static inline size_t
symbol_count(size_t n)
{
	return n + (n + GROUP_NBYTES - 1) / GROUP_NBYTES;
}

size_t
px_armour_nbytes(size_t n)
{
	size_t		rest = n % PX_ARMOUR_BLOCK_NBYTES;

	return n / PX_ARMOUR_BLOCK_NBYTES * PX_ARMOUR_BLOCK_NCHARS +
		(rest > 0 ? 1 + symbol_count(rest) : 0);
}

size_t
px_armour_decoded_nbytes(size_t nchars)
{
	size_t		rest = nchars % PX_ARMOUR_BLOCK_NCHARS;

	/* the first character is the mask; n bytes are n + 1 symbols, n <= 7 */
	rest = rest > 0 ? rest - 1 : 0;
	return nchars / PX_ARMOUR_BLOCK_NCHARS * PX_ARMOUR_BLOCK_NBYTES +
		rest - (rest + GROUP_NCHARS - 1) / GROUP_NCHARS;
}

/* The greatest of 1 .. 127 that is not among the bytes of words[n]. */
static inline uint64_t
find_mask(const uint64_t *words, size_t n)
{
	for (uint64_t mask = 127 * LOW_BITS;; mask -= LOW_BITS)
	{
		uint64_t	all = HIGH_BITS;

		for (size_t i = 0; i < n; i++)
			all &= mark_nonzero_bytes(words[i] ^ mask);
		if (all == HIGH_BITS)
			return mask;
	}
}

/*
 * Encode a block of 105 bytes.  may_overread says that src has another byte
 * after them: the last group can then be loaded as a word of eight.
 */
static inline void
encode_block(char *dst, const uint8_t *src, bool may_overread)
{
	uint64_t	words[BLOCK_GROUPS];
	uint64_t	mask;

	for (int i = 0; i < BLOCK_GROUPS - 1; i++)
		words[i] = spread_bits(px_load_u64(src + i * GROUP_NBYTES));
	src += (BLOCK_GROUPS - 1) * GROUP_NBYTES;
	words[BLOCK_GROUPS - 1] = spread_bits(
		may_overread ? px_load_u64(src) : load_partly(src, GROUP_NBYTES));

	mask = find_mask(words, BLOCK_GROUPS);
	*dst++ = (char) (mask & 127);
	for (int i = 0; i < BLOCK_GROUPS; i++)
		px_store_u64((uint8_t *) dst + i * GROUP_NCHARS, words[i] ^ mask);
}

/* Encode the last block, of n bytes. */
static void
encode_rest(char *dst, const uint8_t *src, size_t n)
{
	uint64_t	words[BLOCK_GROUPS];
	size_t		ngroups = 0;
	size_t		nchars = symbol_count(n);
	uint64_t	mask;

	for (size_t at = 0; at < n; at += GROUP_NBYTES)
		words[ngroups++] = spread_bits(
			load_partly(src + at, Min(n - at, GROUP_NBYTES)));

	/* the bytes of words after nchars symbols are 0, and no mask is 0 */
	mask = find_mask(words, ngroups);
	*dst++ = (char) (mask & 127);
	for (size_t i = 0; i < ngroups; i++)
		store_partly(dst + i * GROUP_NCHARS, words[i] ^ mask,
					 Min(nchars - i * GROUP_NCHARS, GROUP_NCHARS));
}

void
px_armour_encode(char *dst, const uint8_t *src, size_t n)
{
	for (; n >= PX_ARMOUR_BLOCK_NBYTES; n -= PX_ARMOUR_BLOCK_NBYTES)
	{
		encode_block(dst, src, n > PX_ARMOUR_BLOCK_NBYTES);
		src += PX_ARMOUR_BLOCK_NBYTES;
		dst += PX_ARMOUR_BLOCK_NCHARS;
	}
	if (n > 0)
		encode_rest(dst, src, n);
}

/*
 * Returns 0 if all eight characters are in 1 .. 127.  The addition in
 * mark_nonzero_bytes carries into another byte only if a high bit is set, and
 * this bit is then in the result itself.
 */
static inline uint64_t
bad_chars(uint64_t x)
{
	return (x | ~mark_nonzero_bytes(x)) & HIGH_BITS;
}

/*
 * Decode a block of 121 characters.  may_overwrite says that dst has room for
 * another byte after the block: the last group can then be stored as a word of
 * eight.  Returns false if a character is bad.
 */
static inline bool
decode_block(uint8_t *dst, const char *src, bool may_overwrite)
{
	uint64_t	first = (uint8_t) *src++;
	uint64_t	mask = first * LOW_BITS;
	uint64_t	bad = first == 0 ? HIGH_BITS : first & 0x80;

	for (int i = 0; i < BLOCK_GROUPS; i++)
	{
		uint64_t	x = px_load_u64((const uint8_t *) src + i * GROUP_NCHARS);

		bad |= bad_chars(x);
		x = gather_bits((x ^ mask) & SEVEN_BITS);
		if (may_overwrite || i < BLOCK_GROUPS - 1)
			px_store_u64(dst + i * GROUP_NBYTES, x);
		else
			store_partly(dst + i * GROUP_NBYTES, x, GROUP_NBYTES);
	}
	return bad == 0;
}

/*
 * Decode the last block, of nchars characters.  Returns false if a character
 * is bad.
 */
static bool
decode_rest(uint8_t *dst, const char *src, size_t nchars)
{
	uint64_t	first = (uint8_t) *src++;
	uint64_t	mask = first * LOW_BITS;

	if (first == 0 || first > 127)
		return false;
	for (nchars--; nchars > 0;)
	{
		size_t		n = Min(nchars, GROUP_NCHARS);
		uint64_t	x = load_partly(src, n);

		/* missing symbols of the last group are 0 */
		if (n < GROUP_NCHARS)
			x |= mask << 8 * n;
		if (bad_chars(x) != 0)
			return false;
		x = gather_bits(x ^ mask);
		if (x >> 8 * (n - 1) != 0)
			return false;
		store_partly(dst, x, n - 1);
		src += n;
		nchars -= n;
		dst += n - 1;
	}
	return true;
}

px_status
px_armour_decode(const char *src, size_t nchars, uint8_t *dst, size_t cap,
				 size_t *nbytes, px_fault *fault)
{
	size_t		rest = nchars % PX_ARMOUR_BLOCK_NCHARS;
	size_t		n = px_armour_decoded_nbytes(nchars);
	bool		ok = true;

	/* a mask without symbols, or a group of one symbol, has no bytes */
	if (rest == 1 || rest % GROUP_NCHARS == 2)
		return px_fail(fault, PX_TRUNCATED, "armour", 0, 0);
	if (n > cap)
		return px_fail(fault, PX_NO_SPACE, "armour", cap, n);

	for (; ok && nchars >= PX_ARMOUR_BLOCK_NCHARS;
		 nchars -= PX_ARMOUR_BLOCK_NCHARS)
	{
		ok = decode_block(dst, src, cap > PX_ARMOUR_BLOCK_NBYTES);
		src += PX_ARMOUR_BLOCK_NCHARS;
		dst += PX_ARMOUR_BLOCK_NBYTES;
		cap -= PX_ARMOUR_BLOCK_NBYTES;
	}
	if (ok && nchars > 0)
		ok = decode_rest(dst, src, nchars);
	if (!ok)
		return px_fail(fault, PX_BAD_VALUE, "armour", 0, 0);
	*nbytes = n;
	return PX_OK;
}
