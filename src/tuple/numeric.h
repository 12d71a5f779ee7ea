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

/* Largest datum px_numeric_from_scaled writes: header, word, 10 digits. */
#define PX_NUMERIC_SCALED_NBYTES_MAX	32

/*
 * Read a numeric datum that is neither compressed nor external (its header
 * may be short).  Returns false, and sets nothing, for NaN, infinities, and
 * whatever has more than 18 decimal digits counting all of its dscale.
 */
extern bool px_numeric_to_scaled(const struct varlena *datum,
								 int64 *value, int *dscale);

/*
 * The same for the bytes behind the datum's header, and in line, for what
 * most numerics are: up to four base-10000 digits in the short form.  Returns
 * false for all others, too; ask px_numeric_to_scaled then.
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

	/* Below 10^16, and thus below 10^18 with an exponent of up to 2. */
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
 * PX_NUMERIC_SCALE_MAX) as a numeric datum with a 4-byte header to dst, which
 * must be 4-aligned and have PX_NUMERIC_SCALED_NBYTES_MAX bytes.  Returns its
 * size.  Any value will do; the result is what numeric_in would make of the
 * same number.
 */
extern size_t px_numeric_from_scaled(int64 value, int dscale, char *dst);

#endif							/* PX_TUPLE_NUMERIC_H */
