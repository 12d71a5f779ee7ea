/*-------------------------------------------------------------------------
 *
 * test_patched.c
 *		Tests of integers with exceptions of another form: numerics.
 *
 * Columns go through px_batch_write and back, with the plans that earlier
 * batches have left; corrupt ones are decoded at a guard page.
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include <stdlib.h>

#include "batches.h"
#include "column/decode.h"

#define ROWS_MAX		2000
#define SENT_NBYTES_MAX	200

static px_column column;
static px_column sent;
static px_column_state state;
static uint8_t *body;
static size_t body_nbytes;

static void
column_reset(void)
{
	column.form = PX_FORM_FIXED;
	column.width = 8;
	column.is_signed = true;
	column.scale = 2;
	column.sent = &sent;
	px_column_reset(&column);
}

static void
add_exception(const void *bytes, size_t nbytes)
{
	column.positions[sent.nvalues] = column.nvalues;
	px_column_append_bytes(&sent, bytes, nbytes);
	px_column_append_u64(&column, 0);
}

static px_status
write_batch(uint32_t encodings, uint8_t codec)
{
	return unit_body_write(unit_batch_write, body, &body_nbytes, &column, 1,
						   encodings, codec, &state);
}

/*
 * Decode, touch all that patches point to, and compare if that is asked for.
 */
static px_status
read_body(bool compare)
{
	unit_guarded g = unit_guarded_copy(body, body_nbytes);
	px_frame_header header = unit_body_header(&column, 1, body_nbytes);
	unit_guarded values = unit_guarded_new((size_t) header.rows * 8);
	int64_t    *numbers = (int64_t *) values.data;
	px_patches	patches = {0};
	px_chunk	chunk;
	unit_chunk	opened = {0};
	px_status	status = px_batch_read(g.data, &header, &chunk, NULL);

	if (status == PX_OK)
		status = unit_chunk_open(&opened, &chunk, NULL);
	if (status == PX_OK)
		status = px_chunk_decode_patched(&chunk, opened.encoded, &opened.room,
										 numbers, &patches, NULL);
	if (status == PX_OK)
	{
		int64_t		previous = -1;
		volatile uint8_t sink = 0;

		for (uint32_t i = 0; i < patches.n; i++)
		{
			size_t		nbytes = px_packed_nbytes(patches.sent[i]);

			CHECK(patches.rows[i] > previous &&
				  patches.rows[i] < (int64_t) header.rows);
			previous = patches.rows[i];
			for (size_t k = 0; k < nbytes; k++)
				sink ^= px_packed_data(patches.sent[i])[k];
		}
		(void) sink;			/* gcc 15 minds that it is only written */
	}
	if (status == PX_OK && compare)
	{
		const uint8_t *bytes = sent.values;
		uint32_t	value = 0;
		uint32_t	patch = 0;
		uint32_t	wrong = 0;

		CHECK_EQ(patches.n, sent.nvalues);
		CHECK_EQ(chunk.scale, column.scale);
		for (uint32_t row = 0; row < header.rows && patches.n == sent.nvalues;
			 row++)
		{
			if (unit_column_null(&column, row))
				continue;
			if (patch < sent.nvalues && column.positions[patch] == value)
			{
				wrong += patches.rows[patch] != row ||
					px_packed_nbytes(patches.sent[patch]) !=
						sent.lengths[patch] ||
					memcmp(px_packed_data(patches.sent[patch]), bytes,
						   sent.lengths[patch]) != 0;
				bytes += sent.lengths[patch++];
			}
			else
				wrong += (uint64_t) numbers[row] !=
					px_load_u64(column.values + (size_t) value * 8);
			value++;
		}
		CHECK_EQ(wrong, 0);
		CHECK_EQ(value, column.nvalues);
	}

	unit_chunk_close(&opened);
	unit_guarded_free(&values);
	unit_guarded_free(&g);

	return status;
}

/* Write in every mode and read back. */
static void
round_trip(void)
{
	for (uint8_t codec = PX_CODEC_NONE; codec < PX_CODEC_COUNT; codec++)
	{
		memset(&state, 0, sizeof(state));
		CHECK_EQ(write_batch(PX_ENCODINGS_ALL, codec), PX_OK);
		if (column.nvalues > 0)
			CHECK_EQ(state.encoding == PX_ENC_PATCHED, sent.nvalues > 0);
		CHECK_EQ(read_body(true), PX_OK);
	}
}

static void
exceptions_round_trip_at_the_limits(void)
{
	static const uint32_t counts[] = {1, 2, 17, 255, 256, 257, ROWS_MAX};
	static const uint64_t numbers[] = {0, 1, INT64_MAX, (uint64_t) INT64_MIN,
									   UINT64_MAX};

	for (size_t c = 0; c < lengthof(counts); c++)
	{
		for (int where = 0; where < 6; where++)
		{
			for (int nulls = 0; nulls < 2; nulls++)
			{
				column_reset();
				for (uint32_t i = 0; i < counts[c]; i++)
				{
					uint8_t		bytes[SENT_NBYTES_MAX] = {(uint8_t) i};
					size_t		nbytes = i % 5 == 0 ? 0
						: i % 5 == 1           ? PX_PACKED_SHORT_MAX
						: i % 5 == 2           ? PX_PACKED_SHORT_MAX + 1
											   : 8 + i % 100;
					bool		exception = where == 1 ? i == 0
						: where == 2            ? i == counts[c] - 1
						: where == 3            ? i % 20 == 7
												: where >= 4;

					if (nulls && i % 3 == 1)
						px_column_append_null(&column);
					if (exception)
						add_exception(bytes, nbytes);
					else
						px_column_append_u64(
							&column,
							numbers[unit_random() % lengthof(numbers)]);
					if (px_column_rows(&column) >= counts[c])
						break;
				}
				if (where == 5)	/* none of the integers counts: any will do */
					unit_random_bytes(column.values, column.values_nbytes);
				round_trip();
			}
		}
	}
}

/* The positions are those of values on the wire, and of rows in memory. */
static void
patched_values_have_the_documented_layout(void)
{
	static const uint8_t expected[] = {
		1, 0, 0, 0, 0, 0, 0, 0, /* exceptions */
		1, 8, 0, 0, 8, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, /* constant 7 */
		1, 4, 0, 0, 4, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, /* position 1 */
		9, 'N', 'a', 'N', 0, 0, 0, 0	/* and padding */
	};

	column_reset();
	px_column_append_u64(&column, 7);
	px_column_append_null(&column);
	add_exception("NaN", 3);
	px_store_u64(column.values + 8, 7);
	px_column_append_u64(&column, 7);
	memset(&state, 0, sizeof(state));
	CHECK_EQ(write_batch(PX_ENCODINGS_ALL, PX_CODEC_NONE), PX_OK);
	if (CHECK_EQ(body_nbytes, PX_CHUNK_HEADER_NBYTES + 8 + sizeof(expected)))
		CHECK_MEM(body + PX_CHUNK_HEADER_NBYTES + 8, expected,
				  sizeof(expected));
	CHECK_EQ(body[0], 12);
	CHECK_EQ(body[5], 2);
	CHECK_EQ(read_body(true), PX_OK);
}

static void
malformed_patches_are_refused(void)
{
	static const struct
	{
		const char *name;
		uint32_t	exceptions;
		uint32_t	reserved;
		uint32_t	positions[3];
		uint32_t	npositions;
		const char *packed;
		size_t		packed_nbytes;
		px_status	status;
	} cases[] = {
		{"two exceptions", 2, 0, {0, 2}, 2, "\5x\5y", 4, PX_OK},
		{"all values", 3, 0, {0, 1, 2}, 3, "\5x\5y\3", 5, PX_OK},
		{"none", 0, 0, {0}, 0, "", 0, PX_BAD_VALUE},
		{"more than there are values",
		 4,
		 0,
		 {0, 1, 2},
		 3,
		 "\5x\5y\5z\5a",
		 8,
		 PX_BAD_VALUE},
		{"most there can be",
		 UINT32_MAX,
		 0,
		 {0, 1},
		 2,
		 "\5x\5y",
		 4,
		 PX_BAD_VALUE},
		{"reserved bytes", 2, 1, {0, 2}, 2, "\5x\5y", 4, PX_BAD_VALUE},
		{"a position twice", 2, 0, {1, 1}, 2, "\5x\5y", 4, PX_BAD_VALUE},
		{"positions that descend", 2, 0, {2, 1}, 2, "\5x\5y", 4, PX_BAD_VALUE},
		{"a position behind the last value",
		 2,
		 0,
		 {0, 3},
		 2,
		 "\5x\5y",
		 4,
		 PX_BAD_VALUE},
		{"the highest position",
		 2,
		 0,
		 {0, UINT32_MAX},
		 2,
		 "\5x\5y",
		 4,
		 PX_BAD_VALUE},
		{"a position too few", 2, 0, {0}, 1, "\5x\5y", 4, PX_TRUNCATED},
		{"a position too many", 1, 0, {0, 1}, 2, "\5x", 2, PX_TRAILING},
		{"a value too few", 2, 0, {0, 2}, 2, "\5x", 2, PX_TRUNCATED},
		{"a value too many", 2, 0, {0, 2}, 2, "\5x\5y\5z", 6, PX_TRAILING},
		{"a value that ends too late",
		 2,
		 0,
		 {0, 2},
		 2,
		 "\5x\7y",
		 4,
		 PX_TRUNCATED},
		{"a header that there is not",
		 2,
		 0,
		 {0, 2},
		 2,
		 "\5x\1y",
		 4,
		 PX_BAD_VALUE},
		{"a long header for a short value",
		 2,
		 0,
		 {0, 2},
		 2,
		 "\5x\0\0\24\0\0\0x",
		 9,
		 PX_BAD_VALUE},
	};

	for (size_t c = 0; c < lengthof(cases); c++)
	{
		uint8_t		bytes[128] = {0};
		size_t		positions = 8 + 8 + 3 * 8;
		size_t		at = positions + 8 + PX_ALIGN(cases[c].npositions * 4);
		px_chunk	chunk = {
			.encoding = PX_ENC_PATCHED,
			.form = PX_FORM_FIXED,
			.width = 8,
			.rows = 3,
			.nvalues = 3,
			.encoded_nbytes = (uint32_t) (at + cases[c].packed_nbytes)};
		int64_t		scratch[PX_DECODE_SCRATCH_WORDS(3)];
		int64_t		values[3];
		px_decode_room room = {.scratch = scratch};
		px_patches	patches;
		unit_guarded g;

		px_store_u32(bytes, cases[c].exceptions);
		px_store_u32(bytes + 4, cases[c].reserved);
		bytes[9] = 8;
		bytes[12] = 24;
		bytes[positions + 1] = 4;
		bytes[positions + 4] = (uint8_t) (cases[c].npositions * 4);
		for (uint32_t i = 0; i < cases[c].npositions; i++)
			px_store_u32(bytes + positions + 8 + i * 4, cases[c].positions[i]);
		memcpy(bytes + at, cases[c].packed, cases[c].packed_nbytes);
		g = unit_guarded_copy(bytes, chunk.encoded_nbytes);
		if (!CHECK_EQ(px_chunk_decode_patched(&chunk, g.data, &room, values,
											  &patches, NULL),
					  cases[c].status))
			printf("# %s\n", cases[c].name);
		unit_guarded_free(&g);

		/* cut anywhere */
		for (size_t cut = 0;
			 cut < chunk.encoded_nbytes && cases[c].status == PX_OK; cut++)
		{
			px_chunk	shorter = chunk;

			shorter.encoded_nbytes = (uint32_t) cut;
			g = unit_guarded_copy(bytes, cut);
			CHECK(px_chunk_decode_patched(&shorter, g.data, &room, values,
										  &patches, NULL) != PX_OK);
			unit_guarded_free(&g);
		}
	}
}

/* Only who asks for patches gets them, and only with integers of 8 bytes. */
static void
patched_values_are_no_integers(void)
{
	px_frame_header header = {.rows = 100, .columns = 1};
	int64_t		scratch[PX_DECODE_SCRATCH_WORDS(100)];
	int64_t		values[100];
	px_decode_room room = {.scratch = scratch};
	px_chunk	chunk;

	column_reset();
	for (int i = 0; i < 100; i++)
	{
		if (i == 50)
			add_exception("NaN", 3);
		else
			px_column_append_u64(&column, (uint64_t) i);
	}
	memset(&state, 0, sizeof(state));
	CHECK_EQ(write_batch(PX_ENCODINGS_ALL, PX_CODEC_NONE), PX_OK);
	header.body_nbytes = (uint32_t) body_nbytes;
	header.raw_nbytes = px_column_plain_nbytes(&column);
	CHECK_EQ(px_batch_read(body, &header, &chunk, NULL), PX_OK);
	CHECK_EQ(
		px_chunk_decode_ints(&chunk, chunk.stored, true, &room, values, NULL),
		PX_BAD_ENCODING);
	CHECK_EQ(px_chunk_decode_pointers(&chunk, chunk.stored, &room,
									  (const uint8_t **) values, NULL),
			 PX_BAD_ENCODING);

	for (uint8_t width = 1; width <= 16; width++)
	{
		body[4] = width;
		if (width != 8)
			CHECK(px_batch_read(body, &header, &chunk, NULL) != PX_OK);
	}
	body[3] = PX_FORM_BYTES;
	body[4] = body[5] = 0;
	CHECK_EQ(px_batch_read(body, &header, &chunk, NULL), PX_BAD_ENCODING);
}

/*
 * Anything, with the plans of other batches: always the same, never larger
 * than plain, nor, as long as the exceptions are few, than all values as sent.
 */
static void
random_batches_round_trip(void)
{
	uint32_t	patched = 0;

	memset(&state, 0, sizeof(state));
	for (int batch = 0; batch < 3000; batch++)
	{
		uint32_t	rows = 1 + (uint32_t) (unit_random() % 400);
		uint32_t	fraction = batch % 3 == 0
			? 2
			: 17 + (uint32_t) (unit_random() % 100);
		uint64_t	limit = UINT64_MAX >> unit_random() % 64;
		bool		ascending = unit_random() % 2;
		uint64_t	last = unit_random();
		size_t		packed = 0;

		column_reset();
		for (uint32_t row = 0; row < rows; row++)
		{
			uint8_t		bytes[SENT_NBYTES_MAX];

			unit_random_bytes(bytes, sizeof(bytes));
			last = unit_random() % limit + (ascending ? last : 0);
			if (batch % 2 && unit_random() % 4 == 0)
				px_column_append_null(&column);
			else if (unit_random() % fraction == 0)
			{
				size_t		nbytes = 8 +
					unit_random() % (batch % 5 ? 20 : SENT_NBYTES_MAX - 8);

				add_exception(bytes, nbytes);
				packed = px_packed_end(packed, nbytes);
			}
			else
			{
				px_column_append_u64(&column, last);
				packed = px_packed_end(packed, 8);
			}
		}
		CHECK_EQ(write_batch(PX_ENCODINGS_ALL,
							 (uint8_t) (batch / 100 % PX_CODEC_COUNT)),
				 PX_OK);
		CHECK_EQ(read_body(true), PX_OK);
		if (sent.nvalues == 0 || sent.nvalues > PX_PATCHES_MAX(column.nvalues))
			continue;
		patched++;
		CHECK(px_patched_plain_nbytes(&column) <= packed);
		if (body_nbytes > 12)
			CHECK(px_load_u32(body + 12) <= packed);
	}
	CHECK(patched > 500);
}

static void
damaged_patches_never_crash(void)
{
	for (int round = 0; round < 12; round++)
	{
		size_t		start;

		column_reset();
		for (uint32_t i = 0; i < 300; i++)
		{
			uint8_t		bytes[SENT_NBYTES_MAX] = {0};

			if (round % 2 && i % 7 == 0)
				px_column_append_null(&column);
			else if (unit_random() % 30 == 0)
				add_exception(bytes, unit_random() % SENT_NBYTES_MAX);
			else
				px_column_append_u64(&column,
									 round % 3 == 0       ? i / 20
										 : round % 3 == 1 ? i * 1000
														  : unit_random());
		}
		memset(&state, 0, sizeof(state));
		CHECK_EQ(
			write_batch(PX_ENCODINGS_ALL, (uint8_t) (round % PX_CODEC_COUNT)),
			PX_OK);
		start = PX_CHUNK_HEADER_NBYTES +
			(column.nnulls > 0 ? PX_ALIGN(PX_BITMAP_NBYTES(300)) : 0);
		for (int i = 0; i < 2000; i++)
		{
			size_t		at = start +
				unit_random() % Min(body_nbytes - start, i % 2 ? 64 : 100000);
			uint8_t		saved = body[at];

			body[at] = i % 4 ? (uint8_t) unit_random()
							 : (uint8_t) (saved ^ (1 << i / 4 % 8));
			(void) read_body(false);
			body[at] = saved;
		}
		CHECK_EQ(read_body(true), PX_OK);
	}
}

int
main(void)
{
	body = unit_alloc((size_t) ROWS_MAX * (SENT_NBYTES_MAX + 32));
	unit_column_alloc(&column, ROWS_MAX, (size_t) ROWS_MAX * 8);
	unit_column_alloc(&sent, ROWS_MAX,
					  (size_t) ROWS_MAX * SENT_NBYTES_MAX + PX_APPEND_SLACK);
	sent.form = PX_FORM_BYTES;

	RUN(exceptions_round_trip_at_the_limits);
	RUN(patched_values_have_the_documented_layout);
	RUN(malformed_patches_are_refused);
	RUN(patched_values_are_no_integers);
	RUN(random_batches_round_trip);
	RUN(damaged_patches_never_crash);

	unit_column_free(&column);
	unit_column_free(&sent);
	free(body);

	return unit_done();
}
