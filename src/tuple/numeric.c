/*-------------------------------------------------------------------------
 *
 * numeric.c
 *		numeric to and from a scaled 64-bit integer.
 *
 * A numeric's digits are in base 10000; the first one counts 10000^weight.
 * The display scale is in decimal digits.  So the last base-10000 digit may
 * hold up to three decimal digits that are beyond the scale and are zero.
 *
 * The functions run once for each value of a column, so they touch nothing
 * but the datum, and all divisors are constants.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "compat.h"
#include "tuple/numeric.h"

/*
 * The header word of a numeric datum, and the next word in the long form, as
 * described in PostgreSQL's src/backend/utils/adt/numeric.c.
 */
#define HEADER_FORM_MASK		0xC000
#define HEADER_LONG_NEGATIVE	0x4000
#define HEADER_SHORT			0x8000
#define HEADER_SPECIAL			0xC000	/* NaN and infinities */
#define SPECIAL_MASK			0xF000
#define SPECIAL_INFINITY		0xD000
#define SPECIAL_MINUS_INFINITY	0xF000
#define SHORT_NEGATIVE			0x2000
#define SHORT_SCALE_MASK		0x1F80
#define SHORT_SCALE_SHIFT		7
#define SHORT_WEIGHT_SIGN		0x0040
#define SHORT_WEIGHT_MASK		0x003F
#define LONG_SCALE_MASK			0x3FFF

#define DIGIT_BASE				10000
#define DIGIT_DECIMALS			4

/* The scaled value has at most 18 decimal digits: it is below 10^18. */
#define DECIMALS_MAX			18

/*
 * The greatest number of base-10000 digits that 18 decimal digits can take:
 * the first and the last may hold one decimal digit only.
 */
#define DIGITS_MAX				6

static const uint64 power_of_ten[DECIMALS_MAX + 1] = {
	UINT64CONST(1),
	UINT64CONST(10),
	UINT64CONST(100),
	UINT64CONST(1000),
	UINT64CONST(10000),
	UINT64CONST(100000),
	UINT64CONST(1000000),
	UINT64CONST(10000000),
	UINT64CONST(100000000),
	UINT64CONST(1000000000),
	UINT64CONST(10000000000),
	UINT64CONST(100000000000),
	UINT64CONST(1000000000000),
	UINT64CONST(10000000000000),
	UINT64CONST(100000000000000),
	UINT64CONST(1000000000000000),
	UINT64CONST(10000000000000000),
	UINT64CONST(100000000000000000),
	UINT64CONST(1000000000000000000)
};

/*
 * Divide *value by 10^decimals (0 .. 3) and return the remainder.
 */
static inline uint32
split_decimals(uint64 *value, int decimals)
{
	uint64		v = *value;

	switch (decimals)
	{
		case 1:
			*value = v / 10;
			return (uint32) (v % 10);
		case 2:
			*value = v / 100;
			return (uint32) (v % 100);
		case 3:
			*value = v / 1000;
			return (uint32) (v % 1000);
		default:
			return 0;
	}
}

/* Split a finite datum, inline; false for NaN and infinities. */
static inline bool
split_datum(const struct varlena *datum, px_numeric_parts *parts)
{
	const char *p = VARDATA_ANY(datum);
	uint16		header;

	parts->ndigits = (int) VARSIZE_ANY_EXHDR(datum) / (int) sizeof(int16);

	/* A datum with a short header is not aligned, hence memcpy. */
	memcpy(&header, p, sizeof(header));
	p += sizeof(header);
	if ((header & HEADER_FORM_MASK) == HEADER_SHORT)
	{
		parts->negative = (header & SHORT_NEGATIVE) != 0;
		parts->scale = (header & SHORT_SCALE_MASK) >> SHORT_SCALE_SHIFT;
		parts->weight = header & SHORT_WEIGHT_MASK;
		if (header & SHORT_WEIGHT_SIGN)
			parts->weight |= ~SHORT_WEIGHT_MASK;
		parts->ndigits -= 1;
	}
	else if ((header & HEADER_FORM_MASK) == HEADER_SPECIAL)
		return false;
	else
	{
		int16		long_weight;

		memcpy(&long_weight, p, sizeof(long_weight));
		p += sizeof(long_weight);
		parts->negative = (header & HEADER_FORM_MASK) == HEADER_LONG_NEGATIVE;
		parts->scale = header & LONG_SCALE_MASK;
		parts->weight = long_weight;
		parts->ndigits -= 2;
	}
	parts->digits = p;
	return true;
}

px_numeric_class
px_numeric_split(const struct varlena *datum, px_numeric_parts *parts)
{
	uint16		header;

	if (split_datum(datum, parts))
		return PX_NUMERIC_FINITE;
	memcpy(&header, VARDATA_ANY(datum), sizeof(header));
	switch (header & SPECIAL_MASK)
	{
		case SPECIAL_INFINITY:
			return PX_NUMERIC_INFINITY;
		case SPECIAL_MINUS_INFINITY:
			return PX_NUMERIC_MINUS_INFINITY;
		default:
			return PX_NUMERIC_NAN;
	}
}

/*
 * Compute the scaled integer of ndigits > 0 digits, of which the last one
 * counts 10^exponent.  Returns false if it has more than 18 decimals or
 * decimals beyond the scale.
 */
static inline bool
sum_digits(const char *p, int ndigits, int exponent, uint64 *scaled)
{
	uint64		sum = 0;
	uint16		digit;

	/* Four base-10000 digits are below 10^16, so they cannot overflow. */
	for (int i = 0; i < ndigits - 1; i++)
	{
		memcpy(&digit, p, sizeof(digit));
		p += sizeof(digit);
		if (unlikely(i >= 4) &&
			sum >= power_of_ten[DECIMALS_MAX - DIGIT_DECIMALS])
			return false;
		sum = sum * DIGIT_BASE + digit;
	}
	memcpy(&digit, p, sizeof(digit));

	if (exponent >= 0)
	{
		if (sum >= power_of_ten[DECIMALS_MAX - DIGIT_DECIMALS])
			return false;
		sum = sum * DIGIT_BASE + digit;
		if (sum >= power_of_ten[DECIMALS_MAX - exponent])
			return false;
		sum *= power_of_ten[exponent];
	}
	else
	{
		uint64		last = digit;

		/* The last digit's low -exponent decimals are beyond the scale. */
		if (split_decimals(&last, -exponent) != 0)
			return false;
		exponent += DIGIT_DECIMALS;
		if (sum >= power_of_ten[DECIMALS_MAX - exponent])
			return false;
		sum = sum * power_of_ten[exponent] + last;
	}
	*scaled = sum;
	return true;
}

bool
px_numeric_to_scaled(const struct varlena *datum, int64 *value, int *dscale)
{
	px_numeric_parts parts;
	uint64		scaled = 0;
	int			exponent;		/* of ten, of the last digit's unit */

	if (!split_datum(datum, &parts) || parts.scale > PX_NUMERIC_SCALE_MAX)
		return false;
	if (parts.ndigits > 0)
	{
		/* The first digit is not 0: so many decimals are needed, at least. */
		if (parts.ndigits > DIGITS_MAX ||
			parts.weight * DIGIT_DECIMALS + parts.scale >= DECIMALS_MAX)
			return false;
		exponent = (parts.weight - (parts.ndigits - 1)) * DIGIT_DECIMALS +
			parts.scale;
		if (exponent <= -DIGIT_DECIMALS)
			return false;		/* a digit beyond the scale */
		if (!sum_digits(parts.digits, parts.ndigits, exponent, &scaled))
			return false;
	}

	*value = parts.negative ? -(int64) scaled : (int64) scaled;
	*dscale = parts.scale;
	return true;
}

size_t
px_numeric_from_scaled(int64 value, int dscale, char *dst)
{
	/* an int64 has 19 decimals: a digit of up to 3 of them, then 5 of 4 */
	int16		digits[DIGITS_MAX];
	int			first = DIGITS_MAX;
	int			end = DIGITS_MAX;
	int			partial = dscale % DIGIT_DECIMALS;
	bool		negative = value < 0;
	uint64 rest = negative ? UINT64CONST(0) - (uint64) value : (uint64) value;
	int			weight;
	uint16		header;
	size_t		nbytes;

	/* The last digit may hold fewer than four decimals: pad it with zeros. */
	if (partial > 0)
	{
		uint32		decimals = split_decimals(&rest, partial);

		digits[--first] = (int16) (decimals *
								   power_of_ten[DIGIT_DECIMALS - partial]);
	}
	while (rest > 0)
	{
		uint64		quotient = rest / DIGIT_BASE;

		digits[--first] = (int16) (rest - quotient * DIGIT_BASE);
		rest = quotient;
	}
	weight = end - first - 1 - (dscale + DIGIT_DECIMALS - 1) / DIGIT_DECIMALS;

	while (end > first && digits[end - 1] == 0)
		end--;
	if (end == first)
	{
		weight = 0;
		negative = false;
	}

	/* |weight| <= 5 and dscale <= 18, which fit the short form. */
	header = (uint16) (HEADER_SHORT | (negative ? SHORT_NEGATIVE : 0) |
					   dscale << SHORT_SCALE_SHIFT |
					   (weight < 0 ? SHORT_WEIGHT_SIGN : 0) |
					   (weight & SHORT_WEIGHT_MASK));
	nbytes = (size_t) (end - first) * sizeof(int16);
	SET_VARSIZE(dst, VARHDRSZ + sizeof(header) + nbytes);
	memcpy(dst + VARHDRSZ, &header, sizeof(header));
	memcpy(dst + VARHDRSZ + sizeof(header), digits + first, nbytes);
	return VARHDRSZ + sizeof(header) + nbytes;
}
