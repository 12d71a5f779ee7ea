/*-------------------------------------------------------------------------
 *
 * patched.c
 *		Integers, most of them: the few values that are none travel beside.
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

#include "column/patched.h"
#include "column/plain.h"

size_t
px_patched_plain_nbytes(const px_column *column)
{
	return 8 + 2 * PX_CHILD_HEADER_NBYTES + column->values_nbytes +
		PX_ALIGN((size_t) column->sent->nvalues * 4) +
		px_column_values_nbytes(column->sent);
}

px_status
px_patched_write(px_writer *out, const px_column *column,
				 const px_ints_plan *plan, uint8_t *scratch, bool *stale)
{
	const px_column *sent = column->sent;
	px_ints		ints = {column->values, column->nvalues, 8, true};
	px_ints		positions = {(const uint8_t *) column->positions, sent->nvalues, 4, false};
	px_status	status;

	if (!px_write_u32(out, sent->nvalues) || !px_write_u32(out, 0))
		return PX_NO_SPACE;
	if (plan)
		status = px_child_write(out, &ints, plan, scratch, stale);
	else
		status = px_flat_child_write(out, &ints, false);
	if (status == PX_OK)
		status = px_flat_child_write(out, &positions, plan != NULL);
	if (status != PX_OK)
		return status;

	return px_packed_values_write(out, sent);
}

px_status
px_patched_decode(const uint8_t *encoded, size_t encoded_nbytes, uint32_t n,
				  int64_t *out, int64_t *scratch, px_patches *patches,
				  px_fault *fault)
{
	px_reader	r = {encoded, encoded_nbytes, 0};
	uint32_t	exceptions;
	uint32_t	reserved;
	int64_t		previous = -1;
	px_status	status;

	if (!px_read_u32(&r, &exceptions) || !px_read_u32(&r, &reserved))
		return px_fail(fault, PX_TRUNCATED, "header of patched integers", 8, encoded_nbytes);
	if (reserved != 0)
		return px_fail(fault, PX_BAD_VALUE, "reserved bytes of patched integers", 0, reserved);
	if (exceptions == 0 || exceptions > n)
		return px_fail(fault, PX_BAD_VALUE, "exceptions of integers", n, exceptions);

	status = px_child_read(&r, n, 8, true, out, scratch, fault);
	if (status == PX_OK)
		status = px_child_read(&r, exceptions, 4, false, scratch, scratch + n, fault);
	if (status != PX_OK)
		return status;
	for (uint32_t i = 0; i < exceptions; i++)
	{
		if (scratch[i] <= previous || scratch[i] >= (int64_t) n)
			return px_fail(fault, PX_BAD_VALUE, "position of an exception",
						   n - 1, (uint64_t) scratch[i]);
		previous = scratch[i];
	}

	patches->n = exceptions;
	patches->rows = scratch;
	patches->sent = (const uint8_t **) (scratch + n);

	return px_plain_decode_bytes(encoded + r.pos, px_reader_left(&r), exceptions,
								 patches->sent, fault);
}
