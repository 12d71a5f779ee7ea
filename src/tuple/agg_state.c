/*-------------------------------------------------------------------------
 *
 * agg_state.c
 *		Transition states of aggregates, made from plain values.
 *
 * The serialized forms are those of the *_serialize functions of PostgreSQL's
 * numeric.c and timestamp.c, which have been the same since 15 but for what
 * compat.h says.  scripts/check_states.py compares the results with those of
 * core's functions.
 *
 * A remote's values are checked as far as core's code relies on them: the
 * numbers of rows, which values are NULL, and whether a sum fits its type.  A
 * remote that returns a wrong sum cannot be told from one that has other rows.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <float.h>
#include <math.h>

#include "catalog/pg_type.h"
#include "libpq/pqformat.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/float.h"
#include "utils/lsyscache.h"
#include "utils/numeric.h"
#include "utils/timestamp.h"

#include "tuple/agg_state.h"
#include "tuple/numeric.h"

/* numeric.c's signs of a number in working form */
#define SIGN_POSITIVE	0x0000
#define SIGN_NEGATIVE	0x4000

#define NUMERIC_BASE	10000

/* The values of one aggregate, and who says so. */
typedef struct agg_values
{
	const px_agg_rule *rule;
	const char *servername;
	const Datum *values;
	const bool *isnull;
} agg_values;

/* Raise an error: the values cannot be those of any rows. */
pg_noreturn static void
refuse(const agg_values *from, const char *why)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("invalid partial aggregate from server \"%s\"",
					from->servername),
			 errdetail("For %s, %s.", get_func_name(from->rule->function),
					   why)));
}

/* The number of rows, which is value i. */
static int64
get_count(const agg_values *from, int i)
{
	int64		count = DatumGetInt64(from->values[i]);

	if (from->isnull[i])
		refuse(from, "a count is NULL");
	if (count < 0)
		refuse(from, "a count is negative");
	return count;
}

/* Values first .. last must be NULL if there are no rows, and only then. */
static void
require_values(const agg_values *from, int64 count, int first, int last)
{
	for (int i = first; i <= last; i++)
	{
		if (count == 0 && !from->isnull[i])
			refuse(from, "there is a value but no row");
		if (count > 0 && from->isnull[i])
			refuse(from, "there are rows but no value");
	}
}

/* The first digits of a number, or 0 beyond them. */
static uint16
get_digit(const px_numeric_parts *number, int i)
{
	uint16		digit = 0;

	if (i < number->ndigits)
		memcpy(&digit, number->digits + (size_t) i * sizeof(digit),
			   sizeof(digit));
	return digit;
}

/* As numericvar_serialize does, with so many digits. */
static void
send_digits(StringInfo state, const px_numeric_parts *number, int ndigits)
{
	pq_sendint32(state, ndigits);
	pq_sendint32(state, ndigits > 0 ? number->weight : 0);
	pq_sendint32(state, number->negative ? SIGN_NEGATIVE : SIGN_POSITIVE);
	pq_sendint32(state, number->scale);
	for (int i = 0; i < ndigits; i++)
		pq_sendint16(state, get_digit(number, i));
}

/*
 * Read an integer of up to 128 bits, in two's complement.  Returns false if
 * the number is none.
 */
static bool
read_int128(const px_numeric_parts *number, uint64 *high, uint64 *low)
{
	uint32		words[4] = {0};	/* the lowest first */

	if (number->ndigits > number->weight + 1 && number->ndigits > 0)
		return false;			/* it has a fraction */
	for (int i = 0; number->ndigits > 0 && i <= number->weight; i++)
	{
		uint64		carry = get_digit(number, i);

		for (int j = 0; j < 4; j++)
		{
			carry += (uint64) words[j] * NUMERIC_BASE;
			words[j] = (uint32) carry;
			carry >>= 32;
		}
		if (carry != 0)
			return false;
	}
	*high = (uint64) words[3] << 32 | words[2];
	*low = (uint64) words[1] << 32 | words[0];
	if (*high >> 63)
		return false;			/* no sum gets there */
	if (number->negative)
	{
		*low = ~*low + 1;
		*high = ~*high + (*low == 0);
	}
	return true;
}

/* A sum of integers, which core has in 128 bits. */
static void
send_integer(const agg_values *from, StringInfo state, Datum sum)
{
	px_numeric_parts number;
	uint64		high;
	uint64		low;

	if (px_numeric_split((struct varlena *) DatumGetPointer(sum), &number) !=
		PX_NUMERIC_FINITE ||
		!read_int128(&number, &high, &low))
		refuse(from, "a sum of integers is none");
	if (PX_INTEGER_STATE_IS_INT128)
	{
		pq_sendint64(state, high);
		pq_sendint64(state, low);
	}
	else
	{
		/* Core does not strip zeros at the end of these. */
		number.scale = 0;
		send_digits(state, &number,
					number.ndigits > 0 ? number.weight + 1 : 0);
	}
}

static void
begin_state(StringInfo state, int64 count)
{
	pq_begintypsend(state);
	pq_sendint64(state, count);
}

/* The state of PX_AGG_INT8_SUM and PX_AGG_INT_VARIANCE. */
static Datum
integer_state(const agg_values *from, int64 count)
{
	StringInfoData state;
	Datum		sum = from->values[1];

	begin_state(&state, count);
	if (from->rule->kind == PX_AGG_INT_VARIANCE)
		sum = NumericGetDatum(int64_to_numeric(DatumGetInt64(sum)));
	send_integer(from, &state, sum);
	if (from->rule->kind == PX_AGG_INT_VARIANCE)
		send_integer(from, &state, from->values[2]);
	return PointerGetDatum(pq_endtypsend(&state));
}

/*
 * The state of the other numeric ones: sums are values 1 .. nsums.  Core counts
 * NaNs and infinities apart from finite numbers, and looks at the finite ones
 * no more if there are others.
 */
static Datum
numeric_state(const agg_values *from, int64 count, int nsums)
{
	px_numeric_parts sums[2];
	px_numeric_class class[2];
	StringInfoData state;

	for (int i = 0; i < nsums; i++)
		class[i] = px_numeric_split(
			(struct varlena *) DatumGetPointer(from->values[i + 1]), &sums[i]);
	if (nsums == 2 && (class[0] == PX_NUMERIC_FINITE) !=
		(class[1] == PX_NUMERIC_FINITE))
		refuse(from, "one sum is finite and another is not");
	if (class[0] != PX_NUMERIC_FINITE)
	{
		memset(sums, 0, sizeof(sums));
		count--;				/* one at least is not finite */
	}

	begin_state(&state, count);
	for (int i = 0; i < nsums; i++)
		send_digits(&state, &sums[i], sums[i].ndigits);
	/* the greatest scale, and how many numbers have it: for moving windows */
	pq_sendint32(&state, sums[0].scale);
	pq_sendint64(&state, count);
	pq_sendint64(&state, class[0] == PX_NUMERIC_NAN);
	pq_sendint64(&state, class[0] == PX_NUMERIC_INFINITY);
	pq_sendint64(&state, class[0] == PX_NUMERIC_MINUS_INFINITY);
	return PointerGetDatum(pq_endtypsend(&state));
}

/* ---- interval ---- */

/*
 * The serialized state.  An infinite interval, since 17, has the greatest or
 * the least number in each of its fields.
 */
static Datum
interval_state(int64 count, const Interval *sum)
{
	static const Interval zero = {0};
	StringInfoData state;
	bool		infinity = sum->time == PG_INT64_MAX &&
		sum->day == PG_INT32_MAX && sum->month == PG_INT32_MAX;
	bool		minus_infinity = sum->time == PG_INT64_MIN &&
		sum->day == PG_INT32_MIN && sum->month == PG_INT32_MIN;

	if (infinity || minus_infinity)
	{
		sum = &zero;
		count--;
	}
	begin_state(&state, count);
	pq_sendint64(&state, sum->time);
	pq_sendint32(&state, sum->day);
	pq_sendint32(&state, sum->month);
	pq_sendint64(&state, infinity);
	pq_sendint64(&state, minus_infinity);
	return PointerGetDatum(pq_endtypsend(&state));
}

/* The state before 17: an array of the sum and the number of intervals. */
static Datum
interval_array(int64 count, const Interval *sum)
{
	Interval	intervals[2] = {0};
	Datum		elements[2];

	if (count > 0)
		intervals[0] = *sum;
	intervals[1].time = count;
	for (int i = 0; i < 2; i++)
		elements[i] = IntervalPGetDatum(&intervals[i]);
	return PointerGetDatum(construct_array(elements, 2, INTERVALOID,
										   sizeof(Interval), false,
										   TYPALIGN_DOUBLE));
}

/* ---- arrays ---- */

static Datum
int8_array(int64 count, int64 sum)
{
	Datum		elements[2] = {Int64GetDatum(count), Int64GetDatum(sum)};

	return PointerGetDatum(construct_array(elements, 2, INT8OID, sizeof(int64),
										   true, TYPALIGN_DOUBLE));
}

static Datum
float8_array(const float8 *values, int n)
{
	Datum		elements[8];

	Assert(n <= (int) lengthof(elements));
	for (int i = 0; i < n; i++)
		elements[i] = Float8GetDatum(values[i]);
	return PointerGetDatum(construct_array(elements, n, FLOAT8OID,
										   sizeof(float8), true,
										   TYPALIGN_DOUBLE));
}

/*
 * {n, sum(x), n * variance(x)}.  The product may be infinite by rounding, if
 * the variance is next to the greatest number.  Core would combine it as if a
 * number had been infinite.
 */
static Datum
float_state(const agg_values *from, int64 count)
{
	float8		state[3] = {(float8) count, 0, 0};

	if (count > 0)
	{
		float8		variance = DatumGetFloat8(from->values[2]);

		state[1] = DatumGetFloat8(from->values[1]);
		state[2] = variance * state[0];
		if (variance < 0)
			refuse(from, "a variance is negative");
		if (isinf(state[2]) && !isinf(variance))
			state[2] = DBL_MAX;
	}
	return float8_array(state, 3);
}

/* The value that all rows have, or NaN; 0 if there is no row. */
static float8
common_value(const agg_values *from, int least, int greatest)
{
	float8		value = DatumGetFloat8(from->values[least]);

	if (from->isnull[least])
		return 0;
	if (value == DatumGetFloat8(from->values[greatest]))
		return value;
	return get_float8_nan();
}

static Datum
regression_state(const agg_values *from, int64 count)
{
	float8		state[8] = {(float8) count};

	if (count > 0)
		for (int i = PX_REGR_SUM_X; i <= PX_REGR_SXY; i++)
			state[i] = DatumGetFloat8(from->values[i]);
	if (state[PX_REGR_SXX] < 0 || state[PX_REGR_SYY] < 0)
		refuse(from, "a sum of squares is negative");
	if (!PX_REGRESSION_STATE_HAS_COMMON)
		return float8_array(state, 6);
	state[6] = common_value(from, PX_REGR_MIN_X, PX_REGR_MAX_X);
	state[7] = common_value(from, PX_REGR_MIN_Y, PX_REGR_MAX_Y);
	return float8_array(state, 8);
}

/* ---- all ---- */

/*
 * The state of a kind that is internal before it is serialized: NULL if there
 * was no row.
 */
static Datum
internal_state(const agg_values *from, bool *isnull)
{
	int64		count = get_count(from, 0);
	int			nsums = from->rule->kind == PX_AGG_INT_VARIANCE ||
		from->rule->kind == PX_AGG_INT8_VARIANCE ||
		from->rule->kind == PX_AGG_NUMERIC_VARIANCE ? 2 : 1;

	require_values(from, count, 1, nsums);
	*isnull = count == 0;
	if (*isnull)
		return (Datum) 0;
	switch (from->rule->kind)
	{
		case PX_AGG_INT8_SUM:
		case PX_AGG_INT_VARIANCE:
			return integer_state(from, count);
		case PX_AGG_NUMERIC_SUM:
		case PX_AGG_INT8_VARIANCE:
		case PX_AGG_NUMERIC_VARIANCE:
			return numeric_state(from, count, nsums);
		default:
			return interval_state(count, DatumGetIntervalP(from->values[1]));
	}
}

/* The state of a kind that is an array, which is never NULL. */
static Datum
array_state(const agg_values *from)
{
	int64		count = get_count(from, 0);

	switch (from->rule->kind)
	{
		case PX_AGG_INT_AVG:
			require_values(from, count, 1, 1);
			return int8_array(count, count == 0 ? 0 :
							  DatumGetInt64(from->values[1]));
		case PX_AGG_INTERVAL_AVG:
			require_values(from, count, 1, 1);
			return interval_array(count, DatumGetIntervalP(from->values[1]));
		case PX_AGG_FLOAT:
			require_values(from, count, 1, 2);
			return float_state(from, count);
		default:
			require_values(from, count, PX_REGR_SUM_X,
						   PX_REGRESSION_STATE_HAS_COMMON ? PX_REGR_MAX_Y
														  : PX_REGR_SXY);
			return regression_state(from, count);
	}
}

Datum
px_agg_state(const px_agg_rule *rule, const char *servername,
			 const Datum *values, const bool *isnull, bool *state_isnull)
{
	const agg_values from = {
		.rule = rule,
		.servername = servername,
		.values = values,
		.isnull = isnull
	};

	*state_isnull = false;
	switch (rule->kind)
	{
		case PX_AGG_COUNT:
			return Int64GetDatum(get_count(&from, 0));
		case PX_AGG_VALUE:
			*state_isnull = isnull[0];
			return values[0];
		case PX_AGG_INTERVAL_SUM:
			if (PX_INTERVAL_STATE_IS_INTERNAL)
				return internal_state(&from, state_isnull);
			*state_isnull = isnull[0];
			return values[0];
		case PX_AGG_INTERVAL_AVG:
			if (PX_INTERVAL_STATE_IS_INTERNAL)
				return internal_state(&from, state_isnull);
			return array_state(&from);
		case PX_AGG_INT_AVG:
		case PX_AGG_FLOAT:
		case PX_AGG_REGRESSION:
			return array_state(&from);
		case PX_AGG_INT8_SUM:
		case PX_AGG_NUMERIC_SUM:
		case PX_AGG_INT_VARIANCE:
		case PX_AGG_INT8_VARIANCE:
		case PX_AGG_NUMERIC_VARIANCE:
			return internal_state(&from, state_isnull);
	}
	pg_unreachable();
}
