/*-------------------------------------------------------------------------
 *
 * chunk.c
 *		One chunk of a batch: undoing codec and encoding, nulls.
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

#include "column/array.h"
#include "column/constant.h"
#include "column/fixed.h"
#include "column/ints.h"
#include "column/patched.h"
#include "column/plain.h"
#include "column/strings.h"
#include "column/toasted.h"

px_status
px_chunk_unpack(const px_chunk *chunk, px_codec_context *context,
				uint8_t *buffer, const uint8_t **encoded, px_fault *fault)
{
	const px_codec *codec;
	px_status	status;

	if (chunk->codec == PX_CODEC_NONE)
	{
		*encoded = chunk->stored;
		return PX_OK;
	}

	/* stored_nbytes is below encoded_nbytes, and head_nbytes not above it. */
	codec = px_codec_by_id(chunk->codec);
	memcpy(buffer, chunk->stored, chunk->head_nbytes);
	status = codec->decompress(context, chunk->stored + chunk->head_nbytes,
							   chunk->stored_nbytes - chunk->head_nbytes,
							   buffer + chunk->head_nbytes,
							   chunk->encoded_nbytes - chunk->head_nbytes);
	if (status != PX_OK)
		return px_fail(fault, status, codec->name, chunk->encoded_nbytes, chunk->stored_nbytes);
	*encoded = buffer;

	return PX_OK;
}

static inline bool
px_bitmap_is_null(const uint8_t *bitmap, uint32_t row)
{
	return (bitmap[row >> 3] >> (row & 7)) & 1;
}

/*
 * Move values[0 .. nvalues - 1] to the rows that are not null, in place: from
 * the last row down, until all nulls are behind and the rest is where it
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
	int64_t		value = 0;		/* number of the first one at or behind row */

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

/* Byte planes put each integer's bytes in its place; then it is extended. */
static px_status
px_planes_decode_ints(const px_chunk *chunk, const uint8_t *encoded,
					  bool is_signed, int64_t *scratch, int64_t *values,
					  px_fault *fault)
{
	uint8_t    *bytes = (uint8_t *) values;
	px_status	status;

	status = px_planes_decode(encoded, chunk->encoded_nbytes, chunk->nvalues,
							  chunk->width, bytes, sizeof(*values), scratch, fault);
	for (uint32_t i = 0; status == PX_OK && i < chunk->nvalues; i++)
		px_plain_decode_ints(bytes + i * sizeof(*values), 1, chunk->width,
							 is_signed, &values[i]);

	return status;
}

px_status
px_chunk_decode_ints(const px_chunk *chunk, const uint8_t *encoded,
					 bool is_signed, const px_decode_room *room,
					 int64_t *values, px_fault *fault)
{
	px_status	status;

	if (chunk->form != PX_FORM_FIXED || !px_width_is_int(chunk->width))
		return px_fail(fault, PX_BAD_HEADER, "width of integers",
					   8, chunk->width);

	if (chunk->null_layout == PX_NULLS_ALL)
	{
		memset(values, 0, chunk->rows * sizeof(*values));
		return PX_OK;
	}

	switch (chunk->encoding)
	{
		case PX_ENC_DECIMAL:
			/* Floats are extended by sign; unsigned types are none. */
			if (!is_signed)
				return px_fail(fault, PX_BAD_ENCODING, "encoding of unsigned integers",
							   PX_ENC_PLAIN, chunk->encoding);
			status = px_decimal_decode(encoded, chunk->encoded_nbytes,
									   chunk->nvalues, chunk->width, values,
									   room->scratch, fault);
			break;
		case PX_ENC_PLANES:
			status = px_planes_decode_ints(chunk, encoded, is_signed,
										   room->scratch, values, fault);
			break;
		case PX_ENC_RELATED:
			if (chunk->null_layout != PX_NULLS_NONE)
				return px_fail(fault, PX_BAD_ENCODING, "nulls of a related column",
							   0, chunk->rows - chunk->nvalues);
			status = px_related_decode(encoded, chunk->encoded_nbytes,
									   chunk->nvalues, chunk->width, is_signed,
									   room->references, room->nreferences,
									   values, room->scratch, fault);
			break;
		default:
			status = px_ints_read(chunk->encoding, encoded, chunk->encoded_nbytes,
								  chunk->nvalues, chunk->width, is_signed,
								  values, room->scratch, fault);
			break;
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

	status = px_patched_decode(encoded, chunk->encoded_nbytes, chunk->nvalues,
							   values, room->scratch, patches, fault);
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
	status = px_array_read(encoded, chunk->encoded_nbytes, chunk->nvalues,
						   chunk->width, room->scratch, arrays, fault);
	if (status == PX_OK && arrays->elements_encoding == PX_ENC_PLAIN &&
		arrays->elements_nbytes != (size_t) arrays->nelements * chunk->width)
		status = px_fail(fault, PX_BAD_VALUE, "elements of arrays",
						 (size_t) arrays->nelements * chunk->width,
						 arrays->elements_nbytes);

	return status;
}

px_status
px_chunk_decode_elements(const px_chunk *chunk, const px_arrays *arrays,
						 bool is_signed, int64_t *values, px_fault *fault)
{
	return px_ints_read(arrays->elements_encoding, arrays->elements,
						arrays->elements_nbytes, arrays->nelements,
						chunk->width, is_signed, values, NULL, fault);
}

px_status
px_chunk_buffer_nbytes(const px_chunk *chunk, const uint8_t *encoded,
					   size_t *nbytes, px_fault *fault)
{
	*nbytes = 0;
	if (chunk->null_layout == PX_NULLS_ALL)
		return PX_OK;

	switch (chunk->encoding)
	{
		case PX_ENC_PLANES:
			*nbytes = (size_t) chunk->nvalues * chunk->width;
			return PX_OK;
		case PX_ENC_SPLIT:
			return px_split_nbytes(encoded, chunk->encoded_nbytes,
								   chunk->nvalues, nbytes, fault);
		case PX_ENC_TEMPLATE:
			return px_template_nbytes(encoded, chunk->encoded_nbytes,
									  chunk->nvalues, nbytes, fault);
		case PX_ENC_TOASTED:
			return px_toasted_nbytes(encoded, chunk->encoded_nbytes, nbytes, fault);
		default:
			return PX_OK;
	}
}

static px_status
px_decode_fixed(const px_chunk *chunk, const uint8_t *encoded,
				const px_decode_room *room, const uint8_t **values,
				px_fault *fault)
{
	px_status	status = PX_OK;

	switch (chunk->encoding)
	{
		case PX_ENC_PLAIN:
			px_plain_decode_fixed(encoded, chunk->nvalues, chunk->width,
								  values);
			return PX_OK;
		case PX_ENC_CONSTANT:
			px_constant_decode_fixed(encoded, chunk->nvalues, values);
			return PX_OK;
		case PX_ENC_PLANES:
			status = px_planes_decode(encoded, chunk->encoded_nbytes,
									  chunk->nvalues, chunk->width,
									  room->buffer, chunk->width,
									  room->scratch, fault);
			if (status == PX_OK)
				px_plain_decode_fixed(room->buffer, chunk->nvalues,
									  chunk->width, values);
			return status;
		default:
			return px_fail(fault, PX_BAD_ENCODING, "encoding of pointers",
						   PX_ENC_PLANES, chunk->encoding);
	}
}

static px_status
px_decode_bytes(const px_chunk *chunk, const uint8_t *encoded,
				const px_decode_room *room, const uint8_t **values,
				px_fault *fault)
{
	switch (chunk->encoding)
	{
		case PX_ENC_PLAIN:
			return px_plain_decode_bytes(encoded, chunk->encoded_nbytes,
										 chunk->nvalues, values, fault);
		case PX_ENC_CONSTANT:
			return px_constant_decode_bytes(encoded, chunk->encoded_nbytes,
											chunk->nvalues, values, fault);
		case PX_ENC_SPLIT:
			return px_split_decode(encoded, chunk->encoded_nbytes,
								   chunk->nvalues, room->scratch, room->buffer,
								   values, fault);
		case PX_ENC_DICTIONARY:
			return px_dictionary_decode(encoded, chunk->encoded_nbytes,
										chunk->nvalues, room->scratch, values,
										fault);
		case PX_ENC_TEMPLATE:
			return px_template_decode(encoded, chunk->encoded_nbytes,
									  chunk->nvalues, room->scratch,
									  room->buffer, values, fault);
		case PX_ENC_TOASTED:
			return px_toasted_decode(encoded, chunk->encoded_nbytes,
									 chunk->nvalues, room->scratch,
									 room->buffer, values, fault);
		default:
			return px_fail(fault, PX_BAD_ENCODING, "encoding of bytes",
						   PX_ENC_TEMPLATE, chunk->encoding);
	}
}

px_status
px_chunk_decode_pointers(const px_chunk *chunk, const uint8_t *encoded,
						 const px_decode_room *room, const uint8_t **values,
						 px_fault *fault)
{
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
	if (chunk->form == PX_FORM_FIXED)
		status = px_decode_fixed(chunk, encoded, room, values, fault);
	else
		status = px_decode_bytes(chunk, encoded, room, values, fault);

	if (status == PX_OK && chunk->null_layout == PX_NULLS_BITMAP)
		px_spread_pointers(chunk, values);

	return status;
}

bool
px_chunk_text(const px_chunk *chunk, const uint8_t *encoded,
			  const uint8_t **text, size_t *nbytes)
{
	*text = encoded;
	*nbytes = chunk->encoded_nbytes;
	if (chunk->null_layout == PX_NULLS_ALL)
		return true;

	switch (chunk->encoding)
	{
		case PX_ENC_SPLIT:
			px_split_text(encoded, chunk->encoded_nbytes, text, nbytes);
			break;
		case PX_ENC_DICTIONARY:
			px_dictionary_text(encoded, chunk->encoded_nbytes, text, nbytes);
			break;
		case PX_ENC_TEMPLATE:
			px_template_text(encoded, chunk->encoded_nbytes, text, nbytes);
			break;
		case PX_ENC_TOASTED:
			return false;
		default:
			break;
	}

	return true;
}

void
px_chunk_nulls(const px_chunk *chunk, bool *nulls)
{
	if (chunk->null_layout == PX_NULLS_BITMAP)
	{
		for (uint32_t row = 0; row < chunk->rows; row++)
			nulls[row] = px_bitmap_is_null(chunk->bitmap, row);
	}
	else
		memset(nulls, chunk->null_layout == PX_NULLS_ALL,
			   chunk->rows * sizeof(*nulls));
}
