/*-------------------------------------------------------------------------
 *
 * decimal.c
 *		Floats that are decimal numbers: prices, measurements, coordinates.
 *
 * A float that was read from a text with d decimals is the quotient of an
 * integer and 10^d, correctly rounded: IEEE 754 division gives it back bit by
 * bit.  Whether it does is tried for each value; the few that are something
 * else (-0, NaN, 1/3) are exceptions.
 *
 * Encoded form: d (1 byte), zero (3 bytes), number of exceptions (4); child
 * of the integers (width 8); if there are exceptions: child of their
 * positions (width 4, ascending), and their values (width bytes each).
 *
 * Source: Afroozeh, Kuffó, Boncz, "ALP: Adaptive Lossless floating-Point
 * Compression" (SIGMOD 2023).
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include "column/ints/ints.h"

#define PX_DECIMALS_MAX		15
#define PX_DECIMAL_SAMPLE	64

/* An exception in 16 values costs more than the integers save. */
#define PX_EXCEPTIONS_FRACTION	16

/* Integers beyond this are not exact in a float8, with room for rounding. */
#define PX_DECIMAL_NUMBER_MAX	2251799813685248.0	/* 2^51 */

static const double px_decimal_powers[PX_DECIMALS_MAX + 1] = {
	1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7,
	1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15
};

static inline double
px_float_load(const uint8_t *p, uint8_t width)
{
	if (width == 4)
	{
		uint32_t	bits = px_load_u32(p);
		float		value;

		memcpy(&value, &bits, sizeof(value));
		return value;
	}
	else
	{
		uint64_t	bits = px_load_u64(p);
		double		value;

		memcpy(&value, &bits, sizeof(value));
		return value;
	}
}

/* The bits of number / power as a float of this width, extended by sign. */
static inline int64_t
px_decimal_bits(int64_t number, double power, uint8_t width)
{
	double		value = (double) number / power;

	if (width == 4)
	{
		float		narrow = (float) value;
		int32_t		bits;

		memcpy(&bits, &narrow, sizeof(bits));
		return bits;
	}
	else
	{
		int64_t		bits;

		memcpy(&bits, &value, sizeof(bits));
		return bits;
	}
}

/* The integer of a float; false if the float is not its quotient. */
static inline bool
px_decimal_number(const uint8_t *p, uint8_t width, double power,
				  int64_t *number)
{
	double		scaled = px_float_load(p, width) * power;
	uint64_t	bits = width == 4 ? (uint64_t) (int32_t) px_load_u32(p) :
		px_load_u64(p);

	/* NaN compares false, too. */
	if (!(scaled >= -PX_DECIMAL_NUMBER_MAX && scaled <= PX_DECIMAL_NUMBER_MAX))
		return false;
	*number = (int64_t) (scaled + (scaled < 0 ? -0.5 : 0.5));

	return (uint64_t) px_decimal_bits(*number, power, width) == bits;
}

static bool
px_decimal_suits(uint8_t form, uint8_t width)
{
	return form == PX_FORM_FIXED && (width == 4 || width == 8);
}

/*
 * How many decimals most floats have; -1 if most are no decimal numbers of a
 * reasonable size.  Looks at a sample.
 */
static int
px_decimal_find(const uint8_t *values, uint32_t n, uint8_t width)
{
	uint32_t	sample = Min(n, PX_DECIMAL_SAMPLE);
	uint32_t	step = n / sample;

	for (int decimals = 0; decimals <= PX_DECIMALS_MAX; decimals++)
	{
		uint32_t	exceptions = 0;

		for (uint32_t i = 0; i < sample; i++)
		{
			int64_t		number;

			if (!px_decimal_number(values + (size_t) i * step * width, width,
								   px_decimal_powers[decimals], &number))
				exceptions++;
		}
		if (exceptions <= sample / PX_EXCEPTIONS_FRACTION)
			return decimals;
	}

	return -1;
}

/*
 * The integers, 8 bytes each, and the positions of the exceptions, 4 bytes
 * each (NULL: not wanted); returns the number of exceptions.
 */
static uint32_t
px_decimal_encode(const uint8_t *values, uint32_t n, uint8_t width,
				  int decimals, uint8_t *numbers, uint8_t *positions)
{
	double		power = px_decimal_powers[decimals];
	uint32_t	exceptions = 0;
	int64_t		last = 0;

	for (uint32_t i = 0; i < n; i++)
	{
		int64_t		number;

		if (likely(px_decimal_number(values + (size_t) i * width, width, power,
									 &number)))
			last = number;
		else
		{
			/* A number that does not widen the range. */
			if (positions)
				px_store_u32(positions + (size_t) exceptions * 4, i);
			exceptions++;
		}
		px_store_u64(numbers + (size_t) i * 8, (uint64_t) last);
	}

	return exceptions;
}

/* The plan's parameter is the number of decimals. */
static px_status
px_decimal_size(const px_encode_input *input, px_encode_plan *plan,
				size_t *nbytes)
{
	const px_column *column = input->column;
	px_ints		numbers = px_numbers(input->scratch.values, column->nvalues);
	int			decimals;

	if (!column->is_float)
		return PX_UNSUITABLE;
	decimals = px_decimal_find(column->values, column->nvalues, column->width);
	if (decimals < 0)
		return PX_UNSUITABLE;

	(void) px_decimal_encode(column->values, column->nvalues, column->width,
							 decimals, input->scratch.values, NULL);
	px_ints_choose(&numbers, &plan->ints, nbytes);
	plan->parameter = (uint32_t) decimals;

	return PX_OK;
}

static px_status
px_decimal_write(px_writer *out, const px_encode_input *input,
				 const px_encode_plan *plan, px_encoded *result)
{
	static const px_ints_plan flat = {0};
	const px_column *column = input->column;
	uint32_t	n = column->nvalues;
	uint8_t    *positions = input->scratch.rest;
	uint8_t    *rest = input->scratch.rest + (size_t) n * 8;
	px_ints		ints = px_numbers(input->scratch.values, n);
	px_ints		exceptions = {positions, 0, 4, false};
	px_status	status;

	exceptions.n = px_decimal_encode(column->values, n, column->width,
									 (int) plan->parameter,
									 input->scratch.values, positions);
	if (exceptions.n > n / PX_EXCEPTIONS_FRACTION)
		return PX_UNSUITABLE;

	result->codec_use = PX_CODEC_USE_ON_INTS;
	if (!px_write_u8(out, (uint8_t) plan->parameter) || !px_write_u8(out, 0) ||
		!px_write_u16(out, 0) || !px_write_u32(out, exceptions.n))
		return PX_NO_SPACE;
	status = px_child_write(out, &ints, &plan->ints, rest, &result->stale);
	if (status != PX_OK || exceptions.n == 0)
		return status;

	status = px_child_write(out, &exceptions, &flat, NULL, &result->stale);
	for (uint32_t i = 0; status == PX_OK && i < exceptions.n; i++)
	{
		uint32_t	at = px_load_u32(positions + (size_t) i * 4);

		if (!px_write_bytes(out, column->values + (size_t) at * column->width,
							column->width))
			status = PX_NO_SPACE;
	}

	return status;
}

/* Put the exceptions in their places. */
static px_status
px_decimal_patch(px_reader *r, uint32_t exceptions, uint32_t n, uint8_t width,
				 int64_t *out, int64_t *positions, px_fault *fault)
{
	const uint8_t *values;
	int64_t		previous = -1;
	px_status	status;

	status = px_child_read(r, exceptions, 4, false, NULL, positions, fault);
	if (status != PX_OK)
		return status;
	if (!px_read_bytes(r, (size_t) exceptions * width, &values))
		return px_fail(fault, PX_TRUNCATED, "exceptions of decimals",
					   (size_t) exceptions * width, px_reader_left(r));
	for (uint32_t i = 0; i < exceptions; i++)
	{
		int64_t		at = positions[i];

		if (at <= previous || at >= (int64_t) n)
			return px_fail(fault, PX_BAD_VALUE, "position of an exception",
						   n - 1, (uint64_t) at);
		previous = at;
		out[at] = width == 4 ? (int32_t) px_load_u32(values + i * 4) :
			(int64_t) px_load_u64(values + (size_t) i * 8);
	}

	return PX_OK;
}

static px_status
px_decimal_read_ints(const px_chunk *chunk, const uint8_t *encoded,
					 bool is_signed, const px_decode_room *room,
					 int64_t *values, px_fault *fault)
{
	uint32_t	n = chunk->nvalues;
	uint8_t		width = chunk->width;
	px_reader	r = {encoded, chunk->encoded_nbytes, 0};
	uint8_t		decimals;
	uint8_t		reserved8;
	uint16_t	reserved16;
	uint32_t	exceptions;
	px_status	status;

	/* Floats are extended by sign; unsigned types are none. */
	if (!is_signed)
		return px_fail(fault, PX_BAD_ENCODING, "encoding of unsigned integers",
					   PX_ENC_PLAIN, chunk->encoding);
	if (!px_read_u8(&r, &decimals) || !px_read_u8(&r, &reserved8) ||
		!px_read_u16(&r, &reserved16) || !px_read_u32(&r, &exceptions))
		return px_fail(fault, PX_TRUNCATED, "header of decimals", 8,
					   chunk->encoded_nbytes);
	if (decimals > PX_DECIMALS_MAX)
		return px_fail(fault, PX_BAD_VALUE, "decimals", PX_DECIMALS_MAX,
					   decimals);
	if (reserved8 != 0 || reserved16 != 0)
		return px_fail(fault, PX_BAD_VALUE, "reserved bytes of decimals", 0,
					   1);
	if (exceptions > n)
		return px_fail(fault, PX_BAD_VALUE, "exceptions of decimals", n,
					   exceptions);

	status = px_child_read(&r, n, 8, true, room->scratch, values, fault);
	if (status != PX_OK)
		return status;
	for (uint32_t i = 0; i < n; i++)
		values[i] = px_decimal_bits(values[i], px_decimal_powers[decimals],
									width);
	if (exceptions > 0)
		status = px_decimal_patch(&r, exceptions, n, width, values,
								  room->scratch, fault);
	if (status == PX_OK && px_reader_left(&r) > 0)
		status = px_fail(fault, PX_TRAILING, "decimals", r.pos,
						 chunk->encoded_nbytes);

	return status;
}

const px_encoding px_encoding_decimal = {
	.name = "decimal",
	.suits = px_decimal_suits,
	.size = px_decimal_size,
	.saving_fraction = 16,
	.write = px_decimal_write,
	.read_ints = px_decimal_read_ints
};
