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
px_chunk_header_write(px_writer *out, const px_chunk *chunk)
{
	if (!px_write_u8(out, chunk->encoding) ||
		!px_write_u8(out, chunk->codec) ||
		!px_write_u8(out, chunk->null_layout) ||
		!px_write_u8(out, chunk->form) ||
		!px_write_u8(out, chunk->width) ||
		!px_write_u8(out, chunk->scale) ||
		!px_write_u16(out, 0) ||
		!px_write_u32(out, chunk->nvalues) ||
		!px_write_u32(out, chunk->encoded_nbytes) ||
		!px_write_u32(out, chunk->stored_nbytes) ||
		!px_write_u32(out, chunk->head_nbytes))
		return PX_NO_SPACE;

	return PX_OK;
}

px_status
px_chunk_header_read(px_reader *r, px_chunk *chunk, px_fault *fault)
{
	size_t		left = px_reader_left(r);
	uint16_t	reserved16;

	if (!px_read_u8(r, &chunk->encoding) ||
		!px_read_u8(r, &chunk->codec) ||
		!px_read_u8(r, &chunk->null_layout) ||
		!px_read_u8(r, &chunk->form) ||
		!px_read_u8(r, &chunk->width) ||
		!px_read_u8(r, &chunk->scale) ||
		!px_read_u16(r, &reserved16) ||
		!px_read_u32(r, &chunk->nvalues) ||
		!px_read_u32(r, &chunk->encoded_nbytes) ||
		!px_read_u32(r, &chunk->stored_nbytes) ||
		!px_read_u32(r, &chunk->head_nbytes))
		return px_fail(fault, PX_TRUNCATED, "chunk header",
					   PX_CHUNK_HEADER_NBYTES, left);

	if (reserved16 != 0)
		return px_fail(fault, PX_BAD_HEADER, "chunk reserved", 0, reserved16);

	return PX_OK;
}

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
