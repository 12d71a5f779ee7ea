/*-------------------------------------------------------------------------
 *
 * batch.c
 *		Bodies of batch frames: all chunk headers, then all payloads.
 *
 * Writing goes column by column: null bitmap, choice of the encoding, codec,
 * header.  Reading checks everything that can be known without undoing a
 * codec or an encoding, so that nothing after it allocates or indexes by a
 * number from the wire that has not been looked at.  Decoding is decode.c's.
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include "port/pg_bitutils.h"

#include "column/batch.h"
#include "column/ints/plan.h"

/* numeric's dscale, where a numeric is a scaled 64-bit integer. */
#define PX_SCALE_MAX				18

/* ---------------------------------------------------------------------
 * Writing
 * --------------------------------------------------------------------- */

static px_status
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

/* Does the column have a null bitmap? */
static inline bool
px_column_has_bitmap(const px_column *column)
{
	return column->nvalues > 0 && column->nnulls > 0;
}

/*
 * What the headers and null bitmaps of a batch add to its raw size: so much
 * more than the plain values may the encoded ones take.
 */
static size_t
px_batch_spare_nbytes(const px_column *columns, uint16_t ncolumns)
{
	size_t		nbytes = (size_t) ncolumns * PX_CHUNK_HEADER_NBYTES;

	for (uint16_t i = 0; i < ncolumns; i++)
	{
		if (px_column_has_bitmap(&columns[i]))
			nbytes += PX_ALIGN(PX_BITMAP_NBYTES(px_column_rows(&columns[i])));
	}

	return nbytes;
}

/*
 * Write a column's payload to out, and describe it in *chunk; *spare_nbytes
 * as of px_values_write.
 */
static px_status
px_payload_write(px_writer *out, const px_column *columns, uint16_t index,
				 const px_encode_options *options, px_column_state *state,
				 size_t *spare_nbytes, px_chunk *chunk)
{
	const px_column *column = &columns[index];
	px_status	status;

	memset(chunk, 0, sizeof(*chunk));
	chunk->form = column->form;
	chunk->width = column->width;
	chunk->scale = column->scale;
	state->encoding = PX_ENC_PLAIN;
	state->codec = PX_CODEC_NONE;
	state->sampled = false;

	if (column->nvalues == 0)
	{
		chunk->null_layout = PX_NULLS_ALL;
		return PX_OK;
	}
	chunk->nvalues = column->nvalues;

	if (px_column_has_bitmap(column))
	{
		chunk->null_layout = PX_NULLS_BITMAP;
		if (!px_write_bytes(out, column->nulls,
							PX_BITMAP_NBYTES(px_column_rows(column))) ||
			!px_write_align(out))
			return PX_NO_SPACE;
	}

	status = px_values_write(out, columns, index, options, state, spare_nbytes,
							 chunk);
	if (status == PX_OK && !px_write_align(out))
		status = PX_NO_SPACE;

	return status;
}

px_status
px_batch_write(px_writer *out, const px_column *columns, uint16_t ncolumns,
			   const px_encode_options *options, px_column_state *states)
{
	static const px_encode_options plain = {.encodings = PX_ENCODINGS_PLAIN};
	px_writer	headers =
		{NULL, (size_t) ncolumns * PX_CHUNK_HEADER_NBYTES, 0};
	size_t		start = out->pos;
	bool		large = px_writer_left(out) > PX_RAW_FREE_NBYTES;
	size_t		spare_nbytes = px_batch_spare_nbytes(columns, ncolumns);
	uint64_t	raw_nbytes = 0;

	if (!px_write_reserve(out, headers.cap, &headers.data))
		return PX_NO_SPACE;

	for (uint16_t i = 0; i < ncolumns; i++)
	{
		size_t		begin = out->pos;
		size_t		spare_before = spare_nbytes;
		px_chunk	chunk;
		px_status	status;

		Assert(px_column_rows(&columns[i]) == px_column_rows(&columns[0]));

		status = px_payload_write(out, columns, i, options, &states[i],
								  &spare_nbytes, &chunk);

		/* Readers refuse what looks like a bomb. */
		if (status == PX_OK && large)
		{
			raw_nbytes += px_column_plain_nbytes(&columns[i]);
			if (raw_nbytes > PX_RAW_NBYTES_MAX(out->pos - start,
											   PX_RAW_RATIO_MAX))
			{
				out->pos = begin;
				spare_nbytes = spare_before;
				status = px_payload_write(out, columns, i, &plain, &states[i],
										  &spare_nbytes, &chunk);
			}
		}
		if (status == PX_OK)
			status = px_chunk_header_write(&headers, &chunk);
		if (status != PX_OK)
			return status;
	}

	return PX_OK;
}

/* ---------------------------------------------------------------------
 * Reading
 * --------------------------------------------------------------------- */

/* Read one chunk header; bitmap and stored are set later. */
static px_status
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

/* Is the width one of the chunk's form? */
static bool
px_width_suits(const px_chunk *chunk)
{
	switch ((px_form) chunk->form)
	{
		case PX_FORM_FIXED:
			return px_width_is_valid(chunk->width);
		case PX_FORM_ARRAY:
			return px_width_is_int(chunk->width);
		case PX_FORM_BYTES:
			return chunk->width == 0;
	}

	return false;
}

/* Check the fields that say how the values are laid out. */
static px_status
px_chunk_check_layout(const px_chunk *chunk, px_fault *fault)
{
	const px_encoding *encoding = px_encoding_by_id(chunk->encoding);
	bool		fixed = chunk->form == PX_FORM_FIXED;

	if (encoding == NULL)
		return px_fail(fault, PX_BAD_ENCODING, "encoding",
					   PX_ENCODING_COUNT - 1, chunk->encoding);
	if (px_codec_by_id(chunk->codec) == NULL)
		return px_fail(fault, PX_BAD_CODEC, "codec",
					   PX_CODEC_COUNT - 1, chunk->codec);
	if (chunk->null_layout > PX_NULLS_BITMAP)
		return px_fail(fault, PX_BAD_HEADER, "null layout",
					   PX_NULLS_BITMAP, chunk->null_layout);
	if (chunk->form > PX_FORM_ARRAY)
		return px_fail(fault, PX_BAD_HEADER, "form",
					   PX_FORM_ARRAY, chunk->form);
	if (!px_width_suits(chunk))
		return px_fail(fault, PX_BAD_HEADER, "width", 0, chunk->width);
	if (chunk->scale > (fixed ? PX_SCALE_MAX : 0))
		return px_fail(fault, PX_BAD_HEADER, "scale",
					   fixed ? PX_SCALE_MAX : 0, chunk->scale);
	if (!encoding->suits(chunk->form, chunk->width))
		return px_fail(fault, PX_BAD_ENCODING,
					   "encoding of this form and width", PX_ENC_PLAIN,
					   chunk->encoding);

	return PX_OK;
}

/*
 * Check nvalues against null layout and rows; the bitmap, if there is one,
 * is counted later.  A chunk of nulls has nothing else to say.
 */
static px_status
px_chunk_check_nvalues(const px_chunk *chunk, px_fault *fault)
{
	uint32_t	min = chunk->rows;
	uint32_t	max = chunk->rows;

	if (chunk->null_layout == PX_NULLS_ALL)
		min = max = 0;
	else if (chunk->null_layout == PX_NULLS_BITMAP)
	{
		min = 1;
		max = chunk->rows - 1;
	}

	if (chunk->nvalues < min)
		return px_fail(fault, PX_BAD_HEADER, "nvalues", min, chunk->nvalues);
	if (chunk->nvalues > max)
		return px_fail(fault, PX_BAD_HEADER, "nvalues", max, chunk->nvalues);

	if (chunk->null_layout == PX_NULLS_ALL)
	{
		if (chunk->encoding != PX_ENC_PLAIN)
			return px_fail(fault, PX_BAD_ENCODING, "encoding of no values",
						   PX_ENC_PLAIN, chunk->encoding);
		if (chunk->codec != PX_CODEC_NONE)
			return px_fail(fault, PX_BAD_CODEC, "codec of no values",
						   PX_CODEC_NONE, chunk->codec);
	}

	return PX_OK;
}

/* The sizes that the encoded values of a chunk can have. */
static void
px_chunk_encoded_range(const px_chunk *chunk, uint64_t *min, uint64_t *max)
{
	const px_encoding *encoding = px_encoding_by_id(chunk->encoding);

	if (chunk->nvalues == 0)
		*min = *max = 0;
	else if (encoding->range)
		encoding->range(chunk, min, max);
	else
	{
		/* It has children, which its decoder checks. */
		*min = PX_CHILD_HEADER_NBYTES;
		*max = PX_FRAME_NBYTES_MAX;
	}
}

/*
 * Check both sizes.  *total_nbytes is the sum of the encoded sizes so far,
 * which is limited, as a codec can make many bytes out of few.
 */
static px_status
px_chunk_check_sizes(const px_chunk *chunk, uint64_t raw_nbytes,
					 uint64_t *total_nbytes, px_fault *fault)
{
	uint64_t	min;
	uint64_t	max;

	*total_nbytes += chunk->encoded_nbytes;
	if (*total_nbytes > raw_nbytes)
		return px_fail(fault, PX_OVER_LIMIT, "sum of encoded_nbytes",
					   raw_nbytes, *total_nbytes);

	px_chunk_encoded_range(chunk, &min, &max);
	if (chunk->encoded_nbytes < min)
		return px_fail(fault, PX_BAD_HEADER, "encoded_nbytes",
					   min, chunk->encoded_nbytes);
	if (chunk->encoded_nbytes > max)
		return px_fail(fault, PX_BAD_HEADER, "encoded_nbytes",
					   max, chunk->encoded_nbytes);

	if (chunk->codec == PX_CODEC_NONE ?
		chunk->stored_nbytes != chunk->encoded_nbytes :
		chunk->stored_nbytes >= chunk->encoded_nbytes)
		return px_fail(fault, PX_BAD_HEADER, "stored_nbytes",
					   chunk->encoded_nbytes, chunk->stored_nbytes);
	if (chunk->head_nbytes > (chunk->codec == PX_CODEC_NONE ? 0 :
							  chunk->stored_nbytes))
		return px_fail(fault, PX_BAD_HEADER, "head_nbytes",
					   chunk->stored_nbytes, chunk->head_nbytes);

	return PX_OK;
}

/* Read the null bitmap, and check that it agrees with nvalues. */
static px_status
px_bitmap_read(px_reader *r, px_chunk *chunk, px_fault *fault)
{
	size_t		nbytes = PX_BITMAP_NBYTES(chunk->rows);
	size_t		left = px_reader_left(r);
	unsigned	spare;
	uint64_t	nnulls;

	if (!px_read_bytes(r, nbytes, &chunk->bitmap))
		return px_fail(fault, PX_TRUNCATED, "null bitmap", nbytes, left);

	spare = chunk->rows % 8 == 0 ? 0 :
		chunk->bitmap[nbytes - 1] >> (chunk->rows % 8);
	if (spare != 0)
		return px_fail(fault, PX_BAD_HEADER, "spare bits of null bitmap",
					   0, spare);

	nnulls = pg_popcount((const char *) chunk->bitmap, (int) nbytes);
	if (nnulls != chunk->rows - chunk->nvalues)
		return px_fail(fault, PX_BAD_HEADER, "nulls in null bitmap",
					   chunk->rows - chunk->nvalues, nnulls);

	return px_read_align(r, fault);
}

/* Find a chunk's payload in the body. */
static px_status
px_payload_read(px_reader *r, px_chunk *chunk, px_fault *fault)
{
	size_t		left;
	px_status	status;

	chunk->bitmap = NULL;
	if (chunk->null_layout == PX_NULLS_BITMAP)
	{
		status = px_bitmap_read(r, chunk, fault);
		if (status != PX_OK)
			return status;
	}

	left = px_reader_left(r);
	if (!px_read_bytes(r, chunk->stored_nbytes, &chunk->stored))
		return px_fail(fault, PX_TRUNCATED, "chunk payload",
					   chunk->stored_nbytes, left);

	return px_read_align(r, fault);
}

px_status
px_batch_read(const uint8_t *body, const px_frame_header *header,
			  px_chunk *chunks, px_fault *fault)
{
	px_reader	r = {body, header->body_nbytes, 0};
	uint64_t	total_nbytes = 0;
	px_status	status;

	for (uint16_t i = 0; i < header->columns; i++)
	{
		px_chunk   *chunk = &chunks[i];

		chunk->rows = header->rows;
		if ((status = px_chunk_header_read(&r, chunk, fault)) != PX_OK ||
			(status = px_chunk_check_layout(chunk, fault)) != PX_OK ||
			(status = px_chunk_check_nvalues(chunk, fault)) != PX_OK ||
			(status = px_chunk_check_sizes(chunk, header->raw_nbytes,
										   &total_nbytes, fault)) != PX_OK)
			return status;
	}

	for (uint16_t i = 0; i < header->columns; i++)
	{
		status = px_payload_read(&r, &chunks[i], fault);
		if (status != PX_OK)
			return status;
	}

	if (px_reader_left(&r) > 0)
		return px_fail(fault, PX_TRAILING, "batch body",
					   r.pos, header->body_nbytes);

	return PX_OK;
}

px_status
px_batch_verify(const uint8_t *body, const px_frame_header *header,
				const px_batch_limits *limits, px_chunk *chunks,
				px_fault *fault)
{
	uint64_t	raw_nbytes_max = PX_RAW_NBYTES_MAX(header->body_nbytes,
												   limits->ratio_max);

	if (header->rows > limits->rows_max)
		return px_fail(fault, PX_OVER_LIMIT, "rows of a batch",
					   limits->rows_max, header->rows);
	if (header->raw_nbytes > raw_nbytes_max)
		return px_fail(fault, PX_OVER_LIMIT, "raw_nbytes",
					   raw_nbytes_max, header->raw_nbytes);

	return px_batch_read(body, header, chunks, fault);
}
