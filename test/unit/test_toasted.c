/*-------------------------------------------------------------------------
 *
 * test_toasted.c
 *		Tests of values that travel as TOAST has compressed them.
 *
 * Values are compressed by PostgreSQL's own pglz and by LZ4, as TOAST does,
 * sent through px_batch_write and back, and compared with what went in.
 * Corrupt ones are decoded at a guard page.
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include <stdlib.h>

#include "common/pg_lzcompress.h"

#include "batches.h"
#include "column/decode.h"
#include "column/strings/toasted.h"

#define ROWS_MAX		500
#define NBYTES_MAX		20000

static px_column column;
static px_column_state state;
static uint8_t *body;
static size_t body_nbytes;

/* What the reader must find: the values one behind the other. */
static uint8_t *expected;
static size_t expected_nbytes;
static uint32_t expected_lengths[ROWS_MAX];

static void
column_reset(void)
{
	column.form = PX_FORM_BYTES;
	px_column_reset(&column);
	expected_nbytes = 0;
}

static void
expect(const uint8_t *bytes, size_t nbytes)
{
	expected_lengths[column.nvalues] = (uint32_t) nbytes;
	memcpy(expected + expected_nbytes, bytes, nbytes);
	expected_nbytes += nbytes;
}

static void
add_plain(const uint8_t *bytes, size_t nbytes)
{
	expect(bytes, nbytes);
	px_column_append_bytes(&column, bytes, nbytes);
}

/* As TOAST would store it; false if it would not. */
static bool
add_compressed(const uint8_t *bytes, size_t nbytes, uint32_t method)
{
	static uint8_t out[PGLZ_MAX_OUTPUT(NBYTES_MAX)];
	size_t		stored = 0;

	if (method == PX_TOAST_PGLZ)
	{
		int32 result = pglz_compress((const char *) bytes, (int32) nbytes,
									 (char *) out, PGLZ_strategy_always);

		if (result < 0)
			return false;
		stored = (size_t) result;
	}
	else if (px_codec_lz4.compress(unit_codec_context(), 0, bytes, nbytes, out,
								   sizeof(out), &stored) != PX_OK)
		return false;
	if (stored + PX_TOAST_SAVING_MIN > nbytes)
		return false;

	expect(bytes, nbytes);
	column.positions[column.ntoasts] = column.nvalues;
	column.toasts[column.ntoasts++] = (uint32_t) nbytes | method << 30;
	px_column_append_bytes(&column, out, stored);

	return true;
}

/* Text that compresses, of a random length. */
static size_t
make_text(uint8_t *bytes, size_t nbytes_max)
{
	size_t		nbytes = unit_random() % (nbytes_max + 1);

	for (size_t i = 0; i < nbytes; i++)
		bytes[i] = i >= 40 && unit_random() % 8 != 0 ? bytes[i - 40]
													 : (uint8_t) unit_random();

	return nbytes;
}

static px_status
write_batch(uint32_t encodings, uint8_t codec)
{
	return unit_body_write(unit_batch_write, body, &body_nbytes, &column, 1,
						   encodings, codec, &state);
}

static void
compare_values(const uint8_t **values, uint32_t rows)
{
	const uint8_t *bytes = expected;
	uint32_t	value = 0;
	uint32_t	wrong = 0;

	for (uint32_t row = 0; row < rows; row++)
	{
		if (unit_column_null(&column, row))
		{
			wrong += values[row] != NULL;
			continue;
		}
		wrong += px_packed_nbytes(values[row]) != expected_lengths[value] ||
			memcmp(px_packed_data(values[row]), bytes,
				   expected_lengths[value]) != 0 ||
			(!(*values[row] & 1) && (uintptr_t) values[row] % 4 != 0);
		bytes += expected_lengths[value++];
	}
	CHECK_EQ(wrong, 0);
	CHECK_EQ(value, column.nvalues);
}

static px_status
read_body(bool compare)
{
	size_t		padded = PX_ALIGN(body_nbytes);
	unit_guarded g = unit_guarded_copy(body, padded);
	px_frame_header header = unit_body_header(&column, 1, padded);
	const uint8_t **values = unit_alloc(header.rows * sizeof(*values));
	px_chunk	chunk;
	unit_chunk	opened;
	px_status	status = px_batch_read(g.data, &header, &chunk, NULL);

	if (status == PX_OK)
	{
		status = unit_chunk_open(&opened, &chunk, NULL);
		if (status == PX_OK)
			status = unit_chunk_pointers(&opened, values, NULL);
		if (status == PX_OK)
			CHECK(
				opened.buffer.nbytes <=
				PX_ALIGN((size_t) chunk.encoded_nbytes * PX_TOAST_RATIO_MAX));
		if (status == PX_OK && compare)
			compare_values(values, header.rows);
		unit_chunk_close(&opened);
	}
	free(values);
	unit_guarded_free(&g);

	return status;
}

static void
round_trip(void)
{
	for (int encodings = 0; encodings < 2; encodings++)
	{
		for (uint8_t codec = PX_CODEC_NONE; codec < PX_CODEC_COUNT; codec++)
		{
			memset(&state, 0, sizeof(state));
			CHECK_EQ(write_batch(encodings ? PX_ENCODINGS_ALL : 1, codec),
					 PX_OK);
			if (column.nvalues > 0)
				CHECK_EQ(state.encoding == PX_ENC_TOASTED, column.ntoasts > 0);
			CHECK_EQ(read_body(true), PX_OK);
		}
	}
}

static void
compressed_values_round_trip_at_the_limits(void)
{
	static const size_t lengths[] = {80, 126, 127, 128, 4096, NBYTES_MAX};
	static const uint32_t counts[] = {1, 2, 17, 300};
	static uint8_t bytes[NBYTES_MAX];

	for (size_t l = 0; l < lengthof(lengths); l++)
	{
		for (size_t c = 0; c < lengthof(counts); c++)
		{
			for (int where = 0; where < 5; where++)
			{
				column_reset();
				for (uint32_t i = 0;
					 i < counts[c] && expected_nbytes < 2000000; i++)
				{
					bool		compressed = where == 0 ? i == 0
						: where == 1             ? i + 1 == counts[c]
												 : where < 4;

					if (where == 3 && i % 3 == 1)
						px_column_append_null(&column);
					memset(bytes, 'a' + (int) (i % 26), lengths[l]);
					if (compressed)
						CHECK(add_compressed(bytes, lengths[l], i % 2));
					else
						add_plain(bytes, where == 4 ? 0 : i % 200);
				}
				round_trip();
			}
		}
	}
}

static void
toasted_values_have_the_documented_layout(void)
{
	static const uint8_t aaa[100] = {[0 ... 99] = 'a'};
	uint8_t		stored[PGLZ_MAX_OUTPUT(100)];
	int32 nbytes = pglz_compress((const char *) aaa, 100, (char *) stored,
								 PGLZ_strategy_always);
	const uint8_t *encoded = body + PX_CHUNK_HEADER_NBYTES;
	static const uint8_t head[] = {
		1, 0, 0, 0, 101, 0, 0, 0,	/* one, which makes 101 bytes packed */
		1, 4, 0, 0, 4, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, /* position 1 */
		1, 4, 0, 0, 4, 0, 0, 0, 100, 0, 0, 0, 0, 0, 0, 0,	/* pglz, 100 */
		7, 'x', 'y'
	};

	column_reset();
	add_plain((const uint8_t *) "xy", 2);
	CHECK(add_compressed(aaa, 100, PX_TOAST_PGLZ));
	memset(&state, 0, sizeof(state));
	CHECK_EQ(write_batch(PX_ENCODINGS_ALL, PX_CODEC_NONE), PX_OK);
	CHECK_EQ(body[0], 13);
	CHECK_EQ(px_load_u32(body + 12), sizeof(head) + 1 + (size_t) nbytes);
	CHECK_MEM(encoded, head, sizeof(head));
	CHECK_EQ(encoded[sizeof(head)], (nbytes + 1) << 1 | 1);
	CHECK_MEM(encoded + sizeof(head) + 1, stored, (size_t) nbytes);
	CHECK_EQ(px_column_values_nbytes(&column), 3 + 101);
	CHECK_EQ(read_body(true), PX_OK);
}

/* Where the server's pglz is not safe, nothing of a peer is given to it. */
static void
pglz_is_undone_where_it_is_safe(void)
{
	static const uint8_t aaa[100] = {[0 ... 99] = 'a'};

	CHECK(!px_pglz_is_bounded(150004));
	CHECK(px_pglz_is_bounded(150005));
	CHECK(!px_pglz_is_bounded(160000));
	CHECK(px_pglz_is_bounded(160001));
	CHECK(px_pglz_is_bounded(170000));

	for (uint32_t method = PX_TOAST_PGLZ; method <= PX_TOAST_LZ4; method++)
	{
		column_reset();
		CHECK(add_compressed(aaa, 100, method));
		memset(&state, 0, sizeof(state));
		CHECK_EQ(write_batch(PX_ENCODINGS_ALL, PX_CODEC_NONE), PX_OK);
		px_pglz_may_be_undone = false;
		CHECK_EQ(read_body(true), method == PX_TOAST_PGLZ ? PX_CODEC_FAILED :
				 PX_OK);
		px_pglz_may_be_undone = true;
		CHECK_EQ(read_body(true), PX_OK);
	}
}

/* One value of five bytes, "hello", as pglz literals; then changed. */
static void
malformed_values_are_refused(void)
{
	static const struct
	{
		const char *name;
		uint32_t	ntoasts;
		uint32_t	made;
		uint32_t	position;
		uint32_t	toast;
		const char *packed;
		size_t		packed_nbytes;
		px_status	status;
	} cases[] = {
		{"right", 1, 6, 1, 5, "\5x\17\0hello", 9, PX_OK},
		{"as lz4", 1, 6, 1, 5 | 1u << 30, "\5x\17\120hello", 9, PX_OK},
		{"no compressed values", 0, 6, 1, 5, "\5x\17\0hello", 9, PX_BAD_VALUE},
		{"more than values", 3, 6, 1, 5, "\5x\17\0hello", 9, PX_BAD_VALUE},
		{"more than children have", 2, 6, 1, 5, "\5x\17\0hello", 9,
		 PX_TRUNCATED},
		{"a position behind the last value", 1, 6, 2, 5, "\5x\17\0hello", 9,
		 PX_BAD_VALUE},
		{"the highest position", 1, 6, UINT32_MAX, 5, "\5x\17\0hello", 9,
		 PX_BAD_VALUE},
		{"a method that there is not", 1, 6, 1, 5 | 2u << 30, "\5x\17\0hello",
		 9, PX_BAD_VALUE},
		{"longer than it is", 1, 7, 1, 6, "\5x\17\0hello", 9, PX_CODEC_FAILED},
		{"shorter than it is", 1, 5, 1, 4, "\5x\17\0hello", 9,
		 PX_CODEC_FAILED},
		{"makes more than said", 1, 5, 1, 5, "\5x\17\0hello", 9, PX_BAD_VALUE},
		{"makes less than said", 1, 7, 1, 5, "\5x\17\0hello", 9, PX_BAD_VALUE},
		{"makes the most", 1, 6, 1, 0x3fffffff, "\5x\17\0hello", 9,
		 PX_BAD_VALUE},
		{"4 GB", 1, UINT32_MAX, 1, 5, "\5x\17\0hello", 9, PX_OVER_LIMIT},
		{"a bomb", 1, 60000, 1, 59996, "\5x\17\0hello", 9, PX_OVER_LIMIT},
		{"copies from before its start", 1, 6, 1, 5, "\5x\17\1\2\1aaa", 9,
		 PX_CODEC_FAILED},
		{"copies from nowhere", 1, 6, 1, 5, "\5x\17\2a\2\0aa", 9,
		 PX_CODEC_FAILED},
		{"ends in a tag", 1, 6, 1, 5, "\5x\11\2a\2", 6, PX_CODEC_FAILED},
		{"empty", 1, 6, 1, 5, "\5x\3", 3, PX_CODEC_FAILED},
		{"a value too few", 1, 6, 1, 5, "\5x", 2, PX_TRUNCATED},
		{"a value too many", 1, 6, 1, 5, "\5x\17\0hello\3", 10, PX_TRAILING},
	};

	for (size_t c = 0; c < lengthof(cases); c++)
	{
		uint8_t		bytes[64] = {0};
		size_t		nbytes = 40 + cases[c].packed_nbytes;
		px_chunk	chunk = {.encoding = PX_ENC_TOASTED, .form = PX_FORM_BYTES,
		.rows = 2, .nvalues = 2, .encoded_nbytes = (uint32_t) nbytes};
		int64_t		scratch[PX_DECODE_SCRATCH_WORDS(2)];
		const uint8_t *values[2];
		px_decode_room room = {.scratch = scratch};

		px_store_u32(bytes, cases[c].ntoasts);
		px_store_u32(bytes + 4, cases[c].made);
		bytes[9] = bytes[25] = 4;
		bytes[12] = bytes[28] = 4;
		px_store_u32(bytes + 16, cases[c].position);
		px_store_u32(bytes + 32, cases[c].toast);
		memcpy(bytes + 40, cases[c].packed, cases[c].packed_nbytes);

		/* whole, and cut anywhere */
		for (size_t cut = cases[c].status == PX_OK ? 0 : nbytes; cut <= nbytes;
			 cut++)
		{
			unit_guarded g = unit_guarded_copy(bytes, cut);
			unit_guarded buffer = {0};
			size_t		needed = 0;
			px_status	status;

			chunk.encoded_nbytes = (uint32_t) cut;
			status = px_chunk_buffer_nbytes(&chunk, g.data, &needed, NULL);
			if (status == PX_OK)
			{
				buffer = unit_guarded_new(needed);
				room.buffer = buffer.data;
				status = px_chunk_decode_pointers(&chunk, g.data, &room,
												  values, NULL);
				if (status == PX_OK)
					CHECK_MEM(px_packed_data(values[1]), "hello", 5);
				unit_guarded_free(&buffer);
			}
			if (cut < nbytes)
				CHECK(status != PX_OK);
			else if (!CHECK_EQ(status, cases[c].status))
				printf("# %s\n", cases[c].name);
			unit_guarded_free(&g);
		}
	}
}

static void
positions_must_ascend(void)
{
	static const uint8_t aaa[100] = {[0 ... 99] = 'a'};

	for (uint32_t first = 0; first < 3; first++)
	{
		for (uint32_t second = 0; second < 3; second++)
		{
			column_reset();
			for (int i = 0; i < 3; i++)
				CHECK(add_compressed(aaa, sizeof(aaa), PX_TOAST_LZ4));
			column.ntoasts = 2;
			column.positions[0] = first;
			column.positions[1] = second;
			memset(&state, 0, sizeof(state));
			CHECK_EQ(unit_body_write(px_batch_write, body, &body_nbytes,
									 &column, 1, PX_ENCODINGS_ALL,
									 PX_CODEC_NONE, &state),
					 PX_OK);
			CHECK_EQ(read_body(false), first < second ? PX_OK : PX_BAD_VALUE);
		}
	}
}

/* No bit that is turned over makes the reader leave its memory. */
static void
flipped_bits_never_crash(void)
{
	static uint8_t bytes[2000];

	for (int round = 0; round < 40; round++)
	{
		column_reset();
		for (int i = 0; i < 20; i++)
		{
			size_t		nbytes = make_text(bytes, sizeof(bytes));

			if (!add_compressed(bytes, nbytes, (uint32_t) (unit_random() % 2)))
				add_plain(bytes, nbytes);
		}
		if (column.ntoasts == 0)
			continue;
		memset(&state, 0, sizeof(state));
		CHECK_EQ(write_batch(PX_ENCODINGS_ALL, PX_CODEC_NONE), PX_OK);
		for (int flip = 0; flip < 200; flip++)
		{
			size_t		at = flip < 100 ? unit_random() % 80
								   : unit_random() % body_nbytes;
			uint8_t		before = body[at];

			body[at] ^= (uint8_t) (1 << unit_random() % 8);
			(void) read_body(false);
			body[at] = before;
		}
		CHECK_EQ(read_body(true), PX_OK);
	}
}

static void
random_batches_round_trip(void)
{
	static uint8_t bytes[NBYTES_MAX];

	for (int batch = 0; batch < 300; batch++)
	{
		uint32_t	rows = 1 + (uint32_t) (unit_random() % ROWS_MAX);
		unsigned	share = (unsigned) (unit_random() % 4);

		column_reset();
		while (px_column_rows(&column) < rows && expected_nbytes < 1000000)
		{
			size_t		nbytes = make_text(
				bytes, unit_random() % 4 == 0 ? NBYTES_MAX : 300);

			if (unit_random() % 5 == 0)
				px_column_append_null(&column);
			else if (unit_random() % 4 < share ||
					 !add_compressed(bytes, nbytes,
									 (uint32_t) (unit_random() % 2)))
				add_plain(bytes, nbytes);
		}
		memset(&state, 0, sizeof(state));
		CHECK_EQ(
			write_batch(PX_ENCODINGS_ALL, (uint8_t) (batch % PX_CODEC_COUNT)),
			PX_OK);
		CHECK_EQ(read_body(true), PX_OK);
	}
}

int
main(void)
{
	unit_column_alloc(&column, ROWS_MAX,
					  ROWS_MAX * PGLZ_MAX_OUTPUT(NBYTES_MAX) +
						  PX_APPEND_SLACK);
	expected = unit_alloc((size_t) ROWS_MAX * NBYTES_MAX);
	body = unit_alloc((size_t) ROWS_MAX * NBYTES_MAX * 2);

	RUN(compressed_values_round_trip_at_the_limits);
	RUN(toasted_values_have_the_documented_layout);
	RUN(pglz_is_undone_where_it_is_safe);
	RUN(malformed_values_are_refused);
	RUN(positions_must_ascend);
	RUN(flipped_bits_never_crash);
	RUN(random_batches_round_trip);

	free(body);
	free(expected);
	unit_column_free(&column);

	return unit_done();
}
