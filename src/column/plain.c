/*-------------------------------------------------------------------------
 *
 * plain.c
 *		The plain encoding: values as they stand in a px_column.
 *
 * Encoded form: fixed values one after the other; values of any length packed
 * (packed.h); arrays as array.h says.
 *
 * Fixed-width values need no checks: px_batch_read has compared their size
 * with count and width.
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include "column/array.h"
#include "column/encoding.h"
#include "column/ints/ints.h"
#include "column/ints/load.h"
#include "column/packed.h"
#include "column/plain.h"

void
px_plain_pointers(const uint8_t *encoded, uint32_t n, unsigned width,
				  const uint8_t **values)
{
	for (uint32_t i = 0; i < n; i++)
		values[i] = encoded + (size_t) i * width;
}

static px_status
px_plain_write(px_writer *out, const px_encode_input *input,
			   const px_encode_plan *plan, px_encoded *result)
{
	const px_column *column = input->column;
	size_t		start = out->pos;
	px_status	status;

	(void) plan;

	if (column->form == PX_FORM_ARRAY)
		return px_array_write(out, column, input->pack, result);

	result->codec_use = PX_CODEC_USE;
	if (column->form == PX_FORM_FIXED)
	{
		result->tail = column->values;
		result->tail_nbytes = column->values_nbytes;
		return PX_OK;
	}

	status = px_packed_values_write(out, column);

	/* A codec that has no room to try says nothing about the values. */
	if (px_writer_left(out) < out->pos - start)
		result->codec_use = PX_CODEC_USE_NEVER;

	return status;
}

static void
px_plain_range(const px_chunk *chunk, uint64_t *min, uint64_t *max)
{
	*max = PX_FRAME_NBYTES_MAX;
	if (chunk->form == PX_FORM_ARRAY)
		*min = PX_CHILD_HEADER_NBYTES;
	else if (chunk->form == PX_FORM_BYTES)
		*min = chunk->nvalues;	/* a packed value takes one byte at least */
	else
		*min = *max = (uint64_t) chunk->nvalues * chunk->width;
}

static px_status
px_plain_read_pointers(const px_chunk *chunk, const uint8_t *encoded,
					   const px_decode_room *room, const uint8_t **values,
					   px_fault *fault)
{
	(void) room;

	if (chunk->form == PX_FORM_BYTES)
		return px_packed_values_read(encoded, chunk->encoded_nbytes,
									 chunk->nvalues, values, fault);
	px_plain_pointers(encoded, chunk->nvalues, chunk->width, values);

	return PX_OK;
}

static void
px_plain_text(const px_chunk *chunk, const uint8_t *encoded,
			  const uint8_t **text, size_t *text_nbytes)
{
	*text = encoded;
	*text_nbytes = chunk->encoded_nbytes;
}

static px_status
px_plain_read_stream(const px_int_stream *stream, int64_t *scratch,
					 int64_t *values, px_fault *fault)
{
	px_status	status;

	(void) scratch;

	status = px_ints_check_nbytes("plain integers",
								  (size_t) stream->n * stream->width,
								  stream->nbytes, fault);
	if (status == PX_OK)
		px_ints_load(stream->encoded, stream->n, stream->width,
					 stream->is_signed, values);

	return status;
}

const px_encoding px_encoding_plain = {
	.name = "plain",
	.suits = px_suits_any,
	.write = px_plain_write,
	.range = px_plain_range,
	.read_pointers = px_plain_read_pointers,
	.text = px_plain_text,
	.read_stream = px_plain_read_stream
};
