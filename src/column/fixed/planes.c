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

#include "column/ints/bitpack.h"
#include "column/ints/ints.h"
#include "column/ints/load.h"
#include "column/plain.h"

/* Exactly; and what integers are better at is not for planes. */
static px_status
px_planes_size(const px_encode_input *input, px_encode_plan *plan,
			   size_t *nbytes)
{
	const uint8_t *values = input->column->values;
	uint32_t	n = input->column->nvalues;
	uint8_t		width = input->column->width;

	(void) plan;

	if (px_width_is_int(width) && !input->column->is_float)
		return PX_UNSUITABLE;

	*nbytes = 0;
	for (unsigned plane = 0; plane < width; plane++)
	{
		unsigned	min = 255;
		unsigned	max = 0;
		size_t		plane_nbytes = 1;

		for (uint32_t i = 0; i < n; i++)
		{
			unsigned	byte = values[(size_t) i * width + plane];

			min = Min(min, byte);
			max = Max(max, byte);
		}
		if (min < max)
		{
			unsigned	b = (unsigned) pg_leftmost_one_pos32(max - min) + 1;

			plane_nbytes = Min(px_bitpack_nbytes(n, b), n);
		}
		*nbytes += PX_CHILD_HEADER_NBYTES + PX_ALIGN(plane_nbytes);
	}

	return PX_OK;
}

static px_status
px_planes_write(px_writer *out, const px_encode_input *input,
				const px_encode_plan *plan, px_encoded *result)
{
	const uint8_t *values = input->column->values;
	uint32_t	n = input->column->nvalues;
	uint8_t		width = input->column->width;
	uint8_t    *bytes = input->scratch.values;
	px_ints		plane = {bytes, n, 1, false};

	(void) plan;

	result->codec_use = PX_CODEC_USE_ON_INTS;
	for (unsigned k = 0; k < width; k++)
	{
		px_status	status;

		for (uint32_t i = 0; i < n; i++)
			bytes[i] = values[(size_t) i * width + k];
		status = px_flat_child_write(out, &plane, true);
		if (status != PX_OK)
			return status;
	}

	return PX_OK;
}

static px_status
px_planes_verify(const px_chunk *chunk, const uint8_t *encoded,
				 size_t *buffer_nbytes, px_fault *fault)
{
	(void) encoded;
	(void) fault;

	*buffer_nbytes = (size_t) chunk->nvalues * chunk->width;

	return PX_OK;
}

/* Value i goes to out + i * stride; scratch[nvalues]. */
static px_status
px_planes_read(const px_chunk *chunk, const uint8_t *encoded, int64_t *scratch,
			   uint8_t *out, size_t stride, px_fault *fault)
{
	uint32_t	n = chunk->nvalues;
	px_reader	r = {encoded, chunk->encoded_nbytes, 0};

	for (unsigned k = 0; k < chunk->width; k++)
	{
		px_int_stream	plane;
		px_status	status;

		status = px_child_find(&r, n, 1, false, &plane, fault);
		if (status != PX_OK)
			return status;

		/* Most planes are plain: save the way over 64-bit integers. */
		if (plane.encoding == PX_ENC_PLAIN && plane.nbytes == n)
		{
			for (uint32_t i = 0; i < n; i++)
				out[i * stride + k] = plane.encoded[i];
			continue;
		}
		status = px_ints_read(&plane, NULL, scratch, fault);
		if (status != PX_OK)
			return status;
		for (uint32_t i = 0; i < n; i++)
			out[i * stride + k] = (uint8_t) scratch[i];
	}

	if (px_reader_left(&r) > 0)
		return px_fail(fault, PX_TRAILING, "byte planes", r.pos,
					   chunk->encoded_nbytes);

	return PX_OK;
}

/* The planes put each integer's bytes in its place; then it is extended. */
static px_status
px_planes_read_ints(const px_chunk *chunk, const uint8_t *encoded,
					bool is_signed, const px_decode_room *room,
					int64_t *values, px_fault *fault)
{
	uint8_t    *bytes = (uint8_t *) values;
	uint32_t	n = chunk->nvalues;
	uint8_t		width = chunk->width;
	px_status	status;

	status = px_planes_read(chunk, encoded, room->scratch, bytes,
							sizeof(*values), fault);
	if (status != PX_OK)
		return status;
	for (uint32_t i = 0; i < n; i++)
		px_ints_load(bytes + i * sizeof(*values), 1, width, is_signed,
					 &values[i]);

	return PX_OK;
}

static px_status
px_planes_read_pointers(const px_chunk *chunk, const uint8_t *encoded,
						const px_decode_room *room, const uint8_t **values,
						px_fault *fault)
{
	px_status	status;

	status = px_planes_read(chunk, encoded, room->scratch, room->buffer,
							chunk->width, fault);
	if (status == PX_OK)
		px_plain_pointers(room->buffer, chunk->nvalues, chunk->width, values);

	return status;
}

const px_encoding px_encoding_planes = {
	.name = "byte planes",
	.suits = px_suits_fixed,
	.size = px_planes_size,
	.saving_fraction = 16,
	.write = px_planes_write,
	.verify = px_planes_verify,
	.read_ints = px_planes_read_ints,
	.read_pointers = px_planes_read_pointers
};
