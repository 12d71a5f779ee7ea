/*-------------------------------------------------------------------------
 *
 * fuzz_roundtrip.c
 *		Random batches: what is encoded and then decoded is equal.
 *
 * The input describes a stream: options, columns, and for each of a few
 * batches how many rows it has and what its values are like.  The choices of
 * one batch are kept for the next one, as a sender keeps them, so a plan meets
 * values that it was not made for.  Of the values the input only gives the
 * pattern and the seed: chance does the rest.
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include <stdio.h>
#include <stdlib.h>

#include "column/fixed/patched.h"
#include "column/strings/toasted.h"
#include "column/verify.h"
#include "common/pg_lzcompress.h"
#include "fuzz.h"

#define COLUMNS_MAX		6
#define BATCHES_MAX		4
#define ROWS_MAX		600
#define VALUE_NBYTES_MAX	400

/*
 * What is taken to verify a batch: for a column its values, and two buffers.
 */
#define PIECES_MAX		(3 * COLUMNS_MAX + 3)

typedef enum kind
{
	KIND_INTS, KIND_FLOATS, KIND_OPAQUE, KIND_BYTES, KIND_PADDED, KIND_NUMERIC,
	KIND_ARRAY, KIND_TOASTED, KIND_COUNT
} kind;

/* A column, and a copy of what was appended to it. */
typedef struct stream_column
{
	kind		kind;
	px_column	column;
	px_column	sent;
	px_column_state state;
	uint32_t   *toasts;			/* [ROWS_MAX] */

	/* Of the batch: pattern and its parameters. */
	uint8_t		pattern;
	uint8_t		nulls;			/* of 16 rows; 0 none, > 15 all */
	uint8_t		a;
	uint8_t		b;
	uint64_t	last;			/* number made before */

	bool	   *is_null;		/* [ROWS_MAX] */
	uint8_t    *expected;		/* the values, one behind the other */
	size_t		expected_nbytes;
	uint32_t   *lengths;		/* [ROWS_MAX] of these */
} stream_column;

static stream_column columns[COLUMNS_MAX];
static uint64_t random_state;

static uint64_t
next_random(void)
{
	uint64_t	z = (random_state += UINT64_C(0x9e3779b97f4a7c15));

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

/* ---------------------------------------------------------------------
 * Values
 * --------------------------------------------------------------------- */

/* The next integer of a column, of which the low bytes count. */
static uint64_t
next_int(stream_column *c, uint32_t row)
{
	uint64_t	base = UINT64_C(1) << (c->a & 63);

	switch (c->pattern % 10)
	{
		case 0:					/* constant */
			return base;
		case 1:					/* few bits above a base */
			return base + (next_random() >> (64 - (c->b % 63 + 1)));
		case 2:					/* steps */
			return c->last += c->b + 1;
		case 3:					/* steps of random size, up and down */
			return c->last += next_random() % (c->b + 1u) - c->b / 2;
		case 4:					/* runs */
			if (row % (c->b % 50 + 1u) == 0)
				c->last = next_random() % base;
			return c->last;
		case 5:					/* multiples */
			return c->a + (c->b + 2u) * (next_random() % 1000);
		case 6:					/* extremes */
			switch (next_random() % 4)
			{
				case 0:
					return (uint64_t) INT64_MIN >> (c->b % 64);
				case 1:
					return (uint64_t) INT64_MAX >> (c->b % 64);
				case 2:
					return UINT64_MAX;
				default:
					return 0;
			}
		case 7:					/* a few wide ones among narrow ones */
			return next_random() % (c->b + 20u) == 0 ? next_random()
													 : next_random() & 7;
		case 8:					/* the first column's, and something */
			return row * UINT64_C(3600000000) + next_random() % (c->b + 1u);
		default:
			return next_random();
	}
}

static uint64_t
next_float(stream_column *c, uint32_t row, uint8_t width)
{
	double		value;
	float		narrow;
	uint64_t	bits;
	uint32_t	narrow_bits;

	switch (c->pattern % 6)
	{
		case 0:
			value = (double) (next_random() % 100000) / 100;
			break;
		case 1:
			value = row * 0.125 * c->a;
			break;
		case 2:
			value = (double) next_random() / 3;
			break;
		case 3:					/* decimals, and what is none */
			if (next_random() % (c->b + 2u) == 0)
				return next_random();
			value = -(double) (next_random() % 1000) / 10;
			break;
		case 4:
			value = next_random() % 2 ? -0.0 : 0.0;
			break;
		default:
			return next_random();
	}
	if (width == 4)
	{
		narrow = (float) value;
		memcpy(&narrow_bits, &narrow, sizeof(narrow_bits));
		return narrow_bits;
	}
	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

/* The next string, of up to VALUE_NBYTES_MAX bytes; returns its length. */
static size_t
next_string(stream_column *c, uint32_t row, uint8_t *out)
{
	size_t		n;

	switch (c->pattern % 9)
	{
		case 0:					/* constant, of any length */
			n = (c->a * 2u) % (VALUE_NBYTES_MAX + 1);
			memset(out, 'k', n);
			return n;
		case 1:					/* few distinct ones */
			n = next_random() % (c->b % 16 + 1u) * (c->a % 40);
			n = Min(n, VALUE_NBYTES_MAX);
			memset(out, (int) ('a' + n % 26), n);
			return n;
		case 2:					/* digits in a frame */
			return (size_t) snprintf((char *) out, VALUE_NBYTES_MAX,
									 "Customer#%09u",
									 (unsigned) next_int(c, row));
		case 3:
			return (size_t) snprintf((char *) out, VALUE_NBYTES_MAX,
									 "%02u-%03u-%03u", c->a % 90 + 10u,
									 (unsigned) (next_random() % 1000),
									 (unsigned) (next_random() % 1000));
		case 4:					/* text */
			n = next_random() % (c->b + 1u);
			for (size_t i = 0; i < n; i++)
				out[i] =
					(uint8_t) ("etaoin shrdlu\xc3\xbc")[next_random() % 15];
			return n;
		case 5:					/* bytes */
			n = next_random() % (c->b + 1u);
			for (size_t i = 0; i < n; i++)
				out[i] = (uint8_t) next_random();
			return n;
		case 6:					/* about where the header gets longer */
			n = PX_PACKED_SHORT_MAX - 2 + next_random() % 5;
			memset(out, 'x', n);
			out[next_random() % n] = (uint8_t) next_random();
			return n;
		case 7:
			return 0;
		default:				/* a frame that does not hold in some rows */
			if (next_random() % (c->b + 2u) == 0)
				return (size_t) snprintf((char *) out, VALUE_NBYTES_MAX,
										 "code x%u", row);
			return (size_t) snprintf((char *) out, VALUE_NBYTES_MAX,
									 "code %04u",
									 (unsigned) (next_random() % 10000));
	}
}

/* Remember what was appended. */
static void
expect(stream_column *c, uint32_t value, const void *bytes, size_t n)
{
	memcpy(c->expected + c->expected_nbytes, bytes, n);
	c->expected_nbytes += n;
	c->lengths[value] = (uint32_t) n;
}

static void
append_number(stream_column *c, uint64_t number)
{
	px_column  *column = &c->column;
	uint32_t	value = column->nvalues;

	px_column_append_u64(column, number);
	expect(c, value, column->values + column->values_nbytes - column->width,
		   column->width);
}

/* A char(n): blanks up to a length, which some values may not have. */
static void
append_padded(stream_column *c, uint32_t row)
{
	uint8_t		text[2 * VALUE_NBYTES_MAX];
	px_column  *column = &c->column;
	uint32_t	value = column->nvalues;
	size_t		n = next_string(c, row, text);
	size_t		pad = c->a % 150 + 1u;

	if (n > pad && c->b % 2)
		n = pad;
	while (n < pad)
		text[n++] = ' ';
	expect(c, value, text, n);
	if (column->pad > 0 || value == 0)
	{
		if (px_column_append_padded(column, (const char *) text, n))
			return;
		px_column_unpad(column);
	}
	px_column_append_bytes(column, text, n);
}

/* A scaled integer, or, as long as there may be more of them, an exception. */
static void
append_numeric(stream_column *c, uint32_t row, uint32_t exceptions_max)
{
	px_column  *column = &c->column;
	uint8_t		text[VALUE_NBYTES_MAX];

	if (c->sent.nvalues < exceptions_max && next_random() % (c->b + 1u) == 0)
	{
		size_t		n = next_random() % 20 + 8;

		for (size_t i = 0; i < n; i++)
			text[i] = (uint8_t) next_random();
		column->positions[c->sent.nvalues] = column->nvalues;
		px_column_append_bytes(&c->sent, text, n);
		expect(c, column->nvalues, text, n);
		px_column_append_u64(column, 0);
		return;
	}
	append_number(c, next_int(c, row));
}

static void
append_array(stream_column *c, uint32_t row)
{
	px_column  *column = &c->column;
	uint32_t	value = column->nvalues;
	uint32_t	nelements = (uint32_t) (next_random() % (c->b % 20 + 1u));
	uint8_t		text[VALUE_NBYTES_MAX];
	size_t		n;

	if (next_random() % (c->a % 8 + 1u) == 0)
	{
		n = next_string(c, row, text);
		expect(c, value, text, n);
		px_column_append_bytes(&c->sent, text, n);
		column->lengths[value] = 0;
		px_column_mark_value(column);
		return;
	}
	n = column->values_nbytes;
	for (uint32_t i = 0; i < nelements; i++)
	{
		uint8_t		bytes[8];

		px_store_u64(bytes, next_int(c, row));
		memcpy(column->values + column->values_nbytes, bytes, column->width);
		column->values_nbytes += column->width;
	}
	expect(c, value, column->values + n, column->values_nbytes - n);
	column->lengths[value] = nelements + 1;
	px_column_mark_value(column);
}

/* A string, perhaps as TOAST would have compressed it. */
static void
append_toasted(stream_column *c, uint32_t row)
{
	px_column  *column = &c->column;
	uint8_t		text[VALUE_NBYTES_MAX];
	uint8_t		packed[PGLZ_MAX_OUTPUT(VALUE_NBYTES_MAX)];
	size_t		n = next_string(c, row, text);
	uint32_t	method = c->b % 2 ? PX_TOAST_LZ4 : PX_TOAST_PGLZ;
	size_t		packed_nbytes = SIZE_MAX;

	expect(c, column->nvalues, text, n);
	if (n > PX_TOAST_SAVING_MIN && method == PX_TOAST_LZ4)
		(void) px_codec_lz4.compress(fuzz_codec_context(), 0, text, n, packed,
									 n, &packed_nbytes);
	else if (n > PX_TOAST_SAVING_MIN)
		packed_nbytes = (size_t) pglz_compress((const char *) text, (int32) n,
											   (char *) packed,
											   PGLZ_strategy_always);
	if (packed_nbytes <= n && packed_nbytes + PX_TOAST_SAVING_MIN <= n)
	{
		column->positions[column->ntoasts] = column->nvalues;
		column->toasts[column->ntoasts++] = (uint32_t) n | method << 30;
		px_column_append_bytes(column, packed, packed_nbytes);
	}
	else
		px_column_append_bytes(column, text, n);
}

static void
append_row(stream_column *c, uint32_t row, uint32_t nvalues)
{
	px_column  *column = &c->column;
	uint8_t		bytes[VALUE_NBYTES_MAX];
	size_t		n;

	if (c->is_null[row])
	{
		px_column_append_null(column);
		return;
	}
	switch (c->kind)
	{
		case KIND_INTS:
			append_number(c, next_int(c, row));
			break;
		case KIND_FLOATS:
			append_number(c, next_float(c, row, column->width));
			break;
		case KIND_OPAQUE:
			memset(bytes, 0, 16);
			px_store_u64(bytes, next_int(c, row));
			bytes[15] = (uint8_t) (c->pattern % 3 == 0 ? next_random() : 0);
			expect(c, column->nvalues, bytes, column->width);
			px_column_append_fixed(column, bytes);
			break;
		case KIND_BYTES:
			n = next_string(c, row, bytes);
			expect(c, column->nvalues, bytes, n);
			px_column_append_bytes(column, bytes, n);
			break;
		case KIND_PADDED:
			append_padded(c, row);
			break;
		case KIND_NUMERIC:
			append_numeric(c, row, PX_PATCHES_MAX(nvalues));
			break;
		case KIND_TOASTED:
			append_toasted(c, row);
			break;
		default:
			append_array(c, row);
			break;
	}
}

/* ---------------------------------------------------------------------
 * Columns
 * --------------------------------------------------------------------- */

/* Buffers for the largest batch that there can be. */
static void
allocate(stream_column *c)
{
	size_t values_nbytes = ROWS_MAX * (2 * VALUE_NBYTES_MAX) + PX_APPEND_SLACK;

	if (c->is_null)
		return;
	c->is_null = calloc(ROWS_MAX, sizeof(bool));
	c->expected = calloc(1, values_nbytes);
	c->lengths = calloc(ROWS_MAX, sizeof(uint32_t));
	c->column.values = calloc(1, values_nbytes);
	c->column.nulls = calloc(1, PX_BITMAP_NBYTES(ROWS_MAX));
	c->column.lengths = calloc(ROWS_MAX, sizeof(uint32_t));
	c->column.positions = calloc(ROWS_MAX, sizeof(uint32_t));
	c->toasts = calloc(ROWS_MAX, sizeof(uint32_t));
	c->sent.form = PX_FORM_BYTES;
	c->sent.values = calloc(1, values_nbytes);
	c->sent.lengths = calloc(ROWS_MAX, sizeof(uint32_t));
	c->sent.nulls = calloc(1, PX_BITMAP_NBYTES(ROWS_MAX));
	FUZZ_REQUIRE(c->is_null && c->expected && c->toasts && c->lengths &&
				 c->column.values && c->column.nulls && c->column.lengths &&
				 c->column.positions && c->sent.values && c->sent.lengths &&
				 c->sent.nulls);
}

static void
begin_column(stream_column *c, fuzz_input *input)
{
	static const uint8_t opaque_widths[] = {6, 12, 16};
	uint8_t		byte = fuzz_take(input);
	px_column  *column = &c->column;

	allocate(c);
	memset(&c->state, 0, sizeof(c->state));
	c->kind = byte % KIND_COUNT;
	byte /= KIND_COUNT;
	column->form = PX_FORM_FIXED;
	column->width = (uint8_t) (1 << byte % 4);
	column->is_signed = byte / 4 % 2;
	column->is_float = column->relatable = false;
	column->scale = 0;
	column->sent = NULL;
	column->toasts = c->toasts;
	switch (c->kind)
	{
		case KIND_INTS:
			column->relatable = true;
			break;
		case KIND_FLOATS:
			column->width = byte % 2 ? 4 : 8;
			column->is_signed = column->is_float = true;
			break;
		case KIND_OPAQUE:
			column->width = opaque_widths[byte % 3];
			column->is_signed = false;
			break;
		case KIND_NUMERIC:
			column->width = 8;
			column->is_signed = true;
			column->scale = byte % 19;
			column->sent = &c->sent;
			break;
		case KIND_ARRAY:
			column->form = PX_FORM_ARRAY;
			column->sent = &c->sent;
			break;
		default:
			column->form = PX_FORM_BYTES;
			column->width = 0;
			break;
	}
}

static void
fill_column(stream_column *c, uint32_t rows, fuzz_input *input)
{
	uint32_t	nvalues = 0;

	c->pattern = fuzz_take(input);
	c->nulls = fuzz_take(input) % 20;
	c->a = fuzz_take(input);
	c->b = fuzz_take(input);
	c->last = 0;
	c->expected_nbytes = 0;
	px_column_reset(&c->column);
	px_column_reset(&c->sent);
	for (uint32_t row = 0; row < rows; row++)
	{
		c->is_null[row] = next_random() % 16 < c->nulls;
		nvalues += !c->is_null[row];
	}
	for (uint32_t row = 0; row < rows; row++)
		append_row(c, row, nvalues);
}

/* ---------------------------------------------------------------------
 * Comparing
 * --------------------------------------------------------------------- */

/* Number and packed value that a row has, whichever applies. */
static void
check_value(const stream_column *c, uint32_t value, size_t at,
			const int64_t *number, const uint8_t *packed)
{
	const uint8_t *expected = c->expected + at;
	uint32_t	nbytes = c->lengths[value];

	if (packed)
	{
		FUZZ_REQUIRE(px_packed_nbytes(packed) == nbytes);
		FUZZ_REQUIRE(memcmp(px_packed_data(packed), expected, nbytes) == 0);
	}
	else
	{
		uint8_t		bytes[8];

		px_store_u64(bytes, (uint64_t) *number);
		FUZZ_REQUIRE(memcmp(bytes, expected, nbytes) == 0);
		for (size_t i = nbytes; i < 8; i++)
			FUZZ_REQUIRE(bytes[i] ==
						 (c->column.is_signed && expected[nbytes - 1] & 0x80
							  ? 0xff
							  : 0));
	}
}

static void
check_numbers(const stream_column *c, uint32_t rows, const int64_t *numbers,
			  const px_patches *patches)
{
	size_t		at = 0;
	uint32_t	value = 0;
	uint32_t	patch = 0;

	for (uint32_t row = 0; row < rows; row++)
	{
		if (c->is_null[row])
		{
			FUZZ_REQUIRE(numbers[row] == 0);
			continue;
		}
		if (patches && patch < patches->n && patches->rows[patch] == row)
			check_value(c, value, at, NULL, patches->sent[patch++]);
		else
			check_value(c, value, at, &numbers[row], NULL);
		at += c->lengths[value++];
	}
	FUZZ_REQUIRE(patch == (patches ? patches->n : 0));
}

static void
check_pointers(const stream_column *c, uint32_t rows,
			   const uint8_t *const *values)
{
	size_t		at = 0;
	uint32_t	value = 0;

	for (uint32_t row = 0; row < rows; row++)
	{
		FUZZ_REQUIRE((values[row] == NULL) == c->is_null[row]);
		if (values[row] == NULL)
			continue;
		if (c->column.form == PX_FORM_BYTES)
			check_value(c, value, at, NULL, values[row]);
		else
			FUZZ_REQUIRE(
				memcmp(values[row], c->expected + at, c->column.width) == 0);
		at += c->lengths[value++];
	}
}

static void
check_arrays(const stream_column *c, const px_chunk *chunk,
			 const px_arrays *arrays)
{
	int64_t	   *elements = (int64_t *) fuzz_guarded(
		SLOT_ELEMENTS, arrays->nelements * sizeof(int64_t));
	uint8_t		width = c->column.width;
	size_t		at = 0;
	uint32_t	nsent = 0;

	FUZZ_REQUIRE(px_chunk_decode_elements(arrays, c->column.is_signed,
										  elements, NULL) == PX_OK);
	for (uint32_t value = 0; value < chunk->nvalues; value++)
	{
		uint32_t	nbytes = c->lengths[value];

		if (arrays->counts[value] == 0)
			check_value(c, value, at, NULL, arrays->sent[nsent++]);
		else
		{
			FUZZ_REQUIRE((arrays->counts[value] - 1) * width == nbytes);
			for (uint32_t i = 0; i < nbytes; i += width)
			{
				uint8_t		bytes[8];

				px_store_u64(bytes, (uint64_t) *elements++);
				FUZZ_REQUIRE(memcmp(bytes, c->expected + at + i, width) == 0);
			}
		}
		at += nbytes;
	}
}

/*
 * Decode a column and compare; writes its integers to numbers, if it has any.
 */
static void
check_column(const stream_column *c, const px_chunk *chunk,
			 const int64_t *const *references, uint16_t index,
			 int64_t *numbers)
{
	px_decode_room room = {NULL, NULL, references, index};
	const uint8_t **values = (const uint8_t **) fuzz_guarded(
		SLOT_VALUES, chunk->rows * sizeof(*values));
	const uint8_t *encoded;
	size_t		needed;
	px_patches	patches;
	px_arrays	arrays;

	FUZZ_REQUIRE(chunk->form == c->column.form &&
				 chunk->width == c->column.width &&
				 chunk->scale == c->column.scale);
	FUZZ_REQUIRE(
		px_chunk_unpack(chunk, fuzz_codec_context(),
						fuzz_guarded(SLOT_UNPACKED, chunk->encoded_nbytes),
						&encoded, NULL) == PX_OK);
	room.scratch = (int64_t *) fuzz_guarded(
		SLOT_SCRATCH, PX_DECODE_SCRATCH_WORDS(chunk->rows) * sizeof(int64_t));
	switch (c->kind)
	{
		case KIND_INTS:
		case KIND_FLOATS:
			FUZZ_REQUIRE(px_chunk_decode_ints(chunk, encoded,
											  c->column.is_signed, &room,
											  numbers, NULL) == PX_OK);
			check_numbers(c, chunk->rows, numbers, NULL);
			break;
		case KIND_NUMERIC:
			FUZZ_REQUIRE(px_chunk_decode_patched(chunk, encoded, &room,
												 numbers, &patches,
												 NULL) == PX_OK);
			check_numbers(c, chunk->rows, numbers, &patches);
			break;
		case KIND_ARRAY:
			if (chunk->nvalues == 0)
				break;
			FUZZ_REQUIRE(px_chunk_decode_arrays(chunk, encoded, &room, &arrays,
												NULL) == PX_OK);
			check_arrays(c, chunk, &arrays);
			break;
		default:
			FUZZ_REQUIRE(px_chunk_buffer_nbytes(chunk, encoded, &needed,
												NULL) == PX_OK);
			room.buffer = fuzz_guarded(SLOT_BUFFER, PX_ALIGN(needed));
			FUZZ_REQUIRE(px_chunk_decode_pointers(chunk, encoded, &room,
												  values, NULL) == PX_OK);
			check_pointers(c, chunk->rows, values);
			break;
	}
}

/* ---------------------------------------------------------------------
 * Streams
 * --------------------------------------------------------------------- */

static void
check_batch(const uint8_t *body, const px_frame_header *header)
{
	static int64_t numbers[COLUMNS_MAX][ROWS_MAX];
	const px_batch_limits limits = {header->rows, PX_RAW_RATIO_MAX};
	const int64_t *references[COLUMNS_MAX] = {NULL};
	px_chunk	chunks[COLUMNS_MAX];

	FUZZ_REQUIRE(px_batch_verify(body, header, &limits, chunks, NULL) ==
				 PX_OK);
	for (uint16_t i = 0; i < header->columns; i++)
	{
		check_column(&columns[i], &chunks[i], references, i, numbers[i]);
		if (columns[i].kind == KIND_INTS &&
			chunks[i].null_layout == PX_NULLS_NONE)
			references[i] = numbers[i];
	}
}

/* Pieces of memory for px_verify_written, kept for the next batch. */
static struct
{
	uint8_t    *data;
	size_t		nbytes;
}			pieces[PIECES_MAX];
static int	npieces;

static uint8_t *
take_piece(void *arg, size_t nbytes)
{
	int			i = npieces++;

	(void) arg;
	FUZZ_REQUIRE(i < PIECES_MAX);
	if (pieces[i].nbytes != nbytes)
	{
		free(pieces[i].data);
		pieces[i].data = malloc(nbytes);
		pieces[i].nbytes = nbytes;
		FUZZ_REQUIRE(pieces[i].data != NULL);
	}
	return pieces[i].data;
}

/* Is a batch within everything that a receiver limits? */
static void
verify_batch(const uint8_t *body, const px_frame_header *header,
			 const px_column *batch)
{
	const px_batch_limits limits = {header->rows, PX_RAW_RATIO_MAX};
	const px_verify_memory memory = {take_piece, NULL};
	px_fault	fault;

	npieces = 0;
	if (px_verify_written(body, header, &limits, batch, fuzz_codec_context(),
						  &memory, &fault) != PX_OK)
		fuzz_fail(fault.what, __FILE__, __LINE__);
}

/* Encode what is in the columns to exactly the room that it may take. */
static void
write_and_check(uint16_t ncolumns, uint32_t rows,
				const px_encode_options *options)
{
	px_column	batch[COLUMNS_MAX];
	px_column_state states[COLUMNS_MAX];
	px_frame_header header = {.version = PX_PROTOCOL_MAX,
							  .kind = PX_FRAME_BATCH};
	px_writer	out = {0};
	uint8_t    *frame;
	px_frame_header again;

	out.cap = PX_FRAME_HEADER_NBYTES;
	for (uint16_t i = 0; i < ncolumns; i++)
	{
		batch[i] = columns[i].column;
		states[i] = columns[i].state;
		out.cap += px_column_plain_nbytes(&batch[i]);
	}
	out.data = fuzz_guarded(SLOT_FRAME, out.cap);
	out.pos = PX_FRAME_HEADER_NBYTES;
	FUZZ_REQUIRE(px_batch_write(&out, batch, ncolumns, options, states) ==
				 PX_OK);
	for (uint16_t i = 0; i < ncolumns; i++)
		columns[i].state = states[i];

	header.rows = rows;
	header.columns = ncolumns;
	header.raw_nbytes = out.cap - PX_FRAME_HEADER_NBYTES;
	header.body_nbytes = (uint32_t) (out.pos - PX_FRAME_HEADER_NBYTES);
	px_frame_finish(out.data, &header);
	frame = fuzz_guarded_copy(SLOT_INPUT, out.data, out.pos);
	FUZZ_REQUIRE(px_frame_peek(frame, out.pos, &again, NULL) == PX_OK);
	FUZZ_REQUIRE(px_frame_verify(frame, &again, NULL) == PX_OK);
	verify_batch(frame + PX_FRAME_HEADER_NBYTES, &again, batch);
	check_batch(frame + PX_FRAME_HEADER_NBYTES, &again);
}

/* What mode auto may choose for a batch, whatever it has chosen before. */
static void
choose(px_encode_options *options, uint32_t encodings)
{
	px_choice	choice = next_random() % PX_CHOICE_COUNT;

	options->encodings = choice == PX_CHOICE_PLAIN ? PX_ENCODINGS_PLAIN
												   : encodings;
	options->codec = choice == PX_CHOICE_ZSTD ? PX_CODEC_ZSTD :
		choice == PX_CHOICE_LZ4 ? PX_CODEC_LZ4 : PX_CODEC_NONE;
	options->codec_on_ints = choice == PX_CHOICE_ZSTD;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_input	input = {data, size};
	uint8_t		byte = fuzz_take(&input);
	uint16_t	ncolumns = byte % COLUMNS_MAX + 1;
	int			nbatches = byte / COLUMNS_MAX % BATCHES_MAX + 1;
	px_encode_options options = {.context = fuzz_codec_context()};
	uint32_t	encodings;
	bool		adaptive;

	byte = fuzz_take(&input);
	options.codec = byte % PX_CODEC_COUNT;
	options.codec_on_ints = byte / 4 % 2;
	options.encodings = byte / 8 % 8 == 0 ? 1 : PX_ENCODINGS_ALL;
	if (byte / 64 % 4 == 1)		/* a reader that knows fewer */
		options.encodings &= PX_ENCODINGS_INTS | fuzz_take_u16(&input);
	adaptive = byte / 64 % 4 > 1;
	encodings = options.encodings;
	random_state = fuzz_take_u16(&input);
	for (uint16_t i = 0; i < ncolumns; i++)
		begin_column(&columns[i], &input);

	for (int batch = 0; batch < nbatches; batch++)
	{
		uint32_t	rows = fuzz_take_u16(&input) % ROWS_MAX + 1;

		if (adaptive)
			choose(&options, encodings);
		for (uint16_t i = 0; i < ncolumns; i++)
			fill_column(&columns[i], rows, &input);
		options.scratch = fuzz_guarded(
			SLOT_ENCODE_SCRATCH, PX_ALIGN(px_encode_scratch_nbytes(rows)));
		write_and_check(ncolumns, rows, &options);
	}
	return 0;
}
