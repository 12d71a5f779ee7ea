/*-------------------------------------------------------------------------
 *
 * constant.c
 *		One value that stands for all.
 *
 * Encoded form: the value, as it stands first in a plain chunk.
 *
 * Bytes that repeat with a period of p are equal to themselves moved by p, so
 * one memcmp finds out whether all values are equal, and leaves at the first
 * that is not.
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include "column/encoding.h"
#include "column/ints/ints.h"
#include "column/ints/load.h"
#include "column/packed.h"

/*
 * A constant that is worth a codec: a row that fills a batch has nothing but
 * such values.
 */
#define PX_CONSTANT_CODEC_NBYTES	4096

static bool
px_constant_suits(uint8_t form, uint8_t width)
{
	(void) width;

	return form != PX_FORM_ARRAY;
}

/* Are all values of the column equal? */
static bool
px_constant_is(const px_column *column)
{
	const uint8_t *values = column->values;
	size_t		nbytes = column->width;

	if (column->form == PX_FORM_FIXED)
		return memcmp(values, values + nbytes,
					  (column->nvalues - 1) * nbytes) == 0;

	nbytes = column->lengths[0];
	for (uint32_t i = 1; i < column->nvalues; i++)
	{
		if (column->lengths[i] != nbytes ||
			memcmp(values + i * nbytes, values, nbytes) != 0)
			return false;
	}

	return true;
}

static px_status
px_constant_write(px_writer *out, const px_encode_input *input,
				  const px_encode_plan *plan, px_encoded *result)
{
	const px_column *column = input->column;
	size_t		nbytes;
	uint8_t    *encoded;

	(void) plan;

	if (!px_constant_is(column))
		return PX_UNSUITABLE;
	if (column->form == PX_FORM_FIXED)
		return px_write_bytes(out, column->values, column->width) ? PX_OK :
			PX_NO_SPACE;

	nbytes = column->lengths[0];
	if (nbytes >= PX_CONSTANT_CODEC_NBYTES && column->pad == 0)
	{
		result->tail = column->values;
		result->tail_nbytes = nbytes;
		result->head_nbytes = px_packed_end(0, nbytes) - nbytes;
		result->codec_use = PX_CODEC_USE;
		return px_write_u32(out, (uint32_t) (nbytes + 4) << 2) ? PX_OK :
			PX_NO_SPACE;
	}
	if (!px_write_reserve(out, px_packed_end(0, Max(nbytes, column->pad)),
						  &encoded))
		return PX_NO_SPACE;
	(void) px_packed_put(encoded, 0, column->values, nbytes, column->pad);

	return PX_OK;
}

static void
px_constant_range(const px_chunk *chunk, uint64_t *min, uint64_t *max)
{
	*min = chunk->form == PX_FORM_FIXED ? chunk->width : 1;
	*max = chunk->form == PX_FORM_FIXED ? chunk->width : PX_FRAME_NBYTES_MAX;
}

static px_status
px_constant_read_pointers(const px_chunk *chunk, const uint8_t *encoded,
						  const px_decode_room *room, const uint8_t **values,
						  px_fault *fault)
{
	uint32_t	n = chunk->nvalues;

	(void) room;

	if (chunk->form == PX_FORM_BYTES)
	{
		px_status	status;

		status = px_packed_values_read(encoded, chunk->encoded_nbytes, 1,
									   values, fault);
		if (status != PX_OK)
			return status;
		encoded = values[0];
	}
	for (uint32_t i = 0; i < n; i++)
		values[i] = encoded;

	return PX_OK;
}

static void
px_constant_text(const px_chunk *chunk, const uint8_t *encoded,
				 const uint8_t **text, size_t *text_nbytes)
{
	*text = encoded;
	*text_nbytes = chunk->encoded_nbytes;
}

static px_status
px_constant_read_stream(const px_int_stream *stream, int64_t *scratch,
						int64_t *values, px_fault *fault)
{
	uint32_t	n = stream->n;
	int64_t		first;
	int64_t		value;
	px_status	status;

	(void) scratch;

	status = px_ints_check_nbytes("constant integer", stream->width,
								  stream->nbytes, fault);
	if (status != PX_OK)
		return status;
	px_ints_load(stream->encoded, 1, stream->width, stream->is_signed, &first);

	/* A variable whose address nobody has lets the loop be vectorised. */
	value = first;
	for (uint32_t i = 0; i < n; i++)
		values[i] = value;

	return PX_OK;
}

const px_encoding px_encoding_constant = {
	.name = "constant",
	.suits = px_constant_suits,
	.write = px_constant_write,
	.range = px_constant_range,
	.read_pointers = px_constant_read_pointers,
	.text = px_constant_text,
	.read_stream = px_constant_read_stream
};
