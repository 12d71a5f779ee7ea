/*-------------------------------------------------------------------------
 *
 * batches.c
 *		Batches for unit tests; see batches.h.
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include <stdlib.h>

#include "batches.h"

#define BUFFER_NBYTES_MAX	((size_t) 256 * 1024 * 1024)

px_codec_context *
unit_codec_context(void)
{
	static px_codec_context *context;

	if (context == NULL)
		context = px_codec_open();

	return context;
}

/* ---------------------------------------------------------------------
 * Columns
 * --------------------------------------------------------------------- */

void
unit_column_alloc(px_column *column, uint32_t rows, size_t values_cap)
{
	column->values_cap = values_cap;
	column->values = unit_alloc(values_cap);
	column->nulls = unit_alloc(PX_BITMAP_NBYTES(rows));
	column->lengths = unit_alloc(rows * sizeof(uint32_t));
	column->positions = unit_alloc(rows * sizeof(uint32_t));
	column->toasts = unit_alloc(rows * sizeof(uint32_t));
}

void
unit_column_free(px_column *column)
{
	free(column->values);
	free(column->nulls);
	free(column->lengths);
	free(column->positions);
	free(column->toasts);
}

bool
unit_column_null(const px_column *column, uint32_t row)
{
	return column->nnulls > 0 && (column->nulls[row / 8] >> row % 8 & 1) != 0;
}

/* ---------------------------------------------------------------------
 * Bodies
 * --------------------------------------------------------------------- */

size_t
unit_plain_nbytes(const px_column *columns, uint16_t ncolumns)
{
	size_t		nbytes = 0;

	for (uint16_t i = 0; i < ncolumns; i++)
		nbytes += px_column_plain_nbytes(&columns[i]);

	return nbytes;
}

px_status
unit_body_write(unit_batch_writer write, uint8_t *body, size_t *nbytes,
				const px_column *columns, uint16_t ncolumns,
				uint32_t encodings, uint8_t codec, px_column_state *states)
{
	px_encode_options options = {
		.encodings = encodings, .codec_on_ints = codec == PX_CODEC_ZSTD,
		.codec = codec, .context = unit_codec_context()
	};
	px_writer	out = {body, unit_plain_nbytes(columns, ncolumns), 0};
	px_status	status;

	options.scratch = unit_alloc(
		px_encode_scratch_nbytes(px_column_rows(&columns[0])));
	status = write(&out, columns, ncolumns, &options, states);
	*nbytes = out.pos;
	free(options.scratch);

	return status;
}

px_frame_header
unit_body_header(const px_column *columns, uint16_t ncolumns,
				 size_t body_nbytes)
{
	px_frame_header header = {
		.rows = px_column_rows(&columns[0]), .columns = ncolumns,
		.raw_nbytes = unit_plain_nbytes(columns, ncolumns),
		.body_nbytes = (uint32_t) body_nbytes
	};

	return header;
}

/* ---------------------------------------------------------------------
 * Chunks
 * --------------------------------------------------------------------- */

px_status
unit_chunk_open(unit_chunk *opened, const px_chunk *chunk, px_fault *fault)
{
	memset(opened, 0, sizeof(*opened));
	opened->chunk = chunk;
	/* Values as TOAST has them are looked at where they lie. */
	if (chunk->codec != PX_CODEC_NONE)
		opened->unpacked = unit_guarded_new(chunk->encoding == PX_ENC_TOASTED ?
											PX_ALIGN(chunk->encoded_nbytes) :
											chunk->encoded_nbytes);
	opened->scratch = unit_guarded_new(PX_DECODE_SCRATCH_WORDS(chunk->rows) *
									   8);
	opened->room.scratch = (int64_t *) opened->scratch.data;

	return px_chunk_unpack(chunk, unit_codec_context(), opened->unpacked.data,
						   &opened->encoded, fault);
}

px_status
unit_chunk_pointers(unit_chunk *opened, const uint8_t **values,
					px_fault *fault)
{
	size_t		nbytes = 0;
	px_status	status;

	status = px_chunk_buffer_nbytes(opened->chunk, opened->encoded, &nbytes,
									fault);
	if (status == PX_OK && nbytes > BUFFER_NBYTES_MAX)
		status = px_fail(fault, PX_OVER_LIMIT, "memory of this test",
						 BUFFER_NBYTES_MAX, nbytes);
	if (status != PX_OK)
		return status;
	opened->buffer = unit_guarded_new(PX_ALIGN(nbytes));
	opened->room.buffer = opened->buffer.data;

	return px_chunk_decode_pointers(opened->chunk, opened->encoded,
									&opened->room, values, fault);
}

void
unit_chunk_close(unit_chunk *opened)
{
	unit_guarded_free(&opened->unpacked);
	unit_guarded_free(&opened->scratch);
	unit_guarded_free(&opened->buffer);
}

bool
unit_same_packed(const uint8_t *packed, const uint8_t *bytes, size_t nbytes,
				 size_t pad)
{
	size_t		padded = Max(nbytes, pad);

	if (px_packed_nbytes(packed) != padded ||
		memcmp(px_packed_data(packed), bytes, nbytes) != 0)
		return false;
	for (size_t i = nbytes; i < padded; i++)
	{
		if (px_packed_data(packed)[i] != ' ')
			return false;
	}

	return true;
}
