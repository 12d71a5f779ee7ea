/*-------------------------------------------------------------------------
 *
 * delta.c
 *		Differences of neighbouring integers: for keys and times that grow.
 *
 * Encoded form: first value (8 bytes); child of n - 1 differences.
 *
 * Source: Lemire and Boytsov, "Decoding billions of integers per second
 * through vectorization" (2015), section 2.
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include "column/ints/ints.h"

static px_status
px_delta_write_stream(px_writer *out, uint64_t *values, uint32_t n,
					  const px_ints_plan *plan, int step, uint64_t *scratch)
{
	if (!px_write_u64(out, values[0]))
		return PX_NO_SPACE;
	for (uint32_t i = n - 1; i > 0; i--)
		values[i] -= values[i - 1];

	return px_step_child_write(out, values + 1, n - 1, plan, step + 1,
							   scratch);
}

static void
px_delta_decode(uint64_t *values, uint32_t n)
{
	uint64_t	sum = values[0];

	for (uint32_t i = 1; i < n; i++)
	{
		sum += values[i];
		values[i] = sum;
	}
}

static px_status
px_delta_read_stream(const px_int_stream *stream, int64_t *scratch,
					 int64_t *values, px_fault *fault)
{
	px_reader	r;
	uint64_t	first;
	px_status	status;

	status = px_transform_begin(stream, &r, fault);
	if (status != PX_OK)
		return status;
	if (stream->n < 2)
		return px_fail(fault, PX_BAD_VALUE, "values of a delta", 2, stream->n);
	if (!px_read_u64(&r, &first))
		return px_fail(fault, PX_TRUNCATED, "first value of a delta", 8,
					   px_reader_left(&r));
	status = px_transform_child_read(stream, &r, stream->n - 1, scratch,
									 values + 1, fault);
	if (status != PX_OK)
		return status;
	values[0] = (int64_t) first;
	px_delta_decode((uint64_t *) values, stream->n);

	return px_transform_end(stream, &r, values, fault);
}

const px_encoding px_encoding_delta = {
	.name = "delta",
	.suits = px_suits_ints,
	.write_stream = px_delta_write_stream,
	.read_stream = px_delta_read_stream
};
