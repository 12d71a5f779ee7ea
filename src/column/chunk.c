/*-------------------------------------------------------------------------
 *
 * chunk.c
 *		One column of a batch as it travels; see chunk.h.
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include "column/chunk.h"

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
		return px_fail(fault, status, codec->name, chunk->encoded_nbytes,
					   chunk->stored_nbytes);
	*encoded = buffer;

	return PX_OK;
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
