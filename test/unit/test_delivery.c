/*-------------------------------------------------------------------------
 *
 * test_delivery.c
 *		Tests of the records that bring frames to inboxes (wire/delivery.h).
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include "unit.h"
#include "wire/delivery.h"
#include "wire/piece.h"

#define BODY_NBYTES		24
#define FRAME_NBYTES	(PX_FRAME_HEADER_NBYTES + BODY_NBYTES)
#define RECORD_NBYTES	(PX_DELIVERY_HEADER_NBYTES + FRAME_NBYTES)

/* A batch frame with an arbitrary body, which nobody decodes here. */
static void
put_batch(uint8_t *frame, uint32_t rows, uint16_t ncolumns)
{
	px_frame_header header = {
		.version = 1,
		.kind = PX_FRAME_BATCH,
		.sender = 7,
		.sequence = 1,
		.rows = rows,
		.columns = ncolumns,
		.raw_nbytes = BODY_NBYTES,
		.body_nbytes = BODY_NBYTES
	};

	memset(frame + PX_FRAME_HEADER_NBYTES, 1, BODY_NBYTES);
	px_frame_finish(frame, &header);
}

static void
put_record(uint8_t *to, uint16_t inbox, uint16_t source)
{
	px_delivery_header_put(to, FRAME_NBYTES, inbox, source);
	put_batch(to + PX_DELIVERY_HEADER_NBYTES, 5, 1);
}

/* The first record of data[nbytes]. */
static px_status
read_first(const uint8_t *data, size_t nbytes, px_delivery *delivery,
		   px_fault *fault)
{
	unit_guarded g = unit_guarded_copy(data, nbytes);
	px_reader	records = {g.data, nbytes, 0};
	px_status	status = px_delivery_next(&records, delivery, fault);

	CHECK(status != PX_OK || delivery->frame + delivery->nbytes <=
			  g.data + nbytes);
	unit_guarded_free(&g);
	return status;
}

static void
expect(const uint8_t *data, size_t nbytes, px_status expected,
	   const char *what)
{
	px_delivery delivery;
	px_fault	fault = {0};

	if (!CHECK_EQ(read_first(data, nbytes, &delivery, &fault), expected) ||
		!CHECK(strcmp(fault.what, what) == 0))
		printf("# what: %s\n", fault.what ? fault.what : "none");
}

static void
records_are_read(void)
{
	uint8_t		data[2 * RECORD_NBYTES];
	px_reader	records = {data, sizeof(data), 0};
	px_delivery delivery;

	put_record(data, 1, 0);
	put_record(data + RECORD_NBYTES, UINT16_MAX, 4095);
	CHECK_EQ(px_delivery_next(&records, &delivery, NULL), PX_OK);
	CHECK_EQ(delivery.inbox, 1);
	CHECK_EQ(delivery.source, 0);
	CHECK_EQ(delivery.nbytes, FRAME_NBYTES);
	CHECK(delivery.frame == data + PX_DELIVERY_HEADER_NBYTES);
	CHECK_EQ(delivery.header.rows, 5);
	CHECK_EQ(delivery.header.sender, 7);

	CHECK_EQ(px_delivery_next(&records, &delivery, NULL), PX_OK);
	CHECK_EQ(delivery.inbox, UINT16_MAX);
	CHECK_EQ(delivery.source, 4095);
	CHECK_EQ(px_reader_left(&records), 0);
}

static void
the_header_is_little_endian(void)
{
	const uint8_t expected[] = {4, 3, 2, 1, 6, 5, 8, 7};
	uint8_t		header[PX_DELIVERY_HEADER_NBYTES];

	px_delivery_header_put(header, 0x01020304, 0x0506, 0x0708);
	CHECK(memcmp(header, expected, sizeof(expected)) == 0);
}

static void
a_cut_record_is_refused(void)
{
	uint8_t		data[RECORD_NBYTES];

	put_record(data, 1, 0);
	for (size_t n = 0; n < PX_DELIVERY_HEADER_NBYTES; n++)
		expect(data, n, PX_TRUNCATED, "record");
	for (size_t n = PX_DELIVERY_HEADER_NBYTES; n < sizeof(data); n++)
		expect(data, n, PX_TRUNCATED, "frame of a record");
}

static void
a_wrong_length_is_refused(void)
{
	uint8_t		data[RECORD_NBYTES + 1] = {0};

	put_record(data, 1, 0);
	px_delivery_header_put(data, FRAME_NBYTES - 1, 1, 0);
	expect(data, sizeof(data), PX_TRUNCATED, "frame body");
	px_delivery_header_put(data, FRAME_NBYTES + 1, 1, 0);
	expect(data, sizeof(data), PX_TRAILING, "frame body");
	px_delivery_header_put(data, 0, 1, 0);
	expect(data, sizeof(data), PX_TRUNCATED, "frame header");
	px_delivery_header_put(data, UINT32_MAX, 1, 0);
	expect(data, sizeof(data), PX_TRUNCATED, "frame of a record");
}

static void
inbox_0_is_refused(void)
{
	uint8_t		data[RECORD_NBYTES];

	put_record(data, 0, 1);
	expect(data, sizeof(data), PX_BAD_HEADER, "inbox");
}

static void
a_wrong_frame_is_refused(void)
{
	uint8_t		data[RECORD_NBYTES];
	uint8_t    *frame = data + PX_DELIVERY_HEADER_NBYTES;

	put_record(data, 1, 0);
	frame[0] ^= 1;
	expect(data, sizeof(data), PX_BAD_MAGIC, "magic");
	put_record(data, 1, 0);
	frame[4] = 2;
	expect(data, sizeof(data), PX_BAD_VERSION, "version");

	/* The checksum is compared when the frame is read. */
	put_record(data, 1, 0);
	frame[PX_FRAME_HEADER_NBYTES] ^= 1;
	CHECK_EQ(read_first(data, sizeof(data), &(px_delivery) {0}, NULL), PX_OK);
}

static void
a_batch_of_too_many_values_is_refused(void)
{
	uint8_t		data[RECORD_NBYTES];

	put_record(data, 1, 0);
	put_batch(data + PX_DELIVERY_HEADER_NBYTES, PX_FRAME_ROWS_MAX,
			  PX_PIECE_VALUES_MAX / PX_FRAME_ROWS_MAX);
	CHECK_EQ(read_first(data, sizeof(data), &(px_delivery) {0}, NULL), PX_OK);
	put_batch(data + PX_DELIVERY_HEADER_NBYTES, PX_FRAME_ROWS_MAX,
			  PX_PIECE_VALUES_MAX / PX_FRAME_ROWS_MAX + 1);
	expect(data, sizeof(data), PX_OVER_LIMIT, "values of a batch");
}

int
main(void)
{
	RUN(records_are_read);
	RUN(the_header_is_little_endian);
	RUN(a_cut_record_is_refused);
	RUN(a_wrong_length_is_refused);
	RUN(inbox_0_is_refused);
	RUN(a_wrong_frame_is_refused);
	RUN(a_batch_of_too_many_values_is_refused);

	return unit_done();
}
