/*-------------------------------------------------------------------------
 *
 * mean.h
 *		A moving average.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_ADAPT_MEAN_H
#define PX_ADAPT_MEAN_H

/*
 * What changes with time is averaged over this: a hundred batches of 1 ms, and
 * some round trips of a network nearby.  With 20 ms, simulated streams over
 * links that change take 1 % longer; 300 ms make no difference.
 */
#define PX_TIME_MEMORY_NS		100e6

/* Sums of samples, to which older samples contribute less and less. */
typedef struct px_mean
{
	double		weight;			/* bytes or nanoseconds; 0: no sample yet */
	double		sum;			/* of values, by weight */
} px_mean;

/*
 * Add a sample: value was measured over weight.  Samples count until about
 * memory of weight has come after them.
 */
static inline void
px_mean_add(px_mean *mean, double weight, double value, double memory)
{
	double		keep = memory / (memory + weight);

	mean->weight = mean->weight * keep + weight;
	mean->sum = mean->sum * keep + value;
}

/* Value per weight; 0 without a sample. */
static inline double
px_mean_get(const px_mean *mean)
{
	return mean->weight > 0 ? mean->sum / mean->weight : 0;
}

#endif							/* PX_ADAPT_MEAN_H */
