/*-------------------------------------------------------------------------
 *
 * test_batch.c
 *		Tests of whole batch frames: written, read, cut, damaged and forged.
 *
 * A frame is always handed to the reader in a buffer that ends at a guard
 * page.  "Forged" means damaged with the CRC made right again, as only a
 * hostile or broken sender would.
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include <stdlib.h>

#include "batches.h"
#include "column/batch.h"
#include "column/decode.h"
#include "wire/crc.h"

/* Offsets of chunk header fields, as in doc/wire.md. */
enum
{
	OFF_ENCODING = 0, OFF_CODEC = 1, OFF_NULLS = 2, OFF_FORM = 3,
	OFF_WIDTH = 4, OFF_SCALE = 5, OFF_RESERVED16 = 6, OFF_NVALUES = 8,
	OFF_ENCODED_NBYTES = 12, OFF_STORED_NBYTES = 16, OFF_HEAD_NBYTES = 20
};

#define OFF_FRAME_CRC	36

static const uint32_t row_counts[] = {
	1, 2, 7, 8, 9, 255, 256, 257, 511, 512, 513, 4095, 4096, 4097, 65535, 65536
};

#define COLUMNS_MAX		32

/* ---------------------------------------------------------------------
 * Making columns and frames
 * --------------------------------------------------------------------- */

typedef enum null_pattern
{
	NO_NULLS, ALL_NULLS, SOME_NULLS, FIRST_NULL, LAST_NULL
} null_pattern;

typedef struct batch
{
	px_column	columns[COLUMNS_MAX];
	uint16_t	ncolumns;
	px_column_state choices[COLUMNS_MAX];
	uint8_t    *frame;
	size_t		nbytes;
	size_t		plain_nbytes;	/* header and plain chunks */
} batch;

static bool
is_null(null_pattern pattern, uint32_t row, uint32_t rows)
{
	switch (pattern)
	{
		case ALL_NULLS:
			return true;
		case SOME_NULLS:
			return unit_random() % 4 == 0;
		case FIRST_NULL:
			return row == 0;
		case LAST_NULL:
			return row == rows - 1;
		default:
			return false;
	}
}

static px_column *
add_column(batch *batch, uint8_t form, uint8_t width, bool is_signed,
		   uint32_t rows, size_t values_cap)
{
	px_column  *column = &batch->columns[batch->ncolumns++];

	memset(column, 0, sizeof(*column));
	column->form = form;
	column->width = width;
	column->is_signed = is_signed;
	unit_column_alloc(column, rows, values_cap);

	return column;
}

/* Integers of up to b random bits above base; b = 0 for a constant. */
static px_column *
add_ints(batch *batch, uint32_t rows, null_pattern nulls, uint8_t width,
		 bool is_signed, int64_t base, unsigned b)
{
	px_column  *column = add_column(batch, PX_FORM_FIXED, width, is_signed,
									rows, (size_t) rows * width);

	for (uint32_t row = 0; row < rows; row++)
	{
		if (is_null(nulls, row, rows))
			px_column_append_null(column);
		else
			px_column_append_u64(column, (uint64_t) base +
								 (b == 0 ? 0 : unit_random() >> (64 - b)));
	}

	return column;
}

/* Fixed-width values, one of `distinct` random ones in each row. */
static px_column *
add_fixed(batch *batch, uint32_t rows, null_pattern nulls, uint8_t width,
		  int distinct)
{
	px_column  *column = add_column(batch, PX_FORM_FIXED, width, false,
									rows, (size_t) rows * width);
	uint8_t		values[16 * 16];

	unit_random_bytes(values, sizeof(values));
	for (uint32_t row = 0; row < rows; row++)
	{
		if (is_null(nulls, row, rows))
			px_column_append_null(column);
		else
			px_column_append_fixed(column,
								   values + unit_random() % distinct * width);
	}

	return column;
}

/* Strings of min .. max bytes out of an alphabet of `letters`. */
static px_column *
add_bytes(batch *batch, uint32_t rows, null_pattern nulls, size_t min,
		  size_t max, int letters)
{
	px_column  *column = add_column(batch, PX_FORM_BYTES, 0, false, rows,
									rows * max + PX_APPEND_SLACK);
	uint8_t    *text = unit_alloc(max);

	for (uint32_t row = 0; row < rows; row++)
	{
		size_t		n = min + unit_random() % (max - min + 1);

		for (size_t i = 0; i < n; i++)
			text[i] = (uint8_t) ('a' + unit_random() % letters);
		if (is_null(nulls, row, rows))
			px_column_append_null(column);
		else
			px_column_append_bytes(column, text, n);
	}
	free(text);

	return column;
}

/* One column of every kind. */
static void
add_all_kinds(batch *batch, uint32_t rows, null_pattern nulls)
{
	memset(batch, 0, sizeof(*batch));
	add_ints(batch, rows, nulls, 4, true, -5, 11);
	add_ints(batch, rows, nulls, 8, false, INT64_C(1) << 40, 37);
	add_ints(batch, rows, nulls, 2, true, INT16_MIN, 16);
	add_ints(batch, rows, nulls, 1, false, 1, 1);
	add_ints(batch, rows, nulls, 8, true, -1, 0);
	add_ints(batch, rows, nulls, 8, true, 0, 40)->scale = 2;
	add_fixed(batch, rows, nulls, 16, 16);
	add_fixed(batch, rows, nulls, 12, 1);
	add_fixed(batch, rows, nulls, 6, 3);
	add_bytes(batch, rows, nulls, 0, 20, 2);
	add_bytes(batch, rows, nulls, 0, 200, 255);
	add_bytes(batch, rows, nulls, 10, 10, 1);
	add_bytes(batch, rows, nulls, 130, 130, 1);
	add_bytes(batch, rows, nulls, 0, 0, 1);
}

static void
batch_free(batch *batch)
{
	for (uint16_t i = 0; i < batch->ncolumns; i++)
		unit_column_free(&batch->columns[i]);
	free(batch->frame);
}

/*
 * Write the frame, into a buffer that ends at a guard page at its plain size.
 */
static void
batch_encode(batch *batch, bool encodings, uint8_t codec)
{
	px_frame_header header;
	size_t		body_nbytes;
	unit_guarded g;

	batch->plain_nbytes = PX_FRAME_HEADER_NBYTES +
		unit_plain_nbytes(batch->columns, batch->ncolumns);
	memset(batch->choices, 0, sizeof(batch->choices));
	g = unit_guarded_new(batch->plain_nbytes);
	CHECK_EQ(unit_body_write(unit_batch_write, g.data + PX_FRAME_HEADER_NBYTES,
							 &body_nbytes, batch->columns, batch->ncolumns,
							 encodings ? PX_ENCODINGS_ALL : 1, codec,
							 batch->choices),
			 PX_OK);

	header = unit_body_header(batch->columns, batch->ncolumns, body_nbytes);
	header.version = PX_PROTOCOL_MAX;
	header.kind = PX_FRAME_BATCH;
	px_frame_finish(g.data, &header);

	free(batch->frame);
	batch->nbytes = PX_FRAME_HEADER_NBYTES + body_nbytes;
	batch->frame = unit_alloc(batch->nbytes);
	memcpy(batch->frame, g.data, batch->nbytes);
	CHECK(batch->nbytes <= batch->plain_nbytes);
	unit_guarded_free(&g);
}

/* ---------------------------------------------------------------------
 * Reading frames
 * --------------------------------------------------------------------- */

/* Does the decoded row have the value that was appended? */
static bool
same_value(const px_column *column, uint32_t value, const uint8_t *appended,
		   const int64_t *number, const uint8_t *pointer)
{
	size_t		n = column->width;

	if (column->form == PX_FORM_BYTES)
		return unit_same_packed(pointer, appended, column->lengths[value],
								column->pad);
	if (number)
	{
		uint8_t		bytes[8];
		uint8_t extension = column->is_signed && appended[n - 1] & 0x80 ? 0xff
																		: 0;

		px_store_u64(bytes, (uint64_t) *number);
		for (size_t i = n; i < 8; i++)
		{
			if (bytes[i] != extension)
				return false;
		}
		return memcmp(bytes, appended, n) == 0;
	}
	return memcmp(pointer, appended, n) == 0;
}

/* Compare decoded rows with the column; numbers or pointers, not both. */
static void
check_column(const px_column *column, const bool *nulls,
			 const int64_t *numbers, const uint8_t *const *pointers)
{
	const uint8_t **appended = unit_alloc(column->nvalues * sizeof(*appended));
	uint32_t	value = 0;
	uint32_t	wrong = 0;
	size_t		pos = 0;

	for (uint32_t i = 0; i < column->nvalues; i++)
	{
		appended[i] = column->values + pos;
		pos += column->form == PX_FORM_BYTES ? column->lengths[i]
											 : column->width;
	}

	for (uint32_t row = 0; row < px_column_rows(column); row++)
	{
		bool		null = unit_column_null(column, row);

		if (nulls[row] != null)
			wrong++;
		else if (null)
			wrong += numbers ? numbers[row] != 0 : pointers[row] != NULL;
		else
			wrong += !same_value(column, value, appended[value],
								 numbers ? &numbers[row] : NULL,
								 numbers ? NULL : pointers[row]);
		value += !null;
	}
	CHECK_EQ(wrong, 0);
	free(appended);
}

/*
 * Decode a chunk as the receiver would.  column is what must come out, or
 * NULL if that is not known; then every byte of the result is looked at.
 */
static px_status
read_chunk(const px_chunk *chunk, bool is_signed, const px_column *column,
		   const int64_t **references, uint16_t index)
{
	unit_chunk	opened;
	bool	   *nulls = unit_alloc(chunk->rows * sizeof(bool));
	void	   *out = unit_alloc(chunk->rows * 8);
	bool ints = chunk->form == PX_FORM_FIXED && px_width_is_int(chunk->width);
	const uint8_t **pointers = out;
	px_fault	fault = {0};
	volatile uint8_t sink = 0;
	px_status	status = unit_chunk_open(&opened, chunk, &fault);

	opened.room.references = references;
	opened.room.nreferences = index;
	if (status == PX_OK)
		status = ints ? px_chunk_decode_ints(chunk, opened.encoded, is_signed,
											 &opened.room, out, &fault)
					  : unit_chunk_pointers(&opened, pointers, &fault);
	CHECK_EQ(fault.status, status);
	references[index] = NULL;
	if (status == PX_OK && ints && chunk->null_layout == PX_NULLS_NONE)
		references[index] = out;

	if (status == PX_OK)
	{
		px_chunk_nulls(chunk, nulls);
		if (column)
			check_column(column, nulls,
						 ints ? out : NULL,
						 ints ? NULL : pointers);
		for (uint32_t row = 0; !ints && row < chunk->rows; row++)
		{
			CHECK_EQ(pointers[row] == NULL, nulls[row]);
			if (pointers[row] == NULL)
				continue;
			if (chunk->form == PX_FORM_BYTES &&
				px_packed_nbytes(pointers[row]) > 0)
				sink ^= px_packed_data(
					pointers[row])[px_packed_nbytes(pointers[row]) - 1];
			else if (chunk->form == PX_FORM_FIXED)
				sink ^= pointers[row][chunk->width - 1];
		}
	}
	(void) sink;				/* gcc 15 minds that it is only written */
	unit_chunk_close(&opened);
	free(nulls);
	if (references[index] == NULL)
		free(out);

	return status;
}

/* Peek, verify, read, decode; expected may be NULL, see read_chunk. */
static px_status
read_frame(const uint8_t *frame, size_t nbytes, const batch *expected)
{
	unit_guarded g = unit_guarded_copy(frame, nbytes);
	px_chunk   *chunks = NULL;
	const int64_t **references = NULL;
	px_frame_header header = {0};
	px_fault	fault = {0};
	px_status	status;

	status = px_frame_peek(g.data, nbytes, &header, &fault);
	if (status == PX_OK)
		status = px_frame_verify(g.data, &header, &fault);
	if (status == PX_OK && header.kind == PX_FRAME_BATCH)
	{
		chunks = unit_alloc(header.columns * sizeof(*chunks));
		references = unit_alloc(header.columns * sizeof(*references));
		status = px_batch_read(g.data + PX_FRAME_HEADER_NBYTES, &header,
							   chunks, &fault);
		CHECK_EQ(fault.status, status);
		for (uint16_t i = 0; status == PX_OK && i < header.columns; i++)
		{
			status = read_chunk(&chunks[i],
								expected && expected->columns[i].is_signed,
								expected ? &expected->columns[i] : NULL,
								references, i);
			if (expected)
			{
				CHECK_EQ(chunks[i].scale, expected->columns[i].scale);
				CHECK_EQ(chunks[i].encoding, expected->choices[i].encoding);
				CHECK_EQ(chunks[i].codec, expected->choices[i].codec);
			}
		}
	}
	for (uint16_t i = 0; references && i < header.columns; i++)
		free((void *) references[i]);
	free(references);
	free(chunks);
	unit_guarded_free(&g);

	return status;
}

/* Make the CRC of a damaged frame right, and nothing else. */
static void
forge(uint8_t *frame, size_t nbytes)
{
	px_store_u32(frame + OFF_FRAME_CRC,
				 px_crc32c(frame, OFF_FRAME_CRC,
						   frame + PX_FRAME_HEADER_NBYTES,
						   nbytes - PX_FRAME_HEADER_NBYTES));
}

/* ---------------------------------------------------------------------
 * Tests
 * --------------------------------------------------------------------- */

static void
every_row_count_mode_and_null_pattern_round_trips(void)
{
	for (size_t r = 0; r < lengthof(row_counts); r++)
	{
		for (int nulls = NO_NULLS; nulls <= LAST_NULL; nulls++)
		{
			batch		b;

			if (row_counts[r] > 10000 && nulls > SOME_NULLS)
				continue;
			add_all_kinds(&b, row_counts[r], nulls);
			for (int encodings = 0; encodings < 2; encodings++)
			{
				for (uint8_t codec = 0; codec < PX_CODEC_COUNT; codec++)
				{
					batch_encode(&b, encodings, codec);
					CHECK_EQ(read_frame(b.frame, b.nbytes, &b), PX_OK);
				}
			}
			batch_free(&b);
		}
	}
}

static void
every_fixed_width_round_trips(void)
{
	static const uint8_t widths[] = {1, 2, 4, 6, 8, 12, 16};

	for (size_t w = 0; w < lengthof(widths); w++)
	{
		for (int distinct = 1; distinct <= 16; distinct += 15)
		{
			batch		b = {0};

			add_fixed(&b, 1000, SOME_NULLS, widths[w], distinct);
			batch_encode(&b, true, PX_CODEC_LZ4);
			CHECK_EQ(read_frame(b.frame, b.nbytes, &b), PX_OK);
			if (distinct == 1)
				CHECK_EQ(b.choices[0].encoding, PX_ENC_CONSTANT);
			batch_free(&b);
		}
	}
}

static void
megabyte_values_round_trip(void)
{
	for (uint8_t codec = 0; codec < PX_CODEC_COUNT; codec++)
	{
		batch		b = {0};

		add_bytes(&b, 3, NO_NULLS, 1048576, 1048577, 3);
		add_bytes(&b, 3, FIRST_NULL, 126, 128, 255);
		batch_encode(&b, true, codec);
		CHECK_EQ(read_frame(b.frame, b.nbytes, &b), PX_OK);
		CHECK_EQ(b.choices[0].codec, codec);
		batch_free(&b);
	}
}

static void
encodings_are_chosen_by_size(void)
{
	batch		b = {0};

	add_ints(&b, 4096, NO_NULLS, 8, true, 1000, 20);
	add_ints(&b, 4096, NO_NULLS, 8, true, INT64_MIN, 64);
	add_ints(&b, 4096, NO_NULLS, 4, true, 7, 0);
	add_bytes(&b, 4096, NO_NULLS, 5, 5, 1);
	add_bytes(&b, 4096, NO_NULLS, 300, 300, 1);
	add_bytes(&b, 4096, NO_NULLS, 0, 20, 2);

	batch_encode(&b, true, PX_CODEC_LZ4);
	CHECK_EQ(b.choices[0].encoding, PX_ENC_FOR);
	CHECK_EQ(b.choices[0].codec, PX_CODEC_NONE);
	CHECK_EQ(b.choices[1].encoding, PX_ENC_PLAIN);
	CHECK_EQ(b.choices[1].codec, PX_CODEC_NONE);
	CHECK_EQ(b.choices[2].encoding, PX_ENC_CONSTANT);
	CHECK_EQ(b.choices[3].encoding, PX_ENC_CONSTANT);
	CHECK_EQ(b.choices[4].encoding, PX_ENC_CONSTANT);
	CHECK_EQ(b.choices[5].encoding, PX_ENC_SPLIT);
	CHECK_EQ(b.choices[5].codec, PX_CODEC_LZ4);

	batch_encode(&b, false, PX_CODEC_NONE);
	for (int i = 0; i < b.ncolumns; i++)
	{
		CHECK_EQ(b.choices[i].encoding, PX_ENC_PLAIN);
		CHECK_EQ(b.choices[i].codec, PX_CODEC_NONE);
	}
	CHECK_EQ(b.nbytes, b.plain_nbytes);
	batch_free(&b);
}

static void
incompressible_batches_are_not_larger_than_plain(void)
{
	for (size_t r = 0; r < lengthof(row_counts); r++)
	{
		batch		b = {0};

		add_ints(&b, row_counts[r], NO_NULLS, 8, true, 0, 64);
		add_fixed(&b, row_counts[r], NO_NULLS, 16, 16);
		unit_random_bytes(b.columns[1].values, b.columns[1].values_nbytes);
		add_bytes(&b, row_counts[r], SOME_NULLS, 0, 40, 256);
		for (uint8_t codec = 0; codec < PX_CODEC_COUNT; codec++)
		{
			batch_encode(&b, true, codec);
			CHECK_EQ(read_frame(b.frame, b.nbytes, &b), PX_OK);
			if (row_counts[r] > 100)
				CHECK_EQ(b.choices[1].codec, PX_CODEC_NONE);
		}
		batch_free(&b);
	}
}

static void
an_output_too_small_is_an_error(void)
{
	px_encode_options options = {.codec = PX_CODEC_NONE};
	batch		b;

	add_all_kinds(&b, 9, SOME_NULLS);
	batch_encode(&b, false, PX_CODEC_NONE);
	for (size_t cap = 0; cap < b.nbytes - PX_FRAME_HEADER_NBYTES; cap++)
	{
		unit_guarded g = unit_guarded_new(cap);
		px_writer	out = {g.data, cap, 0};

		CHECK_EQ(unit_batch_write(&out, b.columns, b.ncolumns, &options,
								  b.choices), PX_NO_SPACE);
		unit_guarded_free(&g);
	}
	batch_free(&b);
}

static void
an_unknown_codec_is_not_written(void)
{
	px_encode_options options = {.encodings = PX_ENCODINGS_ALL,
								 .codec = PX_CODEC_COUNT,
								 .context = unit_codec_context()};
	uint8_t		buffer[2000];
	px_writer	out = {buffer, sizeof(buffer), 0};
	batch		b = {0};

	add_bytes(&b, 50, NO_NULLS, 10, 20, 2);
	options.scratch = unit_alloc(px_encode_scratch_nbytes(50));
	CHECK_EQ(unit_batch_write(&out, b.columns, 1, &options, b.choices),
			 PX_BAD_CODEC);
	free(options.scratch);
	batch_free(&b);
}

static void
a_body_has_the_documented_layout(void)
{
	static const uint8_t expected[] = {
		/* chunk header: plain, none, bitmap, fixed, width 2, scale 1 */
		0, 0, 2, 0, 2, 1, 0, 0, 3, 0, 0, 0, 6, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0,
		/* plain, none, none, bytes */
		0, 0, 0, 1, 0, 0, 0, 0, 4, 0, 0, 0, 9, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0,
		/* plain, none, all, fixed, width 8 */
		0, 0, 1, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
		/* bitmap: row 1; values 1, 2, -1 */
		2, 0, 0, 0, 0, 0, 0, 0, 1, 0, 2, 0, 0xff, 0xff, 0, 0,
		/* "abc", "", "", "de" */
		9, 'a', 'b', 'c', 3, 3, 7, 'd', 'e', 0, 0, 0, 0, 0, 0, 0,
	};
	uint8_t		values[3][32];
	uint8_t		nulls[3][1];
	uint32_t	lengths[4];
	px_column_state states[3] = {0};
	px_column	columns[3] = {
		{.width = 2,
		 .is_signed = true,
		 .scale = 1,
		 .values = values[0],
		 .nulls = nulls[0]},
		{.form = PX_FORM_BYTES,
		 .values = values[1],
		 .nulls = nulls[1],
		 .lengths = lengths},
		{.width = 8, .values = values[2], .nulls = nulls[2]},
	};
	px_encode_options options = {.codec = PX_CODEC_NONE};
	uint8_t		body[sizeof(expected)];
	px_writer	out = {body, sizeof(body), 0};
	size_t		plain_nbytes = 0;

	px_column_append_u64(&columns[0], 1);
	px_column_append_null(&columns[0]);
	px_column_append_u64(&columns[0], 2);
	px_column_append_u64(&columns[0], (uint64_t) -1);
	px_column_append_bytes(&columns[1], "abc", 3);
	px_column_append_bytes(&columns[1], "", 0);
	px_column_append_bytes(&columns[1], "", 0);
	px_column_append_bytes(&columns[1], "de", 2);
	for (int i = 0; i < 4; i++)
		px_column_append_null(&columns[2]);

	CHECK_EQ(unit_batch_write(&out, columns, 3, &options, states), PX_OK);
	CHECK_EQ(out.pos, sizeof(expected));
	CHECK_MEM(body, expected, sizeof(expected));
	for (int i = 0; i < 3; i++)
		plain_nbytes += px_column_plain_nbytes(&columns[i]);
	CHECK_EQ(plain_nbytes, sizeof(expected));
}

static void
a_frame_cut_anywhere_is_refused(void)
{
	for (uint8_t codec = 0; codec < PX_CODEC_COUNT; codec++)
	{
		batch		b;

		add_all_kinds(&b, 9, SOME_NULLS);
		batch_encode(&b, true, codec);
		for (size_t n = 0; n < b.nbytes; n++)
			CHECK_EQ(read_frame(b.frame, n, NULL), PX_TRUNCATED);
		batch_free(&b);
	}
}

/*
 * The same with header and CRC made to fit: the body's own checks must see it.
 */
static void
a_forged_body_cut_anywhere_is_refused(void)
{
	for (uint8_t codec = 0; codec < PX_CODEC_COUNT; codec++)
	{
		batch		b;

		add_all_kinds(&b, 9, SOME_NULLS);
		batch_encode(&b, true, codec);
		for (size_t n = PX_FRAME_HEADER_NBYTES; n < b.nbytes; n++)
		{
			px_store_u32(b.frame + 32,
						 (uint32_t) (n - PX_FRAME_HEADER_NBYTES));
			forge(b.frame, n);
			CHECK_EQ(read_frame(b.frame, n, NULL), PX_TRUNCATED);
		}
		batch_free(&b);
	}
}

static void
a_forged_body_with_more_bytes_is_refused(void)
{
	batch		b;
	uint8_t    *longer;

	add_all_kinds(&b, 9, SOME_NULLS);
	batch_encode(&b, true, PX_CODEC_LZ4);
	for (size_t more = 1; more <= 16; more++)
	{
		longer = unit_alloc(b.nbytes + more);
		memcpy(longer, b.frame, b.nbytes);
		px_store_u32(longer + 32,
					 (uint32_t) (b.nbytes + more - PX_FRAME_HEADER_NBYTES));
		forge(longer, b.nbytes + more);
		CHECK_EQ(read_frame(longer, b.nbytes + more, NULL), PX_TRAILING);
		free(longer);
	}
	batch_free(&b);
}

static void
each_flipped_bit_is_detected(void)
{
	for (uint8_t codec = 0; codec < PX_CODEC_COUNT; codec++)
	{
		batch		b;

		add_all_kinds(&b, 9, SOME_NULLS);
		batch_encode(&b, true, codec);
		for (size_t bit = 0; bit < b.nbytes * 8; bit++)
		{
			px_frame_header header;

			b.frame[bit / 8] ^= (uint8_t) (1 << bit % 8);
			CHECK(px_frame_peek(b.frame, b.nbytes, &header, NULL) != PX_OK ||
				  px_frame_verify(b.frame, &header, NULL) != PX_OK);
			b.frame[bit / 8] ^= (uint8_t) (1 << bit % 8);
		}
		CHECK_EQ(read_frame(b.frame, b.nbytes, &b), PX_OK);
		batch_free(&b);
	}
}

/* It may go unnoticed, as in a value; but nothing out of bounds happens. */
static void
a_forged_flip_of_a_bit_never_crashes(void)
{
	for (uint8_t codec = 0; codec < PX_CODEC_COUNT; codec++)
	{
		batch		b;

		add_all_kinds(&b, 40, SOME_NULLS);
		batch_encode(&b, true, codec);
		for (size_t bit = 0; bit < b.nbytes * 8; bit++)
		{
			b.frame[bit / 8] ^= (uint8_t) (1 << bit % 8);
			forge(b.frame, b.nbytes);
			(void) read_frame(b.frame, b.nbytes, NULL);
			b.frame[bit / 8] ^= (uint8_t) (1 << bit % 8);
		}
		batch_free(&b);
	}
}

static void
forged_random_bytes_never_crash(void)
{
	batch		b;
	uint8_t    *copy;

	add_all_kinds(&b, 300, SOME_NULLS);
	batch_encode(&b, true, PX_CODEC_ZSTD);
	copy = unit_alloc(b.nbytes);
	for (int i = 0; i < 5000; i++)
	{
		memcpy(copy, b.frame, b.nbytes);
		for (int k = (int) (unit_random() % 8); k >= 0; k--)
			copy[unit_random() % b.nbytes] = (uint8_t) unit_random();
		forge(copy, b.nbytes);
		(void) read_frame(copy, b.nbytes, NULL);
	}
	free(copy);
	batch_free(&b);
}

/* Put a value into a field of a chunk header, and see what the reader says. */
static px_status
read_with_field(const batch *batch, int column, size_t offset, size_t width,
				uint32_t value)
{
	uint8_t    *copy = unit_alloc(batch->nbytes);
	uint8_t		bytes[4];
	px_status	status;

	memcpy(copy, batch->frame, batch->nbytes);
	px_store_u32(bytes, value);
	memcpy(copy + PX_FRAME_HEADER_NBYTES + column * PX_CHUNK_HEADER_NBYTES +
			   offset,
		   bytes, width);
	forge(copy, batch->nbytes);
	status = read_frame(copy, batch->nbytes, NULL);
	free(copy);

	return status;
}

static void
unknown_fields_are_refused(void)
{
	batch		b = {0};

	add_ints(&b, 300, SOME_NULLS, 4, true, 0, 32);
	add_bytes(&b, 300, NO_NULLS, 1, 20, 20);
	batch_encode(&b, false, PX_CODEC_NONE);

	for (int c = 0; c < 2; c++)
	{
		for (uint32_t v = PX_ENCODING_COUNT; v < 256; v++)
			CHECK_EQ(read_with_field(&b, c, OFF_ENCODING, 1, v),
					 PX_BAD_ENCODING);
		for (uint32_t v = PX_CODEC_COUNT; v < 256; v++)
			CHECK_EQ(read_with_field(&b, c, OFF_CODEC, 1, v), PX_BAD_CODEC);
		for (uint32_t v = PX_NULLS_BITMAP + 1; v < 256; v++)
			CHECK_EQ(read_with_field(&b, c, OFF_NULLS, 1, v), PX_BAD_HEADER);
		for (uint32_t v = PX_FORM_BYTES + 1; v < 256; v++)
			CHECK_EQ(read_with_field(&b, c, OFF_FORM, 1, v), PX_BAD_HEADER);
		for (uint32_t v = c == 0 ? 19 : 1; v < 256; v++)
			CHECK_EQ(read_with_field(&b, c, OFF_SCALE, 1, v), PX_BAD_HEADER);
		for (int bit = 0; bit < 16; bit++)
			CHECK_EQ(read_with_field(&b, c, OFF_RESERVED16, 2, 1u << bit),
					 PX_BAD_HEADER);
		for (int bit = 0; bit < 32; bit++)
			CHECK_EQ(read_with_field(&b, c, OFF_HEAD_NBYTES, 4, 1u << bit),
					 PX_BAD_HEADER);
		for (uint32_t v = 0; v < 256; v++)
			CHECK_EQ(read_with_field(&b, c, OFF_WIDTH, 1, v),
					 v == (c == 0 ? 4 : 0) ? PX_OK : PX_BAD_HEADER);
	}
	CHECK_EQ(read_with_field(&b, 0, OFF_SCALE, 1, 18), PX_OK);
	CHECK_EQ(read_with_field(&b, 0, OFF_FORM, 1, PX_FORM_BYTES),
			 PX_BAD_HEADER);
	CHECK_EQ(read_with_field(&b, 1, OFF_FORM, 1, PX_FORM_FIXED),
			 PX_BAD_HEADER);
	CHECK_EQ(read_with_field(&b, 1, OFF_ENCODING, 1, PX_ENC_FOR),
			 PX_BAD_ENCODING);
	CHECK_EQ(read_with_field(&b, 0, OFF_NULLS, 1, PX_NULLS_NONE),
			 PX_BAD_HEADER);
	CHECK_EQ(read_with_field(&b, 0, OFF_NULLS, 1, PX_NULLS_ALL),
			 PX_BAD_HEADER);
	batch_free(&b);
}

static void
forged_sizes_are_refused(void)
{
	static const size_t fields[] = {OFF_NVALUES, OFF_ENCODED_NBYTES,
									OFF_STORED_NBYTES};
	batch		b;

	add_all_kinds(&b, 300, SOME_NULLS);
	for (uint8_t codec = 0; codec < PX_CODEC_COUNT; codec++)
	{
		batch_encode(&b, true, codec);
		for (uint16_t c = 0; c < b.ncolumns; c++)
		{
			const uint8_t *header = b.frame + PX_FRAME_HEADER_NBYTES +
				c * PX_CHUNK_HEADER_NBYTES;

			for (size_t f = 0; f < lengthof(fields); f++)
			{
				uint32_t	right = px_load_u32(header + fields[f]);
				const uint32_t values[] = {
					0, right - 1, right + 1, right * 2, 0x3fffffff, 0x40000000,
					0x7fffffff, 0x80000000, 0xfffffff8, 0xffffffff
				};

				for (size_t v = 0; v < lengthof(values); v++)
				{
					if (!CHECK(read_with_field(&b, c, fields[f], 4,
											   values[v]) != PX_OK))
						printf("# column %u, field %zu, value %u for %u\n",
							   c, fields[f], values[v], right);
				}
			}
		}
	}
	batch_free(&b);
}

static void
the_sum_of_encoded_sizes_is_limited(void)
{
	/* two columns, each within the limit, together beyond it */
	batch		b = {0};
	uint8_t    *headers;

	add_bytes(&b, 100, NO_NULLS, 20, 20, 2);
	add_bytes(&b, 100, NO_NULLS, 20, 20, 2);
	batch_encode(&b, true, PX_CODEC_LZ4);
	headers = b.frame + PX_FRAME_HEADER_NBYTES;
	px_store_u32(headers + OFF_ENCODED_NBYTES, 0x30000000);
	px_store_u32(headers + PX_CHUNK_HEADER_NBYTES + OFF_ENCODED_NBYTES,
				 0x30000000);
	forge(b.frame, b.nbytes);
	CHECK_EQ(read_frame(b.frame, b.nbytes, NULL), PX_OVER_LIMIT);
	batch_free(&b);
}

static void
decompression_to_one_byte_more_or_less_is_refused(void)
{
	for (uint8_t codec = PX_CODEC_LZ4; codec < PX_CODEC_COUNT; codec++)
	{
		batch		b = {0};
		uint32_t	right;

		add_bytes(&b, 1000, NO_NULLS, 5, 9, 2);
		batch_encode(&b, true, codec);
		CHECK_EQ(b.choices[0].codec, codec);
		right = px_load_u32(b.frame + PX_FRAME_HEADER_NBYTES +
							OFF_ENCODED_NBYTES);
		CHECK_EQ(read_with_field(&b, 0, OFF_ENCODED_NBYTES, 4, right + 1),
				 PX_CODEC_FAILED);
		CHECK_EQ(read_with_field(&b, 0, OFF_ENCODED_NBYTES, 4, right - 1),
				 PX_CODEC_FAILED);
		CHECK_EQ(read_with_field(&b, 0, OFF_CODEC, 1, 3 - codec),
				 PX_CODEC_FAILED);
		batch_free(&b);
	}
}

/* Bitmaps that do not agree with nvalues, spare bits, padding. */
static void
forged_bitmap_and_padding_are_refused(void)
{
	batch		b = {0};
	size_t		bitmap = PX_FRAME_HEADER_NBYTES + PX_CHUNK_HEADER_NBYTES;

	add_ints(&b, 11, FIRST_NULL, 1, false, 0, 8);
	batch_encode(&b, false, PX_CODEC_NONE);
	CHECK_EQ(b.nbytes, bitmap + 8 + 16);

	/* bits of rows 0 .. 10, five spare ones, six bytes of padding */
	for (size_t bit = 0; bit < 64; bit++)
	{
		b.frame[bitmap + bit / 8] ^= (uint8_t) (1 << bit % 8);
		forge(b.frame, b.nbytes);
		CHECK_EQ(read_frame(b.frame, b.nbytes, NULL), PX_BAD_HEADER);
		b.frame[bitmap + bit / 8] ^= (uint8_t) (1 << bit % 8);
	}
	/* ten values, six bytes of padding */
	for (size_t i = 0; i < 16; i++)
	{
		b.frame[bitmap + 8 + i] ^= 0x10;
		forge(b.frame, b.nbytes);
		CHECK_EQ(read_frame(b.frame, b.nbytes, NULL),
				 i < 10 ? PX_OK : PX_BAD_HEADER);
		b.frame[bitmap + 8 + i] ^= 0x10;
	}
	batch_free(&b);
}

/* Rows of a bitmap that is there, but need not be: none or all are null. */
static void
a_forged_bitmap_of_none_or_all_is_refused(void)
{
	for (int all = 0; all < 2; all++)
	{
		batch		b = {0};
		uint8_t    *header;

		add_ints(&b, 16, SOME_NULLS, 8, true, 7, 0);
		CHECK(b.columns[0].nvalues > 1);
		batch_encode(&b, true, PX_CODEC_NONE);
		CHECK_EQ(b.choices[0].encoding, PX_ENC_CONSTANT);
		header = b.frame + PX_FRAME_HEADER_NBYTES;
		px_store_u32(header + OFF_NVALUES, all ? 0 : 16);
		memset(header + PX_CHUNK_HEADER_NBYTES, all ? 0xff : 0, 2);
		forge(b.frame, b.nbytes);
		CHECK_EQ(read_frame(b.frame, b.nbytes, NULL), PX_BAD_HEADER);
		batch_free(&b);
	}
}

/* As many bits as there are nulls, but one of them behind the last row. */
static void
a_forged_spare_bit_in_place_of_a_null_is_refused(void)
{
	batch		b = {0};
	size_t		bitmap = PX_FRAME_HEADER_NBYTES + PX_CHUNK_HEADER_NBYTES;

	add_ints(&b, 11, FIRST_NULL, 1, false, 0, 8);
	batch_encode(&b, false, PX_CODEC_NONE);
	for (int bit = 3; bit < 8; bit++)
	{
		b.frame[bitmap] = 0;
		b.frame[bitmap + 1] = (uint8_t) (1 << bit);
		forge(b.frame, b.nbytes);
		CHECK_EQ(read_frame(b.frame, b.nbytes, NULL), PX_BAD_HEADER);
	}
	batch_free(&b);
}

/* With a constant, no size gives away how many values there should be. */
static void
a_forged_number_of_constant_values_is_refused(void)
{
	static const uint32_t values[] = {0, 1, 299, 301, 65536, 0xffffffff};
	batch		b = {0};

	add_ints(&b, 300, NO_NULLS, 8, true, 7, 0);
	add_bytes(&b, 300, NO_NULLS, 3, 3, 1);
	batch_encode(&b, true, PX_CODEC_NONE);
	for (int c = 0; c < 2; c++)
	{
		CHECK_EQ(b.choices[c].encoding, PX_ENC_CONSTANT);
		for (size_t i = 0; i < lengthof(values); i++)
			CHECK_EQ(read_with_field(&b, c, OFF_NVALUES, 4, values[i]),
					 PX_BAD_HEADER);
	}
	batch_free(&b);
}

/* A valid LZ4 block, but larger than what it decompresses to. */
static void
a_forged_codec_that_saves_nothing_is_refused(void)
{
	px_frame_header header = {.version = PX_PROTOCOL_MAX,
							  .kind = PX_FRAME_BATCH,
							  .rows = 3,
							  .columns = 1,
							  .raw_nbytes = PX_CHUNK_HEADER_NBYTES + 8};
	px_chunk	unpacked = {
		.codec = PX_CODEC_LZ4, .rows = 3, .nvalues = 3, .width = 1};
	uint8_t frame[PX_FRAME_HEADER_NBYTES + PX_CHUNK_HEADER_NBYTES + 8] = {0};
	uint8_t    *chunk = frame + PX_FRAME_HEADER_NBYTES;
	const uint8_t block[] = {0x30, 1, 2, 3};
	uint8_t		buffer[3];
	const uint8_t *encoded;

	chunk[OFF_CODEC] = PX_CODEC_LZ4;
	chunk[OFF_WIDTH] = 1;
	px_store_u32(chunk + OFF_NVALUES, 3);
	px_store_u32(chunk + OFF_ENCODED_NBYTES, 3);
	px_store_u32(chunk + OFF_STORED_NBYTES, sizeof(block));
	memcpy(chunk + PX_CHUNK_HEADER_NBYTES, block, sizeof(block));
	header.body_nbytes = sizeof(frame) - PX_FRAME_HEADER_NBYTES;
	px_frame_finish(frame, &header);
	CHECK_EQ(read_frame(frame, sizeof(frame), NULL), PX_BAD_HEADER);

	/* and only because of its size */
	unpacked.encoded_nbytes = 3;
	unpacked.stored_nbytes = sizeof(block);
	unpacked.stored = block;
	CHECK_EQ(px_chunk_unpack(&unpacked, unit_codec_context(), buffer, &encoded,
							 NULL),
			 PX_OK);
	CHECK(encoded == buffer);
}

/* One byte more than the raw size, by codecs that would make it of nothing. */
static void
more_encoded_bytes_than_the_raw_size_are_refused(void)
{
	batch		b = {0};
	px_frame_header header;

	add_bytes(&b, 1000, NO_NULLS, 20, 20, 1);
	add_bytes(&b, 1000, NO_NULLS, 20, 20, 1);
	batch_encode(&b, false, PX_CODEC_LZ4);
	CHECK_EQ(read_frame(b.frame, b.nbytes, &b), PX_OK);
	CHECK_EQ(px_frame_peek(b.frame, b.nbytes, &header, NULL), PX_OK);

	header.raw_nbytes = 2 * 21 * 1000;
	px_frame_finish(b.frame, &header);
	CHECK_EQ(read_frame(b.frame, b.nbytes, NULL), PX_OK);
	header.raw_nbytes--;
	px_frame_finish(b.frame, &header);
	CHECK_EQ(read_frame(b.frame, b.nbytes, NULL), PX_OVER_LIMIT);
	batch_free(&b);
}

/*
 * Large values that could become so small that readers would take them for a
 * bomb.
 */
static void
batches_stay_within_the_ratio_of_raw_and_body(void)
{
	static const size_t lengths[] = {
		PX_RAW_FREE_NBYTES / 2, PX_RAW_FREE_NBYTES - 200, PX_RAW_FREE_NBYTES,
		3 * PX_RAW_FREE_NBYTES};

	for (size_t i = 0; i < lengthof(lengths); i++)
	{
		size_t		half = lengths[i] / 2;
		batch		b = {0};
		px_frame_header header;
		px_column  *text = add_column(&b, PX_FORM_BYTES, 0, false, 2,
									 lengths[i] + PX_APPEND_SLACK);
		px_column  *elements = add_column(&b, PX_FORM_ARRAY, 8, true, 2,
										 lengths[i]);
		uint8_t    *zeros = unit_alloc(half + 1);

		/* long values of zeros, and arrays of them */
		px_column_append_bytes(text, zeros, half - 1);
		px_column_append_bytes(text, zeros, half + 1);
		for (int value = 0; value < 2; value++)
		{
			elements->lengths[value] = (uint32_t) (half / 8) + 1;
			elements->values_nbytes += half / 8 * 8;
			px_column_mark_value(elements);
		}
		free(zeros);
		batch_encode(&b, true, PX_CODEC_ZSTD);
		CHECK_EQ(px_frame_peek(b.frame, b.nbytes, &header, NULL), PX_OK);
		CHECK(header.raw_nbytes <=
			  PX_RAW_NBYTES_MAX(header.body_nbytes, PX_RAW_RATIO_MAX));

		/* what may be small is; else one of the two has to be plain */
		if (lengths[i] == PX_RAW_FREE_NBYTES / 2)
			CHECK(header.body_nbytes < lengths[i] / 100);
		if (lengths[i] > PX_RAW_FREE_NBYTES)
			CHECK_EQ(b.choices[0].codec, PX_CODEC_NONE);
		batch_free(&b);
	}
}

/* What is kept saves a sixteenth, and eight bytes, of the plain values. */
static void
compressed_chunks_save_enough(void)
{
	uint32_t	kept = 0;
	uint32_t	refused = 0;

	for (int i = 0; i < 3000; i++)
	{
		const uint8_t codec = i % 2 ? PX_CODEC_LZ4 : PX_CODEC_ZSTD;
		batch		b = {0};
		const uint8_t *header;
		uint32_t	encoded;
		uint32_t	stored;

		/* the second half repeats the beginning of the first, more or less */
		add_fixed(&b, 10 + i % 300, NO_NULLS, 1, 16);
		unit_random_bytes(b.columns[0].values, b.columns[0].values_nbytes);
		memcpy(b.columns[0].values + b.columns[0].values_nbytes / 2,
			   b.columns[0].values,
			   unit_random() % (b.columns[0].values_nbytes / 2));
		batch_encode(&b, false, codec);
		header = b.frame + PX_FRAME_HEADER_NBYTES;
		encoded = px_load_u32(header + OFF_ENCODED_NBYTES);
		stored = px_load_u32(header + OFF_STORED_NBYTES);
		if (b.choices[0].codec == PX_CODEC_NONE)
		{
			refused++;
			CHECK_EQ(stored, encoded);
		}
		else
		{
			kept++;
			CHECK(stored + 8 <= encoded);
			CHECK(stored + encoded / 16 <= encoded);
		}
		CHECK_EQ(read_frame(b.frame, b.nbytes, &b), PX_OK);
		batch_free(&b);
	}
	CHECK(kept > 100);
	CHECK(refused > 100);
}

static void
columns_of_nulls_have_nothing_else(void)
{
	batch		b = {0};

	add_ints(&b, 5, ALL_NULLS, 4, true, 0, 1);
	batch_encode(&b, true, PX_CODEC_LZ4);
	CHECK_EQ(b.nbytes, PX_FRAME_HEADER_NBYTES + PX_CHUNK_HEADER_NBYTES);
	CHECK_EQ(read_with_field(&b, 0, OFF_ENCODING, 1, PX_ENC_CONSTANT),
			 PX_BAD_ENCODING);
	CHECK_EQ(read_with_field(&b, 0, OFF_ENCODING, 1, PX_ENC_FOR),
			 PX_BAD_ENCODING);
	CHECK_EQ(read_with_field(&b, 0, OFF_CODEC, 1, PX_CODEC_LZ4), PX_BAD_CODEC);
	CHECK_EQ(read_with_field(&b, 0, OFF_NVALUES, 4, 1), PX_BAD_HEADER);
	CHECK_EQ(read_with_field(&b, 0, OFF_ENCODED_NBYTES, 4, 4), PX_BAD_HEADER);
	CHECK_EQ(read_with_field(&b, 0, OFF_STORED_NBYTES, 4, 4), PX_BAD_HEADER);
	batch_free(&b);
}

static void
the_wrong_decoder_for_a_chunk_is_an_error(void)
{
	uint8_t		encoded[32] = {0};
	px_chunk	chunk = {
		.rows = 2, .nvalues = 2, .width = 6, .encoded_nbytes = 12};
	int64_t		ints[2];
	int64_t		scratch[PX_DECODE_SCRATCH_WORDS(2)];
	px_decode_room room = {.scratch = scratch};
	const uint8_t *pointers[2];

	CHECK_EQ(px_chunk_decode_ints(&chunk, encoded, true, &room, ints, NULL),
			 PX_BAD_HEADER);
	chunk.form = PX_FORM_BYTES;
	chunk.width = 0;
	CHECK_EQ(px_chunk_decode_ints(&chunk, encoded, true, &room, ints, NULL),
			 PX_BAD_HEADER);
	chunk.form = PX_FORM_FIXED;
	chunk.width = 4;
	chunk.encoding = PX_ENC_FOR;
	CHECK_EQ(px_chunk_decode_pointers(&chunk, encoded, &room, pointers, NULL),
			 PX_BAD_ENCODING);
}

int
main(void)
{
	RUN(a_body_has_the_documented_layout);
	RUN(every_row_count_mode_and_null_pattern_round_trips);
	RUN(every_fixed_width_round_trips);
	RUN(megabyte_values_round_trip);
	RUN(encodings_are_chosen_by_size);
	RUN(incompressible_batches_are_not_larger_than_plain);
	RUN(an_output_too_small_is_an_error);
	RUN(an_unknown_codec_is_not_written);
	RUN(a_frame_cut_anywhere_is_refused);
	RUN(a_forged_body_cut_anywhere_is_refused);
	RUN(a_forged_body_with_more_bytes_is_refused);
	RUN(each_flipped_bit_is_detected);
	RUN(a_forged_flip_of_a_bit_never_crashes);
	RUN(forged_random_bytes_never_crash);
	RUN(unknown_fields_are_refused);
	RUN(forged_sizes_are_refused);
	RUN(the_sum_of_encoded_sizes_is_limited);
	RUN(decompression_to_one_byte_more_or_less_is_refused);
	RUN(forged_bitmap_and_padding_are_refused);
	RUN(a_forged_bitmap_of_none_or_all_is_refused);
	RUN(a_forged_spare_bit_in_place_of_a_null_is_refused);
	RUN(a_forged_number_of_constant_values_is_refused);
	RUN(a_forged_codec_that_saves_nothing_is_refused);
	RUN(more_encoded_bytes_than_the_raw_size_are_refused);
	RUN(batches_stay_within_the_ratio_of_raw_and_body);
	RUN(compressed_chunks_save_enough);
	RUN(columns_of_nulls_have_nothing_else);
	RUN(the_wrong_decoder_for_a_chunk_is_an_error);

	return unit_done();
}
