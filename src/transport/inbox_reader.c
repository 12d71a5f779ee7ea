/*-------------------------------------------------------------------------
 *
 * inbox_reader.c
 *		From the frames of an inbox to rows.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "transport/inbox.h"
#include "transport/inbox_reader.h"
#include "tuple/fault.h"
#include "tuple/frame_rows.h"
#include "tuple/senders.h"

struct px_inbox_reader
{
	px_inbox_scan *scan;
	px_frame_rows rows;
	px_senders	senders;		/* of the source that is read */
	bool		in_source;		/* one is */
	bool		finished;		/* all were read */
};

px_inbox_reader *
px_inbox_reader_new(TupleDesc tupdesc, int window_rows)
{
	px_inbox_reader *reader = palloc0(sizeof(px_inbox_reader));

	reader->senders.context = CurrentMemoryContext;
	px_frame_rows_init(&reader->rows, tupdesc, window_rows);
	reader->scan = px_inbox_scan_new();
	return reader;
}

void
px_inbox_reader_open(px_inbox_reader *reader, int number)
{
	px_frame_rows_reset(&reader->rows);
	reader->in_source = reader->finished = false;
	px_inbox_scan_open(reader->scan, number);
}

/* Check a frame, and let its rows be taken. */
static void
take_frame(px_inbox_reader *reader, const uint8_t *frame, size_t nbytes)
{
	px_frame_header header;
	px_sender_totals *totals;
	px_fault	fault;

	if (px_frame_peek(frame, nbytes, &header, &fault) != PX_OK ||
		px_frame_verify(frame, &header, &fault) != PX_OK)
		px_raise_fault(PX_THE_CLIENT, &fault);
	totals = px_senders_find(&reader->senders, header.sender);
	if (px_totals_add(totals, frame, &header, &fault) != PX_OK)
		px_raise_fault(PX_THE_CLIENT, &fault);
	px_frame_rows_take(&reader->rows, frame, &header);
}

/* Go on to the next frame, of this source or of the next one. */
static void
next_frame(px_inbox_reader *reader)
{
	const uint8_t *frame;
	size_t		nbytes;

	if (!reader->in_source)
	{
		reader->senders.n = 0;
		px_frame_rows_reset(&reader->rows);
		reader->in_source = px_inbox_scan_next_source(reader->scan);
		reader->finished = !reader->in_source;
		return;
	}
	frame = px_inbox_scan_next(reader->scan, &nbytes);
	if (frame)
	{
		take_frame(reader, frame, nbytes);
		return;
	}
	px_senders_require_ends(&reader->senders, PX_THE_CLIENT);
	reader->in_source = false;
}

bool
px_inbox_reader_next(px_inbox_reader *reader, Datum *values, bool *isnull)
{
	while (!px_frame_rows_left(&reader->rows))
	{
		if (reader->finished)
			return false;
		next_frame(reader);
	}
	px_frame_rows_next(&reader->rows, values, isnull);
	return true;
}
