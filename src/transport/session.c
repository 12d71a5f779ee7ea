/*-------------------------------------------------------------------------
 *
 * session.c
 *		Frames by the session of postgres_fdw.
 *
 * Memory: the bytes of the frames that have begun to arrive, in a buffer that
 * grows with what was received, never by what a header says.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "compat.h"
#include "guc.h"
#include "transport/session.h"
#include "tuple/fault.h"
#include "wire/armour.h"
#include "wire/frame.h"

/*
 * The first pieces are small, and a LIMIT may want no more than these.  What
 * is asked for ahead is evaluated in any case, and an error in it is one of
 * the query: so do not ask ahead before it is likely to be wanted.
 */
#define PIECES_BEFORE_ASKING_AHEAD	4

/* An unusually large buffer is not kept. */
#define BUFFER_KEPT_NBYTES	(4 * 1024 * 1024)

struct px_session
{
	px_fdw_cursor *cursor;
	const char *servername;
	MemoryContext context;
	bool		ahead;			/* pieces may be asked for ahead */
	bool		grown;			/* a batch had more than portion_rows rows */
	uint32		portion_rows;
	int			pieces;			/* that have arrived */
	uint64		overhead_nbytes;	/* of their armour, not yet taken */

	uint8_t    *buffer;			/* NULL at first */
	size_t		buffer_cap;
	size_t		used;			/* bytes of buffer that have been returned */
	size_t		filled;			/* bytes of buffer that are there */
};

px_session *
px_session_new(px_fdw_cursor *cursor, const char *servername)
{
	px_session *session = palloc0(sizeof(px_session));

	session->cursor = cursor;
	session->servername = servername;
	session->context = CurrentMemoryContext;
	return session;
}

void
px_session_begin(px_session *session, const char *sql, bool ahead,
				 uint32 portion_rows)
{
	session->ahead = ahead;
	session->grown = false;
	session->portion_rows = portion_rows;
	session->pieces = 0;
	session->used = session->filled = 0;

	/* The cursor may have read another slice. */
	px_fdw_cursor_rescan(session->cursor);
	px_fdw_cursor_set_sql(session->cursor, sql);
	px_fdw_cursor_request(session->cursor);
}

/* Make room for n more bytes, after those that are still to be returned. */
static uint8_t *
make_room(px_session *session, size_t n)
{
	size_t		left = session->filled - session->used;
	size_t		needed = left + n;

	if (needed > session->buffer_cap ||
		(session->buffer_cap > BUFFER_KEPT_NBYTES &&
		 needed < session->buffer_cap / 4))
	{
		size_t		cap = Max(needed + needed / 4, 8192);
		uint8_t    *buffer = MemoryContextAllocHuge(session->context, cap);

		if (left > 0)
			memcpy(buffer, session->buffer + session->used, left);
		if (session->buffer)
			pfree(session->buffer);
		session->buffer = buffer;
		session->buffer_cap = cap;
	}
	else if (left > 0 && session->used > 0)
		memmove(session->buffer, session->buffer + session->used, left);
	session->used = 0;
	session->filled = left;
	return session->buffer + left;
}

/*
 * The header of the first frame in the buffer; false if it is not there yet.
 */
static bool
peek_frame(px_session *session, px_frame_header *header)
{
	px_fault	fault;
	size_t		left = session->filled - session->used;

	if (left < PX_FRAME_HEADER_NBYTES)
		return false;
	if (px_frame_peek_header(session->buffer + session->used, left, header,
							 &fault) != PX_OK)
		px_raise_fault(session->servername, &fault);
	px_require_within(session->servername, "frame size",
					  (uint64) px_max_frame_bytes,
					  (uint64) header->body_nbytes + PX_FRAME_HEADER_NBYTES);
	return true;
}

/* Is the first frame in the buffer whole? */
static bool
has_frame(px_session *session, px_frame_header *header)
{
	return peek_frame(session, header) &&
		session->filled - session->used >=
		PX_FRAME_HEADER_NBYTES + (size_t) header->body_nbytes;
}

/* Is there an end frame among those that are whole? */
static bool
has_end(const px_session *session)
{
	size_t		at = session->used;
	px_frame_header header;

	while (session->filled - at >= PX_FRAME_HEADER_NBYTES &&
		   px_frame_peek_header(session->buffer + at, session->filled - at,
								&header, NULL) == PX_OK)
	{
		size_t		nbytes = PX_FRAME_HEADER_NBYTES +
			(size_t) header.body_nbytes;

		if (header.kind == PX_FRAME_END)
			return true;
		if (nbytes > session->filled - at)
			break;
		at += nbytes;
	}
	return false;
}

/*
 * Ask for the next piece.  Not in an inner subtransaction: if that is rolled
 * back, postgres_fdw cancels what was asked for, and with it our cursor.
 */
static void
ask(px_session *session)
{
	if (px_fdw_cursor_is_innermost(session->cursor))
		px_fdw_cursor_request(session->cursor);
}

/* Wait for a piece; false if there are no more. */
static bool
receive_piece(px_session *session, instr_time *wait)
{
	instr_time	begin;
	instr_time	end;
	text	   *piece;
	size_t		room;
	size_t		nbytes;
	uint8_t    *dst;
	px_fault	fault;

	INSTR_TIME_SET_CURRENT(begin);
	piece = px_fdw_cursor_fetch(session->cursor);
	INSTR_TIME_SET_CURRENT(end);
	INSTR_TIME_ACCUM_DIFF(*wait, end, begin);
	if (piece == NULL)
		return false;

	room = px_armour_decoded_nbytes(VARSIZE_ANY_EXHDR(piece));
	dst = make_room(session, room);
	if (px_armour_decode(VARDATA_ANY(piece), VARSIZE_ANY_EXHDR(piece), dst,
						 room, &nbytes, &fault) != PX_OK)
		px_raise_fault(session->servername, &fault);
	session->filled += nbytes;
	session->pieces++;
	session->overhead_nbytes += VARSIZE_ANY_EXHDR(piece) - nbytes;

	if (session->ahead && session->grown &&
		session->pieces >= PIECES_BEFORE_ASKING_AHEAD && !has_end(session))
		ask(session);
	return true;
}

px_stream_status
px_session_next(px_session *session, const uint8_t **frame, size_t *nbytes,
				instr_time *wait)
{
	px_frame_header header;

	/* Pieces may be empty: serve interrupts while such pieces come. */
	while (!has_frame(session, &header))
	{
		CHECK_FOR_INTERRUPTS();
		if (!receive_piece(session, wait))
		{
			px_require(session->servername, "bytes of an incomplete frame", 0,
					   session->filled - session->used);
			return PX_STREAM_END;
		}
	}

	/*
	 * There are no gaps between frames: move this one to an aligned address.
	 */
	if (session->used % 8 != 0)
		(void) make_room(session, 0);
	session->grown |= header.rows > session->portion_rows;
	*frame = session->buffer + session->used;
	*nbytes = PX_FRAME_HEADER_NBYTES + (size_t) header.body_nbytes;
	session->used += *nbytes;
	return PX_STREAM_OK;
}

bool
px_session_needs_portion(px_session *session)
{
	px_frame_header header;

	return session->pieces > 0 && !(session->ahead && session->grown) &&
		!px_fdw_cursor_is_asked(session->cursor) &&
		!has_frame(session, &header);
}

void
px_session_ask(px_session *session)
{
	px_frame_header header;

	if (session->pieces > 0 && !has_frame(session, &header))
		ask(session);
}

uint64
px_session_take_overhead(px_session *session)
{
	uint64		overhead_nbytes = session->overhead_nbytes;

	session->overhead_nbytes = 0;
	return overhead_nbytes;
}

void
px_session_finish(px_session *session)
{
	px_require(session->servername, "bytes after the end", 0,
			   session->filled - session->used);
}
