/*-------------------------------------------------------------------------
 *
 * scaled.c
 *		Integers that are multiples of a common factor: whole seconds in
 *		microseconds, whole amounts in hundredths.
 *
 * The quotients are computed by multiplication: an odd factor has an inverse
 * modulo 2^64, and a product with it is at most (2^64 - 1) / factor exactly
 * if the factor divides the number.
 *
 * Source: Granlund and Montgomery, "Division by Invariant Integers using
 * Multiplication" (PLDI 1994), section 9.
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include "port/pg_bitutils.h"

#include "column/transform.h"

uint64_t
px_scaled_gcd(uint64_t a, uint64_t b)
{
	while (b != 0)
	{
		uint64_t	rest = a % b;

		a = b;
		b = rest;
	}

	return a;
}

bool
px_scaled_encode(uint64_t *values, uint32_t n, uint64_t base, uint64_t factor)
{
	int			shift = pg_rightmost_one_pos64(factor);
	uint64_t	odd = factor >> shift;
	uint64_t	low_bits = (UINT64_C(1) << shift) - 1;
	uint64_t	quotient_max = UINT64_MAX / odd;
	uint64_t	inverse = odd;	/* right in its lowest 3 bits */
	uint64_t	wrong = 0;

	/* Newton's iteration doubles the number of right bits: 6 ... 96. */
	for (int i = 0; i < 5; i++)
		inverse *= 2 - odd * inverse;

	for (uint32_t i = 0; i < n; i++)
	{
		uint64_t	difference = values[i] - base;
		uint64_t	quotient = (difference >> shift) * inverse;

		wrong |= (difference & low_bits) | (quotient > quotient_max);
		values[i] = quotient;
	}

	return wrong == 0;
}

void
px_scaled_decode(uint64_t *values, uint32_t n, uint64_t base, uint64_t factor)
{
	for (uint32_t i = 0; i < n; i++)
		values[i] = base + values[i] * factor;
}
