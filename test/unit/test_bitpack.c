/*-------------------------------------------------------------------------
 *
 * test_bitpack.c
 *		Tests of frame of reference + bit-packing (column/ints/bitpack.h).
 *
 * The layout is checked against a second, naive implementation, which goes
 * bit by bit through the description in doc/wire.md.
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include <stdlib.h>

#include "column/ints/bitpack.h"
#include "unit.h"
#include "base/bytes.h"

static const uint32_t counts[] = {
	1, 2, 7, 8, 9, 31, 255, 256, 257, 511, 512, 513, 4095, 4096, 4097
};
static const unsigned widths[] = {1, 2, 4, 8};

#define COUNT_MAX	65536

/* The low bytes of a value, as they stand in a column. */
static void
put(uint8_t *values, uint32_t i, unsigned width, uint64_t value)
{
	uint8_t		bytes[8];

	px_store_u64(bytes, value);
	memcpy(values + (size_t) i * width, bytes, width);
}

/* The value that those bytes stand for. */
static int64_t
get(const uint8_t *values, uint32_t i, unsigned width, bool is_signed)
{
	uint8_t		bytes[8] = {0};
	unsigned	spare = 64 - 8 * width;

	memcpy(bytes, values + (size_t) i * width, width);
	if (is_signed)
		return (int64_t) (px_load_u64(bytes) << spare) >> spare;
	return (int64_t) px_load_u64(bytes);
}

/* Smallest value of the type. */
static int64_t
lowest(unsigned width, bool is_signed)
{
	return is_signed ? (int64_t) (UINT64_MAX << (8 * width - 1)) : 0;
}

/* n values from base on whose largest difference takes exactly b bits. */
static void
fill(uint8_t *values, uint32_t n, unsigned width, uint64_t base, unsigned b)
{
	for (uint32_t i = 0; i < n; i++)
		put(values, i, width, base + (unit_random() >> (64 - b)));
	put(values, n - 1, width, base + (UINT64_C(1) << (b - 1)));
	put(values, 0, width, base);
}

static bool
bit_at(const uint8_t *data, size_t bit)
{
	return (data[bit / 8] >> (bit % 8)) & 1;
}

/* Difference i out of the encoded form, bit by bit. */
static uint64_t
naive_difference(const uint8_t *encoded, uint32_t n, unsigned b, uint32_t i)
{
	const uint8_t *data = encoded + PX_BITPACK_HEADER_NBYTES;
	uint32_t	whole = n / 256 * 256;
	uint64_t	value = 0;

	for (unsigned k = 0; k < b; k++)
	{
		size_t		bit;

		if (i >= whole)
			bit = (size_t) whole * b + (size_t) (i - whole) * b + k;
		else
		{
			unsigned	word_bits = b <= 32 ? 32 : 64;
			unsigned	lanes = 256 / word_bits;
			unsigned	lane = i % 256 % lanes;
			unsigned	in_lane = i % 256 / lanes * b + k;
			unsigned	word = in_lane / word_bits * lanes + lane;

			bit = (size_t) (i / 256) * 256 * b +
				(size_t) word * word_bits + in_lane % word_bits;
		}
		value |= (uint64_t) bit_at(data, bit) << k;
	}

	return value;
}

/* Encode n values and decode them again; all buffers end at guard pages. */
static void
check_round_trip(const uint8_t *values, uint32_t n, unsigned width,
				 bool is_signed, int64_t base_expected, unsigned b_expected)
{
	unit_guarded in = unit_guarded_copy(values, (size_t) n * width);
	unit_guarded encoded;
	unit_guarded out;
	int64_t		base;
	unsigned	b;
	const int64_t *decoded;
	uint32_t	wrong = 0;

	px_bitpack_measure(in.data, n, width, is_signed, &base, &b);
	CHECK_EQ(base, base_expected);
	if (!CHECK_EQ(b, b_expected))
		return;

	encoded = unit_guarded_new(px_bitpack_nbytes(n, b));
	out = unit_guarded_new(n * sizeof(int64_t));
	px_bitpack_encode(in.data, n, width, base, b, encoded.data);
	CHECK_EQ(px_bitpack_decode(encoded.data, encoded.nbytes, n, width,
							   is_signed, (int64_t *) out.data, NULL),
			 PX_OK);

	decoded = (const int64_t *) out.data;
	for (uint32_t i = 0; i < n; i++)
	{
		int64_t		value = get(values, i, width, is_signed);

		wrong += decoded[i] != value;
		if (n <= 600)
			wrong += naive_difference(encoded.data, n, b, i) !=
				(uint64_t) value - (uint64_t) base;
	}
	if (!CHECK_EQ(wrong, 0))
		printf("# with n %u, width %u, b %u\n", n, width, b);

	unit_guarded_free(&in);
	unit_guarded_free(&encoded);
	unit_guarded_free(&out);
}

static void
every_bit_width_and_count_round_trips(void)
{
	uint8_t    *values = unit_alloc(COUNT_MAX * 8);

	for (size_t w = 0; w < lengthof(widths); w++)
	{
		for (unsigned b = 1; b < 8 * widths[w]; b++)
		{
			for (size_t c = 1; c < lengthof(counts); c++)
			{
				for (int is_signed = 0; is_signed < 2; is_signed++)
				{
					int64_t		base = lowest(widths[w], is_signed);

					/* from the lowest value, and around 0 */
					fill(values, counts[c], widths[w], (uint64_t) base, b);
					check_round_trip(values, counts[c], widths[w], is_signed,
									 base, b);
					if (!is_signed)
						continue;
					fill(values, counts[c], widths[w], (uint64_t) -1, b);
					if (b < 8 * widths[w] - 1)
						check_round_trip(values, counts[c], widths[w],
										 is_signed, -1, b);
				}
			}
		}
	}
	free(values);
}

static void
largest_batches_round_trip(void)
{
	uint8_t    *values = unit_alloc(COUNT_MAX * 8);

	for (unsigned b = 1; b <= 63; b += 31)
	{
		for (uint32_t n = COUNT_MAX - 1; n <= COUNT_MAX; n++)
		{
			fill(values, n, 8, 5, b);
			check_round_trip(values, n, 8, false, 5, b);
		}
	}
	free(values);
}

static void
values_up_to_the_largest_round_trip(void)
{
	uint8_t		values[300 * 8];

	for (size_t w = 0; w < lengthof(widths); w++)
	{
		unsigned	width = widths[w];

		for (int is_signed = 0; is_signed < 2; is_signed++)
		{
			uint64_t	max = (UINT64_MAX >> (64 - 8 * width)) >> is_signed;

			for (unsigned b = 1; b < 8 * width; b++)
			{
				uint64_t	span = UINT64_MAX >> (64 - b);

				for (uint32_t i = 0; i < 300; i++)
					put(values, i, width, max - (unit_random() & span));
				put(values, 0, width, max);
				put(values, 299, width, max - span);
				check_round_trip(values, 300, width, is_signed,
								 (int64_t) (max - span), b);
			}
		}
	}
}

static void
the_least_and_the_greatest_value_are_found(void)
{
	uint8_t		values[16];
	int64_t		base;
	unsigned	b;

	for (size_t w = 0; w < lengthof(widths); w++)
	{
		unsigned	width = widths[w];

		put(values, 0, width, 0);
		put(values, 1, width, UINT64_MAX);
		px_bitpack_measure(values, 2, width, false, &base, &b);
		CHECK_EQ(base, 0);
		CHECK_EQ(b, 8 * width);
		px_bitpack_measure(values, 2, width, true, &base, &b);
		CHECK_EQ(base, -1);
		CHECK_EQ(b, 1);

		put(values, 0, width, (uint64_t) lowest(width, true));
		put(values, 1, width, ~(uint64_t) lowest(width, true));
		px_bitpack_measure(values, 2, width, true, &base, &b);
		CHECK_EQ(base, lowest(width, true));
		CHECK_EQ(b, 8 * width);

		put(values, 0, width, 77);
		put(values, 1, width, 77);
		px_bitpack_measure(values, 2, width, true, &base, &b);
		CHECK_EQ(base, 77);
		CHECK_EQ(b, 0);
		px_bitpack_measure(values, 1, width, false, &base, &b);
		CHECK_EQ(base, 77);
		CHECK_EQ(b, 0);
	}
}

static void
known_values_have_known_bytes(void)
{
	/* 10, 11, 13, 10, 17: differences 0, 1, 3, 0, 7 in three bits each */
	static const uint8_t rest[] = {
		10, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0xc8, 0x70
	};
	uint8_t		values[256] = {10, 11, 13, 10, 17};
	uint8_t		out[PX_BITPACK_HEADER_NBYTES + 96];
	int64_t		base;
	unsigned	b;

	px_bitpack_measure(values, 5, 1, false, &base, &b);
	CHECK_EQ(px_bitpack_nbytes(5, b), sizeof(rest));
	px_bitpack_encode(values, 5, 1, base, b, out);
	CHECK_MEM(out, rest, sizeof(rest));

	/*
	 * In a block, value 8 * j is value j of lane 0: with the value 5 at 80,
	 * lane 0 has its 10th difference in bits 30 to 32, across two words.
	 */
	memset(values, 0, sizeof(values));
	values[80] = 5;
	px_bitpack_measure(values, 256, 1, false, &base, &b);
	CHECK_EQ(b, 3);
	CHECK_EQ(px_bitpack_nbytes(256, b), sizeof(out));
	px_bitpack_encode(values, 256, 1, base, b, out);
	for (size_t i = 0; i < 96; i++)
		CHECK_EQ(out[PX_BITPACK_HEADER_NBYTES + i],
				 i == 3 ? 0x40 : i == 32 ? 0x01 : 0);
}

static void
wrong_sizes_are_refused(void)
{
	uint8_t		values[300 * 4];
	uint8_t    *encoded;
	int64_t		out[300];
	size_t		nbytes = px_bitpack_nbytes(300, 13);

	fill(values, 300, 4, 1000, 13);
	encoded = unit_alloc(nbytes + 8);
	px_bitpack_encode(values, 300, 4, 1000, 13, encoded);
	for (size_t n = 0; n <= nbytes + 8; n++)
	{
		unit_guarded g = unit_guarded_copy(encoded, n);

		CHECK_EQ(px_bitpack_decode(g.data, n, 300, 4, true, out, NULL),
				 n < nbytes ? PX_TRUNCATED : n > nbytes ? PX_TRAILING : PX_OK);
		unit_guarded_free(&g);
	}
	CHECK_EQ(px_bitpack_decode(encoded, nbytes, 299, 4, true, out, NULL),
			 PX_TRAILING);
	free(encoded);
}

static void
bad_headers_are_refused(void)
{
	uint8_t		encoded[PX_BITPACK_HEADER_NBYTES + 64] = {0};
	int64_t		out[8];

	for (size_t w = 0; w < lengthof(widths); w++)
	{
		for (unsigned b = 0; b < 256; b++)
		{
			unsigned	width = widths[w];
			bool		valid = b >= 1 && b < 8 * width;

			encoded[8] = (uint8_t) b;
			CHECK_EQ(px_bitpack_decode(encoded,
									   valid ? px_bitpack_nbytes(8, b) : 80, 8,
									   width, true, out, NULL),
					 valid ? PX_OK : PX_BAD_VALUE);
		}
	}

	encoded[8] = 1;
	for (int i = 9; i < PX_BITPACK_HEADER_NBYTES; i++)
	{
		encoded[i] = 0x80;
		CHECK_EQ(px_bitpack_decode(encoded, px_bitpack_nbytes(8, 1), 8, 4,
								   true, out, NULL),
				 PX_BAD_VALUE);
		encoded[i] = 0;
	}
}

static void
spare_bits_are_refused(void)
{
	uint8_t		encoded[PX_BITPACK_HEADER_NBYTES + 4] = {0};
	int64_t		out[3];

	/* 3 values of 9 bits: 27 bits, 5 spare ones */
	encoded[8] = 9;
	CHECK_EQ(
		px_bitpack_decode(encoded, sizeof(encoded), 3, 2, false, out, NULL),
		PX_OK);
	for (int bit = 0; bit < 32; bit++)
	{
		encoded[PX_BITPACK_HEADER_NBYTES + bit / 8] = (uint8_t) (1 << bit % 8);
		CHECK_EQ(px_bitpack_decode(encoded, sizeof(encoded), 3, 2, false, out,
								   NULL),
				 bit < 27 ? PX_OK : PX_BAD_VALUE);
		encoded[PX_BITPACK_HEADER_NBYTES + bit / 8] = 0;
	}
}

/* One difference of all ones on top of a base: in range or not? */
static px_status
decode_top(int64_t base, unsigned b, uint32_t n, uint32_t at, unsigned width,
		   bool is_signed)
{
	uint8_t    *values = unit_alloc(n * 8);
	uint8_t    *encoded = unit_alloc(px_bitpack_nbytes(n, b));
	int64_t    *out = unit_alloc(n * sizeof(int64_t));
	px_status	status;

	/* width 8 lets px_bitpack_encode write what a forger would */
	put(values, at, 8, UINT64_MAX >> (64 - b));
	px_bitpack_encode(values, n, 8, 0, b, encoded);
	px_store_u64(encoded, (uint64_t) base);
	status = px_bitpack_decode(encoded, px_bitpack_nbytes(n, b), n, width,
							   is_signed, out, NULL);
	free(values);
	free(encoded);
	free(out);

	return status;
}

static void
results_out_of_range_are_refused(void)
{
	static const struct
	{
		uint32_t	n;
		uint32_t	at;
	} places[] = {{1, 0},     {5, 4},     {256, 0},
				  {256, 255}, {300, 100}, {300, 299}};

	for (size_t p = 0; p < lengthof(places); p++)
	{
		for (size_t w = 0; w < lengthof(widths); w++)
		{
			unsigned	width = widths[w];

			for (int is_signed = 0; is_signed < 2; is_signed++)
			{
				uint64_t max = (UINT64_MAX >> (64 - 8 * width)) >> is_signed;

				for (unsigned b = 1; b < 8 * width; b++)
				{
					uint64_t	top = max - (UINT64_MAX >> (64 - b));

					CHECK_EQ(decode_top((int64_t) top, b, places[p].n,
										places[p].at, width, is_signed),
							 PX_OK);
					CHECK_EQ(decode_top((int64_t) (top + 1), b, places[p].n,
										places[p].at, width, is_signed),
							 PX_BAD_VALUE);
				}
			}
		}
	}
}

static void
bases_out_of_range_are_refused(void)
{
	for (size_t w = 0; w + 1 < lengthof(widths); w++)
	{
		unsigned	width = widths[w];
		int64_t		limit = INT64_C(1) << (8 * width - 1);

		CHECK_EQ(decode_top(-limit, 1, 9, 0, width, true), PX_OK);
		CHECK_EQ(decode_top(-limit - 1, 1, 9, 0, width, true), PX_BAD_VALUE);
		CHECK_EQ(decode_top(limit, 1, 9, 0, width, true), PX_BAD_VALUE);
		CHECK_EQ(decode_top(INT64_MIN, 1, 9, 0, width, true), PX_BAD_VALUE);
		CHECK_EQ(decode_top(-1, 1, 9, 0, width, false), PX_BAD_VALUE);
		CHECK_EQ(decode_top(2 * limit, 1, 9, 0, width, false), PX_BAD_VALUE);
	}
	CHECK_EQ(decode_top(INT64_MIN, 1, 9, 0, 8, true), PX_OK);
	CHECK_EQ(decode_top(-2, 1, 9, 0, 8, false), PX_OK);
}

static void
random_bytes_never_crash(void)
{
	for (int i = 0; i < 20000; i++)
	{
		uint32_t	n = 1 + unit_random() % 600;
		unsigned	width = widths[unit_random() % 4];
		unsigned	b = 1 + unit_random() % (8 * width - 1);
		uint8_t    *encoded = unit_alloc(px_bitpack_nbytes(n, b));
		int64_t    *out = unit_alloc(n * sizeof(int64_t));

		unit_random_bytes(encoded, px_bitpack_nbytes(n, b));
		if (i % 2)
		{
			px_store_u64(encoded + 8, b);
			px_store_u64(encoded, unit_random() >> (64 - 8 * width));
		}
		(void) px_bitpack_decode(encoded, px_bitpack_nbytes(n, b), n, width,
								 i & 4, out, NULL);
		free(encoded);
		free(out);
	}
}

int
main(void)
{
	RUN(known_values_have_known_bytes);
	RUN(the_least_and_the_greatest_value_are_found);
	RUN(every_bit_width_and_count_round_trips);
	RUN(largest_batches_round_trip);
	RUN(values_up_to_the_largest_round_trip);
	RUN(wrong_sizes_are_refused);
	RUN(bad_headers_are_refused);
	RUN(spare_bits_are_refused);
	RUN(results_out_of_range_are_refused);
	RUN(bases_out_of_range_are_refused);
	RUN(random_bytes_never_crash);

	return unit_done();
}
