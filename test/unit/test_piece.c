/*-------------------------------------------------------------------------
 *
 * test_piece.c
 *		Tests of pieces (wire/piece.h) and of the totals of a sender
 *		(wire/totals.h).
 *
 * Bodies of batches are arbitrary bytes: nobody decodes them here.
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include <stdlib.h>

#include "unit.h"
#include "wire/piece.h"

#define BATCH_BODY_NBYTES	24
#define PIECE_NBYTES_MAX	1024

/* A piece under construction, and the header that its next frame has. */
typedef struct maker
{
	uint8_t		data[PIECE_NBYTES_MAX];
	size_t		nbytes;
	px_frame_header header;
	px_end		end;
} maker;

static void
add_frame(maker *m, const uint8_t *body, size_t body_nbytes)
{
	uint8_t    *frame = m->data + m->nbytes;

	m->header.body_nbytes = (uint32_t) body_nbytes;
	memcpy(frame + PX_FRAME_HEADER_NBYTES, body, body_nbytes);
	px_frame_finish(frame, &m->header);
	m->nbytes += PX_FRAME_HEADER_NBYTES + body_nbytes;
	m->header.sequence++;
}

static void
add_schema(maker *m)
{
	uint8_t		body[PX_SCHEMA_COLUMN_NBYTES] = {0};
	px_writer	out = {body, sizeof(body), 0};
	px_schema_column column = {.type_oid = 23, .typmod = -1,
	.class = PX_CLASS_FIXED, .width = 4};

	CHECK_EQ(px_schema_write(&out, &column, 1), PX_OK);
	m->header.kind = PX_FRAME_SCHEMA;
	m->header.columns = 1;
	m->header.rows = 0;
	m->header.raw_nbytes = 0;
	add_frame(m, body, sizeof(body));
	m->end.wire_nbytes += PX_FRAME_HEADER_NBYTES + sizeof(body);
}

static void
add_batch(maker *m, uint32_t rows, uint16_t ncolumns)
{
	uint8_t		body[BATCH_BODY_NBYTES] = {1, 2, 3};

	m->header.kind = PX_FRAME_BATCH;
	m->header.columns = ncolumns;
	m->header.rows = rows;
	m->header.raw_nbytes = BATCH_BODY_NBYTES;
	add_frame(m, body, sizeof(body));
	m->end.rows += rows;
	m->end.batches++;
	m->end.raw_nbytes += BATCH_BODY_NBYTES;
	m->end.wire_nbytes += PX_FRAME_HEADER_NBYTES + sizeof(body);
}

static void
add_end(maker *m)
{
	uint8_t		body[PX_END_NBYTES] = {0};
	px_writer	out = {body, sizeof(body), 0};

	CHECK_EQ(px_end_write(&out, &m->end), PX_OK);
	m->header.kind = PX_FRAME_END;
	m->header.columns = 0;
	m->header.rows = 0;
	m->header.raw_nbytes = 0;
	add_frame(m, body, sizeof(body));
}

static void
begin(maker *m)
{
	memset(m, 0, sizeof(*m));
	m->header.version = 1;
}

static void
make_piece(maker *m)
{
	begin(m);
	add_schema(m);
	add_batch(m, 100, 1);
	add_batch(m, 7, 1);
	add_end(m);
}

/*
 * Read a piece as far as it is right.  Sets *frames to the number of frames
 * that were taken.
 */
static px_status
read_piece(const uint8_t *data, size_t nbytes, uint64_t *rows, int *frames,
		   px_fault *fault)
{
	unit_guarded g = unit_guarded_copy(data, nbytes);
	px_piece	piece;
	px_frame_header header;
	const uint8_t *frame;
	px_status	status = px_piece_measure(g.data, nbytes, rows, fault);

	*frames = 0;
	px_piece_begin(&piece, g.data, nbytes);
	while (status == PX_OK && !piece.totals.ended)
	{
		status = px_piece_next(&piece, &header, &frame, fault);
		if (status == PX_OK)
			(*frames)++;
	}
	unit_guarded_free(&g);
	return status;
}

static void
expect(const maker *m, px_status expected, const char *what)
{
	px_fault	fault = {0};
	uint64_t	rows;
	int			frames;

	if (!CHECK_EQ(read_piece(m->data, m->nbytes, &rows, &frames, &fault),
				  expected) ||
		!CHECK(strcmp(fault.what, what) == 0))
		printf("# what: %s\n", fault.what ? fault.what : "none");
}

static void
a_piece_is_read(void)
{
	maker		m;
	uint64_t	rows;
	int			frames;

	make_piece(&m);
	CHECK_EQ(read_piece(m.data, m.nbytes, &rows, &frames, NULL), PX_OK);
	CHECK_EQ(rows, 107);
	CHECK_EQ(frames, 4);

	/* without rows */
	begin(&m);
	add_schema(&m);
	add_end(&m);
	CHECK_EQ(read_piece(m.data, m.nbytes, &rows, &frames, NULL), PX_OK);
	CHECK_EQ(rows, 0);
	CHECK_EQ(frames, 2);
}

static void
a_cut_piece_is_refused(void)
{
	maker		m;
	uint64_t	rows;
	int			frames;

	make_piece(&m);
	for (size_t n = 0; n < m.nbytes; n++)
		CHECK(read_piece(m.data, n, &rows, &frames, NULL) != PX_OK);
}

static void
a_changed_bit_is_refused(void)
{
	maker		m;
	uint64_t	rows;
	int			frames;

	make_piece(&m);
	for (size_t bit = 0; bit < m.nbytes * 8; bit++)
	{
		m.data[bit / 8] ^= (uint8_t) (1 << bit % 8);
		CHECK(read_piece(m.data, m.nbytes, &rows, &frames, NULL) != PX_OK);
		m.data[bit / 8] ^= (uint8_t) (1 << bit % 8);
	}
}

static void
missing_and_further_frames_are_refused(void)
{
	maker		m;

	begin(&m);
	expect(&m, PX_BAD_HEADER, "end frame");

	add_schema(&m);
	add_batch(&m, 5, 1);
	expect(&m, PX_BAD_HEADER, "end frame");

	/* a frame is missing */
	m.header.sequence++;
	add_end(&m);
	expect(&m, PX_BAD_HEADER, "sequence number");

	/* no schema; two schemas */
	begin(&m);
	add_batch(&m, 5, 1);
	add_end(&m);
	expect(&m, PX_BAD_HEADER, "schema frame first");
	begin(&m);
	add_schema(&m);
	add_schema(&m);
	add_end(&m);
	expect(&m, PX_BAD_HEADER, "schema frame first");

	/* something after the end */
	make_piece(&m);
	add_end(&m);
	expect(&m, PX_TRAILING, "end frame");
	make_piece(&m);
	m.nbytes += 8;
	expect(&m, PX_TRUNCATED, "frame header");

	/* another sender, another kind */
	make_piece(&m);
	m.nbytes = 0;
	m.header.sequence = 0;
	m.header.sender = 1;
	add_schema(&m);
	expect(&m, PX_BAD_HEADER, "sender");
	begin(&m);
	m.header.kind = PX_FRAME_PLAN;
	add_frame(&m, (const uint8_t *) "\0\0\0\0\0\0\0\0", 8);
	expect(&m, PX_BAD_HEADER, "plan");
	begin(&m);
	m.header.kind = PX_FRAME_SLICE;
	add_frame(&m, (const uint8_t *) "\1\0\0\0\0\0\0\0\0\0\0\0\1\0\0\0", 16);
	expect(&m, PX_BAD_HEADER, "slice frame first");
}

static void
wrong_totals_are_refused(void)
{
	static const struct
	{
		size_t		offset;
		const char *what;
	}			totals[] = {
		{offsetof(px_end, rows), "total rows"},
		{offsetof(px_end, batches), "total batches"},
		{offsetof(px_end, raw_nbytes), "total raw bytes"},
		{offsetof(px_end, wire_nbytes), "total wire bytes"},
	};
	maker		m;

	for (size_t i = 0; i < lengthof(totals); i++)
	{
		begin(&m);
		add_schema(&m);
		add_batch(&m, 5, 1);
		*(uint64_t *) ((char *) &m.end + totals[i].offset) += 1;
		add_end(&m);
		expect(&m, PX_BAD_HEADER, totals[i].what);
	}
}

static void
batches_of_too_many_values_are_refused(void)
{
	maker		m;
	uint64_t	rows;
	int			frames;

	begin(&m);
	add_schema(&m);
	add_batch(&m, PX_FRAME_ROWS_MAX, PX_PIECE_VALUES_MAX / PX_FRAME_ROWS_MAX);
	add_end(&m);
	CHECK_EQ(read_piece(m.data, m.nbytes, &rows, &frames, NULL), PX_OK);

	begin(&m);
	add_schema(&m);
	add_batch(&m, PX_FRAME_ROWS_MAX,
			  PX_PIECE_VALUES_MAX / PX_FRAME_ROWS_MAX + 1);
	expect(&m, PX_OVER_LIMIT, "values of a batch");
}

int
main(void)
{
	RUN(a_piece_is_read);
	RUN(a_cut_piece_is_refused);
	RUN(a_changed_bit_is_refused);
	RUN(missing_and_further_frames_are_refused);
	RUN(wrong_totals_are_refused);
	RUN(batches_of_too_many_values_are_refused);

	return unit_done();
}
