/*-------------------------------------------------------------------------
 *
 * numeric.c
 *		numeric to and from a scaled 64-bit integer.
 *
 * numeric's digits are in base 10000, the first one worth 10000^weight; its
 * display scale is in decimal digits, so the last base-10000 digit may hold
 * up to three decimal ones that lie beyond the scale and are zero.  Both
 * functions run once per value of a column, so they touch nothing but the
 * datum and use no general division: all divisors are constants.
 *
 * What does not fit (see numeric.h) goes through numeric_send, elsewhere.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "compat.h"
#include "tuple/numeric.h"

/*
 * The header word of a numeric datum, and the word behind it in the long
 * form, as src/backend/utils/adt/numeric.c describes them.
 */
#define HEADER_FORM_MASK		0xC000
#define HEADER_LONG_NEGATIVE	0x4000
#define HEADER_SHORT			0x8000
#define HEADER_SPECIAL			0xC000	/* NaN and infinities */
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
 * A first digit worth up to 10^17, then down to one that still has a decimal
 * digit within the scale: no value that fits has more base-10000 digits.
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

bool
px_numeric_to_scaled(const struct varlena *datum, int64 *value, int *dscale)
{
	const char *p = VARDATA_ANY(datum);
	int			ndigits = (int) VARSIZE_ANY_EXHDR(datum) / (int) sizeof(int16);
	uint16		header;
	bool		negative;
	int			scale;
	int			weight;
	int			exponent;		/* of ten, of the last digit's unit */
	uint64		sum = 0;
	uint16		digit;

	/* A datum with a short header is not aligned, hence memcpy. */
	memcpy(&header, p, sizeof(header));
	p += sizeof(header);
	if ((header & HEADER_FORM_MASK) == HEADER_SHORT)
	{
		negative = (header & SHORT_NEGATIVE) != 0;
		scale = (header & SHORT_SCALE_MASK) >> SHORT_SCALE_SHIFT;
		weight = header & SHORT_WEIGHT_MASK;
		if (header & SHORT_WEIGHT_SIGN)
			weight |= ~SHORT_WEIGHT_MASK;
		ndigits -= 1;
	}
	else if ((header & HEADER_FORM_MASK) == HEADER_SPECIAL)
		return false;
	else
	{
		int16		long_weight;

		memcpy(&long_weight, p, sizeof(long_weight));
		p += sizeof(long_weight);
		negative = (header & HEADER_FORM_MASK) == HEADER_LONG_NEGATIVE;
		scale = header & LONG_SCALE_MASK;
		weight = long_weight;
		ndigits -= 2;
	}

	if (scale > PX_NUMERIC_SCALE_MAX)
		return false;
	if (ndigits <= 0)
	{
		*value = 0;
		*dscale = scale;
		return true;
	}

	/* The first digit is not 0, so this much is needed at least. */
	if (ndigits > DIGITS_MAX ||
		weight * DIGIT_DECIMALS + scale >= DECIMALS_MAX)
		return false;
	exponent = (weight - (ndigits - 1)) * DIGIT_DECIMALS + scale;
	if (exponent <= -DIGIT_DECIMALS)
		return false;			/* a digit beyond the scale */

	/* Four digits are below 10^16: so far nothing can overflow. */
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

	*value = negative ? -(int64) sum : (int64) sum;
	*dscale = scale;
	return true;
}

size_t
px_numeric_from_scaled(int64 value, int dscale, char *dst)
{
	/* 19 decimals: one digit of up to 3, and up to 5 of 4 */
	int16		digits[DIGITS_MAX];
	int			first = DIGITS_MAX;
	int			end = DIGITS_MAX;
	int			partial = dscale % DIGIT_DECIMALS;
	bool		negative = value < 0;
	uint64 rest = negative ? UINT64CONST(0) - (uint64) value : (uint64) value;
	int			weight;
	uint16		header;
	size_t		nbytes;

	/* The last digit holds only part of a digit's decimals: pad it. */
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

	/* |weight| <= 5 and dscale <= 18 always fit the short form. */
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
