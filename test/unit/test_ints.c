/*-------------------------------------------------------------------------
 *
 * test_ints.c
 *		Tests of integer streams and their transforms: delta, runs, factors.
 *
 * Whatever a stream is written as, it is read back from a buffer that ends at
 * a guard page.
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include <stdlib.h>

#include "column/ints/ints.h"
#include "unit.h"

#define N_MAX	5000

/* Every way to transform a stream, without a factor. */
static const px_ints_plan plans[] = {
	{{PX_ENC_PLAIN}, 0},
	{{PX_ENC_DELTA}, 0},
	{{PX_ENC_RLE}, 0},
	{{PX_ENC_RLE, PX_ENC_DELTA}, 0}
};

static const uint32_t counts[] = {16, 17, 255, 256, 257, 1000, N_MAX};

static uint8_t scratch[N_MAX * 16];
static uint8_t encoded[N_MAX * 40];
static int64_t decoded[N_MAX];
static int64_t read_scratch[N_MAX];

/* Values as px_column has them. */
typedef struct stream
{
	px_ints		ints;
	int64_t		numbers[N_MAX];
	uint8_t		values[N_MAX * 8];
} stream;

static stream the_stream;

static stream *
stream_init(uint32_t n, uint8_t width, bool is_signed)
{
	the_stream.ints = (px_ints) {the_stream.values, n, width, is_signed};

	return &the_stream;
}

static void
stream_set(stream *s, uint32_t i, int64_t number)
{
	uint8_t		bytes[8];

	px_store_u64(bytes, (uint64_t) number);
	memcpy(s->values + (size_t) i * s->ints.width, bytes, s->ints.width);
	s->numbers[i] = number;
}

/* The same with a factor before it; 1: without. */
static px_ints_plan
scaled_plan(px_ints_plan plan, uint64_t factor)
{
	if (factor == 1)
		return plan;
	memmove(plan.transforms + 1, plan.transforms, PX_TRANSFORMS_MAX);
	plan.transforms[0] = PX_ENC_SCALED;
	plan.factor = factor;

	return plan;
}

static px_status
read_stream(uint8_t encoding, const uint8_t *bytes, size_t nbytes, uint32_t n,
			uint8_t width, bool is_signed)
{
	unit_guarded g = unit_guarded_copy(bytes, nbytes);
	px_int_stream stream = {encoding, width, is_signed, 0, n, g.data, nbytes};
	px_fault	fault = {0};
	px_status	status;

	status = px_ints_read(&stream, read_scratch, decoded, &fault);
	CHECK_EQ(fault.status, status);
	unit_guarded_free(&g);

	return status;
}

/* Write by a plan, read, compare; returns the encoded size. */
static size_t
round_trip(const stream *s, const px_ints_plan *plan, uint8_t *encoding,
		   bool *stale)
{
	px_writer	out = {encoded, sizeof(encoded), 0};
	uint32_t	wrong = 0;

	*stale = false;
	CHECK_EQ(px_ints_write(&out, &s->ints, plan, scratch, encoding, stale),
			 PX_OK);
	CHECK_EQ(read_stream(*encoding, encoded, out.pos, s->ints.n, s->ints.width,
						 s->ints.is_signed), PX_OK);
	for (uint32_t i = 0; i < s->ints.n; i++)
		wrong += decoded[i] != s->numbers[i];
	CHECK_EQ(wrong, 0);

	return out.pos;
}

/*
 * The same by the plan that is chosen; the result is not larger than was said.
 */
static uint8_t
choose_and_round_trip(const stream *s, size_t *nbytes)
{
	px_ints_plan plan;
	size_t		estimate;
	uint8_t		encoding;
	bool		stale;

	px_ints_choose(&s->ints, &plan, &estimate);
	*nbytes = round_trip(s, &plan, &encoding, &stale);
	CHECK(!stale);
	/*
	 * Padding of children; differences of more than 63 bits are estimated
	 * modulo 2^64.
	 */
	if (s->ints.width < 8 && !CHECK(*nbytes <= estimate + 64))
		printf(
			"# %zu bytes by %s, factor %llu, width %u, of %u values; %zu expected\n",
			*nbytes, px_encoding_name(plan.transforms[0]),
			(unsigned long long) plan.factor, s->ints.width, s->ints.n,
			estimate);

	return encoding;
}

static void
every_plan_for_random_values_round_trips(void)
{
	for (uint8_t width = 1; width <= 8; width *= 2)
	{
		for (int is_signed = 0; is_signed < 2; is_signed++)
		{
			for (size_t c = 0; c < lengthof(counts); c++)
			{
				stream	   *s = stream_init(counts[c], width, is_signed);
				int			shift = 64 - 8 * width;

				for (uint32_t i = 0; i < counts[c]; i++)
				{
					uint64_t	bits = unit_random() << shift;

					stream_set(s, i,
							   is_signed ? (int64_t) bits >> shift
										 : (int64_t) (bits >> shift));
				}
				for (size_t p = 0; p < lengthof(plans); p++)
				{
					uint8_t		encoding;
					bool		stale;

					(void) round_trip(s, &plans[p], &encoding, &stale);
				}
			}
		}
	}
}

static void
the_least_and_the_greatest_integers_round_trip(void)
{
	static const int64_t limits[] = {INT64_MIN, INT64_MAX, 0,
									 -1,        1,         INT64_MIN + 1};

	for (size_t p = 0; p < lengthof(plans); p++)
	{
		bool		runs = plans[p].transforms[0] == PX_ENC_RLE;

		for (uint64_t factor = 1; factor <= 3; factor++)
		{
			stream	   *s = stream_init(600, 8, true);
			px_ints_plan plan = scaled_plan(plans[p], factor);
			uint8_t		encoding;
			bool		stale;

			for (uint32_t i = 0; i < 600; i++)
				stream_set(s, i,
						   limits[i / (runs ? 4 : 1) % lengthof(limits)]);
			(void) round_trip(s, &plan, &encoding, &stale);
		}
	}
}

static void
growing_values_are_written_as_differences(void)
{
	stream	   *s = stream_init(4096, 4, true);
	size_t		nbytes;
	int64_t		value = INT32_MIN;

	for (uint32_t i = 0; i < 4096; i++)
	{
		stream_set(s, i, value);
		value += 1 + (int64_t) (unit_random() % 8);
	}
	CHECK_EQ(choose_and_round_trip(s, &nbytes), PX_ENC_DELTA);
	CHECK(nbytes <= 4096 * 3 / 8 + 64);
}

static void
runs_are_written_as_runs(void)
{
	stream	   *s = stream_init(4096, 8, true);
	size_t		nbytes;

	for (uint32_t i = 0; i < 4096; i++)
		stream_set(s, i, (int64_t) (i / 64 * 7919 % 65521) << 20);
	CHECK_EQ(choose_and_round_trip(s, &nbytes) == PX_ENC_RLE ||
			 choose_and_round_trip(s, &nbytes) == PX_ENC_SCALED, true);
	CHECK(nbytes < 400);

	/* and where they grow, with differences inside */
	for (uint32_t i = 0; i < 4096; i++)
		stream_set(s, i, INT64_C(1) << 60 | i / 4);
	CHECK_EQ(choose_and_round_trip(s, &nbytes), PX_ENC_RLE);
	CHECK(nbytes < 100);
}

static void
multiples_are_written_by_their_factor(void)
{
	static const uint64_t factors[] = {
		2, 3, 7, 100, 1000000, 86400000000, 65536, UINT64_C(1) << 50};

	for (size_t f = 0; f < lengthof(factors); f++)
	{
		stream	   *s = stream_init(1000, 8, true);
		size_t		nbytes;

		for (uint32_t i = 0; i < 1000; i++)
			stream_set(s, i,
					   -77 + (int64_t) (unit_random() % 4096 * factors[f]));
		stream_set(s, 0, -77);
		stream_set(s, 1, -77 + (int64_t) factors[f]);
		if (factors[f] >= 7)
			CHECK_EQ(choose_and_round_trip(s, &nbytes), PX_ENC_SCALED);
		else
			(void) choose_and_round_trip(s, &nbytes);
		CHECK(nbytes <= 1000 * 14 / 8 + 80);
	}
}

/* A plan made for other values: correct all the same, and said to be stale. */
static void
unsuitable_plans_fall_back(void)
{
	stream	   *s = stream_init(1000, 8, true);
	px_ints_plan plan = {{PX_ENC_RLE}, 0};
	uint8_t		encoding;
	bool		stale;

	for (uint32_t i = 0; i < 1000; i++)
		stream_set(s, i, (int64_t) unit_random() >> 40);
	(void) round_trip(s, &plan, &encoding, &stale);
	CHECK(stale);
	CHECK_EQ(encoding, PX_ENC_FOR);
	plan = (px_ints_plan) {{PX_ENC_SCALED}, 10};
	(void) round_trip(s, &plan, &encoding, &stale);
	CHECK(stale);
	CHECK_EQ(encoding, PX_ENC_FOR);
	for (uint32_t i = 0; i < 1000; i++)
		stream_set(s, i, s->numbers[i] * 10);
	plan = (px_ints_plan) {{PX_ENC_SCALED, PX_ENC_RLE, PX_ENC_DELTA}, 10};
	(void) round_trip(s, &plan, &encoding, &stale);
	CHECK(stale);
	CHECK_EQ(encoding, PX_ENC_FOR);
	plan = (px_ints_plan) {{PX_ENC_SCALED, PX_ENC_DELTA}, 10};
	(void) round_trip(s, &plan, &encoding, &stale);
	CHECK(!stale);
	CHECK_EQ(encoding, PX_ENC_SCALED);
}

/* Any difference to the smallest value there is. */
static void
quotients_are_whole_or_refused(void)
{
	static const uint64_t factors[] = {2,
									   3,
									   5,
									   6,
									   10,
									   12,
									   100,
									   4096,
									   999999937,
									   UINT64_MAX,
									   UINT64_C(1) << 63};

	for (size_t f = 0; f < lengthof(factors); f++)
	{
		uint64_t	factor = factors[f];
		px_ints_plan plan = {{PX_ENC_SCALED}, factor};

		for (int i = 0; i < 2000; i++)
		{
			uint64_t	quotient = unit_random() %
				(UINT64_MAX / factor + 1 ? UINT64_MAX / factor + 1 : 1);
			uint64_t	more = unit_random() % factor;
			uint64_t	base = (uint64_t) INT64_MIN;
			uint64_t	values[2] = {base, base + quotient * factor};
			uint64_t	lengths[2];
			px_writer	out = {encoded, sizeof(encoded), 0};

			CHECK_EQ(px_encoding_scaled.write_stream(&out, values, 2, &plan, 0,
													 lengths),
					 PX_OK);
			CHECK_EQ(values[1], quotient);
			CHECK_EQ(read_stream(PX_ENC_SCALED, encoded, out.pos, 2, 8, true),
					 PX_OK);
			CHECK_EQ(decoded[0], base);
			CHECK_EQ(decoded[1], base + quotient * factor);
			if (quotient * factor > UINT64_MAX - more || more == 0)
				continue;
			values[0] = base;
			values[1] = base + quotient * factor + more;
			CHECK_EQ(px_encoding_scaled.write_stream(&out, values, 2, &plan, 0,
													 lengths),
					 PX_UNSUITABLE);
		}
	}
	CHECK_EQ(px_ints_gcd(12, 18), 6);
	CHECK_EQ(px_ints_gcd(0, 5), 5);
	CHECK_EQ(px_ints_gcd(UINT64_MAX, 0), UINT64_MAX);
}

static void
random_streams_round_trip(void)
{
	for (int round = 0; round < 3000; round++)
	{
		uint8_t		width = (uint8_t) (1 << unit_random() % 4);
		bool		is_signed = unit_random() % 2;
		stream *s = stream_init(1 + (uint32_t) (unit_random() % 600), width,
								is_signed);
		int			shift = 64 - 8 * width;
		uint64_t	step = unit_random() >> unit_random() % 64;
		uint64_t	value = unit_random();
		uint64_t	change = 1 + unit_random() % 20;
		uint64_t	steps = 1 + unit_random() % 50;
		size_t		nbytes;

		for (uint32_t i = 0; i < s->ints.n; i++)
		{
			if (unit_random() % change == 0)
				value += step * (unit_random() % steps);
			stream_set(s, i, is_signed ? (int64_t) (value << shift) >> shift :
					   (int64_t) (value << shift >> shift));
		}
		(void) choose_and_round_trip(s, &nbytes);
	}
}

/* ---------------------------------------------------------------------
 * Corrupt streams
 * --------------------------------------------------------------------- */

/* A stream of each transform, in encoded; returns its size. */
static size_t
make_stream(int kind, uint8_t *encoding, uint32_t *n)
{
	static const px_ints_plan kinds[] = {
		{{PX_ENC_DELTA}, 0},
		{{PX_ENC_RLE}, 0},
		{{PX_ENC_RLE, PX_ENC_DELTA}, 0},
		{{PX_ENC_SCALED}, 5},
		{{PX_ENC_SCALED, PX_ENC_DELTA}, 5},
		{{PX_ENC_SCALED, PX_ENC_RLE, PX_ENC_DELTA}, 5},
	};
	stream	   *s = stream_init(40, 4, true);
	bool		stale;

	for (uint32_t i = 0; i < 40; i++)
		stream_set(s, i, (int64_t) (i / 3 * 5 * (i / 3)));
	*n = 40;
	return round_trip(s, &kinds[kind], encoding, &stale);
}

#define KINDS	6

static void
streams_cut_anywhere_are_refused(void)
{
	for (int kind = 0; kind < KINDS; kind++)
	{
		uint8_t		encoding;
		uint32_t	n;
		size_t		nbytes = make_stream(kind, &encoding, &n);

		CHECK(encoding != PX_ENC_FOR);
		for (size_t cut = 0; cut < nbytes; cut++)
			CHECK(read_stream(encoding, encoded, cut, n, 4, true) != PX_OK);
		memset(encoded + nbytes, 0, 8);
		for (size_t more = 1; more <= 8; more++)
			CHECK(read_stream(encoding, encoded, nbytes + more, n, 4, true) !=
				  PX_OK);
		CHECK_EQ(read_stream(encoding, encoded, nbytes, n, 4, true), PX_OK);
		CHECK(read_stream(encoding, encoded, nbytes, n / 2, 4, true) != PX_OK);
		CHECK(read_stream(encoding, encoded, nbytes, n * 2, 4, true) != PX_OK);
		CHECK(read_stream(encoding, encoded, nbytes, 0, 4, true) != PX_OK);
	}
}

static void
flipped_bits_never_crash(void)
{
	for (int kind = 0; kind < KINDS; kind++)
	{
		uint8_t		encoding;
		uint32_t	n;
		size_t		nbytes = make_stream(kind, &encoding, &n);

		for (size_t bit = 0; bit < nbytes * 8; bit++)
		{
			encoded[bit / 8] ^= (uint8_t) (1 << bit % 8);
			(void) read_stream(encoding, encoded, nbytes, n, 4, true);
			encoded[bit / 8] ^= (uint8_t) (1 << bit % 8);
		}
		for (int i = 0; i < 3000; i++)
		{
			uint8_t		saved[4000];

			memcpy(saved, encoded, nbytes);
			for (int k = 0; k < 4; k++)
				encoded[unit_random() % nbytes] = (uint8_t) unit_random();
			(void) read_stream((uint8_t) (unit_random() % 8), encoded, nbytes,
							   n, 4, true);
			memcpy(encoded, saved, nbytes);
		}
	}
}

/* A child header in front of bytes. */
static size_t
put_child(uint8_t *out, uint8_t encoding, uint8_t width, const void *bytes,
		  uint32_t nbytes)
{
	memset(out, 0, 8 + PX_ALIGN(nbytes));
	out[0] = encoding;
	out[1] = width;
	px_store_u32(out + 4, nbytes);
	memcpy(out + 8, bytes, nbytes);

	return 8 + PX_ALIGN(nbytes);
}

static void
malformed_runs_are_refused(void)
{
	static const struct
	{
		uint32_t	nruns;
		int64_t		lengths[3];
		px_status	status;
	}			cases[] = {
		{3, {0, 1, 2}, PX_OK},
		{3, {0, 1, 1}, PX_BAD_VALUE},	/* 5 values */
		{3, {0, 1, 3}, PX_BAD_VALUE},	/* 7 */
		{3, {5, 0, 0}, PX_BAD_VALUE},
		{3, {3, 1, 0}, PX_BAD_VALUE},
		{3, {3, 0, 0}, PX_OK},
		{3, {-1, 3, 1}, PX_BAD_VALUE},
		{3, {INT64_MAX, 0, 0}, PX_BAD_VALUE},
		{3, {INT64_MIN, 0, 0}, PX_BAD_VALUE},
		{0, {0, 1, 2}, PX_BAD_VALUE},
		{7, {0, 1, 2}, PX_BAD_VALUE},
		{UINT32_MAX, {0, 1, 2}, PX_BAD_VALUE},
	};
	static const int64_t values[3] = {7, 8, 9};

	for (size_t c = 0; c < lengthof(cases); c++)
	{
		uint8_t		bytes[200] = {0};
		size_t		pos = 8;

		px_store_u32(bytes, cases[c].nruns);
		pos += put_child(bytes + pos, PX_ENC_PLAIN, 8, cases[c].lengths, 24);
		pos += put_child(bytes + pos, PX_ENC_PLAIN, 8, values, 24);
		if (!CHECK_EQ(read_stream(PX_ENC_RLE, bytes, pos, 6, 8, true),
					  cases[c].status))
			printf("# case %zu\n", c);
		bytes[5] = 1;
		CHECK(read_stream(PX_ENC_RLE, bytes, pos, 6, 8, true) != PX_OK);
	}
}

static void
malformed_children_are_refused(void)
{
	static const int64_t values[4] = {1, 2, 3, 4};
	uint8_t		bytes[200] = {0};
	uint8_t		inner[200] = {0};
	size_t		nbytes = 8 + put_child(bytes + 8, PX_ENC_PLAIN, 8, values, 24);

	CHECK_EQ(read_stream(PX_ENC_DELTA, bytes, nbytes, 4, 8, true), PX_OK);
	CHECK_EQ(decoded[3], 6);
	bytes[9] = 4;				/* width */
	CHECK_EQ(read_stream(PX_ENC_DELTA, bytes, nbytes, 4, 8, true),
			 PX_BAD_VALUE);
	bytes[9] = 8;
	bytes[10] = 1;				/* reserved */
	CHECK_EQ(read_stream(PX_ENC_DELTA, bytes, nbytes, 4, 8, true),
			 PX_BAD_VALUE);
	bytes[10] = 0;
	bytes[8] = PX_ENC_DICTIONARY;
	CHECK_EQ(read_stream(PX_ENC_DELTA, bytes, nbytes, 4, 8, true),
			 PX_BAD_ENCODING);
	px_store_u32(bytes + 12, UINT32_MAX);
	CHECK_EQ(read_stream(PX_ENC_DELTA, bytes, nbytes, 4, 8, true),
			 PX_TRUNCATED);
	CHECK_EQ(read_stream(PX_ENC_DELTA, bytes, nbytes, 1, 8, true),
			 PX_BAD_VALUE);

	/* runs inside of runs have no room for their lengths */
	memset(bytes, 0, sizeof(bytes));
	px_store_u32(inner, 1);
	nbytes = 8 + put_child(inner + 8, PX_ENC_PLAIN, 8, values, 8);
	nbytes += put_child(inner + nbytes, PX_ENC_PLAIN, 8, values, 8);
	px_store_u32(bytes, 2);
	nbytes = 8 + put_child(bytes + 8, PX_ENC_RLE, 8, inner, (uint32_t) nbytes);
	nbytes += put_child(bytes + nbytes, PX_ENC_PLAIN, 8, values, 16);
	CHECK_EQ(read_stream(PX_ENC_RLE, bytes, nbytes, 4, 8, true),
			 PX_BAD_ENCODING);

	/* transforms nested without end */
	memset(bytes, 0, sizeof(bytes));
	nbytes = put_child(inner, PX_ENC_CONSTANT, 8, values, 8);
	for (int depth = 0; depth < 6; depth++)
	{
		uint8_t		outer[200] = {0};

		px_store_u64(outer + 8, 1);	/* base 0, factor 1 */
		memcpy(outer + 16, inner, nbytes);
		nbytes += 16;
		CHECK_EQ(read_stream(PX_ENC_SCALED, outer, nbytes, 2, 8, true),
				 depth < PX_INTS_DEPTH_MAX ? PX_OK : PX_OVER_LIMIT);
		nbytes = put_child(inner, PX_ENC_SCALED, 8, outer, (uint32_t) nbytes);
	}
}

static void
values_beyond_the_width_are_refused(void)
{
	for (uint8_t width = 1; width <= 4; width *= 2)
	{
		int64_t		max = (INT64_C(1) << (8 * width - 1)) - 1;
		int64_t		difference = 1;
		uint8_t		bytes[24] = {0};

		put_child(bytes + 8, PX_ENC_PLAIN, 8, &difference, 8);
		px_store_u64(bytes, (uint64_t) max - 1);
		CHECK_EQ(read_stream(PX_ENC_DELTA, bytes, 24, 2, width, true), PX_OK);
		CHECK_EQ(decoded[1], max);
		px_store_u64(bytes, (uint64_t) max);
		CHECK_EQ(read_stream(PX_ENC_DELTA, bytes, 24, 2, width, true),
				 PX_BAD_VALUE);
		CHECK_EQ(read_stream(PX_ENC_DELTA, bytes, 24, 2, width, false), PX_OK);
		px_store_u64(bytes, (uint64_t) (2 * max + 1));
		CHECK_EQ(read_stream(PX_ENC_DELTA, bytes, 24, 2, width, false),
				 PX_BAD_VALUE);
		px_store_u64(bytes, UINT64_MAX);
		CHECK_EQ(read_stream(PX_ENC_DELTA, bytes, 24, 2, width, false),
				 PX_BAD_VALUE);
		CHECK_EQ(read_stream(PX_ENC_DELTA, bytes, 24, 2, width, true), PX_OK);
	}
}

int
main(void)
{
	RUN(every_plan_for_random_values_round_trips);
	RUN(the_least_and_the_greatest_integers_round_trip);
	RUN(growing_values_are_written_as_differences);
	RUN(runs_are_written_as_runs);
	RUN(multiples_are_written_by_their_factor);
	RUN(unsuitable_plans_fall_back);
	RUN(quotients_are_whole_or_refused);
	RUN(random_streams_round_trip);
	RUN(streams_cut_anywhere_are_refused);
	RUN(flipped_bits_never_crash);
	RUN(malformed_runs_are_refused);
	RUN(malformed_children_are_refused);
	RUN(values_beyond_the_width_are_refused);

	return unit_done();
}
