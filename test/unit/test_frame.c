/*-------------------------------------------------------------------------
 *
 * test_frame.c
 *		Tests of frame headers, schema and end bodies (wire/frame.h).
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include <stdlib.h>

#include "unit.h"
#include "wire/crc.h"
#include "wire/frame.h"

/* Offsets of header fields, as in doc/wire.md. */
enum
{
	OFF_MAGIC = 0, OFF_VERSION = 4, OFF_KIND = 6, OFF_CHOICE = 7,
	OFF_SENDER = 8, OFF_SEQUENCE = 12, OFF_ROWS = 16, OFF_COLUMNS = 20,
	OFF_RESERVED = 22, OFF_RAW_NBYTES = 24, OFF_BODY_NBYTES = 32, OFF_CRC = 36
};

#define BODY_NBYTES		24
#define FRAME_NBYTES	(PX_FRAME_HEADER_NBYTES + BODY_NBYTES)

static px_frame_header
valid_header(uint8_t kind)
{
	px_frame_header header = {0};

	header.version = 1;
	header.kind = kind;
	header.sender = 3;
	header.sequence = 0x01020304;
	header.body_nbytes = BODY_NBYTES;
	if (kind == PX_FRAME_SCHEMA || kind == PX_FRAME_BATCH)
		header.columns = 2;
	if (kind == PX_FRAME_BATCH)
	{
		header.rows = 4096;
		header.raw_nbytes = 123456;
	}

	return header;
}

/* A frame of this kind, with a body of BODY_NBYTES arbitrary bytes. */
static void
make_frame(uint8_t kind, uint8_t *frame)
{
	px_frame_header header = valid_header(kind);

	for (int i = 0; i < BODY_NBYTES; i++)
		frame[PX_FRAME_HEADER_NBYTES + i] = (uint8_t) i;
	px_frame_finish(frame, &header);
}

static px_status
peek_and_verify(const uint8_t *frame, size_t nbytes, px_fault *fault)
{
	unit_guarded g = unit_guarded_copy(frame, nbytes);
	px_frame_header header;
	px_status	status;

	status = px_frame_peek(g.data, nbytes, &header, fault);
	if (status == PX_OK)
		status = px_frame_verify(g.data, &header, fault);
	unit_guarded_free(&g);

	return status;
}

static void
the_checksum_is_crc32c(void)
{
	uint8_t		zeros[32] = {0};

	/* RFC 3720, appendix B.4, and the check value of the CRC catalogue */
	CHECK_EQ(px_crc32c(zeros, 32, NULL, 0), 0x8a9136aa);
	CHECK_EQ(px_crc32c("123456789", 9, NULL, 0), 0xe3069283);
	CHECK_EQ(px_crc32c("1234", 4, "56789", 5), 0xe3069283);
	CHECK_EQ(px_crc32c(NULL, 0, "123456789", 9), 0xe3069283);
	CHECK_EQ(px_crc32c(NULL, 0, NULL, 0), 0);
}

static void
a_header_has_the_documented_layout(void)
{
	static const uint8_t expected[OFF_CRC] = {
		'P', 'G', 'X', 'F', 1, 0, PX_FRAME_BATCH, PX_CHOICE_ZSTD,
		0x0d, 0x0c, 0x0b, 0x0a, 0x04, 0x03, 0x02, 0x01,
		0x00, 0x10, 0, 0, 0x05, 0, 0, 0,
		0x40, 0xe2, 0x01, 0, 0, 0, 0, 0,
		BODY_NBYTES, 0, 0, 0
	};
	px_frame_header header = valid_header(PX_FRAME_BATCH);
	uint8_t		frame[FRAME_NBYTES] = {0};
	uint8_t		covered[OFF_CRC + BODY_NBYTES] = {0};

	header.choice = PX_CHOICE_ZSTD;
	header.sender = 0x0a0b0c0d;
	header.columns = 5;
	px_frame_finish(frame, &header);
	CHECK_MEM(frame, expected, OFF_CRC);

	memcpy(covered, frame, OFF_CRC);
	CHECK_EQ(px_load_u32(frame + OFF_CRC),
			 px_crc32c(covered, sizeof(covered), NULL, 0));
}

static void
every_kind_round_trips(void)
{
	for (uint8_t kind = PX_FRAME_SCHEMA; kind <= PX_FRAME_SLICE; kind++)
	{
		px_frame_header wrote = valid_header(kind);
		px_frame_header got;
		uint8_t		frame[FRAME_NBYTES];

		make_frame(kind, frame);
		CHECK_EQ(px_frame_peek(frame, sizeof(frame), &got, NULL), PX_OK);
		CHECK_EQ(px_frame_verify(frame, &got, NULL), PX_OK);
		CHECK_EQ(got.version, wrote.version);
		CHECK_EQ(got.kind, wrote.kind);
		CHECK_EQ(got.choice, wrote.choice);
		CHECK_EQ(got.sender, wrote.sender);
		CHECK_EQ(got.sequence, wrote.sequence);
		CHECK_EQ(got.rows, wrote.rows);
		CHECK_EQ(got.columns, wrote.columns);
		CHECK_EQ(got.raw_nbytes, wrote.raw_nbytes);
		CHECK_EQ(got.body_nbytes, wrote.body_nbytes);
	}
}

static void
truncation_at_every_byte_is_detected(void)
{
	uint8_t		frame[FRAME_NBYTES];

	make_frame(PX_FRAME_BATCH, frame);
	for (size_t n = 0; n < sizeof(frame); n++)
		CHECK_EQ(peek_and_verify(frame, n, NULL), PX_TRUNCATED);
}

static void
trailing_bytes_are_detected(void)
{
	uint8_t		frame[FRAME_NBYTES + 1] = {0};

	make_frame(PX_FRAME_BATCH, frame);
	CHECK_EQ(peek_and_verify(frame, sizeof(frame), NULL), PX_TRAILING);
}

static void
each_flipped_bit_is_detected(void)
{
	for (uint8_t kind = PX_FRAME_SCHEMA; kind <= PX_FRAME_SLICE; kind++)
	{
		uint8_t		frame[FRAME_NBYTES];

		make_frame(kind, frame);
		for (size_t bit = 0; bit < sizeof(frame) * 8; bit++)
		{
			frame[bit / 8] ^= (uint8_t) (1 << bit % 8);
			CHECK(peek_and_verify(frame, sizeof(frame), NULL) != PX_OK);
			frame[bit / 8] ^= (uint8_t) (1 << bit % 8);
		}
		CHECK_EQ(peek_and_verify(frame, sizeof(frame), NULL), PX_OK);
	}
}

static void
faults_name_field_expected_and_got(void)
{
	static const struct
	{
		uint8_t		kind;
		size_t		offset;
		size_t		width;
		uint64_t	value;
		px_status	status;
		const char *what;
		uint64_t	expected;
	} cases[] = {
		{PX_FRAME_BATCH, OFF_MAGIC, 4, 0x46584751, PX_BAD_MAGIC, "magic",
		 0x46584750},
		{PX_FRAME_BATCH, OFF_VERSION, 2, 0, PX_BAD_VERSION, "version", 1},
		{PX_FRAME_BATCH, OFF_VERSION, 2, 2, PX_BAD_VERSION, "version", 1},
		{PX_FRAME_BATCH, OFF_VERSION, 2, 0xffff, PX_BAD_VERSION, "version", 1},
		{PX_FRAME_BATCH, OFF_KIND, 1, 0, PX_BAD_KIND, "kind", 5},
		{PX_FRAME_BATCH, OFF_KIND, 1, 6, PX_BAD_KIND, "kind", 5},
		{PX_FRAME_BATCH, OFF_KIND, 1, 255, PX_BAD_KIND, "kind", 5},
		{PX_FRAME_BATCH, OFF_CHOICE, 1, 4, PX_BAD_HEADER, "choice", 3},
		{PX_FRAME_BATCH, OFF_CHOICE, 1, 0x80, PX_BAD_HEADER, "choice", 3},
		{PX_FRAME_SCHEMA, OFF_CHOICE, 1, 1, PX_BAD_HEADER, "choice", 0},
		{PX_FRAME_END, OFF_CHOICE, 1, 1, PX_BAD_HEADER, "choice", 0},
		{PX_FRAME_SLICE, OFF_CHOICE, 1, 1, PX_BAD_HEADER, "choice", 0},
		{PX_FRAME_BATCH, OFF_RESERVED, 2, 1, PX_BAD_HEADER, "reserved", 0},
		{PX_FRAME_BATCH, OFF_SENDER, 4, 1025, PX_OVER_LIMIT, "sender", 1024},
		{PX_FRAME_END, OFF_SENDER, 4, 0xffffffff, PX_OVER_LIMIT, "sender",
		 1024},
		{PX_FRAME_BATCH, OFF_ROWS, 4, 0, PX_BAD_HEADER, "rows", 1},
		{PX_FRAME_BATCH, OFF_ROWS, 4, 65537, PX_OVER_LIMIT, "rows", 65536},
		{PX_FRAME_BATCH, OFF_ROWS, 4, 0xffffffff, PX_OVER_LIMIT, "rows",
		 65536},
		{PX_FRAME_SCHEMA, OFF_ROWS, 4, 1, PX_OVER_LIMIT, "rows", 0},
		{PX_FRAME_END, OFF_ROWS, 4, 1, PX_OVER_LIMIT, "rows", 0},
		{PX_FRAME_SLICE, OFF_ROWS, 4, 1, PX_OVER_LIMIT, "rows", 0},
		{PX_FRAME_BATCH, OFF_COLUMNS, 2, 0, PX_BAD_HEADER, "columns", 1},
		{PX_FRAME_SCHEMA, OFF_COLUMNS, 2, 0, PX_BAD_HEADER, "columns", 1},
		{PX_FRAME_BATCH, OFF_COLUMNS, 2, 1665, PX_OVER_LIMIT, "columns", 1664},
		{PX_FRAME_SCHEMA, OFF_COLUMNS, 2, 0xffff, PX_OVER_LIMIT, "columns",
		 1664},
		{PX_FRAME_END, OFF_COLUMNS, 2, 1, PX_OVER_LIMIT, "columns", 0},
		{PX_FRAME_BATCH, OFF_RAW_NBYTES, 8, 0x40000000, PX_OVER_LIMIT,
		 "raw_nbytes", 0x3fffffff},
		{PX_FRAME_BATCH, OFF_RAW_NBYTES, 8, UINT64_MAX, PX_OVER_LIMIT,
		 "raw_nbytes", 0x3fffffff},
		{PX_FRAME_SCHEMA, OFF_RAW_NBYTES, 8, 1, PX_OVER_LIMIT, "raw_nbytes",
		 0},
		{PX_FRAME_END, OFF_RAW_NBYTES, 8, 1, PX_OVER_LIMIT, "raw_nbytes", 0},
		{PX_FRAME_BATCH, OFF_BODY_NBYTES, 4, 0xffffffff, PX_OVER_LIMIT,
		 "body_nbytes", 0x3fffffff - 40},
		{PX_FRAME_BATCH, OFF_BODY_NBYTES, 4, 0x3fffffff - 39, PX_OVER_LIMIT,
		 "body_nbytes", 0x3fffffff - 40},
		{PX_FRAME_BATCH, OFF_BODY_NBYTES, 4, 0x3fffffff - 40, PX_TRUNCATED,
		 "frame body", 0x3fffffff - 40},
		{PX_FRAME_BATCH, OFF_BODY_NBYTES, 4, BODY_NBYTES + 1, PX_TRUNCATED,
		 "frame body", BODY_NBYTES + 1},
		{PX_FRAME_BATCH, OFF_BODY_NBYTES, 4, BODY_NBYTES - 1, PX_TRAILING,
		 "frame body", BODY_NBYTES - 1},
		{PX_FRAME_BATCH, OFF_BODY_NBYTES, 4, 0, PX_TRAILING, "frame body", 0},
	};

	for (size_t i = 0; i < lengthof(cases); i++)
	{
		uint8_t		frame[FRAME_NBYTES];
		uint8_t		value[8];
		px_fault	fault = {0};

		make_frame(cases[i].kind, frame);
		px_store_u64(value, cases[i].value);
		memcpy(frame + cases[i].offset, value, cases[i].width);

		if (!CHECK_EQ(peek_and_verify(frame, sizeof(frame), &fault),
					  cases[i].status) ||
			!CHECK(strcmp(fault.what, cases[i].what) == 0) ||
			!CHECK_EQ(fault.expected, cases[i].expected) ||
			!CHECK_EQ(fault.status, cases[i].status))
			printf("# in case %zu\n", i);
		if (fault.status != PX_TRUNCATED && fault.status != PX_TRAILING)
			CHECK_EQ(fault.got, cases[i].value);
	}
}

static void
a_size_at_its_limit_is_accepted(void)
{
	px_frame_header header = valid_header(PX_FRAME_BATCH);
	uint8_t		frame[FRAME_NBYTES] = {0};

	header.rows = PX_FRAME_ROWS_MAX;
	header.columns = PX_FRAME_COLUMNS_MAX;
	header.raw_nbytes = PX_FRAME_NBYTES_MAX;
	header.sender = PX_FRAME_SENDER_MAX;
	header.sequence = UINT32_MAX;
	px_frame_finish(frame, &header);
	CHECK_EQ(peek_and_verify(frame, sizeof(frame), NULL), PX_OK);
}

static void
a_frame_may_have_an_empty_body(void)
{
	px_frame_header header = valid_header(PX_FRAME_END);
	unit_guarded g = unit_guarded_new(PX_FRAME_HEADER_NBYTES);

	header.body_nbytes = 0;
	px_frame_finish(g.data, &header);
	CHECK_EQ(peek_and_verify(g.data, g.nbytes, NULL), PX_OK);
	unit_guarded_free(&g);
}

static void
a_schema_round_trips(void)
{
	static const px_schema_column columns[] = {
		{25, -1, PX_CLASS_TEXT, 0},
		{23, -1, PX_CLASS_FIXED, 4},
		{2950, -1, PX_CLASS_FIXED, 16},
		{UINT32_MAX, INT32_MIN, PX_CLASS_BYTES, 0},
		{1700, INT32_MAX, PX_CLASS_NUMERIC, 0},
	};
	static const uint8_t second[] = {23,   0,    0, 0, 0xff, 0xff,
									 0xff, 0xff, 1, 4, 0,    0};
	const uint16_t n = lengthof(columns);
	unit_guarded g = unit_guarded_new(n * PX_SCHEMA_COLUMN_NBYTES);
	px_writer	w = {g.data, g.nbytes, 0};
	px_frame_header header = {.columns = n,
							  .body_nbytes = (uint32_t) g.nbytes};
	px_schema_column got[lengthof(columns)];

	CHECK_EQ(px_schema_write(&w, columns, n), PX_OK);
	CHECK_EQ(w.pos, g.nbytes);
	CHECK_MEM(g.data + PX_SCHEMA_COLUMN_NBYTES, second, sizeof(second));
	CHECK_EQ(px_schema_read(g.data, &header, got, NULL), PX_OK);
	for (uint16_t i = 0; i < n; i++)
	{
		CHECK_EQ(got[i].type_oid, columns[i].type_oid);
		CHECK_EQ(got[i].typmod, columns[i].typmod);
		CHECK_EQ(got[i].class, columns[i].class);
		CHECK_EQ(got[i].width, columns[i].width);
	}

	w.pos = 0;
	w.cap--;
	CHECK_EQ(px_schema_write(&w, columns, n), PX_NO_SPACE);
	unit_guarded_free(&g);
}

static void
a_schema_of_wrong_size_is_refused(void)
{
	for (uint32_t n = 0; n <= 40; n++)
	{
		unit_guarded g = unit_guarded_new(n);
		px_frame_header header = {.columns = 2, .body_nbytes = n};
		px_schema_column columns[2];

		memset(g.data, 0, n);
		CHECK_EQ(px_schema_read(g.data, &header, columns, NULL),
				 n < 24 ? PX_TRUNCATED : n > 24 ? PX_TRAILING : PX_OK);
		unit_guarded_free(&g);
	}
}

static void
the_fields_of_a_schema_are_checked(void)
{
	for (int class = 0; class < 256; class++)
	{
		for (int width = 0; width < 256; width++)
		{
			uint8_t		body[PX_SCHEMA_COLUMN_NBYTES] = {0};
			px_frame_header header = {.columns = 1,
									  .body_nbytes = sizeof(body)};
			px_schema_column column;
			bool		valid;

			body[8] = (uint8_t) class;
			body[9] = (uint8_t) width;
			if (class == PX_CLASS_FIXED)
				valid = width == 1 || width == 2 || width == 4 || width == 6 ||
					width == 8 || width == 12 || width == 16;
			else
				valid = class == PX_CLASS_ARRAY ?
					width == 1 || width == 2 || width == 4 || width == 8 :
					class <= PX_CLASS_NUMERIC && width == 0;
			CHECK_EQ(px_schema_read(body, &header, &column, NULL),
					 valid ? PX_OK : PX_BAD_HEADER);

			body[10 + width % 2] = 1;
			CHECK_EQ(px_schema_read(body, &header, &column, NULL),
					 PX_BAD_HEADER);
		}
	}
}

static void
a_slice_round_trips(void)
{
	static const px_slice slices[] = {
		{2, 1, 2, PX_SLICED}, {UINT32_MAX, UINT32_MAX, UINT32_MAX, PX_SLICED},
		{1, 0, 0, PX_UNSLICED_SHAPE}, {1, 0, 0, PX_UNSLICED_SMALL},
	};
	unit_guarded g = unit_guarded_new(PX_SLICE_NBYTES);
	px_frame_header header = {.body_nbytes = PX_SLICE_NBYTES};
	px_writer	w = {g.data, g.nbytes, 0};
	px_slice	got;

	for (size_t i = 0; i < lengthof(slices); i++)
	{
		w.pos = 0;
		CHECK_EQ(px_slice_write(&w, &slices[i]), PX_OK);
		CHECK_EQ(w.pos, PX_SLICE_NBYTES);
		CHECK_EQ(px_slice_read(g.data, &header, &got, NULL), PX_OK);
		CHECK_EQ(got.slices, slices[i].slices);
		CHECK_EQ(got.blocks, slices[i].blocks);
		CHECK_EQ(got.file, slices[i].file);
		CHECK_EQ(got.reason, slices[i].reason);
	}

	header.body_nbytes = PX_SLICE_NBYTES - 1;
	CHECK_EQ(px_slice_read(g.data, &header, &got, NULL), PX_TRUNCATED);
	header.body_nbytes = PX_SLICE_NBYTES + 1;
	CHECK_EQ(px_slice_read(g.data, &header, &got, NULL), PX_TRAILING);
	w.pos = 0;
	w.cap--;
	CHECK_EQ(px_slice_write(&w, &slices[0]), PX_NO_SPACE);
	unit_guarded_free(&g);
}

static void
a_plan_round_trips(void)
{
	static const char text[] = "Seq Scan on t";
	static const char json[] = "{\"Plan\": {}}";

	for (uint32_t n = 0; n <= strlen(json); n++)
	{
		px_plan		plan = {(const uint8_t *) text, (uint32_t) strlen(text),
						(const uint8_t *) json, n};
		uint32_t	nbytes = PX_PLAN_HEAD_NBYTES + plan.text_nbytes + n;
		unit_guarded g = unit_guarded_new(nbytes);
		px_frame_header header = {.body_nbytes = nbytes};
		px_writer	w = {g.data, g.nbytes, 0};
		px_plan		got;

		CHECK_EQ(px_plan_write(&w, &plan), PX_OK);
		CHECK_EQ(w.pos, nbytes);
		CHECK_EQ(px_plan_read(g.data, &header, &got, NULL), PX_OK);
		CHECK_EQ(got.text_nbytes, plan.text_nbytes);
		CHECK_EQ(got.json_nbytes, n);
		CHECK(memcmp(got.text, text, got.text_nbytes) == 0);
		CHECK(memcmp(got.json, json, n) == 0);

		w.pos = 0;
		w.cap--;
		CHECK_EQ(px_plan_write(&w, &plan), PX_NO_SPACE);
		unit_guarded_free(&g);
	}
}

/* Cut anywhere, with something behind, and with lengths that are not true. */
static void
the_lengths_of_a_plan_are_checked(void)
{
	static const uint32_t lengths[][2] = {
		{4, 4},
		{6, 2},
		{0, 8},
		{8, 0},
		{5, 4},
		{4, 5},
		{9, 0},
		{0, 9},
		{4, 3},
		{3, 4},
		{0, 0},
		{UINT32_MAX, 0},
		{0, UINT32_MAX},
		{UINT32_MAX, UINT32_MAX},
		{UINT32_MAX - 3, 12},
		{4, UINT32_MAX - 3},
	};

	for (size_t i = 0; i < lengthof(lengths); i++)
	{
		uint64_t	sum = (uint64_t) lengths[i][0] + lengths[i][1];
		unit_guarded g = unit_guarded_new(PX_PLAN_HEAD_NBYTES + 8);
		px_writer	w = {g.data, g.nbytes, 0};
		px_frame_header header = {.body_nbytes = PX_PLAN_HEAD_NBYTES + 8};
		px_plan		plan;

		px_write_u32(&w, lengths[i][0]);
		px_write_u32(&w, lengths[i][1]);
		memset(g.data + w.pos, 'x', 8);
		CHECK_EQ(px_plan_read(g.data, &header, &plan, NULL),
				 sum == 8 ? PX_OK : sum > 8 ? PX_TRUNCATED : PX_TRAILING);
		unit_guarded_free(&g);
	}
	for (size_t n = 0; n < PX_PLAN_HEAD_NBYTES; n++)
	{
		unit_guarded g = unit_guarded_new(n);
		px_frame_header header = {.body_nbytes = (uint32_t) n};
		px_plan		plan;

		memset(g.data, 0, n);
		CHECK_EQ(px_plan_read(g.data, &header, &plan, NULL), PX_TRUNCATED);
		unit_guarded_free(&g);
	}
}

static void
the_fields_of_a_slice_are_checked(void)
{
	px_frame_header header = {.body_nbytes = PX_SLICE_NBYTES};

	for (uint8_t n = 0; n < 4; n++)
	{
		for (int reason = 0; reason < 256; reason++)
		{
			uint8_t		body[PX_SLICE_NBYTES] = {0};
			px_slice	slice;
			bool		valid;

			body[0] = n;
			body[12] = (uint8_t) reason;
			valid = n == 1
				? reason >= PX_UNSLICED_SHAPE && reason <= PX_UNSLICED_SMALL
				: n > 1 && reason == PX_SLICED;
			CHECK_EQ(px_slice_read(body, &header, &slice, NULL),
					 valid ? PX_OK : PX_BAD_HEADER);
			body[15] = 1;
			CHECK_EQ(px_slice_read(body, &header, &slice, NULL),
					 PX_BAD_HEADER);

			/* Blocks and file are those of several slices. */
			for (int field = 4; field < 12; field++)
			{
				body[15] = 0;
				body[field] = 1;
				CHECK_EQ(px_slice_read(body, &header, &slice, NULL),
						 valid && n > 1 ? PX_OK : PX_BAD_HEADER);
				body[field] = 0;
			}
		}
	}
}

static void
an_end_frame_round_trips(void)
{
	static const px_end end = {1, UINT64_MAX, 3, UINT64_C(1) << 40, 5, 6, 7};
	unit_guarded g = unit_guarded_new(PX_END_NBYTES);
	px_writer	w = {g.data, g.nbytes, 0};
	px_frame_header header = {.body_nbytes = PX_END_NBYTES};
	px_end		got;

	CHECK_EQ(px_end_write(&w, &end), PX_OK);
	CHECK_EQ(w.pos, PX_END_NBYTES);
	CHECK_EQ(px_load_u64(g.data + 24), UINT64_C(1) << 40);
	CHECK_EQ(px_end_read(g.data, &header, &got, NULL), PX_OK);
	CHECK_EQ(got.rows, end.rows);
	CHECK_EQ(got.batches, end.batches);
	CHECK_EQ(got.raw_nbytes, end.raw_nbytes);
	CHECK_EQ(got.wire_nbytes, end.wire_nbytes);
	CHECK_EQ(got.encode_us, end.encode_us);
	CHECK_EQ(got.send_wait_us, end.send_wait_us);
	CHECK_EQ(got.link_rate, end.link_rate);

	header.body_nbytes = PX_END_NBYTES - 1;
	CHECK_EQ(px_end_read(g.data, &header, &got, NULL), PX_TRUNCATED);
	header.body_nbytes = 0;
	CHECK_EQ(px_end_read(g.data, &header, &got, NULL), PX_TRUNCATED);
	header.body_nbytes = PX_END_NBYTES + 1;
	CHECK_EQ(px_end_read(g.data, &header, &got, NULL), PX_TRAILING);

	w.pos = 0;
	w.cap--;
	CHECK_EQ(px_end_write(&w, &end), PX_NO_SPACE);
	unit_guarded_free(&g);
}

/* Each has words of its own, lower case and without a full stop. */
static void
every_status_has_a_text(void)
{
	char		text[PX_FAULT_NBYTES_MAX];
	px_fault	fault = {PX_BAD_VALUE, "field", 7, 9};

	for (int status = PX_OK; status <= PX_NO_SPACE; status++)
	{
		const char *words = px_status_text((px_status) status);

		CHECK(words[0] >= 'a' && words[0] <= 'z' &&
			  words[strlen(words) - 1] != '.');
		for (int other = PX_OK; other < status; other++)
			CHECK(strcmp(words, px_status_text((px_status) other)) != 0);
	}
	CHECK(strcmp(px_status_text((px_status) 99), "unknown status") == 0);

	CHECK(strcmp(px_fault_text(&fault, text),
				 "Field \"field\": expected 7, got 9.") == 0);
	fault.got = fault.expected;
	CHECK(strcmp(px_fault_text(&fault, text), "Field \"field\" is missing or malformed.") == 0);
}

int
main(void)
{
	RUN(the_checksum_is_crc32c);
	RUN(a_header_has_the_documented_layout);
	RUN(every_kind_round_trips);
	RUN(truncation_at_every_byte_is_detected);
	RUN(trailing_bytes_are_detected);
	RUN(each_flipped_bit_is_detected);
	RUN(faults_name_field_expected_and_got);
	RUN(a_size_at_its_limit_is_accepted);
	RUN(a_frame_may_have_an_empty_body);
	RUN(a_schema_round_trips);
	RUN(a_schema_of_wrong_size_is_refused);
	RUN(the_fields_of_a_schema_are_checked);
	RUN(a_slice_round_trips);
	RUN(the_fields_of_a_slice_are_checked);
	RUN(a_plan_round_trips);
	RUN(the_lengths_of_a_plan_are_checked);
	RUN(an_end_frame_round_trips);
	RUN(every_status_has_a_text);

	return unit_done();
}
