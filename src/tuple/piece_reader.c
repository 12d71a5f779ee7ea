/*-------------------------------------------------------------------------
 *
 * piece_reader.c
 *		From a piece, a text given by a client, to rows.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "guc.h"
#include "tuple/fault.h"
#include "tuple/frame_rows.h"
#include "tuple/piece_reader.h"
#include "wire/armour.h"
#include "wire/piece.h"

struct px_piece_reader
{
	MemoryContext context;
	px_frame_rows rows;
	uint64		rows_announced; /* by the headers */

	uint8_t    *frames;			/* NULL at first */
	size_t		frames_cap;
	uint8_t    *aligned;		/* a copy of a frame; NULL until needed */
	size_t		aligned_cap;

	/* The position. */
	px_piece	piece;
};

px_piece_reader *
px_piece_reader_new(TupleDesc tupdesc, int window_rows, bool parameters)
{
	px_piece_reader *reader = palloc0(sizeof(px_piece_reader));

	reader->context = CurrentMemoryContext;
	px_frame_rows_init(&reader->rows, tupdesc, window_rows);
	if (parameters)
		px_decoder_set_parameters(reader->rows.decoder);
	return reader;
}

/* Go back to the first frame. */
static void
rewind_piece(px_piece_reader *reader)
{
	px_piece_begin(&reader->piece, reader->frames, reader->piece.nbytes);
	px_frame_rows_reset(&reader->rows);
}

/* There is a new piece: look at its headers. */
static void
measure_piece(px_piece_reader *reader)
{
	px_fault	fault;

	if (px_piece_measure(reader->frames, reader->piece.nbytes,
						 &reader->rows_announced, &fault) != PX_OK)
		px_raise_fault(PX_THE_CLIENT, &fault);
	rewind_piece(reader);
}

/* Room for so many bytes, in place of the last piece. */
static void
make_room(px_piece_reader *reader, size_t room)
{
	reader->piece.nbytes = 0;
	if (room <= reader->frames_cap)
		return;
	if (reader->frames)
		pfree(reader->frames);
	reader->frames = NULL;
	reader->frames_cap = 0;
	reader->frames = MemoryContextAllocHuge(reader->context, room);
	reader->frames_cap = room;
}

void
px_piece_reader_open(px_piece_reader *reader, const text *piece)
{
	size_t		room = px_armour_decoded_nbytes(VARSIZE_ANY_EXHDR(piece));
	px_fault	fault;

	make_room(reader, room);
	if (px_armour_decode(VARDATA_ANY(piece), VARSIZE_ANY_EXHDR(piece),
						 reader->frames, room, &reader->piece.nbytes,
						 &fault) != PX_OK)
		px_raise_fault(PX_THE_CLIENT, &fault);
	measure_piece(reader);
}

void
px_piece_reader_open_bytes(px_piece_reader *reader, const uint8_t *piece,
						   size_t nbytes)
{
	make_room(reader, nbytes);
	if (nbytes > 0)
		memcpy(reader->frames, piece, nbytes);
	reader->piece.nbytes = nbytes;
	measure_piece(reader);
}

uint64
px_piece_reader_rows(const px_piece_reader *reader)
{
	return reader->rows_announced;
}

/* The number of the first row of the batch in the decoder. */
static uint64
first_row(const px_piece_reader *reader)
{
	return reader->piece.totals.received.rows - reader->rows.batch_rows;
}

uint64
px_piece_reader_position(const px_piece_reader *reader)
{
	return first_row(reader) + reader->rows.next_row;
}

/*
 * The frame of nbytes at an aligned address.  There are no gaps between
 * frames, and the piece stays as it is, because it may be read again.
 */
static const uint8_t *
align_frame(px_piece_reader *reader, const uint8_t *frame, size_t nbytes)
{
	if ((uintptr_t) frame % 8 == 0)
		return frame;
	if (nbytes > reader->aligned_cap)
	{
		if (reader->aligned)
			pfree(reader->aligned);
		reader->aligned = NULL;
		reader->aligned_cap = 0;
		reader->aligned = MemoryContextAllocHuge(reader->context, nbytes);
		reader->aligned_cap = nbytes;
	}
	memcpy(reader->aligned, frame, nbytes);
	return reader->aligned;
}

/* Read the next frame into the decoder. */
static void
take_frame(px_piece_reader *reader)
{
	px_frame_header header;
	px_fault	fault;
	const uint8_t *frame;

	if (px_piece_next(&reader->piece, &header, &frame, &fault) != PX_OK)
		px_raise_fault(PX_THE_CLIENT, &fault);
	if (header.kind == PX_FRAME_BATCH)
		frame = align_frame(reader, frame, PX_FRAME_HEADER_NBYTES +
							(size_t) header.body_nbytes);
	px_frame_rows_take(&reader->rows, frame, &header);
}

/* Is there another row?  Reads frames until it is in the decoder. */
static bool
find_row(px_piece_reader *reader)
{
	while (!px_frame_rows_left(&reader->rows))
	{
		if (reader->piece.totals.ended)
			return false;
		CHECK_FOR_INTERRUPTS();
		take_frame(reader);
	}
	return true;
}

bool
px_piece_reader_next(px_piece_reader *reader, Datum *values, bool *isnull)
{
	if (!find_row(reader))
		return false;
	px_frame_rows_next(&reader->rows, values, isnull);
	return true;
}

void
px_piece_reader_seek(px_piece_reader *reader, uint64 row)
{
	px_frame_rows *rows = &reader->rows;
	uint64		first = first_row(reader);

	if (row < px_piece_reader_position(reader))
	{
		/* The row may be in the batch that is in the decoder. */
		if (row >= first &&
			px_decoder_can_pick(rows->decoder, (uint32) (row - first)))
			rows->next_row = (uint32) (row - first);
		else
			rewind_piece(reader);
	}
	while (px_piece_reader_position(reader) < row && find_row(reader))
		rows->next_row += Min(rows->batch_rows - rows->next_row,
							  row - px_piece_reader_position(reader));
}

void
px_piece_reader_finish(px_piece_reader *reader)
{
	px_require(PX_THE_CLIENT, "rows after the last", 0, find_row(reader) ? 1 : 0);
}

double
px_piece_estimate_rows(const text *piece)
{
	size_t		room = px_armour_decoded_nbytes(VARSIZE_ANY_EXHDR(piece));
	uint8_t    *frames = MemoryContextAllocHuge(CurrentMemoryContext,
												Max(room, 1));
	size_t		nbytes;
	uint64		rows;
	bool		readable =
		px_armour_decode(VARDATA_ANY(piece), VARSIZE_ANY_EXHDR(piece), frames,
						 room, &nbytes, NULL) == PX_OK &&
		px_piece_measure(frames, nbytes, &rows, NULL) == PX_OK;

	pfree(frames);
	return readable ? (double) rows : -1;
}
