/*-------------------------------------------------------------------------
 *
 * planes.c
 *		Byte planes: the first bytes of all values, then the second ones, ...
 *
 * For what is no integer and no decimal number: the exponents of measured
 * floats, the version digits of uuids, the unused parts of intervals take
 * few bits or none, while the rest is left as it is.
 *
 * Encoded form: one child of width 1 (unsigned) for each byte of a value.
 *
 * Source: Shuffle filter of HDF5; Parquet's BYTE_STREAM_SPLIT.
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include "port/pg_bitutils.h"

#include "column/fixed.h"
#include "column/for.h"

size_t
px_planes_nbytes(const uint8_t *values, uint32_t n, uint8_t width)
{
	size_t		sum = 0;

	for (unsigned plane = 0; plane < width; plane++)
	{
		unsigned	min = 255;
		unsigned	max = 0;
		size_t		nbytes = 1;

		for (uint32_t i = 0; i < n; i++)
		{
			unsigned	byte = values[(size_t) i * width + plane];

			min = Min(min, byte);
			max = Max(max, byte);
		}
		if (min < max)
			nbytes = Min(px_for_nbytes(n, (unsigned) pg_leftmost_one_pos32(max - min) + 1), n);
		sum += PX_CHILD_HEADER_NBYTES + PX_ALIGN(nbytes);
	}

	return sum;
}

px_status
px_planes_write(px_writer *out, const uint8_t *values, uint32_t n,
				uint8_t width, uint8_t *scratch)
{
	static const px_ints_plan flat = {PX_INTS_FLAT, 1};
	px_ints		plane = {scratch, n, 1, false};
	bool		stale = false;

	for (unsigned k = 0; k < width; k++)
	{
		px_status	status;

		for (uint32_t i = 0; i < n; i++)
			scratch[i] = values[(size_t) i * width + k];
		status = px_child_write(out, &plane, &flat, NULL, &stale);
		if (status != PX_OK)
			return status;
	}

	return PX_OK;
}

px_status
px_planes_decode(const uint8_t *encoded, size_t encoded_nbytes, uint32_t n,
				 uint8_t width, uint8_t *out, size_t stride, int64_t *scratch,
				 px_fault *fault)
{
	px_reader	r = {encoded, encoded_nbytes, 0};

	for (unsigned k = 0; k < width; k++)
	{
		px_child	child;
		px_status	status;

		status = px_child_find(&r, 1, &child, fault);
		if (status != PX_OK)
			return status;

		/* Most planes are plain: save the way over 64-bit integers. */
		if (child.encoding == PX_ENC_PLAIN && child.nbytes == n)
		{
			for (uint32_t i = 0; i < n; i++)
				out[i * stride + k] = child.encoded[i];
			continue;
		}
		status = px_ints_read(child.encoding, child.encoded, child.nbytes, n, 1,
							  false, scratch, NULL, fault);
		if (status != PX_OK)
			return status;
		for (uint32_t i = 0; i < n; i++)
			out[i * stride + k] = (uint8_t) scratch[i];
	}

	if (px_reader_left(&r) > 0)
		return px_fail(fault, PX_TRAILING, "byte planes", r.pos, encoded_nbytes);

	return PX_OK;
}
