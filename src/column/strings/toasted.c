/*-------------------------------------------------------------------------
 *
 * toasted.c
 *		Values of any length, some of them as TOAST has compressed them.
 *
 * Encoded form: number of compressed values (4 bytes), size of what they make
 * (4); child of their positions (width 4, ascending); child of their method
 * and true length (width 4); then all values, packed.
 *
 * What they make is as large as the sender counted it, each value packed; so a
 * reader can size its buffer, and check it against the bytes that are there.
 *
 * Source: PostgreSQL's varatt.h and toast_compression.c for what a compressed
 * value is.
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include "common/pg_lzcompress.h"

#include "codec/codec.h"
#include "column/ints/ints.h"
#include "column/packed.h"
#include "column/strings/toasted.h"

#define PX_TOASTED_HEADER_NBYTES	8

bool		px_pglz_may_be_undone = true;

bool
px_pglz_is_bounded(int server_version)
{
	return server_version >= 160001 ||
		(server_version >= 150005 && server_version < 160000);
}

size_t
px_toasted_true_nbytes(const px_column *column)
{
	uint32_t	toast = 0;
	size_t		pos = 0;

	for (uint32_t i = 0; i < column->nvalues; i++)
	{
		uint32_t	nbytes = column->lengths[i];

		if (toast < column->ntoasts && column->positions[toast] == i)
			nbytes = PX_TOAST_NBYTES(column->toasts[toast++]);
		pos = px_packed_end(pos, nbytes);
	}

	return pos;
}

static px_status
px_toasted_write(px_writer *out, const px_encode_input *input,
				 const px_encode_plan *plan, px_encoded *result)
{
	const px_column *column = input->column;
	px_ints		positions =
		{(const uint8_t *) column->positions, column->ntoasts, 4, false};
	px_ints		toasts =
		{(const uint8_t *) column->toasts, column->ntoasts, 4, false};
	size_t		start = out->pos;
	size_t		made_nbytes = 0;
	px_status	status;

	(void) plan;

	for (uint32_t i = 0; i < column->ntoasts; i++)
		made_nbytes = px_packed_end(made_nbytes,
									PX_TOAST_NBYTES(column->toasts[i]));
	if (!px_write_u32(out, column->ntoasts) ||
		!px_write_u32(out, (uint32_t) made_nbytes))
		return PX_NO_SPACE;
	status = px_flat_child_write(out, &positions, input->pack);
	if (status == PX_OK)
		status = px_flat_child_write(out, &toasts, input->pack);
	if (status != PX_OK)
		return status;

	/* The codec may be of use to the other values, and finds out soon. */
	result->head_nbytes = out->pos - start;
	result->codec_use = PX_CODEC_USE;

	return px_packed_values_write(out, column);
}

static px_status
px_toasted_verify(const px_chunk *chunk, const uint8_t *encoded,
				  size_t *buffer_nbytes, px_fault *fault)
{
	px_reader	r = {encoded, chunk->encoded_nbytes, 0};
	uint32_t	ntoasts;
	uint32_t	made_nbytes;
	uint64_t	limit =
		Min((uint64_t) chunk->encoded_nbytes * PX_TOAST_RATIO_MAX,
			PX_FRAME_NBYTES_MAX);

	if (!px_read_u32(&r, &ntoasts) || !px_read_u32(&r, &made_nbytes))
		return px_fail(fault, PX_TRUNCATED, "header of compressed values",
					   PX_TOASTED_HEADER_NBYTES, chunk->encoded_nbytes);
	if (made_nbytes > limit)
		return px_fail(fault, PX_OVER_LIMIT, "size of decompressed values",
					   limit, made_nbytes);
	*buffer_nbytes = made_nbytes;

	return PX_OK;
}

/* Undo one value: from packed to data, which is nbytes long. */
static px_status
px_toast_undo(const uint8_t *packed, uint32_t method, uint8_t *data,
			  size_t nbytes, px_fault *fault)
{
	const uint8_t *from = px_packed_data(packed);
	size_t		from_nbytes = px_packed_nbytes(packed);
	bool		done = false;

	/* All sizes are below PX_FRAME_NBYTES_MAX, which is less than 2^31. */
	if (method == PX_TOAST_PGLZ)
		done = px_pglz_may_be_undone &&
			pglz_decompress((const char *) from, (int32) from_nbytes,
							(char *) data, (int32) nbytes,
							true) == (int32) nbytes;
	else if (method == PX_TOAST_LZ4)
		done = px_codec_lz4.decompress(NULL, from, from_nbytes, data,
									   nbytes) == PX_OK;
	else
		return px_fail(fault, PX_BAD_VALUE, "method of a compressed value",
					   PX_TOAST_LZ4, method);
	if (!done)
		return px_fail(fault, PX_CODEC_FAILED, "compressed value", nbytes,
					   from_nbytes);

	return PX_OK;
}

/* Undo the values at positions[ntoasts], in values, to the buffer. */
static px_status
px_toasts_undo(const int64_t *positions, const int64_t *toasts,
			   uint32_t ntoasts, uint32_t n, uint8_t *buffer,
			   size_t made_nbytes,
			   const uint8_t **values, px_fault *fault)
{
	int64_t		previous = -1;
	size_t		pos = 0;

	for (uint32_t i = 0; i < ntoasts; i++)
	{
		int64_t		position = positions[i];
		size_t		nbytes = PX_TOAST_NBYTES((uint32_t) toasts[i]);
		const uint8_t *packed;
		uint8_t    *data;
		px_status	status;

		if (position <= previous || position >= (int64_t) n)
			return px_fail(fault, PX_BAD_VALUE,
						   "position of a compressed value", n - 1,
						   (uint64_t) position);
		previous = position;
		if (px_packed_end(pos, nbytes) > made_nbytes)
			return px_fail(fault, PX_BAD_VALUE, "size of decompressed values",
						   made_nbytes, px_packed_end(pos, nbytes));
		packed = values[position];
		data = px_packed_begin(buffer, &pos, nbytes, &values[position]);
		status = px_toast_undo(packed, PX_TOAST_METHOD((uint32_t) toasts[i]),
							   data, nbytes, fault);
		if (status != PX_OK)
			return status;
	}
	if (pos != made_nbytes)
		return px_fail(fault, PX_BAD_VALUE, "size of decompressed values",
					   made_nbytes, pos);

	return PX_OK;
}

static px_status
px_toasted_read_pointers(const px_chunk *chunk, const uint8_t *encoded,
						 const px_decode_room *room, const uint8_t **values,
						 px_fault *fault)
{
	uint32_t	n = chunk->nvalues;
	int64_t    *positions = room->scratch;
	int64_t    *toasts = room->scratch + n;
	int64_t    *rest = room->scratch + 2 * (size_t) n;
	px_reader	r = {encoded, chunk->encoded_nbytes, 0};
	uint32_t	ntoasts;
	uint32_t	made_nbytes;
	px_status	status;

	if (!px_read_u32(&r, &ntoasts) || !px_read_u32(&r, &made_nbytes))
		return px_fail(fault, PX_TRUNCATED, "header of compressed values",
					   PX_TOASTED_HEADER_NBYTES, chunk->encoded_nbytes);
	if (ntoasts == 0 || ntoasts > n)
		return px_fail(fault, PX_BAD_VALUE, "compressed values", n, ntoasts);

	status = px_child_read(&r, ntoasts, 4, false, rest, positions, fault);
	if (status == PX_OK)
		status = px_child_read(&r, ntoasts, 4, false, rest, toasts, fault);
	if (status == PX_OK)
		status = px_packed_values_read(encoded + r.pos, px_reader_left(&r), n,
									   values, fault);
	if (status != PX_OK)
		return status;

	return px_toasts_undo(positions, toasts, ntoasts, n, room->buffer,
						  made_nbytes, values, fault);
}

/* No text: what values are made of only shows when they are decompressed. */
const px_encoding px_encoding_toasted = {
	.name = "as toasted",
	.suits = px_suits_bytes,
	.write = px_toasted_write,
	.verify = px_toasted_verify,
	.read_pointers = px_toasted_read_pointers
};
