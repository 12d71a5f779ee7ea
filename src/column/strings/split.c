/*-------------------------------------------------------------------------
 *
 * split.c
 *		Values of any length as a stream of lengths and a stream of bytes.
 *
 * The lengths are packed like all integers; the bytes go to the codec, which
 * finds more in text that has no lengths in it (TPC-H's l_comment with LZ4:
 * 11.4 instead of 12.5 bytes a row).
 *
 * Encoded form: pad (4 bytes), zero (4), child of lengths (width 4), then the
 * bytes of all values up to the end.  With pad > 0 each value is filled up
 * with blanks to that many bytes.
 *
 * Source: Afroozeh and Boncz, "The FastLanes Compression Layout" (VLDB 2023)
 * and Apache Parquet's DELTA_LENGTH_BYTE_ARRAY for the split.
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include "column/ints/ints.h"
#include "column/packed.h"

#define PX_SPLIT_HEADER_NBYTES	8

/* A longer value would not leave room for its own header. */
#define PX_PADDED_MAX			(PX_FRAME_NBYTES_MAX - 4)

/* Bytes after the end of the buffer that px_copy_short may write. */
#define PX_COPY_SLACK			32

/* What a codec is expected to leave of text: one byte of so many. */
#define PX_TEXT_RATIO			2

static px_ints
px_column_lengths(const px_column *column)
{
	return (px_ints) {(const uint8_t *) column->lengths, column->nvalues, 4,
	false};
}

static px_status
px_split_size(const px_encode_input *input, px_encode_plan *plan,
			  size_t *nbytes)
{
	px_ints		lengths = px_column_lengths(input->column);

	px_ints_choose(&lengths, &plan->ints, nbytes);
	*nbytes += input->column->values_nbytes / PX_TEXT_RATIO;

	return PX_OK;
}

static px_status
px_split_write(px_writer *out, const px_encode_input *input,
			   const px_encode_plan *plan, px_encoded *result)
{
	const px_column *column = input->column;
	px_ints		lengths = px_column_lengths(column);
	size_t		start = out->pos;
	px_status	status;

	if (!px_write_u32(out, column->pad) || !px_write_u32(out, 0))
		return PX_NO_SPACE;
	status = px_child_write(out, &lengths, &plan->ints, input->scratch.rest,
							&result->stale);
	if (status != PX_OK)
		return status;

	result->head_nbytes = out->pos - start;
	result->tail = column->values;
	result->tail_nbytes = column->values_nbytes;
	result->codec_use = PX_CODEC_USE;

	return PX_OK;
}

/* Read everything in front of the bytes. */
static px_status
px_split_read(const px_chunk *chunk, const uint8_t *encoded, uint32_t *pad,
			  px_int_stream *lengths, const uint8_t **text,
			  size_t *text_nbytes, px_fault *fault)
{
	px_reader	r = {encoded, chunk->encoded_nbytes, 0};
	uint32_t	reserved;
	px_status	status;

	if (!px_read_u32(&r, pad) || !px_read_u32(&r, &reserved))
		return px_fail(fault, PX_TRUNCATED, "header of strings",
					   PX_SPLIT_HEADER_NBYTES, chunk->encoded_nbytes);
	if (*pad > PX_PADDED_MAX)
		return px_fail(fault, PX_OVER_LIMIT, "padded length",
					   PX_PADDED_MAX, *pad);
	if (reserved != 0)
		return px_fail(fault, PX_BAD_VALUE, "reserved bytes of strings",
					   0, reserved);
	status = px_child_find(&r, chunk->nvalues, 4, false, lengths, fault);
	if (status != PX_OK)
		return status;
	*text = encoded + r.pos;
	*text_nbytes = px_reader_left(&r);

	return PX_OK;
}

static px_status
px_split_verify(const px_chunk *chunk, const uint8_t *encoded,
				size_t *buffer_nbytes, px_fault *fault)
{
	uint32_t	n = chunk->nvalues;
	px_int_stream	lengths;
	uint32_t	pad;
	const uint8_t *text;
	size_t		text_nbytes;
	px_status	status;

	status = px_split_read(chunk, encoded, &pad, &lengths, &text, &text_nbytes,
						   fault);
	if (status != PX_OK)
		return status;
	if ((uint64_t) n * pad > PX_FRAME_NBYTES_MAX)
		return px_fail(fault, PX_OVER_LIMIT, "padded values",
					   PX_FRAME_NBYTES_MAX, (uint64_t) n * pad);

	/* Each value has a header of 4 bytes at most, and 3 in front of it. */
	*buffer_nbytes = Max(text_nbytes, (size_t) n * pad) +
		(size_t) n * 7 + PX_COPY_SLACK;

	return PX_OK;
}

/* Check that the lengths use up the bytes. */
static px_status
px_split_check(const int64_t *lengths, uint32_t n, uint32_t pad,
			   size_t text_nbytes, px_fault *fault)
{
	uint64_t	length_max = pad > 0 ? pad : PX_FRAME_NBYTES_MAX;
	uint64_t	sum = 0;
	uint64_t	longest = 0;

	/* At most 2^16 of at most 2^32 - 1: no overflow. */
	for (uint32_t i = 0; i < n; i++)
	{
		longest |= (uint64_t) lengths[i];
		sum += (uint64_t) lengths[i];
	}
	if (longest > length_max)
	{
		for (uint32_t i = 0; i < n; i++)
		{
			if ((uint64_t) lengths[i] > length_max)
				return px_fail(fault, PX_BAD_VALUE, "length of a string",
							   length_max, (uint64_t) lengths[i]);
		}
	}
	if (sum > text_nbytes)
		return px_fail(fault, PX_TRUNCATED, "bytes of strings", sum,
					   text_nbytes);
	if (sum < text_nbytes)
		return px_fail(fault, PX_TRAILING, "bytes of strings", sum,
					   text_nbytes);

	return PX_OK;
}

/*
 * As px_copy, but without looking at n closely if src and dst have room for
 * more.  src_left counts from src; dst has n + PX_COPY_SLACK bytes of room.
 */
static inline void
px_copy_short(uint8_t *dst, const uint8_t *src, size_t n, size_t src_left)
{
	if (n <= 32 && src_left >= 32)
	{
		memcpy(dst, src, 16);
		memcpy(dst + 16, src + 16, 16);
	}
	else
		memcpy(dst, src, n);
}

static px_status
px_split_read_pointers(const px_chunk *chunk, const uint8_t *encoded,
					   const px_decode_room *room, const uint8_t **values,
					   px_fault *fault)
{
	uint32_t	n = chunk->nvalues;
	uint8_t    *buffer = room->buffer;
	int64_t    *lengths = room->scratch;
	px_int_stream	child;
	uint32_t	pad;
	const uint8_t *text;
	size_t		text_nbytes;
	size_t		pos = 0;
	px_status	status;

	status = px_split_read(chunk, encoded, &pad, &child, &text, &text_nbytes,
						   fault);
	if (status == PX_OK)
		status = px_ints_read(&child, room->scratch + n, lengths, fault);
	if (status == PX_OK)
		status = px_split_check(lengths, n, pad, text_nbytes, fault);
	if (status != PX_OK)
		return status;

	for (uint32_t i = 0; i < n; i++)
	{
		size_t		nbytes = (size_t) lengths[i];
		uint8_t    *data = px_packed_begin(buffer, &pos,
										   pad > 0 ? pad : nbytes, &values[i]);

		px_copy_short(data, text, nbytes, text_nbytes);
		text += nbytes;
		text_nbytes -= nbytes;
		if (pad > 0)
			memset(data + nbytes, ' ', pad - nbytes);
	}

	return PX_OK;
}

static void
px_split_text(const px_chunk *chunk, const uint8_t *encoded,
			  const uint8_t **text, size_t *text_nbytes)
{
	px_int_stream	lengths;
	uint32_t	pad;

	*text = encoded;
	*text_nbytes = 0;
	(void) px_split_read(chunk, encoded, &pad, &lengths, text, text_nbytes,
						 NULL);
}

const px_encoding px_encoding_split = {
	.name = "lengths and bytes",
	.suits = px_suits_bytes,
	.size = px_split_size,
	.write = px_split_write,
	.verify = px_split_verify,
	.read_pointers = px_split_read_pointers,
	.text = px_split_text
};
