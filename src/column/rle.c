/*-------------------------------------------------------------------------
 *
 * rle.c
 *		Runs of equal integers: for sorted and clustered columns.
 *
 * Source: Abadi, Madden, Ferreira, "Integrating Compression and Execution in
 * Column-Oriented Database Systems" (SIGMOD 2006), section 3.2.
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include "column/transform.h"

uint32_t
px_rle_encode(uint64_t *values, uint32_t n, uint64_t *lengths)
{
	uint32_t	nruns = 0;
	uint32_t	start = 0;

	for (uint32_t i = 1; i <= n; i++)
	{
		if (i < n && values[i] == values[start])
			continue;
		lengths[nruns] = i - start - 1;
		values[nruns++] = values[start];
		start = i;
	}

	return nruns;
}

/*
 * A run never reaches beyond its own value's place: each of the runs behind
 * it needs a place at least.  So values can stand at the end of out, each
 * read before it is overwritten.
 */
px_status
px_rle_decode(uint64_t *out, uint32_t n, const int64_t *lengths,
			  uint32_t nruns, px_fault *fault)
{
	const uint64_t *values = out + n - nruns;
	uint64_t	left = n;

	for (uint32_t i = 0; i < nruns; i++)
	{
		uint64_t	more = (uint64_t) lengths[i];
		uint64_t	value = values[i];

		/* What is left must do for the other runs, too. */
		if (more >= left || left - more < nruns - i)
			return px_fail(fault, PX_BAD_VALUE, "run length", left, more);
		left -= more + 1;

		*out++ = value;
		for (; more > 0; more--)
			*out++ = value;
	}
	if (left > 0)
		return px_fail(fault, PX_BAD_VALUE, "sum of run lengths", n, n - left);

	return PX_OK;
}
