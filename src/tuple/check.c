/*-------------------------------------------------------------------------
 *
 * check.c
 *		Checks of raw values before the executor sees them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type_d.h"
#include "datatype/timestamp.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/date.h"
#include "utils/timestamp.h"

#include "column/decode.h"
#include "tuple/check.h"

static void
check_bools(const Datum *values, uint32 rows)
{
	Datum		all = 0;

	for (uint32 row = 0; row < rows; row++)
		all |= values[row];
	if (all > 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
				 errmsg("invalid boolean value"),
				 errdetail("Expected 0 or 1, got a value with bits %u.",
						   (unsigned int) all)));
}

static void
check_dates(const Datum *values, uint32 rows)
{
	for (uint32 row = 0; row < rows; row++)
	{
		DateADT		date = DatumGetDateADT(values[row]);

		if (unlikely(!IS_VALID_DATE(date)) && !DATE_NOT_FINITE(date))
			ereport(
				ERROR,
				(errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
				 errmsg("date out of range"),
				 errdetail("Expected %d to %d days from 2000-01-01, got %d.",
						   DATETIME_MIN_JULIAN - POSTGRES_EPOCH_JDATE,
						   DATE_END_JULIAN - POSTGRES_EPOCH_JDATE - 1, date)));
	}
}

/* A time of day is in microseconds.  24:00 is allowed, as in time_recv. */
static void
check_time(TimeADT time)
{
	if (unlikely(time < INT64CONST(0) || time > USECS_PER_DAY))
		ereport(ERROR,
				(errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
				 errmsg("time out of range"),
				 errdetail("Expected 0 to %lld microseconds, got %lld.",
						   (long long) USECS_PER_DAY, (long long) time)));
}

static void
check_times(const Datum *values, uint32 rows)
{
	for (uint32 row = 0; row < rows; row++)
		check_time(DatumGetTimeADT(values[row]));
}

static void
check_timetzs(const Datum *values, const bool *nulls, uint32 rows)
{
	for (uint32 row = 0; row < rows; row++)
	{
		TimeTzADT  *timetz;

		if (nulls[row])
			continue;
		timetz = DatumGetTimeTzADTP(values[row]);
		check_time(timetz->time);
		/* The zone is in seconds west of Greenwich; see timetz_recv. */
		if (unlikely(timetz->zone <= -TZDISP_LIMIT ||
					 timetz->zone >= TZDISP_LIMIT))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_TIME_ZONE_DISPLACEMENT_VALUE),
					 errmsg("time zone displacement out of range"),
					 errdetail("Expected a value between -%d and %d seconds, got %d.",
							   TZDISP_LIMIT, TZDISP_LIMIT, timetz->zone)));
	}
}

static void
check_timestamps(const Datum *values, uint32 rows)
{
	for (uint32 row = 0; row < rows; row++)
	{
		Timestamp	timestamp = DatumGetTimestamp(values[row]);

		if (unlikely(!IS_VALID_TIMESTAMP(timestamp)) &&
			!TIMESTAMP_NOT_FINITE(timestamp))
			ereport(
				ERROR,
				(errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
				 errmsg("timestamp out of range"),
				 errdetail(
					 "Expected %lld to %lld microseconds from 2000-01-01, got %lld.",
					 (long long) MIN_TIMESTAMP, (long long) END_TIMESTAMP - 1,
					 (long long) timestamp)));
	}
}

void
px_check_values(px_value_check check, const Datum *values, const bool *nulls,
				uint32 rows)
{
	switch (check)
	{
		case PX_CHECK_NONE:
		case PX_CHECK_ENCODING:
			break;
		case PX_CHECK_BOOL:
			check_bools(values, rows);
			break;
		case PX_CHECK_DATE:
			check_dates(values, rows);
			break;
		case PX_CHECK_TIME:
			check_times(values, rows);
			break;
		case PX_CHECK_TIMETZ:
			check_timetzs(values, nulls, rows);
			break;
		case PX_CHECK_TIMESTAMP:
			check_timestamps(values, rows);
			break;
	}
}

/* Is every byte between 0x01 and 0x7f? */
static bool
is_ascii(const uint8_t *bytes, size_t nbytes)
{
	uint64		high = 0;
	uint64		zero = UINT64CONST(0x8080808080808080);
	size_t		i = 0;

	/*
	 * (byte | 0x80) - 1 has its high bit set unless the byte is 0 or 0x80.  It
	 * is never negative, so nothing is borrowed from the next byte.
	 */
	for (; i + 8 <= nbytes; i += 8)
	{
		uint64		word;

		memcpy(&word, bytes + i, 8);
		high |= word;
		zero &= (word | UINT64CONST(0x8080808080808080)) -
			UINT64CONST(0x0101010101010101);
	}
	for (; i < nbytes; i++)
	{
		if (bytes[i] == 0 || bytes[i] > 0x7f)
			return false;
	}
	return (high & UINT64CONST(0x8080808080808080)) == 0 &&
		(zero & UINT64CONST(0x8080808080808080)) ==
		UINT64CONST(0x8080808080808080);
}

/*
 * Most text is ASCII, which is valid in every database encoding.  The length
 * bytes of short values are below 128, too.  So we first check all text of the
 * chunk as one string, and look at single values only if that fails.
 */
bool
px_check_encoding(const px_chunk *chunk, const uint8_t *encoded,
				  const Datum *values)
{
	int			encoding = GetDatabaseEncoding();
	const uint8_t *text;
	size_t		nbytes;

	if (px_chunk_text(chunk, encoded, &text, &nbytes) &&
		is_ascii(text, nbytes))
		return true;

	for (uint32 row = 0; row < chunk->rows; row++)
	{
		const uint8_t *packed = (const uint8_t *) DatumGetPointer(values[row]);

		if (packed == NULL)
			continue;
		CHECK_FOR_INTERRUPTS();
		(void) pg_verify_mbstr(encoding, (const char *) px_packed_data(packed),
							   (int) px_packed_nbytes(packed), false);
	}
	return false;
}

/* ---------------------------------------------------------------------
 * Typmods
 * --------------------------------------------------------------------- */

/*
 * Do strings fit char(n) or varchar(n)?  char(n) must have n characters
 * (padded), varchar(n) may have fewer.
 */
static bool
strings_fit(const Datum *values, const bool *nulls, uint32 rows,
			size_t nchars_max, bool padded, bool ascii)
{
	for (uint32 row = 0; row < rows; row++)
	{
		const uint8_t *packed = (const uint8_t *) DatumGetPointer(values[row]);
		size_t		n;

		if (nulls[row])
			continue;
		n = px_packed_nbytes(packed);
		if (ascii || (!padded && n <= nchars_max))
		{
			if (n > nchars_max || (padded && n < nchars_max))
				return false;
			continue;
		}

		/*
		 * A string with fewer bytes than n has fewer characters, and one of
		 * more than 4 * n bytes has too many.  Neither needs counting.
		 */
		if (n < nchars_max || n > nchars_max * MAX_MULTIBYTE_CHAR_LEN)
			return false;
		n = pg_mbstrlen_with_len((const char *) px_packed_data(packed),
								 (int) n);
		if (n > nchars_max || (padded && n < nchars_max))
			return false;
	}
	return true;
}

/*
 * Are microseconds rounded to a precision?  Each precision has a loop of its
 * own, because division by a constant is several times faster.
 */
static bool
are_multiples(const Datum *values, const bool *nulls, uint32 rows,
			  int precision)
{
	bool		ok = true;

#define ALL_MULTIPLES_OF(unit) \
	for (uint32 row = 0; row < rows; row++) \
		ok &= nulls[row] || DatumGetInt64(values[row]) % (unit) == 0 || \
			TIMESTAMP_NOT_FINITE(DatumGetInt64(values[row]))

	switch (precision)
	{
		case 0:
			ALL_MULTIPLES_OF(1000000);
			break;
		case 1:
			ALL_MULTIPLES_OF(100000);
			break;
		case 2:
			ALL_MULTIPLES_OF(10000);
			break;
		case 3:
			ALL_MULTIPLES_OF(1000);
			break;
		case 4:
			ALL_MULTIPLES_OF(100);
			break;
		case 5:
			ALL_MULTIPLES_OF(10);
			break;
		default:
			break;
	}
#undef ALL_MULTIPLES_OF
	return ok;
}

bool
px_values_fit(Oid type, int32 typmod, const Datum *values, const bool *nulls,
			  uint32 rows, bool ascii)
{
	switch (type)
	{
		case BPCHAROID:
		case VARCHAROID:
			return typmod < VARHDRSZ ||
				strings_fit(values, nulls, rows, typmod - VARHDRSZ,
							type == BPCHAROID, ascii);
		case TIMEOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			return are_multiples(values, nulls, rows, typmod);
		default:
			/* timetz and interval, for instance: too rare to be worth code */
			return false;
	}
}

bool
px_scaled_fit(int32 typmod, int64 min, int64 max, int scale)
{
	int64		bound = 1;
	int			precision;

	if (typmod < VARHDRSZ)
		return true;

	/*
	 * PostgreSQL 15 has negative scales.  Here they are large numbers, which
	 * differ from every scale: numeric's coercion function looks at them.
	 */
	precision = ((typmod - VARHDRSZ) >> 16) & 0xFFFF;
	if (((typmod - VARHDRSZ) & 0xFFFF) != scale)
		return false;
	if (precision > 18)
		return true;			/* scaled integers have at most 18 digits */
	for (int i = 0; i < precision; i++)
		bound *= 10;
	return min > -bound && max < bound;
}
