/*-------------------------------------------------------------------------
 *
 * rle.c
 *		Runs of equal integers: for sorted and clustered columns.
 *
 * Encoded form: number of runs (4 bytes), zero (4); child of their lengths,
 * each less 1; child of their values.
 *
 * Source: Abadi, Madden, Ferreira, "Integrating Compression and Execution in
 * Column-Oriented Database Systems" (SIGMOD 2006), section 3.2.
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include "column/ints/ints.h"

/*
 * Replace the runs of values[n] by one value each, and write their lengths
 * less 1 to lengths; returns their number.
 */
static uint32_t
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

static px_status
px_rle_write_stream(px_writer *out, uint64_t *values, uint32_t n,
					const px_ints_plan *plan, int step, uint64_t *scratch)
{
	uint64_t   *lengths = scratch;
	uint32_t	nruns = px_rle_encode(values, n, lengths);
	px_ints		length_ints = px_numbers((const uint8_t *) lengths, nruns);
	px_ints		value_ints = px_numbers((const uint8_t *) values, nruns);
	px_status	status;

	if (nruns > n / 2)
		return PX_UNSUITABLE;

	if (!px_write_u32(out, nruns) || !px_write_u32(out, 0))
		return PX_NO_SPACE;
	status = px_flat_child_write(out, &length_ints, true);
	if (status != PX_OK)
		return status;

	/* A single value has no differences. */
	if (nruns < 2)
		return px_flat_child_write(out, &value_ints, true);
	return px_step_child_write(out, values, nruns, plan, step + 1, lengths);
}

/*
 * Spread the nruns values that stand at out + n - nruns over out[n].
 * lengths are less 1; PX_BAD_VALUE unless they make n together.
 *
 * A run never reaches beyond its own value's place: each of the runs after
 * it needs a place at least.  So values can stand at the end of out, each
 * read before it is overwritten.
 */
static px_status
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

static px_status
px_rle_read_stream(const px_int_stream *stream, int64_t *scratch,
				   int64_t *values, px_fault *fault)
{
	uint32_t	n = stream->n;
	px_reader	r;
	uint32_t	nruns;
	uint32_t	reserved;
	px_status	status;

	status = px_transform_begin(stream, &r, fault);
	if (status != PX_OK)
		return status;
	if (scratch == NULL)
		return px_fail(fault, PX_BAD_ENCODING, "encoding of runs",
					   PX_ENC_FOR, PX_ENC_RLE);
	if (!px_read_u32(&r, &nruns) || !px_read_u32(&r, &reserved))
		return px_fail(fault, PX_TRUNCATED, "number of runs", 8,
					   px_reader_left(&r));
	if (nruns < 1 || nruns > n)
		return px_fail(fault, PX_BAD_VALUE, "number of runs", n, nruns);
	if (reserved != 0)
		return px_fail(fault, PX_BAD_VALUE, "reserved bytes of runs", 0,
					   reserved);

	/* There is no room for the lengths of runs inside of runs. */
	status = px_transform_child_read(stream, &r, nruns, NULL, scratch, fault);
	if (status == PX_OK)
		status = px_transform_child_read(stream, &r, nruns, NULL,
										 values + n - nruns, fault);
	if (status == PX_OK)
		status = px_rle_decode((uint64_t *) values, n, scratch, nruns, fault);
	if (status != PX_OK)
		return status;

	return px_transform_end(stream, &r, values, fault);
}

const px_encoding px_encoding_rle = {
	.name = "run length",
	.suits = px_suits_ints,
	.write_stream = px_rle_write_stream,
	.read_stream = px_rle_read_stream
};
