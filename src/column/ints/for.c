/*-------------------------------------------------------------------------
 *
 * for.c
 *		Frame of reference: integers as differences to the smallest one, in as
 *		few bits as the largest difference takes.
 *
 * This is also how columns of integers are written by a plan of any
 * transforms: frame of reference packs what these leave.
 *
 * Encoded form: see bitpack.h.
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include "column/ints/bitpack.h"
#include "column/ints/ints.h"

static px_status
px_for_size(const px_encode_input *input, px_encode_plan *plan, size_t *nbytes)
{
	px_ints		ints = px_column_ints(input->column);

	px_ints_choose(&ints, &plan->ints, nbytes);

	return PX_OK;
}

static px_status
px_for_write(px_writer *out, const px_encode_input *input,
			 const px_encode_plan *plan, px_encoded *result)
{
	px_ints		ints = px_column_ints(input->column);
	px_status	status;

	status = px_ints_write(out, &ints, &plan->ints, input->scratch.rest,
						   &result->encoding, &result->stale);
	result->codec_use = result->encoding == PX_ENC_PLAIN ?
		PX_CODEC_USE : PX_CODEC_USE_ON_INTS;

	return status;
}

static void
px_for_range(const px_chunk *chunk, uint64_t *min, uint64_t *max)
{
	*min = px_bitpack_nbytes(chunk->nvalues, 1);
	*max = px_bitpack_nbytes(chunk->nvalues, Min(8 * chunk->width - 1, 63));
}

static px_status
px_for_read_stream(const px_int_stream *stream, int64_t *scratch,
				   int64_t *values, px_fault *fault)
{
	(void) scratch;

	return px_bitpack_decode(stream->encoded, stream->nbytes, stream->n,
							 stream->width, stream->is_signed, values, fault);
}

const px_encoding px_encoding_for = {
	.name = "frame of reference",
	.suits = px_suits_ints,
	.size = px_for_size,
	.write = px_for_write,
	.range = px_for_range,
	.read_stream = px_for_read_stream
};
