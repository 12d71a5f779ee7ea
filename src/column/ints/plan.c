/*-------------------------------------------------------------------------
 *
 * plan.c
 *		Which transforms make a stream of integers smallest.
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include "port/pg_bitutils.h"

#include "column/ints/bitpack.h"
#include "column/ints/load.h"
#include "column/ints/plan.h"

/*
 * A transform must save this fraction of the flat size, as it costs both ends
 * time: TPC-H's l_linenumber would be 1 % smaller as differences.
 */
#define PX_INTS_SAVING_FRACTION		16

uint64_t
px_ints_gcd(uint64_t a, uint64_t b)
{
	while (b != 0)
	{
		uint64_t	rest = a % b;

		a = b;
		b = rest;
	}

	return a;
}

static unsigned
px_bits(uint64_t range)
{
	return range == 0 ? 0 : (unsigned) pg_leftmost_one_pos64(range) + 1;
}

/* Size of n flat integers in a range, where a plain one takes width bytes. */
static size_t
px_flat_nbytes(uint32_t n, uint64_t range, uint8_t width)
{
	unsigned	b = px_bits(range);

	if (b == 0)
		return width;
	if (b >= 8u * width)
		return (size_t) n * width;
	return Min(px_bitpack_nbytes(n, b), (size_t) n * width);
}

/* Smallest and largest of a set of signed numbers. */
typedef struct px_range
{
	int64_t		min;
	int64_t		max;
} px_range;

#define PX_RANGE_EMPTY	{INT64_MAX, INT64_MIN}

static inline void
px_range_add(px_range *range, int64_t value)
{
	range->min = Min(range->min, value);
	range->max = Max(range->max, value);
}

static inline uint64_t
px_range_size(const px_range *range)
{
	return range->min > range->max ? 0 :
		(uint64_t) range->max - (uint64_t) range->min;
}

static inline uint64_t
px_distance(int64_t a, int64_t b)
{
	return a > b ? (uint64_t) a - (uint64_t) b : (uint64_t) b - (uint64_t) a;
}

typedef struct px_ints_stats
{
	px_range	values;
	px_range	deltas;
	px_range	steps;			/* deltas other than 0 */
	uint32_t	nruns;
	uint32_t	longest;		/* run */
	uint64_t	factor;			/* of all differences; 0 if all are equal */
} px_ints_stats;

static void
px_ints_measure(const px_ints *ints, px_ints_stats *stats)
{
	/* Makes the order of unsigned numbers that of signed ones. */
	uint64_t	bias = ints->is_signed ? 0 : UINT64_C(1) << 63;
	int64_t		value;
	int64_t		previous = 0;
	int64_t		first;
	uint32_t	run = 0;

	px_ints_load(ints->values, 1, ints->width, ints->is_signed, &first);
	*stats = (px_ints_stats) {
		PX_RANGE_EMPTY, PX_RANGE_EMPTY, PX_RANGE_EMPTY, 0, 0, 0
	};
	for (uint32_t i = 0; i < ints->n; i++)
	{
		int64_t		delta;

		px_ints_load(ints->values + (size_t) i * ints->width, 1,
					 ints->width, ints->is_signed, &value);
		px_range_add(&stats->values, (int64_t) ((uint64_t) value ^ bias));
		delta = (int64_t) ((uint64_t) value - (uint64_t) previous);
		previous = value;
		if (i > 0)
			px_range_add(&stats->deltas, delta);
		if (i > 0 && delta == 0)
			run++;
		else
		{
			if (i > 0)
			{
				px_range_add(&stats->steps, delta);
				if (stats->factor != 1)
					stats->factor = px_ints_gcd(px_distance(first, value),
												stats->factor);
			}
			run = 1;
			stats->nruns++;
		}
		stats->longest = Max(stats->longest, run);
	}
}

/* The ways to transform a stream, after scaling. */
static const uint8_t px_flat[PX_TRANSFORMS_MAX] = {PX_ENC_PLAIN};
static const uint8_t px_deltas[PX_TRANSFORMS_MAX] = {PX_ENC_DELTA};
static const uint8_t px_runs[PX_TRANSFORMS_MAX] = {PX_ENC_RLE};
static const uint8_t px_runs_of_deltas[PX_TRANSFORMS_MAX] =
	{PX_ENC_RLE, PX_ENC_DELTA};

/* Consider transforms whose result has nbytes. */
static void
px_plan_improve(px_ints_plan *plan, size_t *best_nbytes,
				const uint8_t transforms[PX_TRANSFORMS_MAX], uint64_t factor,
				size_t nbytes)
{
	int			step = 0;

	if (factor > 1)
		nbytes += 16 + PX_CHILD_HEADER_NBYTES;
	if (nbytes >= *best_nbytes)
		return;
	*best_nbytes = nbytes;
	memset(plan, 0, sizeof(*plan));
	if (factor > 1)
	{
		plan->transforms[step++] = PX_ENC_SCALED;
		plan->factor = factor;
	}
	memcpy(plan->transforms + step, transforms, PX_TRANSFORMS_MAX);
}

static void
px_plan_improve_all(px_ints_plan *plan, size_t *best_nbytes, uint32_t n,
					uint8_t width, const px_ints_stats *stats, uint64_t factor)
{
	uint64_t	range = px_range_size(&stats->values) / factor;
	uint64_t	delta_range = px_range_size(&stats->deltas) / factor;
	uint64_t	step_range = px_range_size(&stats->steps) / factor;
	size_t		runs_nbytes = 8 + 2 * PX_CHILD_HEADER_NBYTES +
	px_flat_nbytes(stats->nruns, stats->longest - 1, 8);

	px_plan_improve(plan, best_nbytes, px_flat, factor,
					px_flat_nbytes(n, range, factor > 1 ? 8 : width));
	px_plan_improve(plan, best_nbytes, px_deltas, factor,
					8 + PX_CHILD_HEADER_NBYTES +
					px_flat_nbytes(n - 1, delta_range, 8));
	if (stats->nruns > n / 2)
		return;
	px_plan_improve(plan, best_nbytes, px_runs, factor, runs_nbytes +
					px_flat_nbytes(stats->nruns, range, 8));
	px_plan_improve(plan, best_nbytes, px_runs_of_deltas, factor, runs_nbytes +
					8 + PX_CHILD_HEADER_NBYTES +
					px_flat_nbytes(stats->nruns, step_range, 8));
}

void
px_ints_choose(const px_ints *ints, px_ints_plan *plan, size_t *nbytes)
{
	px_ints_stats stats;
	size_t		flat_nbytes;

	memset(plan, 0, sizeof(*plan));
	if (ints->n == 0)
	{
		*nbytes = 0;
		return;
	}

	px_ints_measure(ints, &stats);
	flat_nbytes = px_flat_nbytes(ints->n, px_range_size(&stats.values),
								 ints->width);
	*nbytes = flat_nbytes;
	if (ints->n < PX_INTS_TRANSFORM_MIN || stats.nruns == 1)
		return;

	px_plan_improve_all(plan, nbytes, ints->n, ints->width, &stats, 1);
	if (stats.factor > 1)
		px_plan_improve_all(plan, nbytes, ints->n, ints->width, &stats,
							stats.factor);
	if (*nbytes >= flat_nbytes - flat_nbytes / PX_INTS_SAVING_FRACTION)
	{
		memset(plan, 0, sizeof(*plan));
		*nbytes = flat_nbytes;
	}
}
