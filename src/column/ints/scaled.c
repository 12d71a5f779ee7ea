/*-------------------------------------------------------------------------
 *
 * scaled.c
 *		Integers that are multiples of a common factor: whole seconds in
 *		microseconds, whole amounts in hundredths.
 *
 * Encoded form: base (8 bytes), factor (8); child of n quotients.
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

#include "column/ints/ints.h"

/*
 * Replace values by (value - base) / factor, factor > 1; false if one of
 * these is not a whole number, and values is spoilt.
 */
static bool
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

/* The inverse. */
static void
px_scaled_decode(uint64_t *values, uint32_t n, uint64_t base, uint64_t factor)
{
	for (uint32_t i = 0; i < n; i++)
		values[i] = base + values[i] * factor;
}

static px_status
px_scaled_write_stream(px_writer *out, uint64_t *values, uint32_t n,
					   const px_ints_plan *plan, int step, uint64_t *scratch)
{
	uint64_t	base = values[0];

	for (uint32_t i = 1; i < n; i++)
		base = (uint64_t) Min((int64_t) base, (int64_t) values[i]);
	if (!px_scaled_encode(values, n, base, plan->factor))
		return PX_UNSUITABLE;

	if (!px_write_u64(out, base) || !px_write_u64(out, plan->factor))
		return PX_NO_SPACE;
	return px_step_child_write(out, values, n, plan, step + 1, scratch);
}

static px_status
px_scaled_read_stream(const px_int_stream *stream, int64_t *scratch,
					  int64_t *values, px_fault *fault)
{
	px_reader	r;
	uint64_t	base;
	uint64_t	factor;
	px_status	status;

	status = px_transform_begin(stream, &r, fault);
	if (status != PX_OK)
		return status;
	if (!px_read_u64(&r, &base) || !px_read_u64(&r, &factor))
		return px_fail(fault, PX_TRUNCATED, "base and factor", 16,
					   px_reader_left(&r));
	status = px_transform_child_read(stream, &r, stream->n, scratch, values,
									 fault);
	if (status != PX_OK)
		return status;
	px_scaled_decode((uint64_t *) values, stream->n, base, factor);

	return px_transform_end(stream, &r, values, fault);
}

const px_encoding px_encoding_scaled = {
	.name = "scaled",
	.suits = px_suits_ints,
	.write_stream = px_scaled_write_stream,
	.read_stream = px_scaled_read_stream
};
