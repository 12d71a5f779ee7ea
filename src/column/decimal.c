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

#include "column/fixed.h"

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
	uint64_t	bits = width == 4 ? (uint64_t) (int32_t) px_load_u32(p) : px_load_u64(p);

	/* NaN compares false, too. */
	if (!(scaled >= -PX_DECIMAL_NUMBER_MAX && scaled <= PX_DECIMAL_NUMBER_MAX))
		return false;
	*number = (int64_t) (scaled + (scaled < 0 ? -0.5 : 0.5));

	return (uint64_t) px_decimal_bits(*number, power, width) == bits;
}

int
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

/* positions may be NULL; returns the number of exceptions. */
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

		if (likely(px_decimal_number(values + (size_t) i * width, width, power, &number)))
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

void
px_decimal_numbers(const uint8_t *values, uint32_t n, uint8_t width,
				   int decimals, uint8_t *numbers)
{
	(void) px_decimal_encode(values, n, width, decimals, numbers, NULL);
}

px_status
px_decimal_write(px_writer *out, const uint8_t *values, uint32_t n,
				 uint8_t width, int decimals, const px_ints_plan *plan,
				 uint8_t *scratch, bool *stale)
{
	static const px_ints_plan flat = {PX_INTS_FLAT, 1};
	uint8_t    *numbers = scratch;
	uint8_t    *positions = scratch + (size_t) n * 8;
	uint8_t    *rest = scratch + (size_t) n * 16;
	px_ints		ints = {numbers, n, 8, true};
	px_ints		exceptions = {positions, 0, 4, false};
	px_status	status;

	exceptions.n = px_decimal_encode(values, n, width, decimals, numbers, positions);
	if (exceptions.n > n / PX_EXCEPTIONS_FRACTION)
	{
		*stale = true;
		return PX_OK;
	}

	if (!px_write_u8(out, (uint8_t) decimals) || !px_write_u8(out, 0) ||
		!px_write_u16(out, 0) || !px_write_u32(out, exceptions.n))
		return PX_NO_SPACE;
	status = px_child_write(out, &ints, plan, rest, stale);
	if (status != PX_OK || exceptions.n == 0)
		return status;

	status = px_child_write(out, &exceptions, &flat, rest, stale);
	for (uint32_t i = 0; status == PX_OK && i < exceptions.n; i++)
	{
		uint32_t	at = px_load_u32(positions + (size_t) i * 4);

		if (!px_write_bytes(out, values + (size_t) at * width, width))
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

	status = px_child_read(r, exceptions, 4, false, positions, NULL, fault);
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

px_status
px_decimal_decode(const uint8_t *encoded, size_t encoded_nbytes, uint32_t n,
				  uint8_t width, int64_t *out, int64_t *scratch,
				  px_fault *fault)
{
	px_reader	r = {encoded, encoded_nbytes, 0};
	uint8_t		decimals;
	uint8_t		reserved8;
	uint16_t	reserved16;
	uint32_t	exceptions;
	px_status	status;

	if (!px_read_u8(&r, &decimals) || !px_read_u8(&r, &reserved8) ||
		!px_read_u16(&r, &reserved16) || !px_read_u32(&r, &exceptions))
		return px_fail(fault, PX_TRUNCATED, "header of decimals", 8, encoded_nbytes);
	if (width != 4 && width != 8)
		return px_fail(fault, PX_BAD_ENCODING, "width of decimals", 8, width);
	if (decimals > PX_DECIMALS_MAX)
		return px_fail(fault, PX_BAD_VALUE, "decimals", PX_DECIMALS_MAX, decimals);
	if (reserved8 != 0 || reserved16 != 0)
		return px_fail(fault, PX_BAD_VALUE, "reserved bytes of decimals", 0, 1);
	if (exceptions > n)
		return px_fail(fault, PX_BAD_VALUE, "exceptions of decimals", n, exceptions);

	status = px_child_read(&r, n, 8, true, out, scratch, fault);
	if (status != PX_OK)
		return status;
	for (uint32_t i = 0; i < n; i++)
		out[i] = px_decimal_bits(out[i], px_decimal_powers[decimals], width);
	if (exceptions > 0)
		status = px_decimal_patch(&r, exceptions, n, width, out, scratch, fault);
	if (status == PX_OK && px_reader_left(&r) > 0)
		status = px_fail(fault, PX_TRAILING, "decimals", r.pos, encoded_nbytes);

	return status;
}
