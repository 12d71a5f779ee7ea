/*-------------------------------------------------------------------------
 *
 * test_encodings.c
 *		Tests of the encodings of strings, floats, opaque and related values,
 *		and of how they are chosen from batch to batch.
 *
 * Columns go through px_batch_write and back, as in a stream; the corrupt ones
 * are damaged behind the chunk header, where only the decoders can see it.
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include <math.h>
#include <stdlib.h>

#include "batches.h"
#include "column/batch.h"
#include "column/decode.h"

#define ROWS_MAX		5000
#define VALUES_CAP		(4 * 1024 * 1024)
#define COLUMNS_MAX		4

static px_column columns[COLUMNS_MAX];
static px_column_state states[COLUMNS_MAX];
static uint8_t *body;
static size_t body_nbytes;
static uint16_t ncolumns;

static px_column *
column_new(uint8_t form, uint8_t width)
{
	px_column  *column = &columns[ncolumns];

	memset(&states[ncolumns++], 0, sizeof(px_column_state));
	column->form = form;
	column->width = width;
	column->is_signed = true;
	column->is_float = false;
	column->relatable = false;
	column->scale = 0;
	column->sent = NULL;
	px_column_reset(column);

	return column;
}

/*
 * Not inlined: gcc 15 takes a branch of px_copy that a short literal does not
 * get to for a read behind it.
 */
static pg_noinline void
add_string(px_column *column, const char *text)
{
	px_column_append_bytes(column, text, strlen(text));
}

static void
add_float(px_column *column, double value)
{
	float		narrow = (float) value;

	if (column->width == 4)
		px_column_append_fixed(column, &narrow);
	else
		px_column_append_fixed(column, &value);
}

static void
write_batch(uint32_t encodings, uint8_t codec)
{
	CHECK_EQ(unit_body_write(unit_batch_write, body, &body_nbytes, columns,
							 ncolumns, encodings, codec, states),
			 PX_OK);
}

/* Value i of column c: its bytes without padding, and their number. */
static const uint8_t *
value_of(uint16_t c, uint32_t value, size_t *nbytes)
{
	static size_t offset;		/* walks with value */
	const px_column *column = &columns[c];

	*nbytes = column->form == PX_FORM_BYTES ?
		column->lengths[value] : column->width;
	if (value == 0)
		offset = 0;
	offset += *nbytes;

	return column->values + offset - *nbytes;
}

/* Decode one chunk; compare with the column if that is asked for. */
static px_status
read_chunk(const px_chunk *chunk, uint16_t c, int64_t **ints, bool compare)
{
	int64_t    *values = unit_alloc(chunk->rows * 8);
	const uint8_t **pointers = (const uint8_t **) values;
	bool		is_int = chunk->form == PX_FORM_FIXED &&
		px_width_is_int(chunk->width);
	unit_chunk	opened;
	size_t		nbytes;
	uint32_t	value = 0;
	uint32_t	wrong = 0;
	px_status	status = unit_chunk_open(&opened, chunk, NULL);

	opened.room.references = (const int64_t *const *) ints;
	opened.room.nreferences = c;
	if (status == PX_OK)
		status = is_int
			? px_chunk_decode_ints(chunk, opened.encoded, columns[c].is_signed,
								   &opened.room, values, NULL)
			: unit_chunk_pointers(&opened, pointers, NULL);
	for (uint32_t row = 0; status == PX_OK && row < chunk->rows; row++)
	{
		bool		null = chunk->null_layout == PX_NULLS_ALL ||
		(chunk->bitmap && (chunk->bitmap[row / 8] >> row % 8 & 1));
		const uint8_t *bytes;
		volatile uint8_t sink = 0;

		(void) sink;			/* gcc 15 minds that it is only written */
		if (null)
			continue;
		if (!is_int && chunk->form == PX_FORM_BYTES)
		{
			/*
			 * look at the last byte, and so at the guard page if it is behind
			 */
			if (px_packed_nbytes(pointers[row]) > 0)
				sink = px_packed_data(
					pointers[row])[px_packed_nbytes(pointers[row]) - 1];
		}
		if (!compare)
			continue;
		bytes = value_of(c, value++, &nbytes);
		if (is_int)
		{
			uint8_t		number[8];

			px_store_u64(number, (uint64_t) values[row]);
			wrong += memcmp(number, bytes, nbytes) != 0;
		}
		else if (chunk->form == PX_FORM_FIXED)
			wrong += memcmp(pointers[row], bytes, nbytes) != 0;
		else
			wrong += !unit_same_packed(pointers[row], bytes, nbytes,
									   columns[c].pad);
	}
	CHECK_EQ(wrong, 0);

	unit_chunk_close(&opened);
	if (status == PX_OK && is_int && chunk->null_layout == PX_NULLS_NONE)
		ints[c] = values;
	else
		free(values);

	return status;
}

static px_status
read_body(bool compare)
{
	unit_guarded g = unit_guarded_copy(body, body_nbytes);
	px_frame_header header = unit_body_header(columns, ncolumns, body_nbytes);
	px_chunk	chunks[COLUMNS_MAX];
	int64_t    *ints[COLUMNS_MAX] = {0};
	px_status	status;

	status = px_batch_read(g.data, &header, chunks, NULL);
	for (uint16_t c = 0; status == PX_OK && c < ncolumns; c++)
	{
		status = read_chunk(&chunks[c], c, ints, compare);
		if (compare)
			CHECK_EQ(chunks[c].encoding, states[c].encoding);
	}
	for (uint16_t c = 0; c < ncolumns; c++)
		free(ints[c]);
	unit_guarded_free(&g);

	return status;
}

/* Write in every mode and read back. */
static void
round_trip(void)
{
	for (uint8_t codec = PX_CODEC_NONE; codec < PX_CODEC_COUNT; codec++)
	{
		write_batch(PX_ENCODINGS_ALL, codec);
		CHECK_EQ(read_body(true), PX_OK);
	}
	write_batch(PX_ENCODINGS_PLAIN, PX_CODEC_NONE);
	CHECK_EQ(read_body(true), PX_OK);
	memset(states, 0, sizeof(states));
	write_batch(PX_ENCODINGS_ALL, PX_CODEC_NONE);
	CHECK_EQ(read_body(true), PX_OK);
}

/*
 * Damage the payload of an encoded batch in many ways: no crash, no wrong
 * reads.
 */
static void
damage(void)
{
	size_t		start = (size_t) ncolumns * PX_CHUNK_HEADER_NBYTES;
	uint8_t    *saved = unit_alloc(body_nbytes);

	memcpy(saved, body, body_nbytes);
	for (size_t bit = start * 8; bit < Min(body_nbytes, start + 100) * 8;
		 bit++)
	{
		body[bit / 8] ^= (uint8_t) (1 << bit % 8);
		(void) read_body(false);
		body[bit / 8] ^= (uint8_t) (1 << bit % 8);
	}
	for (int i = 0; i < 500; i++)
	{
		for (int k = 0; k < 3; k++)
			body[start + unit_random() % Min(body_nbytes - start, 200)] =
				(uint8_t) unit_random();
		(void) read_body(false);
		memcpy(body, saved, body_nbytes);
	}
	/* sizes that are too small by up to everything */
	for (size_t cut = 8; cut < Min(body_nbytes - start, 400); cut += 8)
	{
		uint32_t	encoded_nbytes = px_load_u32(body + 12);

		if (ncolumns > 1 || cut > encoded_nbytes)
			break;
		px_store_u32(body + 12, encoded_nbytes - (uint32_t) cut);
		px_store_u32(body + 16, encoded_nbytes - (uint32_t) cut);
		body_nbytes -= cut;
		CHECK(read_body(false) != PX_OK);
		body_nbytes += cut;
		memcpy(body, saved, body_nbytes);
	}
	free(saved);
}

/* ---------------------------------------------------------------------
 * Strings
 * --------------------------------------------------------------------- */

static void
strings_of_every_length_round_trip(void)
{
	static const size_t lengths[] = {0,   1,    3,     15,  16,  31,
									 32,  33,   125,   126, 127, 128,
									 131, 1000, 65536, 0,   7};
	uint8_t    *text = unit_alloc(65536 + 40);

	unit_random_bytes(text, 65536 + 40);
	for (int repeat = 1; repeat <= 50; repeat += 49)
	{
		px_column  *column;

		ncolumns = 0;
		column = column_new(PX_FORM_BYTES, 0);
		for (int i = 0; i < repeat; i++)
		{
			for (size_t k = 0; k < lengthof(lengths); k++)
				px_column_append_bytes(column, text + (i < 40 ? i : 0),
									   lengths[k]);
			px_column_append_null(column);
		}
		round_trip();
	}
	free(text);
}

/*
 * A row that fills a batch: its value is a constant, and large enough for the
 * codec.
 */
static void
one_large_value_is_compressed(void)
{
	static const size_t lengths[] = {4095, 4096, 4097, 100000, 1000000};

	for (size_t k = 0; k < lengthof(lengths); k++)
	{
		uint8_t    *text = unit_alloc(lengths[k]);

		for (int random = 0; random < 2; random++)
		{
			if (random)
				unit_random_bytes(text, lengths[k]);
			else
				for (size_t i = 0; i < lengths[k]; i++)
					text[i] = (uint8_t) ("words of some text "[i % 19] +
										 (unit_random() % 16 == 0));
			ncolumns = 0;
			px_column_append_bytes(column_new(PX_FORM_BYTES, 0), text,
								   lengths[k]);
			round_trip();
			memset(states, 0, sizeof(states[0]));
			write_batch(PX_ENCODINGS_ALL, PX_CODEC_ZSTD);
			CHECK_EQ(states[0].encoding, PX_ENC_CONSTANT);
			CHECK_EQ(states[0].codec,
					 random || lengths[k] < 4096 ? PX_CODEC_NONE
												 : PX_CODEC_ZSTD);
			if (states[0].codec == PX_CODEC_ZSTD)
				CHECK(body_nbytes < lengths[k] * 3 / 4);
			CHECK_EQ(read_body(true), PX_OK);
		}
		free(text);
	}
}

static void
text_is_split_from_its_lengths(void)
{
	px_column  *column;

	ncolumns = 0;
	column = column_new(PX_FORM_BYTES, 0);
	for (int i = 0; i < 3000; i++)
	{
		char		text[40];

		snprintf(text, sizeof(text), "%x the words %x",
				 (unsigned) unit_random(), i % 7);
		add_string(column, text + i % 5);
	}
	write_batch(PX_ENCODINGS_ALL, PX_CODEC_LZ4);
	CHECK_EQ(states[0].encoding, PX_ENC_SPLIT);
	CHECK_EQ(states[0].codec, PX_CODEC_LZ4);
	CHECK_EQ(read_body(true), PX_OK);
	round_trip();
	write_batch(PX_ENCODINGS_ALL, PX_CODEC_NONE);
	damage();
}

/* A length for value i of n: several kinds of them. */
static uint32_t
length_of(int kind, uint32_t i, uint32_t n)
{
	switch (kind)
	{
		case 0:					/* all the same */
			return 20;
		case 1:
			return 21 + i % 3;
		case 2:					/* around the longest with a short header */
			return PX_PACKED_SHORT_MAX - 1 + i % 4;
		case 3:
			return (uint32_t) (unit_random() % 300);
		case 4:					/* mostly empty */
			return i % 7 == 0 ? i : 0;
		default:				/* one is long */
			return i == n / 2 ? 5000 : 3 + i % 2;
	}
}

/*
 * Readers limit the encoded values of a batch before the codec: lengths and
 * bytes may take more than plain values, if these are few.  As the only batch
 * of a stream, and as the last one.
 */
static void
any_number_of_strings_stays_within_the_raw_size(void)
{
	static const char words[] = "session opened for user alice by root; ";

	for (uint8_t codec = 0; codec < PX_CODEC_COUNT; codec++)
	{
		for (uint32_t n = 1; n <= 300; n++)
		{
			for (int kind = 0; kind < 6 * 4; kind++)
			{
				bool		nulls = kind / 6 % 2;
				bool		last = kind / 12;

				ncolumns = 0;
				column_new(PX_FORM_BYTES, 0);
				for (int batch = last ? 0 : 1; batch < 2; batch++)
				{
					uint32_t	rows = batch == 0 ? 500 : n;

					px_column_reset(&columns[0]);
					for (uint32_t i = 0; i < rows; i++)
					{
						uint32_t	nbytes = length_of(kind % 6, i, n);
						uint8_t		text[5000];

						for (uint32_t k = 0; k < nbytes; k++)
							text[k] = (uint8_t)
								words[(i * 7 + k) % (sizeof(words) - 1)];
						if (nulls && i % 3 == 1)
							px_column_append_null(&columns[0]);
						else
							px_column_append_bytes(&columns[0], text, nbytes);
					}
					write_batch(PX_ENCODINGS_ALL, codec);
					CHECK_EQ(read_body(true), PX_OK);
				}
			}
		}
	}
}

/* What other columns save may be spent: then a codec sees a few strings. */
static void
few_strings_beside_integers_are_compressed(void)
{
	ncolumns = 0;
	column_new(PX_FORM_FIXED, 8);
	column_new(PX_FORM_BYTES, 0);
	for (uint32_t i = 0; i < 20; i++)
	{
		char		text[100];

		px_column_append_u64(&columns[0], i);
		snprintf(text, sizeof(text), "session %u opened for user alice by (uid=%u)",
				 i * 7919 % 10007, i % 5);
		add_string(&columns[1], text);
	}
	write_batch(PX_ENCODINGS_ALL, PX_CODEC_LZ4);
	CHECK_EQ(states[1].encoding, PX_ENC_SPLIT);
	CHECK_EQ(states[1].codec, PX_CODEC_LZ4);
	CHECK_EQ(read_body(true), PX_OK);
}

/* Without that, they stay plain, for the codec if it has room to try. */
static void
few_strings_are_compressed_as_they_are(void)
{
	ncolumns = 0;
	for (int c = 0; c < COLUMNS_MAX; c++)
	{
		column_new(PX_FORM_BYTES, 0);
		for (uint32_t i = 0; i < 7; i++)
		{
			char		text[100];

			snprintf(text, sizeof(text), "session %u opened for user alice by (uid=%u)",
					 1u << (i * 3), i % 5);
			add_string(&columns[c], text);
		}
	}
	write_batch(PX_ENCODINGS_ALL, PX_CODEC_LZ4);
	CHECK_EQ(states[0].encoding, PX_ENC_SPLIT);
	CHECK_EQ(states[1].encoding, PX_ENC_SPLIT);
	CHECK_EQ(states[2].encoding, PX_ENC_PLAIN);
	CHECK_EQ(states[2].codec, PX_CODEC_LZ4);
	CHECK_EQ(states[3].encoding, PX_ENC_PLAIN);
	for (int c = 0; c < COLUMNS_MAX; c++)
		CHECK_EQ(states[c].codec_skip[PX_CODEC_LZ4], 0);
	CHECK_EQ(read_body(true), PX_OK);
}

static void
few_values_make_a_dictionary(void)
{
	for (int length = 1; length <= 200; length += 13)
	{
		px_column  *column;

		ncolumns = 0;
		column = column_new(PX_FORM_BYTES, 0);
		for (int i = 0; i < 1000; i++)
		{
			char		text[256];

			memset(text, 'a', sizeof(text));
			text[length - 1] = (char) ('a' + unit_random() % 5);
			px_column_append_bytes(column, text,
								   (size_t) length +
									   (length > 3 ? unit_random() % 2 : 0));
		}
		write_batch(PX_ENCODINGS_ALL, PX_CODEC_NONE);
		CHECK_EQ(states[0].encoding, PX_ENC_DICTIONARY);
		CHECK(body_nbytes < 800 + 12 * (size_t) length);
		CHECK_EQ(read_body(true), PX_OK);
		round_trip();
	}
	write_batch(PX_ENCODINGS_ALL, PX_CODEC_NONE);
	damage();
}

/* Codes in runs: the stream of codes is transformed like any other. */
static void
clustered_strings_have_runs_of_codes(void)
{
	px_column  *column;

	ncolumns = 0;
	column = column_new(PX_FORM_BYTES, 0);
	for (int i = 0; i < 4000; i++)
		add_string(column,
				   i % 1000 < 500 ? "one half of them"
					   : i < 2000 ? "two"
								  : "");
	write_batch(PX_ENCODINGS_ALL, PX_CODEC_NONE);
	CHECK_EQ(states[0].encoding, PX_ENC_DICTIONARY);
	CHECK_EQ(body[PX_CHUNK_HEADER_NBYTES + 8], PX_ENC_RLE);
	CHECK(body_nbytes < 200);
	CHECK_EQ(read_body(true), PX_OK);
	damage();
}

static void
digits_make_a_template(void)
{
	static const char *const formats[] = {
		"Customer#%09d", "%d0000000", "x%02dy", "(%03d) 555-%04d",
	};

	for (size_t f = 0; f < lengthof(formats); f++)
	{
		px_column  *column;

		ncolumns = 0;
		column = column_new(PX_FORM_BYTES, 0);
		for (int i = 0; i < 3000; i++)
		{
			char		text[200];

			snprintf(text, sizeof(text), formats[f],
					 (int) (unit_random() %
							(f == 1       ? 10
								 : f == 2 ? 100
										  : 1000)),
					 (int) (unit_random() % 10000));
			add_string(column, text);
		}
		/* a dictionary does just as well for ten or a hundred values */
		write_batch(PX_ENCODINGS_ALL & ~PX_ENCODING_BIT(PX_ENC_DICTIONARY),
					PX_CODEC_NONE);
		CHECK_EQ(states[0].encoding, PX_ENC_TEMPLATE);
		CHECK_EQ(read_body(true), PX_OK);
		damage();
	}
}

static void
templates_have_limits(void)
{
	for (int ndigits = 3; ndigits <= 19; ndigits++)
	{
		for (int frame = 0; frame <= 108; frame += 108)
		{
			px_column  *column;

			ncolumns = 0;
			column = column_new(PX_FORM_BYTES, 0);
			for (int i = 0; i < 100; i++)
			{
				char		text[128];

				memset(text, '.', sizeof(text));
				for (int d = 0; d < ndigits; d++)
					text[frame + d] = (char) ('0' +
											  (i == 0 ? 0
												   : i == 1
												   ? 9
												   : unit_random() % 10));
				px_column_append_bytes(column, text,
									   (size_t) (frame + ndigits));
			}
			write_batch(PX_ENCODINGS_ALL & ~PX_ENCODING_BIT(PX_ENC_DICTIONARY),
						PX_CODEC_NONE);
			CHECK_EQ(states[0].encoding == PX_ENC_TEMPLATE,
					 ndigits <= 18 && frame + ndigits <= 126);
			CHECK_EQ(read_body(true), PX_OK);
		}
	}
}

/*
 * One value that does not suit, between two samples: the next batch is
 * sampled.
 */
static void
values_that_break_the_plan_round_trip(void)
{
	static const char *const odd[] = {"Customer#00000001x", "Customer#0000001",
									  "", "customer#000000001"};

	for (size_t o = 0; o < lengthof(odd); o++)
	{
		px_column  *column;

		ncolumns = 0;
		column = column_new(PX_FORM_BYTES, 0);
		for (int batch = 0; batch < 6; batch++)
		{
			px_column_reset(column);
			for (int i = 0; i < 500; i++)
			{
				char		text[32];

				snprintf(text, sizeof(text), "Customer#%09d", batch * 500 + i);
				add_string(column, batch == 2 && i == 250 ? odd[o] : text);
			}
			write_batch(PX_ENCODINGS_ALL, PX_CODEC_LZ4);
			CHECK_EQ(read_body(true), PX_OK);
			CHECK_EQ(states[0].encoding == PX_ENC_TEMPLATE, batch != 2);
		}
	}

	/* a dictionary that overflows */
	ncolumns = 0;
	(void) column_new(PX_FORM_BYTES, 0);
	for (int batch = 0; batch < 6; batch++)
	{
		px_column_reset(&columns[0]);
		for (int i = 0; i < 1000; i++)
		{
			char		text[32];

			snprintf(text, sizeof(text), "%s%d", "value number ",
					 batch == 2 ? i * 7 : i % 6 * 1000);
			add_string(&columns[0], text);
		}
		write_batch(PX_ENCODINGS_ALL, PX_CODEC_LZ4);
		CHECK_EQ(read_body(true), PX_OK);
		CHECK_EQ(states[0].encoding == PX_ENC_DICTIONARY, batch != 2);
	}
}

/*
 * As numeric does, which is scaled integers in some batches and bytes in
 * others.
 */
static void
columns_may_change_their_form(void)
{
	ncolumns = 0;
	(void) column_new(PX_FORM_FIXED, 8);
	for (int batch = 0; batch < 20; batch++)
	{
		bool		fixed = unit_random() % 2 == 0;

		columns[0].form = fixed ? PX_FORM_FIXED : PX_FORM_BYTES;
		columns[0].width = fixed ? 8 : 0;
		px_column_reset(&columns[0]);
		for (int i = 0; i < 300; i++)
		{
			char		text[32];

			snprintf(text, sizeof(text), "%d of them", i * i % 91);
			if (fixed)
				px_column_append_u64(&columns[0],
									 (uint64_t) batch * 1000 + (uint64_t) i);
			else
				add_string(&columns[0], text);
		}
		write_batch(PX_ENCODINGS_ALL, PX_CODEC_LZ4);
		CHECK_EQ(read_body(true), PX_OK);
	}
}

static void
padded_values_round_trip(void)
{
	for (size_t pad = 1; pad <= 300; pad += pad < 8 ? 1 : 41)
	{
		for (int kind = 0; kind < 3; kind++)
		{
			px_column  *column;

			ncolumns = 0;
			column = column_new(PX_FORM_BYTES, 0);
			for (int i = 0; i < 600; i++)
			{
				char		text[301];
				size_t		n = kind == 0 ? unit_random() % (pad + 1)
					: kind == 1      ? pad / 2
									 : pad;

				memset(text, ' ', sizeof(text));
				for (size_t k = 0; k < n; k++)
					text[k] = (char) ('0' +
									  (kind == 2 ? unit_random() % 2
												 : unit_random() % 10));
				CHECK(px_column_append_padded(column, text, pad));
				if (i % 7 == 0)
					px_column_append_null(column);
			}
			CHECK_EQ(column->pad, pad);
			round_trip();
		}
	}
}

static void
malformed_lengths_are_refused(void)
{
	static const struct
	{
		const char *name;
		uint32_t	pad;
		uint32_t	lengths[3];
		size_t		text_nbytes;
		px_status	status;
	}			cases[] = {
		{"right", 0, {1, 2, 3}, 6, PX_OK},
		{"too few bytes", 0, {1, 2, 3}, 5, PX_TRUNCATED},
		{"too many bytes", 0, {1, 2, 3}, 7, PX_TRAILING},
		{"one huge", 0, {1, UINT32_MAX, 3}, 6, PX_BAD_VALUE},
		{"sum wraps around in 32 bits", 0, {UINT32_MAX, 4, 3}, 6, PX_BAD_VALUE},
		{"padded", 3, {1, 2, 3}, 6, PX_OK},
		{"longer than the padded length", 2, {1, 2, 3}, 6, PX_BAD_VALUE},
		{"padded to more than there is memory", UINT32_MAX, {1, 2, 3}, 6, PX_OVER_LIMIT},
		{"padded to more than a batch may have", PX_FRAME_NBYTES_MAX / 2, {1, 2, 3}, 6, PX_OVER_LIMIT},
	};

	for (size_t c = 0; c < lengthof(cases); c++)
	{
		uint8_t		bytes[64] = {0};
		size_t		nbytes = 8 + 8 + 16 + cases[c].text_nbytes;
		px_chunk	chunk = {.encoding = PX_ENC_SPLIT,
						  .form = PX_FORM_BYTES,
						  .rows = 3,
						  .nvalues = 3,
						  .encoded_nbytes = (uint32_t) nbytes};
		int64_t		scratch[PX_DECODE_SCRATCH_WORDS(3)];
		px_decode_room room = {.scratch = scratch};
		unit_guarded g;
		size_t		buffer_nbytes;
		const uint8_t *out[3];
		px_status	status;

		px_store_u32(bytes, cases[c].pad);
		bytes[8] = PX_ENC_PLAIN;
		bytes[9] = 4;
		px_store_u32(bytes + 12, 12);
		for (int i = 0; i < 3; i++)
			px_store_u32(bytes + 16 + i * 4, cases[c].lengths[i]);
		g = unit_guarded_copy(bytes, nbytes);
		status = px_chunk_buffer_nbytes(&chunk, g.data, &buffer_nbytes, NULL);
		if (status == PX_OK)
		{
			unit_guarded buffer = unit_guarded_new(PX_ALIGN(buffer_nbytes));

			room.buffer = buffer.data;
			status = px_chunk_decode_pointers(&chunk, g.data, &room, out,
											  NULL);
			unit_guarded_free(&buffer);
		}
		if (!CHECK_EQ(status, cases[c].status))
			printf("# %s\n", cases[c].name);
		unit_guarded_free(&g);
	}
}

/* A padded value has a header, too, and both together a size of 30 bits. */
static void
padding_leaves_room_for_the_header(void)
{
	uint8_t		bytes[32] = {0};
	px_chunk	chunk = {.encoding = PX_ENC_SPLIT,
					  .form = PX_FORM_BYTES,
					  .rows = 1,
					  .nvalues = 1,
					  .encoded_nbytes = 24};
	size_t		nbytes = 0;

	bytes[8] = PX_ENC_PLAIN;
	bytes[9] = 4;
	px_store_u32(bytes + 12, 4);
	px_store_u32(bytes, PX_FRAME_NBYTES_MAX - 4);
	CHECK_EQ(px_chunk_buffer_nbytes(&chunk, bytes, &nbytes, NULL), PX_OK);
	px_store_u32(bytes, PX_FRAME_NBYTES_MAX - 3);
	CHECK_EQ(px_chunk_buffer_nbytes(&chunk, bytes, &nbytes, NULL),
			 PX_OVER_LIMIT);
}

static void
malformed_dictionaries_are_refused(void)
{
	/* 3 entries "a", "b", "c"; codes of 4 values */
	for (uint32_t code = 0; code < 5; code++)
	{
		for (uint32_t entries = 0; entries < 7; entries++)
		{
			uint8_t		bytes[64] = {0};
			px_chunk	chunk = {.encoding = PX_ENC_DICTIONARY,
							  .form = PX_FORM_BYTES,
							  .rows = 4,
							  .nvalues = 4,
							  .encoded_nbytes = 30};
			int64_t		scratch[PX_DECODE_SCRATCH_WORDS(4)];
			px_decode_room room = {.scratch = scratch};
			const uint8_t *out[4];
			unit_guarded g;
			px_status	status;

			px_store_u32(bytes, entries);
			bytes[8] = PX_ENC_PLAIN;
			bytes[9] = 2;
			px_store_u32(bytes + 12, 8);
			for (int i = 0; i < 4; i++)
				px_store_u16(bytes + 16 + i * 2,
							 (uint16_t) (i == 2 ? code : 0));
			memcpy(bytes + 24, "\5a\5b\5c", 6);
			g = unit_guarded_copy(bytes, 30);
			status = px_chunk_decode_pointers(&chunk, g.data, &room, out,
											  NULL);
			CHECK_EQ(status == PX_OK, entries == 3 && code < 3);
			unit_guarded_free(&g);
		}
	}
}

/* ---------------------------------------------------------------------
 * Floats, opaque values, related columns
 * --------------------------------------------------------------------- */

static void
decimal_floats_round_trip(void)
{
	for (uint8_t width = 4; width <= 8; width += 4)
	{
		for (int decimals = 0; decimals <= 6; decimals++)
		{
			px_column  *column;

			ncolumns = 0;
			column = column_new(PX_FORM_FIXED, width);
			column->is_float = true;
			for (int i = 0; i < 2000; i++)
			{
				int			range = width == 4 ? 10000 : 100000000;
				double		value =
					(double) ((int) (unit_random() % (2 * (unsigned) range)) -
							  range) /
					pow(10, decimals);

				if (i % 100 == 99)
				{
					const double odd[] = {NAN,     INFINITY, -INFINITY, -0.0,
										  1.0 / 3, 1e300,    5e-324};

					value = odd[i / 100 % lengthof(odd)];
				}
				add_float(column, value);
			}
			write_batch(PX_ENCODINGS_ALL, PX_CODEC_NONE);
			CHECK_EQ(states[0].encoding, PX_ENC_DECIMAL);
			CHECK_EQ(read_body(true), PX_OK);
			CHECK(body_nbytes < 2000 * (width == 4 ? 3 : 5) + 1000);
			round_trip();
		}
	}
	write_batch(PX_ENCODINGS_ALL, PX_CODEC_NONE);
	damage();
}

static void
other_floats_round_trip(void)
{
	for (uint8_t width = 4; width <= 8; width += 4)
	{
		px_column  *column;

		ncolumns = 0;
		column = column_new(PX_FORM_FIXED, width);
		column->is_float = true;
		for (int i = 0; i < 2000; i++)
			add_float(column,
					  1.0 + (double) unit_random() / 18446744073709551616.0);
		write_batch(PX_ENCODINGS_ALL, PX_CODEC_NONE);
		CHECK(states[0].encoding == PX_ENC_PLANES ||
			  states[0].encoding == PX_ENC_FOR);
		CHECK_EQ(read_body(true), PX_OK);

		px_column_reset(column);
		for (int i = 0; i < 2000; i++)
		{
			uint64_t	bits = unit_random();

			px_column_append_fixed(column, &bits);
		}
		round_trip();
	}
}

static void
uuids_round_trip(void)
{
	static const uint8_t widths[] = {6, 12, 16};

	for (size_t w = 0; w < lengthof(widths); w++)
	{
		px_column  *column;

		ncolumns = 0;
		column = column_new(PX_FORM_FIXED, widths[w]);
		for (int i = 0; i < 1000; i++)
		{
			uint8_t		value[16];

			unit_random_bytes(value, 16);
			value[0] = 0x01;
			value[3] = (uint8_t) (0x40 | (value[3] & 0x0f));
			px_column_append_fixed(column, value);
			if (i % 50 == 0)
				px_column_append_null(column);
		}
		write_batch(PX_ENCODINGS_ALL, PX_CODEC_NONE);
		CHECK_EQ(states[0].encoding, PX_ENC_PLANES);
		CHECK(body_nbytes < 1000 * (size_t) (widths[w] - 1));
		CHECK_EQ(read_body(true), PX_OK);
		round_trip();
	}
	write_batch(PX_ENCODINGS_ALL, PX_CODEC_NONE);
	damage();
}

static void
malformed_decimals_are_refused(void)
{
	static const struct
	{
		uint8_t		decimals;
		uint8_t		reserved;
		uint32_t	exceptions;
		uint32_t	positions[2];
		px_status	status;
	}			cases[] = {
		{2, 0, 2, {0, 2}, PX_OK},
		{15, 0, 2, {1, 2}, PX_OK},
		{16, 0, 2, {0, 2}, PX_BAD_VALUE},
		{255, 0, 2, {0, 2}, PX_BAD_VALUE},
		{2, 1, 2, {0, 2}, PX_BAD_VALUE},
		{2, 0, 4, {0, 2}, PX_BAD_VALUE},
		{2, 0, UINT32_MAX, {0, 2}, PX_BAD_VALUE},
		{2, 0, 1, {0, 2}, PX_TRAILING},
		{2, 0, 3, {0, 2}, PX_TRUNCATED},
		{2, 0, 0, {0, 2}, PX_TRAILING},
		{2, 0, 2, {2, 2}, PX_BAD_VALUE},
		{2, 0, 2, {2, 1}, PX_BAD_VALUE},
		{2, 0, 2, {0, 3}, PX_BAD_VALUE},
		{2, 0, 2, {0, UINT32_MAX}, PX_BAD_VALUE},
	};

	for (size_t c = 0; c < lengthof(cases); c++)
	{
		uint8_t		bytes[128] = {0};
		px_chunk	chunk = {.encoding = PX_ENC_DECIMAL,
						  .form = PX_FORM_FIXED,
						  .width = 8,
						  .rows = 3,
						  .nvalues = 3,
						  .encoded_nbytes = 40 + 16};
		int64_t		scratch[PX_DECODE_SCRATCH_WORDS(3)];
		px_decode_room room = {.scratch = scratch};
		int64_t		out[3];
		unit_guarded g;

		bytes[0] = cases[c].decimals;
		bytes[1] = cases[c].reserved;
		px_store_u32(bytes + 4, cases[c].exceptions);
		bytes[8] = PX_ENC_CONSTANT;
		bytes[9] = 8;
		bytes[12] = 8;
		bytes[16] = 42;
		bytes[24] = PX_ENC_PLAIN;
		bytes[25] = 4;
		bytes[28] = 8;
		px_store_u32(bytes + 32, cases[c].positions[0]);
		px_store_u32(bytes + 36, cases[c].positions[1]);
		g = unit_guarded_copy(bytes, 40 + 16);
		if (!CHECK_EQ(
				px_chunk_decode_ints(&chunk, g.data, true, &room, out, NULL),
				cases[c].status))
			printf("# case %zu\n", c);
		unit_guarded_free(&g);
	}
}

/* -1 would not be one of the 32 bits that an oid has. */
static void
decimals_of_unsigned_integers_are_refused(void)
{
	uint8_t		bytes[24] = {0};
	int64_t		scratch[PX_DECODE_SCRATCH_WORDS(2)];
	int64_t		out[2];
	px_decode_room room = {.scratch = scratch};
	px_chunk	chunk = {.encoding = PX_ENC_DECIMAL,
					  .form = PX_FORM_FIXED,
					  .width = 4,
					  .rows = 2,
					  .nvalues = 2,
					  .encoded_nbytes = sizeof(bytes),
					  .stored_nbytes = sizeof(bytes),
					  .stored = bytes};

	bytes[8] = PX_ENC_CONSTANT;
	bytes[9] = 8;
	bytes[12] = 8;
	px_store_u64(bytes + 16, (uint64_t) -1);
	CHECK_EQ(px_chunk_decode_ints(&chunk, bytes, true, &room, out, NULL),
			 PX_OK);
	CHECK_EQ(out[1], (int32_t) 0xbf800000);
	CHECK_EQ(px_chunk_decode_ints(&chunk, bytes, false, &room, out, NULL),
			 PX_BAD_ENCODING);
}

static void
related_columns_round_trip(void)
{
	for (uint8_t width = 2; width <= 8; width *= 2)
	{
		px_column  *first;
		px_column  *second;
		px_column  *third;

		ncolumns = 0;
		first = column_new(PX_FORM_FIXED, width);
		second = column_new(PX_FORM_FIXED, 8);
		third = column_new(PX_FORM_FIXED, width);
		first->relatable = second->relatable = third->relatable = true;
		for (int i = 0; i < 3000; i++)
		{
			uint64_t	value = unit_random() % 30000;

			px_column_append_u64(first, value - 15000);
			px_column_append_u64(second, unit_random());
			px_column_append_u64(third, value - 15000 + unit_random() % 16);
		}
		write_batch(PX_ENCODINGS_ALL, PX_CODEC_NONE);
		CHECK_EQ(states[0].encoding, PX_ENC_FOR);
		CHECK_EQ(states[2].encoding, PX_ENC_RELATED);
		CHECK_EQ(states[2].plan.parameter, 0);
		CHECK_EQ(read_body(true), PX_OK);

		/* a null in either of them: no relation, in this batch */
		px_column_append_null(first);
		px_column_append_u64(second, 1);
		px_column_append_u64(third, 2);
		write_batch(PX_ENCODINGS_ALL, PX_CODEC_NONE);
		CHECK(states[2].encoding != PX_ENC_RELATED);
		CHECK_EQ(read_body(true), PX_OK);
	}
}

static void
malformed_relations_are_refused(void)
{
	for (uint32_t reference = 0; reference < 5; reference++)
	{
		for (int extra = 0; extra < 3; extra++)
		{
			static const int64_t other[2] = {100, 127};
			static const int64_t *const references[3] = {NULL, other, NULL};
			uint8_t		bytes[24] = {0};
			px_chunk	chunk = {.encoding = PX_ENC_RELATED,
							  .form = PX_FORM_FIXED,
							  .width = 1,
							  .rows = 2,
							  .nvalues = 2,
							  .encoded_nbytes = sizeof(bytes)};
			int64_t		out[2];
			int64_t		scratch[PX_DECODE_SCRATCH_WORDS(2)];
			px_decode_room room = {.scratch = scratch,
								   .references = references,
								   .nreferences = 3};
			px_status	status;

			px_store_u16(bytes, (uint16_t) reference);
			bytes[8] = PX_ENC_CONSTANT;
			bytes[9] = 8;
			bytes[12] = 8;
			bytes[16] = (uint8_t) (extra == 1);	/* 128 is no int1 */
			bytes[4] = (uint8_t) (extra == 2);
			status = px_chunk_decode_ints(&chunk, bytes, true, &room, out,
										  NULL);
			CHECK_EQ(status == PX_OK, reference == 1 && extra == 0);
		}
	}
}

/* ---------------------------------------------------------------------
 * Arrays
 * --------------------------------------------------------------------- */

static px_status
read_arrays(px_column *column, bool compare)
{
	unit_guarded g = unit_guarded_copy(body, body_nbytes);
	px_frame_header header = unit_body_header(column, 1, body_nbytes);
	unit_guarded elements = {0};
	const uint8_t *sent = column->sent->values;
	px_arrays	arrays;
	px_chunk	chunk;
	unit_chunk	opened = {0};
	px_status	status;

	status = px_batch_read(g.data, &header, &chunk, NULL);
	if (status == PX_OK)
		status = unit_chunk_open(&opened, &chunk, NULL);
	if (status == PX_OK)
		status = px_chunk_decode_arrays(&chunk, opened.encoded, &opened.room,
										&arrays, NULL);
	if (status == PX_OK && arrays.nelements > 1000000)
		status = PX_OVER_LIMIT;
	if (status == PX_OK)
	{
		elements = unit_guarded_new((size_t) arrays.nelements * 8);
		status = px_chunk_decode_elements(&arrays, column->is_signed,
										  (int64_t *) elements.data, NULL);
	}
	if (status == PX_OK && compare)
	{
		uint32_t	wrong = 0;

		CHECK_EQ(arrays.nsent, column->sent->nvalues);
		CHECK_EQ((size_t) arrays.nelements * column->width,
				 column->values_nbytes);
		for (uint32_t i = 0; i < column->nvalues; i++)
			wrong += arrays.counts[i] != column->lengths[i];
		for (uint32_t i = 0; i < arrays.nelements; i++)
			wrong += memcmp(elements.data + (size_t) i * 8,
							column->values + (size_t) i * column->width,
							column->width) != 0;
		for (uint32_t i = 0; i < arrays.nsent; i++)
		{
			wrong += !unit_same_packed(arrays.sent[i], sent,
									   column->sent->lengths[i], 0);
			sent += column->sent->lengths[i];
		}
		CHECK_EQ(wrong, 0);
	}
	unit_chunk_close(&opened);
	unit_guarded_free(&elements);
	unit_guarded_free(&g);

	return status;
}

static void
arrays_round_trip(void)
{
	uint32_t	sent_lengths[400];
	uint8_t    *sent_values = unit_alloc(400 * 250 + PX_APPEND_SLACK);
	px_column	sent = {
		.form = PX_FORM_BYTES, .values = sent_values, .lengths = sent_lengths};

	for (uint8_t width = 1; width <= 8; width *= 2)
	{
		for (int kind = 0; kind < 4; kind++)
		{
			px_column  *column;

			ncolumns = 0;
			column = column_new(PX_FORM_ARRAY, width);
			column->sent = &sent;
			px_column_reset(column);
			for (int i = 0; i < 400; i++)
			{
				uint8_t		bytes[250];
				uint32_t n = (uint32_t) (kind == 3 ? 0 : unit_random() % 40);

				unit_random_bytes(bytes, sizeof(bytes));
				if (i % 9 == 0)
					px_column_append_null(column);
				else if (kind == 2 && i % 5 == 0)
				{
					px_column_append_bytes(&sent, bytes, unit_random() % 250);
					column->lengths[column->nvalues] = 0;
					px_column_mark_value(column);
				}
				else
				{
					for (uint32_t k = 0; k < n; k++)
					{
						uint64_t	value = kind == 0 ? unit_random()
												   : unit_random() % 50;

						memcpy(column->values + column->values_nbytes, &value,
							   width);
						column->values_nbytes += width;
					}
					column->lengths[column->nvalues] = n + 1;
					px_column_mark_value(column);
				}
			}
			for (uint8_t codec = 0; codec < PX_CODEC_COUNT; codec++)
			{
				write_batch(PX_ENCODINGS_ALL, codec);
				CHECK_EQ(read_arrays(column, true), PX_OK);
				write_batch(1, codec);
				CHECK_EQ(read_arrays(column, true), PX_OK);
				CHECK(body_nbytes <= px_column_plain_nbytes(column));
			}
			write_batch(PX_ENCODINGS_ALL, PX_CODEC_NONE);
			for (int i = 0; i < 1500; i++)
			{
				size_t		at = PX_CHUNK_HEADER_NBYTES +
					unit_random() %
						Min(body_nbytes - PX_CHUNK_HEADER_NBYTES,
							i % 2 ? 120 : 100000);
				uint8_t		saved = body[at];

				body[at] = (uint8_t) unit_random();
				(void) read_arrays(column, false);
				body[at] = saved;
			}
			column->sent = NULL;
		}
	}
	free(sent_values);
}

static void
malformed_arrays_are_refused(void)
{
	static const struct
	{
		const char *name;
		uint32_t	nsent;
		uint32_t	counts[2];
		uint32_t	elements_nbytes;
		size_t		sent_nbytes;
		px_status	status;
	}			cases[] = {
		{"two arrays", 0, {2, 3}, 12, 0, PX_OK},
		{"an element too many", 0, {2, 2}, 12, 0, PX_BAD_VALUE},
		{"an element too few", 0, {2, 4}, 12, 0, PX_BAD_VALUE},
		{"more elements than there is memory", 0, {UINT32_MAX, 3}, 12, 0, PX_OVER_LIMIT},
		{"one as sent", 1, {4, 0}, 12, 2, PX_OK},
		{"one as sent that is not there", 1, {4, 0}, 12, 0, PX_TRUNCATED},
		{"one as sent that is not announced", 0, {4, 0}, 12, 2, PX_BAD_VALUE},
		{"one announced that is none", 1, {2, 3}, 12, 2, PX_BAD_VALUE},
		{"more as sent than values", 3, {2, 3}, 12, 2, PX_BAD_VALUE},
		{"bytes behind the elements", 0, {2, 3}, 12, 2, PX_TRAILING},
	};

	for (size_t c = 0; c < lengthof(cases); c++)
	{
		uint8_t		bytes[64] = {0};
		size_t		nbytes = 8 + 16 + 8 + 16 + cases[c].sent_nbytes;
		px_chunk	chunk = {.form = PX_FORM_ARRAY,
						  .width = 4,
						  .rows = 2,
						  .nvalues = 2,
						  .encoded_nbytes = (uint32_t) nbytes};
		int64_t		scratch[PX_DECODE_SCRATCH_WORDS(2)];
		px_decode_room room = {.scratch = scratch};
		px_arrays	arrays;
		unit_guarded g;

		px_store_u32(bytes, cases[c].nsent);
		bytes[9] = 4;
		bytes[12] = 8;
		px_store_u32(bytes + 16, cases[c].counts[0]);
		px_store_u32(bytes + 20, cases[c].counts[1]);
		bytes[25] = 4;
		bytes[28] = (uint8_t) cases[c].elements_nbytes;
		memcpy(bytes + 48, "\5x", 2);
		g = unit_guarded_copy(bytes, nbytes);
		if (!CHECK_EQ(
				px_chunk_decode_arrays(&chunk, g.data, &room, &arrays, NULL),
				cases[c].status))
			printf("# %s\n", cases[c].name);
		unit_guarded_free(&g);
	}
}

/* ---------------------------------------------------------------------
 * Batch after batch
 * --------------------------------------------------------------------- */

static void
random_bytes_make_the_codec_pause(void)
{
	int			compressed = 0;
	px_column  *column;

	ncolumns = 0;
	column = column_new(PX_FORM_BYTES, 0);
	for (int batch = 0; batch < 200; batch++)
	{
		px_column_reset(column);
		for (int i = 0; i < 50; i++)
		{
			uint8_t		value[64];

			if (batch < 100)
				unit_random_bytes(value, sizeof(value));
			else
				memset(value, i % 3, sizeof(value));
			px_column_append_bytes(column, value, 40 + unit_random() % 20);
		}
		write_batch(PX_ENCODINGS_ALL & ~PX_ENCODING_BIT(PX_ENC_DICTIONARY),
					PX_CODEC_LZ4);
		CHECK_EQ(read_body(true), PX_OK);
		if (batch == 99)
			CHECK(states[0].codec_skip_next[PX_CODEC_LZ4] >= 32);
		compressed += batch >= 100 && states[0].codec == PX_CODEC_LZ4;
	}
	/* it comes back when a pause is over, and stays */
	CHECK(compressed >= 30);
	CHECK_EQ(states[0].codec, PX_CODEC_LZ4);
	CHECK_EQ(states[0].codec_skip[PX_CODEC_LZ4], 0);
}

static void
encodings_that_the_reader_does_not_know_are_not_used(void)
{
	for (int round = 0; round < 2000; round++)
	{
		uint32_t encodings = (uint32_t) (unit_random() & PX_ENCODINGS_ALL) | 1;

		if (round % 2)
			encodings |= PX_ENCODINGS_INTS;
		ncolumns = 0;
		(void) column_new(PX_FORM_BYTES, 0);
		(void) column_new(PX_FORM_FIXED, 8);
		columns[1].is_float = round % 3 == 0;
		columns[1].relatable = !columns[1].is_float;
		(void) column_new(PX_FORM_FIXED, round % 3 == 1 ? 16 : 8);
		columns[2].relatable = columns[2].width == 8;
		for (int i = 0; i < 100; i++)
		{
			char		text[40];
			uint8_t		opaque[16] = {0};
			uint64_t	number = unit_random() % 1000;

			snprintf(text, sizeof(text), "row %04d of %s", (int) number,
					 round % 5   ? "all"
						 : i % 2 ? "some"
								 : "few");
			add_string(&columns[0], text);
			if (columns[1].is_float)
				add_float(&columns[1], (double) number / 100);
			else
				px_column_append_u64(&columns[1], number * 3600);
			px_store_u64(opaque, number * 3600 + (uint64_t) i % 2);
			px_column_append_fixed(&columns[2], opaque);
		}
		for (int batch = 0; batch < 3; batch++)
		{
			write_batch(encodings, (uint8_t) (unit_random() % PX_CODEC_COUNT));
			for (uint16_t c = 0; c < ncolumns; c++)
			{
				CHECK(encodings >> states[c].encoding & 1);
				if ((encodings & PX_ENCODINGS_INTS) != PX_ENCODINGS_INTS)
					CHECK_EQ(states[c].encoding, PX_ENC_PLAIN);
			}
			CHECK_EQ(read_body(true), PX_OK);
		}
	}
}

/* Anything, in any order, with the plans of other batches: always the same. */
static void
random_batches_round_trip(void)
{
	ncolumns = 0;
	(void) column_new(PX_FORM_BYTES, 0);
	(void) column_new(PX_FORM_FIXED, 8);
	(void) column_new(PX_FORM_FIXED, 8);
	columns[1].relatable = columns[2].relatable = true;
	for (int batch = 0; batch < 3000; batch++)
	{
		uint32_t	rows = 1 + (uint32_t) (unit_random() % 300);
		int			strings = (int) (unit_random() % 5);
		int			nulls = (int) (unit_random() % 4);
		uint64_t	limit = UINT64_MAX >> unit_random() % 64;
		uint64_t	factor = 1 + unit_random() % 1000 * (unit_random() % 2);
		uint64_t	last = unit_random();

		for (uint16_t c = 0; c < ncolumns; c++)
			px_column_reset(&columns[c]);
		for (uint32_t row = 0; row < rows; row++)
		{
			char		text[300];
			size_t n = strings == 4 ? unit_random() % 300 : unit_random() % 20;

			memset(text, 'x', sizeof(text));
			switch (strings)
			{
				case 0:
					n = (size_t) snprintf(
						text, sizeof(text), "item %07u",
						(unsigned) (unit_random() % 10000000));
					break;
				case 1:
					n = (size_t) snprintf(text, sizeof(text), "kind %u",
										  (unsigned) (unit_random() % 12));
					break;
				case 2:
					unit_random_bytes((uint8_t *) text, n);
					break;
				default:
					break;
			}
			if (nulls == 1 && unit_random() % 3 == 0)
				px_column_append_null(&columns[0]);
			else
				px_column_append_bytes(&columns[0], text, n);
			if (unit_random() % 3)
				last += unit_random() % limit * factor;
			px_column_append_u64(&columns[1], last);
			if (nulls == 2 && unit_random() % 3 == 0)
				px_column_append_null(&columns[2]);
			else
				px_column_append_u64(&columns[2], last + unit_random() % 10);
		}
		write_batch(PX_ENCODINGS_ALL,
					(uint8_t) (batch / 100 % PX_CODEC_COUNT));
		CHECK_EQ(read_body(true), PX_OK);
	}
}

int
main(void)
{
	body = unit_alloc(2 * VALUES_CAP);
	for (int c = 0; c < COLUMNS_MAX; c++)
		unit_column_alloc(&columns[c], ROWS_MAX, VALUES_CAP);

	RUN(strings_of_every_length_round_trip);
	RUN(one_large_value_is_compressed);
	RUN(text_is_split_from_its_lengths);
	RUN(any_number_of_strings_stays_within_the_raw_size);
	RUN(few_strings_beside_integers_are_compressed);
	RUN(few_strings_are_compressed_as_they_are);
	RUN(few_values_make_a_dictionary);
	RUN(clustered_strings_have_runs_of_codes);
	RUN(digits_make_a_template);
	RUN(templates_have_limits);
	RUN(values_that_break_the_plan_round_trip);
	RUN(columns_may_change_their_form);
	RUN(padded_values_round_trip);
	RUN(malformed_lengths_are_refused);
	RUN(padding_leaves_room_for_the_header);
	RUN(malformed_dictionaries_are_refused);
	RUN(decimal_floats_round_trip);
	RUN(other_floats_round_trip);
	RUN(uuids_round_trip);
	RUN(malformed_decimals_are_refused);
	RUN(decimals_of_unsigned_integers_are_refused);
	RUN(related_columns_round_trip);
	RUN(malformed_relations_are_refused);
	RUN(arrays_round_trip);
	RUN(malformed_arrays_are_refused);
	RUN(random_bytes_make_the_codec_pause);
	RUN(encodings_that_the_reader_does_not_know_are_not_used);
	RUN(random_batches_round_trip);

	for (int c = 0; c < COLUMNS_MAX; c++)
		unit_column_free(&columns[c]);
	free(body);

	return unit_done();
}
