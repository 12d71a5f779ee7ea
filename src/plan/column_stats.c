/*-------------------------------------------------------------------------
 *
 * column_stats.c
 *		Statistics of a column: checked, merged, as a row of pg_statistic.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/pg_statistic.h"
#include "catalog/pg_type_d.h"
#include "utils/array.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/typcache.h"

#include "plan/column_stats.h"

/* Sizes of merged lists: those of PostgreSQL's default statistics target. */
#define MERGED_MCV_MAX		100
#define MERGED_BOUNDS_MAX	101

/* Rounding may make a sum of fractions a little larger than 1. */
#define FRACTION_SUM_MAX	1.01

/* ANALYZE takes a number above this part of the rows for a fraction. */
#define DISTINCT_IS_FRACTION	0.1

/* A value, and the fraction of all rows that it stands for. */
typedef struct weighted_value
{
	Datum		value;
	double		weight;
	int			part;			/* which table it comes from */
} weighted_value;

/* ---------------------------------------------------------------------
 * Comparing
 * --------------------------------------------------------------------- */

typedef struct comparison
{
	TypeCacheEntry *type;
	Oid			collation;
} comparison;

static comparison
comparison_of(px_column_type type)
{
	return (comparison) {
		lookup_type_cache(type.type, TYPECACHE_CMP_PROC_FINFO),
		type.collation
	};
}

static bool
can_compare(const comparison *cmp)
{
	return OidIsValid(cmp->type->cmp_proc_finfo.fn_oid);
}

static int
compare(const comparison *cmp, Datum a, Datum b)
{
	return DatumGetInt32(FunctionCall2Coll(&cmp->type->cmp_proc_finfo,
										   cmp->collation, a, b));
}

static int
compare_weighted(const void *a, const void *b, void *cmp)
{
	return compare(cmp, ((const weighted_value *) a)->value,
				   ((const weighted_value *) b)->value);
}

static int
compare_weights(const void *a, const void *b)
{
	double		left = ((const weighted_value *) a)->weight;
	double		right = ((const weighted_value *) b)->weight;

	return left > right ? -1 : left < right;
}

/* ---------------------------------------------------------------------
 * Checking
 * --------------------------------------------------------------------- */

/* NaN is not. */
static bool
is_between(double value, double min, double max)
{
	return value >= min && value <= max;
}

static bool
check_mcv(const px_column_stats *stats)
{
	double		sum = 0;

	for (int i = 0; i < stats->nmcv; i++)
	{
		if (!is_between(stats->mcv_freq[i], 0, 1))
			return false;
		sum += stats->mcv_freq[i];
	}
	return sum + stats->null_frac <= FRACTION_SUM_MAX;
}

static bool
check_bounds(px_column_type type, const px_column_stats *stats)
{
	comparison	cmp = comparison_of(type);

	if (stats->nbounds < 2 || !can_compare(&cmp))
		return false;
	for (int i = 1; i < stats->nbounds; i++)
	{
		if (compare(&cmp, stats->bounds[i - 1], stats->bounds[i]) > 0)
			return false;
	}
	return true;
}

bool
px_column_stats_check(px_column_type type, px_column_stats *stats)
{
	if (!is_between(stats->null_frac, 0, 1) ||
		!is_between(stats->n_distinct, -1, 1e18) ||
		!is_between(stats->width, 0, 1 << 30))
		return false;
	if (stats->has_correlation && !is_between(stats->correlation, -1, 1))
		stats->has_correlation = false;
	if (!check_mcv(stats))
		stats->nmcv = 0;
	if (!check_bounds(type, stats))
		stats->nbounds = 0;
	return true;
}

/* ---------------------------------------------------------------------
 * Rows of pg_statistic
 * --------------------------------------------------------------------- */

static ArrayType *
array_of_numbers(const double *numbers, int n)
{
	Datum	   *elements = palloc(n * sizeof(Datum));

	for (int i = 0; i < n; i++)
		elements[i] = Float4GetDatum((float4) numbers[i]);
	return construct_array(elements, n, FLOAT4OID, sizeof(float4), true,
						   TYPALIGN_INT);
}

static ArrayType *
array_of_values(Oid type, Datum *values, int n)
{
	int16		len;
	bool		byval;
	char		align;

	get_typlenbyvalalign(type, &len, &byval, &align);
	return construct_array(values, n, type, len, byval, align);
}

/* Fill the next free slot of the row; numbers and values may be NULL. */
static void
fill_slot(Datum *row, bool *nulls, int *slot, int kind, Oid operator,
		  Oid collation, ArrayType *numbers, ArrayType *values)
{
	int			i = (*slot)++;

	row[Anum_pg_statistic_stakind1 - 1 + i] = Int16GetDatum(kind);
	row[Anum_pg_statistic_staop1 - 1 + i] = ObjectIdGetDatum(operator);
	row[Anum_pg_statistic_stacoll1 - 1 + i] = ObjectIdGetDatum(collation);
	row[Anum_pg_statistic_stanumbers1 - 1 + i] = PointerGetDatum(numbers);
	nulls[Anum_pg_statistic_stanumbers1 - 1 + i] = numbers == NULL;
	row[Anum_pg_statistic_stavalues1 - 1 + i] = PointerGetDatum(values);
	nulls[Anum_pg_statistic_stavalues1 - 1 + i] = values == NULL;
}

static void
fill_slots(Datum *row, bool *nulls, px_column_type type,
		   const px_column_stats *stats)
{
	TypeCacheEntry *entry =
		lookup_type_cache(type.type, TYPECACHE_EQ_OPR | TYPECACHE_LT_OPR);
	int			slot = 0;

	if (stats->nmcv > 0 && OidIsValid(entry->eq_opr))
		fill_slot(row, nulls, &slot, STATISTIC_KIND_MCV, entry->eq_opr,
				  type.collation,
				  array_of_numbers(stats->mcv_freq, stats->nmcv),
				  array_of_values(type.type, stats->mcv, stats->nmcv));
	if (stats->nbounds > 0 && OidIsValid(entry->lt_opr))
		fill_slot(row, nulls, &slot, STATISTIC_KIND_HISTOGRAM, entry->lt_opr,
				  type.collation, NULL,
				  array_of_values(type.type, stats->bounds, stats->nbounds));
	if (stats->has_correlation && OidIsValid(entry->lt_opr))
		fill_slot(row, nulls, &slot, STATISTIC_KIND_CORRELATION,
				  entry->lt_opr, type.collation,
				  array_of_numbers(&stats->correlation, 1), NULL);
	while (slot < STATISTIC_NUM_SLOTS)
		fill_slot(row, nulls, &slot, 0, InvalidOid, InvalidOid, NULL, NULL);
}

HeapTuple
px_column_stats_tuple(Oid relid, AttrNumber attnum, bool inherited,
					  px_column_type type, const px_column_stats *stats)
{
	Relation	relation = table_open(StatisticRelationId, AccessShareLock);
	Datum		row[Natts_pg_statistic] = {0};
	bool		nulls[Natts_pg_statistic] = {0};
	HeapTuple	tuple;

	row[Anum_pg_statistic_starelid - 1] = ObjectIdGetDatum(relid);
	row[Anum_pg_statistic_staattnum - 1] = Int16GetDatum(attnum);
	row[Anum_pg_statistic_stainherit - 1] = BoolGetDatum(inherited);
	row[Anum_pg_statistic_stanullfrac - 1] =
		Float4GetDatum((float4) stats->null_frac);
	row[Anum_pg_statistic_stawidth - 1] = Int32GetDatum(stats->width);
	row[Anum_pg_statistic_stadistinct - 1] =
		Float4GetDatum((float4) stats->n_distinct);
	fill_slots(row, nulls, type, stats);
	tuple = heap_form_tuple(RelationGetDescr(relation), row, nulls);
	table_close(relation, AccessShareLock);
	return tuple;
}

void
px_column_stats_read(HeapTuple tuple, px_column_type type,
					 px_column_stats *stats)
{
	Form_pg_statistic form = (Form_pg_statistic) GETSTRUCT(tuple);
	AttStatsSlot slot;

	memset(stats, 0, sizeof(*stats));
	stats->null_frac = form->stanullfrac;
	stats->width = form->stawidth;
	stats->n_distinct = form->stadistinct;

	/* What the slot has is in the current memory context, and is kept. */
	if (get_attstatsslot(&slot, tuple, STATISTIC_KIND_MCV, InvalidOid,
						 ATTSTATSSLOT_VALUES | ATTSTATSSLOT_NUMBERS) &&
		slot.valuetype == type.type && slot.nvalues == slot.nnumbers)
	{
		stats->nmcv = slot.nvalues;
		stats->mcv = slot.values;
		stats->mcv_freq = palloc(slot.nnumbers * sizeof(double));
		for (int i = 0; i < slot.nnumbers; i++)
			stats->mcv_freq[i] = slot.numbers[i];
	}
	if (get_attstatsslot(&slot, tuple, STATISTIC_KIND_HISTOGRAM, InvalidOid,
						 ATTSTATSSLOT_VALUES) &&
		slot.valuetype == type.type && slot.nvalues >= 2)
	{
		stats->nbounds = slot.nvalues;
		stats->bounds = slot.values;
	}
}

/* ---------------------------------------------------------------------
 * Merging
 * --------------------------------------------------------------------- */

/* The number of distinct values of a table of so many rows. */
static double
distinct_values(const px_column_stats *stats, double tuples)
{
	double		n = stats->n_distinct < 0 ? -stats->n_distinct * tuples :
		stats->n_distinct;

	return Min(n, tuples);
}

/* How many of so many values are seen in that many draws, on average. */
static double
values_drawn(double values, double draws)
{
	return values * -expm1(-draws / values);
}

/*
 * From how many values were the rows drawn, if distinct are seen in them?
 * Infinity if nearly all rows differ.
 */
static double
values_drawn_from(double distinct, double rows)
{
	double		low = distinct;
	double		high = distinct * 1000;

	if (values_drawn(high, rows) <= distinct || distinct >= rows)
		return INFINITY;
	while (high / low > 1.001)
	{
		double		middle = sqrt(low * high);

		if (values_drawn(middle, rows) < distinct)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/*
 * The number of distinct values of all tables.  If no value is in two tables,
 * it is the sum.  Otherwise we assume that the rows of all tables were drawn
 * from the same values.
 */
static double
merge_distinct(const px_column_stats *parts, const double *tuples, int n,
			   double scale, bool disjoint)
{
	double		sum = 0;
	double		rows = 0;
	double		values = 1;

	for (int i = 0; i < n; i++)
	{
		double		part_rows = tuples[i] * (1 - parts[i].null_frac);
		double		distinct = distinct_values(&parts[i], part_rows);

		if (distinct < 1)
			continue;
		sum += distinct;
		rows += part_rows;
		values = Max(values, values_drawn_from(distinct, part_rows));
	}
	if (disjoint || isinf(values))
		return sum * scale;
	return Min(sum * scale, values_drawn(values, rows * scale));
}

/* Smallest and largest of the values that are known; false if none are. */
static bool
range_of(const comparison *cmp, const px_column_stats *stats, Datum *min,
		 Datum *max)
{
	bool		found = stats->nbounds > 0;

	if (found)
	{
		*min = stats->bounds[0];
		*max = stats->bounds[stats->nbounds - 1];
	}
	for (int i = 0; i < stats->nmcv; i++)
	{
		if (!found || compare(cmp, stats->mcv[i], *min) < 0)
			*min = stats->mcv[i];
		if (!found || compare(cmp, stats->mcv[i], *max) > 0)
			*max = stats->mcv[i];
		found = true;
	}
	return found;
}

/* Do the tables have values of ranges that do not overlap? */
static bool
ranges_are_disjoint(const comparison *cmp, const px_column_stats *parts,
					const double *tuples, int n)
{
	weighted_value *ends = palloc(2 * n * sizeof(weighted_value));
	int			nends = 0;

	for (int i = 0; i < n; i++)
	{
		if (tuples[i] < 1 || parts[i].null_frac >= 1)
			continue;
		if (!range_of(cmp, &parts[i], &ends[nends].value,
					  &ends[nends + 1].value))
			return false;
		ends[nends].part = ends[nends + 1].part = i;
		nends += 2;
	}

	/* In order, the two ends of a range must be neighbours. */
	qsort_arg(ends, nends, sizeof(*ends), compare_weighted,
			  unconstify(comparison *, cmp));
	for (int i = 0; i < nends; i += 2)
	{
		if (ends[i].part != ends[i + 1].part ||
			(i > 0 && compare(cmp, ends[i - 1].value, ends[i].value) == 0))
			return false;
	}
	return true;
}

/* The sum of the fractions of the most common values. */
static double
mcv_sum(const px_column_stats *stats)
{
	double		sum = 0;

	for (int i = 0; i < stats->nmcv; i++)
		sum += stats->mcv_freq[i];
	return sum;
}

/* The fraction of rows that a value has which is not a most common one. */
static double
other_frequency(const px_column_stats *stats, double tuples)
{
	double		values = distinct_values(stats, tuples) - stats->nmcv;

	if (values < 1)
		return 0;
	return Max(0, 1 - stats->null_frac - mcv_sum(stats)) / values;
}

/*
 * Merge the most common values.  *rest gets those that are not common enough,
 * of which there are *nrest.
 */
static void
merge_mcv(const comparison *cmp, const px_column_stats *parts,
		  const double *weights, const double *tuples, int n, bool disjoint,
		  px_column_stats *merged, weighted_value *rest, int *nrest)
{
	double	   *others = palloc(n * sizeof(double));
	double		all_others = 0;
	weighted_value *all;
	int			nall = 0;
	int			nvalues = 0;

	for (int i = 0; i < n; i++)
	{
		nall += parts[i].nmcv;
		others[i] = disjoint ? 0 :
			weights[i] * other_frequency(&parts[i], tuples[i]);
		all_others += others[i];
	}
	all = palloc((nall + 1) * sizeof(weighted_value));
	nall = 0;
	for (int i = 0; i < n; i++)
	{
		for (int j = 0; j < parts[i].nmcv; j++)
			all[nall++] = (weighted_value) {
				parts[i].mcv[j], weights[i] * parts[i].mcv_freq[j], i
			};
	}
	qsort_arg(all, nall, sizeof(*all), compare_weighted,
			  unconstify(comparison *, cmp));

	/* Where a value is not common, it has the frequency of the others. */
	for (int i = 0; i < nall;)
	{
		weighted_value value = {all[i].value, all_others, 0};

		for (; i < nall && compare(cmp, all[i].value, value.value) == 0; i++)
			value.weight += all[i].weight - others[all[i].part];
		all[nvalues++] = value;
	}
	qsort(all, nvalues, sizeof(*all), compare_weights);

	merged->nmcv = Min(nvalues, MERGED_MCV_MAX);
	merged->mcv = palloc((merged->nmcv + 1) * sizeof(Datum));
	merged->mcv_freq = palloc((merged->nmcv + 1) * sizeof(double));
	for (int i = 0; i < merged->nmcv; i++)
	{
		merged->mcv[i] = all[i].value;
		merged->mcv_freq[i] = Min(Max(all[i].weight, 0), 1);
	}
	for (int i = merged->nmcv; i < nvalues; i++)
		rest[(*nrest)++] = all[i];
	merged->n_distinct = Max(merged->n_distinct, nvalues);
}

/*
 * Merge the histograms.  A bound stands for the rows on both sides of it.
 * values has room for all bounds, and nvalues most common values of the parts
 * that are not common any more.
 */
static void
merge_bounds(const comparison *cmp, const px_column_stats *parts,
			 const double *weights, int n, weighted_value *values,
			 int nvalues, px_column_stats *merged)
{
	double		total = 0;
	double		sum = 0;
	int			next = 1;

	for (int i = 0; i < n; i++)
	{
		double		weight = weights[i] *
			Max(0, 1 - parts[i].null_frac - mcv_sum(&parts[i])) /
			Max(parts[i].nbounds - 1, 1);

		for (int j = 0; j < parts[i].nbounds; j++)
		{
			bool		end = j == 0 || j == parts[i].nbounds - 1;

			values[nvalues++] = (weighted_value) {
				parts[i].bounds[j], end ? weight / 2 : weight, i
			};
		}
	}
	if (nvalues < 2)
		return;
	qsort_arg(values, nvalues, sizeof(*values), compare_weighted,
			  unconstify(comparison *, cmp));

	for (int i = 0; i < nvalues; i++)
		total += values[i].weight;
	merged->nbounds = Min(nvalues, MERGED_BOUNDS_MAX);
	merged->bounds = palloc(merged->nbounds * sizeof(Datum));
	merged->bounds[0] = values[0].value;
	for (int i = 0; i < nvalues && next < merged->nbounds - 1; i++)
	{
		sum += values[i].weight;
		while (next < merged->nbounds - 1 &&
			   sum >= total * next / (merged->nbounds - 1))
			merged->bounds[next++] = values[i].value;
	}
	while (next < merged->nbounds)
		merged->bounds[next++] = values[nvalues - 1].value;
}

void
px_column_stats_merge(px_column_type type, const px_column_stats *parts,
					  const double *tuples, int n, double all_tuples,
					  bool is_key, px_column_stats *merged)
{
	comparison	cmp = comparison_of(type);
	double	   *weights = palloc(n * sizeof(double));
	double		rows = 0;
	double		width = 0;
	int			nvalues = 0;
	int			nrest = 0;
	bool		disjoint = is_key;
	weighted_value *values;

	memset(merged, 0, sizeof(*merged));
	for (int i = 0; i < n; i++)
	{
		rows += tuples[i];
		nvalues += parts[i].nmcv + parts[i].nbounds;
	}
	for (int i = 0; i < n; i++)
	{
		weights[i] = rows > 0 ? tuples[i] / rows : 1.0 / n;
		merged->null_frac += weights[i] * parts[i].null_frac;
		width += weights[i] * parts[i].width;
	}
	merged->width = (int) rint(width);
	if (!disjoint && can_compare(&cmp))
		disjoint = ranges_are_disjoint(&cmp, parts, tuples, n);
	merged->n_distinct = merge_distinct(
		parts, tuples, n, rows > 0 ? all_tuples / rows : 1, disjoint);

	if (can_compare(&cmp))
	{
		values = palloc((nvalues + 1) * sizeof(weighted_value));
		merge_mcv(&cmp, parts, weights, tuples, n, disjoint, merged, values,
				  &nrest);
		merge_bounds(&cmp, parts, weights, n, values, nrest, merged);
	}
	if (merged->n_distinct > DISTINCT_IS_FRACTION * all_tuples)
		merged->n_distinct =
			-Min(merged->n_distinct / Max(all_tuples, 1), 1);
}
