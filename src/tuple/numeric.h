/*-------------------------------------------------------------------------
 *
 * numeric.h
 *		numeric to and from a scaled 64-bit integer.
 *
 * A numeric with display scale d and value v is the integer v * 10^d.  The
 * on-disk form read and written here is that of numeric.c (NumericShort and
 * NumericLong), which pg_upgrade keeps stable.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_TUPLE_NUMERIC_H
#define PX_TUPLE_NUMERIC_H

#define PX_NUMERIC_SCALE_MAX	18

/*
 * Room for the largest datum that px_numeric_from_scaled writes: a header of 4
 * bytes, a word of 2 and 6 digits of 2, rounded up.
 */
#define PX_NUMERIC_SCALED_NBYTES_MAX	32

typedef enum px_numeric_class
{
	PX_NUMERIC_FINITE,
	PX_NUMERIC_NAN,
	PX_NUMERIC_INFINITY,
	PX_NUMERIC_MINUS_INFINITY
} px_numeric_class;

/* A finite numeric, as it is stored. */
typedef struct px_numeric_parts
{
	bool		negative;
	int			scale;			/* decimal digits to show after the point */
	int			weight;			/* the first digit counts 10000^weight */
	int			ndigits;		/* 0 if the number is 0 */
	const char *digits;			/* [ndigits] int16 in base 10000, maybe not
								 * aligned; the first and last are not 0.
								 * Valid as long as the datum. */
} px_numeric_parts;

/*
 * Split a numeric datum, which must be neither compressed nor external, but
 * may have a short header.  Sets *parts if it is finite.
 */
extern px_numeric_class px_numeric_split(const struct varlena *datum,
										 px_numeric_parts *parts);

/*
 * Read such a datum.  Returns false, and sets nothing, for NaN, infinities
 * and numbers that have more than 18 decimal digits including dscale.
 */
extern bool px_numeric_to_scaled(const struct varlena *datum,
								 int64 *value, int *dscale);

/*
 * The same, inline, for most numerics: those with up to four base-10000 digits
 * in the short form.  bytes[nbytes] are those after the datum's header.
 * Returns false for all other numerics, too: try px_numeric_to_scaled then.
 */
static inline bool
px_numeric_short_to_scaled(const char *bytes, size_t nbytes,
						   int64 *value, int *dscale)
{
	static const uint32 powers[] = {1, 10, 100, 1000};
	uint16		header;
	uint16		digit;
	int			ndigits = (int) (nbytes / sizeof(int16)) - 1;
	int			weight;
	int			exponent;		/* of ten, of the last digit's unit */
	uint64		sum;

	if (ndigits < 1 || ndigits > 4)
		return false;
	memcpy(&header, bytes, sizeof(header));
	if ((header & 0xC000) != 0x8000)
		return false;
	*dscale = (header & 0x1F80) >> 7;
	weight = (header & 0x003F) - (header & 0x0040);
	exponent = (weight - (ndigits - 1)) * 4 + *dscale;
	if (exponent < -3 || exponent > 2 || *dscale > PX_NUMERIC_SCALE_MAX)
		return false;

	bytes += sizeof(header);
	memcpy(&digit, bytes, sizeof(digit));
	sum = digit;
	for (int i = 1; i < ndigits; i++)
	{
		memcpy(&digit, bytes + (size_t) i * sizeof(digit), sizeof(digit));
		sum = sum * 10000 + digit;
	}

	/* sum is below 10^16, and exponent is at most 2: so it fits 64 bits. */
	if (exponent >= 0)
		sum *= powers[exponent];
	else
	{
		uint64		whole;

		switch (exponent)
		{
			case -1:
				whole = sum / 10;
				break;
			case -2:
				whole = sum / 100;
				break;
			default:
				whole = sum / 1000;
				break;
		}
		if (whole * powers[-exponent] != sum)
			return false;		/* digits beyond the scale */
		sum = whole;
	}

	*value = (header & 0x2000) ? -(int64) sum : (int64) sum;
	return true;
}

/*
 * Write value / 10^dscale with display scale dscale (0 ..
 * PX_NUMERIC_SCALE_MAX) as a numeric datum with a 4-byte header to dst.  dst
 * must be 4-aligned and have PX_NUMERIC_SCALED_NBYTES_MAX bytes.  Returns the
 * size of the datum.  Any value is allowed.  The result has the same bytes as
 * that of numeric_in for the same number.
 */
extern size_t px_numeric_from_scaled(int64 value, int dscale, char *dst);

#endif							/* PX_TUPLE_NUMERIC_H */
