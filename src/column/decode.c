/*-------------------------------------------------------------------------
 *
 * decode.c
 *		Undoing the encoding of a chunk; see decode.h.
 *
 * Chunks come from px_batch_read, whose checks are relied upon here: counts
 * and sizes agree with each other, and pointers with the frame.  What is left
 * to find out is whether the bytes are what the header says.
 *
 * Encodings decode dense values; a second step spreads them over the rows.
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include "column/decode.h"
#include "column/encoding.h"
#include "column/ints/ints.h"

/*
 * Move values[0 .. nvalues - 1] to the rows that are not null, in place: from
 * the last row down, until all nulls are done and the rest is where it
 * belongs.
 */
static void
px_spread_ints(const px_chunk *chunk, int64_t *values)
{
	uint32_t	n = chunk->nvalues;

	for (uint32_t row = chunk->rows; row > n; row--)
	{
		if (px_bitmap_is_null(chunk->bitmap, row - 1))
			values[row - 1] = 0;
		else
			values[row - 1] = values[--n];
	}
}

/* Turn the numbers of n values, ascending, into those of their rows. */
static void
px_spread_positions(const px_chunk *chunk, int64_t *positions, uint32_t n)
{
	uint32_t	row = 0;
	int64_t		value = 0;		/* number of the first one at or after row */

	for (uint32_t i = 0; i < n; row++)
	{
		if (px_bitmap_is_null(chunk->bitmap, row))
			continue;
		if (value == positions[i])
			positions[i++] = row;
		value++;
	}
}

static void
px_spread_pointers(const px_chunk *chunk, const uint8_t **values)
{
	uint32_t	n = chunk->nvalues;

	for (uint32_t row = chunk->rows; row > n; row--)
	{
		if (px_bitmap_is_null(chunk->bitmap, row - 1))
			values[row - 1] = NULL;
		else
			values[row - 1] = values[--n];
	}
}

px_status
px_chunk_decode_ints(const px_chunk *chunk, const uint8_t *encoded,
					 bool is_signed, const px_decode_room *room,
					 int64_t *values, px_fault *fault)
{
	const px_encoding *encoding = px_encoding_by_id(chunk->encoding);
	px_status	status;

	if (chunk->form != PX_FORM_FIXED || !px_width_is_int(chunk->width))
		return px_fail(fault, PX_BAD_HEADER, "width of integers",
					   8, chunk->width);

	if (chunk->null_layout == PX_NULLS_ALL)
	{
		memset(values, 0, chunk->rows * sizeof(*values));
		return PX_OK;
	}

	if (encoding && encoding->read_ints)
		status = encoding->read_ints(chunk, encoded, is_signed, room, values,
									 fault);
	else
	{
		px_int_stream	stream = {
			chunk->encoding, chunk->width, is_signed, 0, chunk->nvalues,
			encoded, chunk->encoded_nbytes
		};

		status = px_ints_read(&stream, room->scratch, values, fault);
	}

	if (status == PX_OK && chunk->null_layout == PX_NULLS_BITMAP)
		px_spread_ints(chunk, values);

	return status;
}

px_status
px_chunk_decode_patched(const px_chunk *chunk, const uint8_t *encoded,
						const px_decode_room *room, int64_t *values,
						px_patches *patches, px_fault *fault)
{
	px_status	status;

	patches->n = 0;
	if (chunk->encoding != PX_ENC_PATCHED)
		return px_chunk_decode_ints(chunk, encoded, true, room, values, fault);
	if (chunk->form != PX_FORM_FIXED || chunk->width != sizeof(*values))
		return px_fail(fault, PX_BAD_HEADER, "width of patched integers",
					   sizeof(*values), chunk->width);

	status = px_patched_read(chunk, encoded, room, values, patches, fault);
	if (status == PX_OK && chunk->null_layout == PX_NULLS_BITMAP)
	{
		px_spread_ints(chunk, values);
		px_spread_positions(chunk, room->scratch, patches->n);
	}

	return status;
}

px_status
px_chunk_decode_arrays(const px_chunk *chunk, const uint8_t *encoded,
					   const px_decode_room *room, px_arrays *arrays,
					   px_fault *fault)
{
	px_status	status;

	if (chunk->form != PX_FORM_ARRAY || chunk->nvalues == 0)
		return px_fail(fault, PX_BAD_HEADER, "form of arrays",
					   PX_FORM_ARRAY, chunk->form);
	status = px_array_read(chunk, encoded, room, arrays, fault);
	if (status == PX_OK && arrays->elements.encoding == PX_ENC_PLAIN &&
		arrays->elements.nbytes != (size_t) arrays->nelements * chunk->width)
		status = px_fail(fault, PX_BAD_VALUE, "elements of arrays",
						 (size_t) arrays->nelements * chunk->width,
						 arrays->elements.nbytes);

	return status;
}

px_status
px_chunk_decode_elements(const px_arrays *arrays, bool is_signed,
						 int64_t *values, px_fault *fault)
{
	px_int_stream	elements = arrays->elements;

	elements.is_signed = is_signed;
	return px_ints_read(&elements, NULL, values, fault);
}

px_status
px_chunk_buffer_nbytes(const px_chunk *chunk, const uint8_t *encoded,
					   size_t *nbytes, px_fault *fault)
{
	const px_encoding *encoding = px_encoding_by_id(chunk->encoding);

	*nbytes = 0;
	if (chunk->null_layout == PX_NULLS_ALL || encoding == NULL ||
		encoding->verify == NULL)
		return PX_OK;

	return encoding->verify(chunk, encoded, nbytes, fault);
}

px_status
px_chunk_decode_pointers(const px_chunk *chunk, const uint8_t *encoded,
						 const px_decode_room *room, const uint8_t **values,
						 px_fault *fault)
{
	const px_encoding *encoding = px_encoding_by_id(chunk->encoding);
	px_status	status;

	if (chunk->null_layout == PX_NULLS_ALL)
	{
		for (uint32_t row = 0; row < chunk->rows; row++)
			values[row] = NULL;
		return PX_OK;
	}

	if (chunk->form == PX_FORM_ARRAY)
		return px_fail(fault, PX_BAD_HEADER, "form of pointers",
					   PX_FORM_BYTES, chunk->form);
	if (encoding == NULL || encoding->read_pointers == NULL ||
		!encoding->suits(chunk->form, chunk->width))
		return px_fail(fault, PX_BAD_ENCODING, "encoding of pointers",
					   PX_ENC_PLAIN, chunk->encoding);
	status = encoding->read_pointers(chunk, encoded, room, values, fault);

	if (status == PX_OK && chunk->null_layout == PX_NULLS_BITMAP)
		px_spread_pointers(chunk, values);

	return status;
}

bool
px_chunk_text(const px_chunk *chunk, const uint8_t *encoded,
			  const uint8_t **text, size_t *nbytes)
{
	const px_encoding *encoding = px_encoding_by_id(chunk->encoding);

	*text = encoded;
	*nbytes = 0;
	if (chunk->null_layout == PX_NULLS_ALL)
		return true;
	if (encoding == NULL || encoding->text == NULL)
		return false;
	encoding->text(chunk, encoded, text, nbytes);

	return true;
}
