/*-------------------------------------------------------------------------
 *
 * bitpack.c
 *		Frame of reference + vertical bit-packing for integers; see bitpack.h.
 *
 * All arithmetic on differences is unsigned and modulo 2^64, so that it is
 * the same for signed and unsigned values.  Blocks are packed and unpacked
 * with one vector operation over all lanes; the loops over a type's values
 * are left to the compiler's vectoriser.
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include "port/pg_bitutils.h"

#include "base/bytes.h"
#include "column/ints/bitpack.h"

/* Lanes of a block, and values per lane, by the size of the words. */
#define PX_BITPACK_LANES32		8
#define PX_BITPACK_STEPS32		(PX_BITPACK_BLOCK_VALUES / PX_BITPACK_LANES32)
#define PX_BITPACK_LANES64		4
#define PX_BITPACK_STEPS64		(PX_BITPACK_BLOCK_VALUES / PX_BITPACK_LANES64)

#define PX_BITPACK_BLOCK_NBYTES(b) \
	(PX_BITPACK_BLOCK_VALUES / 8 * (size_t) (b))

/*
 * One word of each lane, as a vector of GNU C: gcc and clang use the vector
 * registers that there are, at every optimisation level, or scalars.  Passed
 * by address, as the ABI for vectors by value depends on the CPU.
 */
typedef uint32_t px_lanes32
			__attribute__((vector_size(PX_BITPACK_LANES32 * 4)));
typedef uint64_t px_lanes64
			__attribute__((vector_size(PX_BITPACK_LANES64 * 8)));

/* Most bytes that the values after the last whole block can take. */
#define PX_BITPACK_REST_NBYTES_MAX \
	(((PX_BITPACK_BLOCK_VALUES - 1) * 63 + 7) / 8)

static inline void
px_lanes32_load(px_lanes32 *word, const uint8_t *in)
{
#ifdef WORDS_BIGENDIAN
	for (int lane = 0; lane < PX_BITPACK_LANES32; lane++)
		(*word)[lane] = px_load_u32(in + lane * 4);
#else
	memcpy(word, in, sizeof(*word));
#endif
}

static inline void
px_lanes32_store(uint8_t *out, const px_lanes32 *word)
{
#ifdef WORDS_BIGENDIAN
	for (int lane = 0; lane < PX_BITPACK_LANES32; lane++)
		px_store_u32(out + lane * 4, (*word)[lane]);
#else
	memcpy(out, word, sizeof(*word));
#endif
}

static inline void
px_lanes64_load(px_lanes64 *word, const uint8_t *in)
{
#ifdef WORDS_BIGENDIAN
	for (int lane = 0; lane < PX_BITPACK_LANES64; lane++)
		(*word)[lane] = px_load_u64(in + lane * 8);
#else
	memcpy(word, in, sizeof(*word));
#endif
}

static inline void
px_lanes64_store(uint8_t *out, const px_lanes64 *word)
{
#ifdef WORDS_BIGENDIAN
	for (int lane = 0; lane < PX_BITPACK_LANES64; lane++)
		px_store_u64(out + lane * 8, (*word)[lane]);
#else
	memcpy(out, word, sizeof(*word));
#endif
}

size_t
px_bitpack_nbytes(uint32_t n, unsigned b)
{
	size_t		blocks = n / PX_BITPACK_BLOCK_VALUES;
	size_t		rest = n % PX_BITPACK_BLOCK_VALUES;

	return PX_BITPACK_HEADER_NBYTES + blocks * PX_BITPACK_BLOCK_NBYTES(b) +
		(rest * b + 7) / 8;
}

/* ---------------------------------------------------------------------
 * Measuring
 * --------------------------------------------------------------------- */

/* Smallest value to *base, distance of the largest one to range. */
#define PX_BITPACK_RANGE(ctype, load) \
	do { \
		ctype		min = (ctype) load(values); \
		ctype		max = min; \
		for (uint32_t i = 1; i < n; i++) \
		{ \
			ctype		v = (ctype) load(values + i * sizeof(ctype)); \
			min = Min(min, v); \
			max = Max(max, v); \
		} \
		*base = (int64_t) min; \
		range = (uint64_t) max - (uint64_t) min; \
	} while (0)

void
px_bitpack_measure(const uint8_t *values, uint32_t n, unsigned width,
				   bool is_signed, int64_t *base, unsigned *b)
{
	uint64_t	range;

	switch (width)
	{
		case 1:
			if (is_signed)
				PX_BITPACK_RANGE(int8_t, *);
			else
				PX_BITPACK_RANGE(uint8_t, *);
			break;
		case 2:
			if (is_signed)
				PX_BITPACK_RANGE(int16_t, px_load_u16);
			else
				PX_BITPACK_RANGE(uint16_t, px_load_u16);
			break;
		case 4:
			if (is_signed)
				PX_BITPACK_RANGE(int32_t, px_load_u32);
			else
				PX_BITPACK_RANGE(uint32_t, px_load_u32);
			break;
		default:
			if (is_signed)
				PX_BITPACK_RANGE(int64_t, px_load_u64);
			else
				PX_BITPACK_RANGE(uint64_t, px_load_u64);
			break;
	}

	*b = range == 0 ? 0 : (unsigned) pg_leftmost_one_pos64(range) + 1;
}

/* ---------------------------------------------------------------------
 * Encoding
 * --------------------------------------------------------------------- */

/*
 * Differences to the base.  They are below 2^b and b below 8 * width, so
 * computing modulo 2^(8 * width) is exact whether values have a sign or not.
 */
#define PX_BITPACK_SUBTRACT(ctype, load) \
	do { \
		for (uint32_t i = 0; i < n; i++) \
			delta[i] = (ctype) (load(values + i * sizeof(ctype)) - base); \
	} while (0)

static void
px_bitpack_subtract32(const uint8_t *values, uint32_t n, unsigned width,
					  uint32_t base, uint32_t *pg_restrict delta)
{
	switch (width)
	{
		case 1:
			PX_BITPACK_SUBTRACT(uint8_t, *);
			break;
		case 2:
			PX_BITPACK_SUBTRACT(uint16_t, px_load_u16);
			break;
		case 4:
			PX_BITPACK_SUBTRACT(uint32_t, px_load_u32);
			break;
		default:
			for (uint32_t i = 0; i < n; i++)
				delta[i] = px_load_u32(values + i * 8) - base;
			break;
	}
}

static void
px_bitpack_subtract64(const uint8_t *values, uint32_t n,
					  uint64_t base, uint64_t *pg_restrict delta)
{
	PX_BITPACK_SUBTRACT(uint64_t, px_load_u64);
}

/*
 * Pack one block.  Each lane collects bits in a word and writes it out when
 * it is full; the bits of a value that did not fit begin the next word.  That
 * may be none, hence two shifts: one by the size of the word is undefined.
 */
static void
px_bitpack_pack32(const uint32_t *delta, unsigned b, uint8_t *out)
{
	px_lanes32	word = {0};
	unsigned	shift = 0;

	for (int step = 0; step < PX_BITPACK_STEPS32; step++)
	{
		px_lanes32	value;

		memcpy(&value, delta, sizeof(value));
		delta += PX_BITPACK_LANES32;

		word |= value << shift;
		shift += b;
		if (shift >= 32)
		{
			shift -= 32;
			px_lanes32_store(out, &word);
			out += sizeof(word);
			word = value >> (b - shift - 1) >> 1;
		}
	}
}

static void
px_bitpack_pack64(const uint64_t *delta, unsigned b, uint8_t *out)
{
	px_lanes64	word = {0};
	unsigned	shift = 0;

	for (int step = 0; step < PX_BITPACK_STEPS64; step++)
	{
		px_lanes64	value;

		memcpy(&value, delta, sizeof(value));
		delta += PX_BITPACK_LANES64;

		word |= value << shift;
		shift += b;
		if (shift >= 64)
		{
			shift -= 64;
			px_lanes64_store(out, &word);
			out += sizeof(word);
			word = value >> (b - shift - 1) >> 1;
		}
	}
}

/*
 * Pack the rest, fewer values than a block.  A value of up to 63 bits touches
 * up to 9 bytes, so the bits are put together with some room after them.
 */
static void
px_bitpack_pack_rest(const uint64_t *delta, uint32_t n, unsigned b,
					 uint8_t *out)
{
	uint8_t		bits[PX_BITPACK_REST_NBYTES_MAX + 9] = {0};
	size_t		pos = 0;

	for (uint32_t i = 0; i < n; i++)
	{
		uint8_t    *p = bits + pos / 8;
		unsigned	shift = pos % 8;

		px_store_u64(p, px_load_u64(p) | delta[i] << shift);
		if (shift + b > 64)
			p[8] = (uint8_t) (delta[i] >> (64 - shift));
		pos += b;
	}

	memcpy(out, bits, (pos + 7) / 8);
}

void
px_bitpack_encode(const uint8_t *values, uint32_t n, unsigned width,
				  int64_t base, unsigned b, uint8_t *out)
{
	uint32_t	delta32[PX_BITPACK_BLOCK_VALUES];
	uint64_t	delta64[PX_BITPACK_BLOCK_VALUES];

	Assert(b >= 1 && b <= 63 && b < 8 * width);

	memset(out, 0, PX_BITPACK_HEADER_NBYTES);
	px_store_u64(out, (uint64_t) base);
	out[8] = (uint8_t) b;
	out += PX_BITPACK_HEADER_NBYTES;

	for (; n >= PX_BITPACK_BLOCK_VALUES; n -= PX_BITPACK_BLOCK_VALUES)
	{
		if (b <= 32)
		{
			px_bitpack_subtract32(values, PX_BITPACK_BLOCK_VALUES, width,
								  (uint32_t) base, delta32);
			px_bitpack_pack32(delta32, b, out);
		}
		else
		{
			px_bitpack_subtract64(values, PX_BITPACK_BLOCK_VALUES,
								  (uint64_t) base, delta64);
			px_bitpack_pack64(delta64, b, out);
		}
		values += PX_BITPACK_BLOCK_VALUES * width;
		out += PX_BITPACK_BLOCK_NBYTES(b);
	}

	if (b <= 32)
	{
		px_bitpack_subtract32(values, n, width, (uint32_t) base, delta32);
		for (uint32_t i = 0; i < n; i++)
			delta64[i] = delta32[i];
	}
	else
		px_bitpack_subtract64(values, n, (uint64_t) base, delta64);
	px_bitpack_pack_rest(delta64, n, b, out);
}

/* ---------------------------------------------------------------------
 * Decoding
 * --------------------------------------------------------------------- */

/* Unpack one block: pack's counterpart.  There is no word after the last. */
static void
px_bitpack_unpack32(const uint8_t *in, unsigned b, uint32_t *delta)
{
	const uint32_t mask = UINT32_MAX >> (32 - b);
	px_lanes32	word;
	unsigned	shift = 0;

	px_lanes32_load(&word, in);
	for (int step = 0; step < PX_BITPACK_STEPS32; step++)
	{
		px_lanes32	value = word >> shift;

		shift += b;
		if (shift >= 32 && step < PX_BITPACK_STEPS32 - 1)
		{
			shift -= 32;
			in += sizeof(word);
			px_lanes32_load(&word, in);
			value |= word << (b - shift - 1) << 1;
		}
		value &= mask;

		memcpy(delta, &value, sizeof(value));
		delta += PX_BITPACK_LANES32;
	}
}

static void
px_bitpack_unpack64(const uint8_t *in, unsigned b, uint64_t *delta)
{
	const uint64_t mask = UINT64_MAX >> (64 - b);
	px_lanes64	word;
	unsigned	shift = 0;

	px_lanes64_load(&word, in);
	for (int step = 0; step < PX_BITPACK_STEPS64; step++)
	{
		px_lanes64	value = word >> shift;

		shift += b;
		if (shift >= 64 && step < PX_BITPACK_STEPS64 - 1)
		{
			shift -= 64;
			in += sizeof(word);
			px_lanes64_load(&word, in);
			value |= word << (b - shift - 1) << 1;
		}
		value &= mask;

		memcpy(delta, &value, sizeof(value));
		delta += PX_BITPACK_LANES64;
	}
}

static void
px_bitpack_decode_block(const uint8_t *in, unsigned b, uint64_t base,
						int64_t *pg_restrict out)
{
	if (b <= 32)
	{
		uint32_t	delta[PX_BITPACK_BLOCK_VALUES];

		px_bitpack_unpack32(in, b, delta);
		for (int i = 0; i < PX_BITPACK_BLOCK_VALUES; i++)
			out[i] = (int64_t) (base + delta[i]);
	}
	else
	{
		uint64_t	delta[PX_BITPACK_BLOCK_VALUES];

		px_bitpack_unpack64(in, b, delta);
		for (int i = 0; i < PX_BITPACK_BLOCK_VALUES; i++)
			out[i] = (int64_t) (base + delta[i]);
	}
}

/* The counterpart of px_bitpack_pack_rest; false if spare bits are set. */
static bool
px_bitpack_unpack_rest(const uint8_t *in, uint32_t n, unsigned b,
					   uint64_t base, int64_t *out)
{
	const uint64_t mask = UINT64_MAX >> (64 - b);
	uint8_t		bits[PX_BITPACK_REST_NBYTES_MAX + 9];
	size_t		nbytes = ((size_t) n * b + 7) / 8;
	size_t		pos = 0;

	memcpy(bits, in, nbytes);
	memset(bits + nbytes, 0, 9);

	for (uint32_t i = 0; i < n; i++)
	{
		const uint8_t *p = bits + pos / 8;
		unsigned	shift = pos % 8;
		uint64_t	delta = px_load_u64(p) >> shift;

		if (shift + b > 64)
			delta |= (uint64_t) p[8] << (64 - shift);
		out[i] = (int64_t) (base + (delta & mask));
		pos += b;
	}

	return pos % 8 == 0 || bits[pos / 8] >> (pos % 8) == 0;
}

/*
 * Check that base is a value of the type, and set *room to the largest
 * difference that leads to another one.
 */
static bool
px_bitpack_room(int64_t base, unsigned width, bool is_signed, uint64_t *room)
{
	uint64_t	umax = UINT64_MAX >> (64 - 8 * width);

	if (is_signed)
	{
		int64_t		max = (int64_t) (umax >> 1);

		*room = (uint64_t) max - (uint64_t) base;
		return base <= max && base >= -max - 1;
	}

	*room = umax - (uint64_t) base;
	return (uint64_t) base <= umax;
}

/* Read the header, and check everything that does not need the values. */
static px_status
px_bitpack_read_header(const uint8_t *encoded, size_t encoded_nbytes,
					   uint32_t n, unsigned width, uint64_t *base, unsigned *b,
					   px_fault *fault)
{
	uint64_t	b_and_zeros;
	size_t		expected;

	if (encoded_nbytes < PX_BITPACK_HEADER_NBYTES)
		return px_fail(fault, PX_TRUNCATED, "frame of reference header",
					   PX_BITPACK_HEADER_NBYTES, encoded_nbytes);

	*base = px_load_u64(encoded);
	b_and_zeros = px_load_u64(encoded + 8);
	if (b_and_zeros < 1 || b_and_zeros >= 8 * width)
		return px_fail(fault, PX_BAD_VALUE, "frame of reference bit width",
					   8 * width - 1, b_and_zeros);
	*b = (unsigned) b_and_zeros;

	expected = px_bitpack_nbytes(n, *b);
	if (encoded_nbytes < expected)
		return px_fail(fault, PX_TRUNCATED, "frame of reference values",
					   expected, encoded_nbytes);
	if (encoded_nbytes > expected)
		return px_fail(fault, PX_TRAILING, "frame of reference values",
					   expected, encoded_nbytes);

	return PX_OK;
}

px_status
px_bitpack_decode(const uint8_t *encoded, size_t encoded_nbytes, uint32_t n,
				  unsigned width, bool is_signed, int64_t *out,
				  px_fault *fault)
{
	const uint8_t *in = encoded + PX_BITPACK_HEADER_NBYTES;
	uint32_t	done = 0;
	uint64_t	base;
	uint64_t	room;
	unsigned	b;
	px_status	status;

	status = px_bitpack_read_header(encoded, encoded_nbytes, n, width,
									&base, &b, fault);
	if (status != PX_OK)
		return status;
	if (!px_bitpack_room((int64_t) base, width, is_signed, &room))
		return px_fail(fault, PX_BAD_VALUE, "frame of reference base",
					   0, base);

	for (; n - done >= PX_BITPACK_BLOCK_VALUES;
		 done += PX_BITPACK_BLOCK_VALUES)
	{
		px_bitpack_decode_block(in, b, base, out + done);
		in += PX_BITPACK_BLOCK_NBYTES(b);
	}
	if (!px_bitpack_unpack_rest(in, n - done, b, base, out + done))
		return px_fail(fault, PX_BAD_VALUE, "frame of reference spare bits",
					   0, 1);

	/* Look at the values only if some that b bits can hold are too large. */
	if (room < UINT64_MAX >> (64 - b))
	{
		for (uint32_t i = 0; i < n; i++)
		{
			if ((uint64_t) out[i] - base > room)
				return px_fail(fault, PX_BAD_VALUE,
							   "frame of reference difference",
							   room, (uint64_t) out[i] - base);
		}
	}

	return PX_OK;
}
