/*-------------------------------------------------------------------------
 *
 * patched.c
 *		Values that are integers but for a few, which travel as they are.
 *
 * Encoded form: number of exceptions (4 bytes), zero (4); child of the
 * integers (width 8); child of the exceptions' positions (width 4,
 * ascending); the exceptions, packed.
 *
 * Source: Zukowski, Héman, Nes, Boncz, "Super-Scalar RAM-CPU Cache
 * Compression" (ICDE 2006), where exceptions are patched into what was decoded
 * without a branch; here they are values of another form, not wider integers.
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include "column/fixed/patched.h"
#include "column/ints/ints.h"
#include "column/packed.h"

static bool
px_patched_suits(uint8_t form, uint8_t width)
{
	return form == PX_FORM_FIXED && width == sizeof(int64_t);
}

size_t
px_patched_plain_nbytes(const px_column *column)
{
	return 8 + 2 * PX_CHILD_HEADER_NBYTES + column->values_nbytes +
		PX_ALIGN((size_t) column->sent->nvalues * 4) +
		px_packed_values_nbytes(column->sent);
}

static px_status
px_patched_write(px_writer *out, const px_encode_input *input,
				 const px_encode_plan *plan, px_encoded *result)
{
	const px_column *sent = input->column->sent;
	px_ints		ints = px_column_ints(input->column);
	px_ints		positions =
		{(const uint8_t *) input->column->positions, sent->nvalues, 4, false};
	px_status	status;

	if (!px_write_u32(out, sent->nvalues) || !px_write_u32(out, 0))
		return PX_NO_SPACE;
	if (input->pack)
	{
		result->codec_use = PX_CODEC_USE_ON_INTS;
		status = px_child_write(out, &ints, &plan->ints, input->scratch.rest,
								&result->stale);
	}
	else
		status = px_flat_child_write(out, &ints, false);
	if (status == PX_OK)
		status = px_flat_child_write(out, &positions, input->pack);
	if (status != PX_OK)
		return status;

	return px_packed_values_write(out, sent);
}

px_status
px_patched_read(const px_chunk *chunk, const uint8_t *encoded,
				const px_decode_room *room, int64_t *values,
				px_patches *patches, px_fault *fault)
{
	uint32_t	n = chunk->nvalues;
	int64_t    *positions = room->scratch;
	int64_t    *rest = room->scratch + n;
	px_reader	r = {encoded, chunk->encoded_nbytes, 0};
	uint32_t	exceptions;
	uint32_t	reserved;
	int64_t		previous = -1;
	px_status	status;

	if (!px_read_u32(&r, &exceptions) || !px_read_u32(&r, &reserved))
		return px_fail(fault, PX_TRUNCATED, "header of patched integers", 8,
					   chunk->encoded_nbytes);
	if (reserved != 0)
		return px_fail(fault, PX_BAD_VALUE,
					   "reserved bytes of patched integers", 0, reserved);
	if (exceptions == 0 || exceptions > n)
		return px_fail(fault, PX_BAD_VALUE, "exceptions of integers", n,
					   exceptions);

	status = px_child_read(&r, n, 8, true, room->scratch, values, fault);
	if (status == PX_OK)
		status = px_child_read(&r, exceptions, 4, false, rest, positions,
							   fault);
	if (status != PX_OK)
		return status;
	for (uint32_t i = 0; i < exceptions; i++)
	{
		if (positions[i] <= previous || positions[i] >= (int64_t) n)
			return px_fail(fault, PX_BAD_VALUE, "position of an exception",
						   n - 1, (uint64_t) positions[i]);
		previous = positions[i];
	}

	patches->n = exceptions;
	patches->rows = positions;
	patches->sent = (const uint8_t **) rest;

	return px_packed_values_read(encoded + r.pos, px_reader_left(&r),
								 exceptions, patches->sent, fault);
}

/* Read by px_chunk_decode_patched alone, as others do not know of patches. */
const px_encoding px_encoding_patched = {
	.name = "patched",
	.suits = px_patched_suits,
	.write = px_patched_write
};
