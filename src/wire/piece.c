/*-------------------------------------------------------------------------
 *
 * piece.c
 *		A piece: the frames of a whole stream in one place.
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include "wire/piece.h"

void
px_piece_begin(px_piece *piece, const uint8_t *frames, size_t nbytes)
{
	memset(piece, 0, sizeof(*piece));
	piece->frames = frames;
	piece->nbytes = nbytes;
}

px_status
px_piece_check_header(const px_frame_header *header, px_fault *fault)
{
	uint64_t	values = (uint64_t) header->rows * header->columns;

	if (values > PX_PIECE_VALUES_MAX)
		return px_fail(fault, PX_OVER_LIMIT, "values of a batch",
					   PX_PIECE_VALUES_MAX, values);
	return PX_OK;
}

/*
 * Read the header of the frame that data begins with, and check that the frame
 * is whole.
 */
static px_status
peek(const uint8_t *data, size_t left, px_frame_header *header,
	 px_fault *fault)
{
	px_status	status = px_frame_peek_header(data, left, header, fault);

	if (status != PX_OK)
		return status;
	if (header->body_nbytes > left - PX_FRAME_HEADER_NBYTES)
		return px_fail(fault, PX_TRUNCATED, "frame",
					   (uint64_t) header->body_nbytes + PX_FRAME_HEADER_NBYTES,
					   left);
	return px_piece_check_header(header, fault);
}

px_status
px_piece_measure(const uint8_t *frames, size_t nbytes, uint64_t *rows,
				 px_fault *fault)
{
	size_t		at = 0;

	*rows = 0;
	while (at < nbytes)
	{
		px_frame_header header;
		px_status	status = peek(frames + at, nbytes - at, &header, fault);

		if (status != PX_OK)
			return status;
		*rows += header.rows;
		at += PX_FRAME_HEADER_NBYTES + (size_t) header.body_nbytes;
	}
	return PX_OK;
}

px_status
px_piece_next(px_piece *piece, px_frame_header *header, const uint8_t **frame,
			  px_fault *fault)
{
	const uint8_t *data = piece->frames + piece->used;
	size_t		left = piece->nbytes - piece->used;
	size_t		nbytes;
	px_status	status;

	if (left == 0)
		return px_fail(fault, PX_BAD_HEADER, "end frame", 1, 0);
	if ((status = peek(data, left, header, fault)) != PX_OK ||
		(status = px_frame_verify(data, header, fault)) != PX_OK)
		return status;
	if (header->sender != 0)
		return px_fail(fault, PX_BAD_HEADER, "sender", 0, header->sender);
	status = px_totals_add(&piece->totals, data, header, fault);
	if (status != PX_OK)
		return status;
	nbytes = PX_FRAME_HEADER_NBYTES + (size_t) header->body_nbytes;
	if (header->kind == PX_FRAME_END && left > nbytes)
		return px_fail(fault, PX_TRAILING, "end frame", nbytes, left);
	piece->used += nbytes;
	*frame = data;
	return PX_OK;
}
