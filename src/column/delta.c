/*-------------------------------------------------------------------------
 *
 * delta.c
 *		Differences of neighbouring integers: for keys and times that grow.
 *
 * Source: Lemire and Boytsov, "Decoding billions of integers per second
 * through vectorization" (2015), section 2.
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include "column/transform.h"

void
px_delta_encode(uint64_t *values, uint32_t n)
{
	for (uint32_t i = n - 1; i > 0; i--)
		values[i] -= values[i - 1];
}

void
px_delta_decode(uint64_t *values, uint32_t n)
{
	uint64_t	sum = values[0];

	for (uint32_t i = 1; i < n; i++)
	{
		sum += values[i];
		values[i] = sum;
	}
}
