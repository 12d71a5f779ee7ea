/*-------------------------------------------------------------------------
 *
 * test_column.c
 *		Tests of filling columns and of the decoders of packed values.
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include <stdlib.h>

#include "column/encoding.h"
#include "column/ints/load.h"
#include "column/packed.h"
#include "unit.h"

#define LONG_NBYTES		1048576

/* Decode n packed values from a copy that ends at a guard page. */
static px_status
decode_packed(const uint8_t *encoded, size_t nbytes, uint32_t n,
			  px_fault *fault)
{
	unit_guarded g = unit_guarded_copy(encoded, nbytes);
	const uint8_t **out = unit_alloc(n * sizeof(*out));
	px_status	status;

	status = px_packed_values_read(g.data, nbytes, n, out, fault);
	for (uint32_t i = 0; status == PX_OK && i < n; i++)
	{
		const uint8_t *data = px_packed_data(out[i]);

		CHECK(out[i] >= g.data);
		CHECK(px_packed_nbytes(out[i]) <= (size_t) (g.data + nbytes - data));
	}
	free(out);
	unit_guarded_free(&g);

	return status;
}

static void
nulls_are_written_lazily(void)
{
	for (uint32_t rows = 1; rows <= 40; rows++)
	{
		for (uint32_t first = 0; first < rows; first++)
		{
			unit_guarded nulls = unit_guarded_new(PX_BITMAP_NBYTES(rows));
			uint8_t		values[40];
			px_column	column = {
				.width = 1, .values = values, .nulls = nulls.data};

			/* nulls at first, first + 3, ... on top of an older batch */
			memset(nulls.data, 0xff, nulls.nbytes);
			for (uint32_t row = 0; row < rows; row++)
			{
				if (row >= first && (row - first) % 3 == 0)
					px_column_append_null(&column);
				else
					px_column_append_u64(&column, row);
			}

			CHECK_EQ(px_column_rows(&column), rows);
			CHECK_EQ(column.nnulls, (rows - first + 2) / 3);
			for (uint32_t row = 0; row < nulls.nbytes * 8; row++)
				CHECK_EQ((nulls.data[row / 8] >> row % 8) & 1,
						 row < rows && row >= first && (row - first) % 3 == 0);
			unit_guarded_free(&nulls);
		}
	}
}

static void
columns_without_nulls_never_touch_the_bitmap(void)
{
	uint8_t		values[100];
	px_column	column = {.width = 1, .values = values, .nulls = NULL};

	for (int i = 0; i < 100; i++)
		px_column_append_u64(&column, 1);
	CHECK_EQ(column.nvalues, 100);
	CHECK_EQ(column.nnulls, 0);
}

static void
reset_forgets_values_and_nulls(void)
{
	uint8_t		values[8];
	uint8_t		nulls[1];
	px_column	column = {
		.width = 4, .is_signed = true, .values = values, .nulls = nulls};

	px_column_append_u64(&column, 1);
	px_column_append_null(&column);
	px_column_reset(&column);
	CHECK_EQ(px_column_rows(&column), 0);
	CHECK_EQ(column.values_nbytes, 0);
	CHECK_EQ(column.width, 4);
	CHECK(column.is_signed);
	CHECK(column.values == values);
}

static void
fixed_values_are_little_endian(void)
{
	static const uint8_t expected[] = {0x08, 0x07, 0x06, 0x05,
									   0x04, 0x03, 0x02, 0x01};

	for (uint8_t width = 1; width <= 8; width *= 2)
	{
		uint8_t		values[16];
		px_column	column = {.width = width, .values = values};

		px_column_append_u64(&column, UINT64_C(0x0102030405060708));
		px_column_append_fixed(&column, expected);
		CHECK_EQ(column.values_nbytes, 2 * width);
		CHECK_MEM(values, expected, width);
		CHECK_MEM(values + width, expected, width);
	}
}

/* n packed values of these sizes, all from text; returns where they end. */
static size_t
pack(uint8_t *out, const uint8_t *text, const size_t *sizes, uint32_t n)
{
	size_t		pos = 0;

	for (uint32_t i = 0; i < n; i++)
	{
		size_t		expected = px_packed_end(pos, sizes[i]);

		pos = px_packed_put(out, pos, text, sizes[i], 0);
		CHECK_EQ(pos, expected);
	}

	return pos;
}

static void
packed_values_have_the_documented_layout(void)
{
	uint8_t		values[512] = {0};
	uint8_t		text[127];
	size_t		pos = 0;

	memset(text, 'x', sizeof(text));
	pos = px_packed_put(values, pos, text, 0, 0);
	pos = px_packed_put(values, pos, (const uint8_t *) "ab", 2, 0);
	pos = px_packed_put(values, pos, text, 126, 100);
	CHECK_EQ(pos, 1 + 3 + 127);
	pos = px_packed_put(values, pos, text, 126, 127);

	CHECK_EQ(values[0], 3);
	CHECK_EQ(values[1], 7);
	CHECK_MEM(values + 2, "ab", 2);
	CHECK_EQ(values[4], 255);
	CHECK_MEM(values + 5, text, 126);
	CHECK_EQ(values[131], 0);
	CHECK_EQ(px_load_u32(values + 132), 131 << 2);
	CHECK_MEM(values + 136, text, 126);
	CHECK_EQ(values[136 + 126], ' ');
	CHECK_EQ(pos, 136 + 127);
}

static void
packed_values_of_every_size_round_trip(void)
{
	static const size_t sizes[] = {
		0, 1, 126, 127, 128, 0, 129, 130, 2, 131, 5, 0, 127, 127, 126,
		65535, 3, 65536, LONG_NBYTES, 1, LONG_NBYTES + 1, 0
	};
	uint8_t    *text = unit_alloc(LONG_NBYTES + 1);
	uint8_t    *values = unit_alloc(3 * LONG_NBYTES);
	const uint8_t *out[lengthof(sizes)];
	unit_guarded g;

	unit_random_bytes(text, LONG_NBYTES + 1);
	g = unit_guarded_copy(values, pack(values, text, sizes, lengthof(sizes)));
	CHECK_EQ(px_packed_values_read(g.data, g.nbytes, lengthof(sizes), out,
								   NULL), PX_OK);
	for (size_t i = 0; i < lengthof(sizes); i++)
	{
		CHECK_EQ(px_packed_nbytes(out[i]), sizes[i]);
		CHECK_MEM(px_packed_data(out[i]), text, sizes[i]);
		if (sizes[i] > PX_PACKED_SHORT_MAX)
			CHECK_EQ((out[i] - g.data) % 4, 0);
	}
	unit_guarded_free(&g);
	free(values);
	free(text);
}

/* A column of up to 8 values, with room for 4096 bytes. */
typedef struct small_column
{
	px_column	column;
	uint8_t		values[4096];
	uint32_t	lengths[8];
	uint8_t		nulls[1];
} small_column;

static px_column *
small_column_init(small_column *small)
{
	memset(small, 0, sizeof(*small));
	small->column.form = PX_FORM_BYTES;
	small->column.values = small->values;
	small->column.lengths = small->lengths;
	small->column.nulls = small->nulls;

	return &small->column;
}

static void
appended_bytes_stand_without_headers(void)
{
	small_column small;
	px_column  *column = small_column_init(&small);
	uint8_t		text[200] = {1};

	px_column_append_bytes(column, "abc", 3);
	px_column_append_bytes(column, NULL, 0);
	px_column_append_null(column);
	px_column_append_bytes(column, text, 200);
	CHECK_EQ(column->nvalues, 3);
	CHECK_EQ(column->nnulls, 1);
	CHECK_EQ(column->values_nbytes, 203);
	CHECK_EQ(px_column_values_nbytes(column), 4 + 1 + 3 + 4 + 200);
	CHECK_EQ(small.lengths[0], 3);
	CHECK_EQ(small.lengths[1], 0);
	CHECK_EQ(small.lengths[2], 200);
	CHECK_MEM(small.values, "abc", 3);
	CHECK_MEM(small.values + 3, text, 200);
}

static void
blanks_are_left_out_and_put_back(void)
{
	static const char texts[][40] = {
		"abc         ", "            ", " a          ",
		"abcdefghijkl", "abcdefghijk ",
	};
	static const uint32_t lengths[] = {3, 0, 2, 12, 11};
	small_column small;
	px_column  *column = small_column_init(&small);

	for (size_t i = 0; i < lengthof(texts); i++)
		CHECK(px_column_append_padded(column, texts[i], 12));
	CHECK_EQ(column->pad, 12);
	CHECK_EQ(column->values_nbytes, 3 + 0 + 2 + 12 + 11);
	CHECK_EQ(px_column_values_nbytes(column), 5 * 13);
	for (size_t i = 0; i < lengthof(texts); i++)
		CHECK_EQ(small.lengths[i], lengths[i]);

	CHECK(!px_column_append_padded(column, texts[0], 3));
	CHECK(!px_column_append_padded(column, texts[0], 13));
	CHECK_EQ(column->nvalues, lengthof(texts));
	px_column_unpad(column);
	CHECK_EQ(column->pad, 0);
	CHECK_EQ(column->values_nbytes, 5 * 12);
	CHECK_EQ(px_column_values_nbytes(column), 5 * 13);
	for (size_t i = 0; i < lengthof(texts); i++)
	{
		CHECK_EQ(small.lengths[i], 12);
		CHECK_MEM(small.values + i * 12, texts[i], 12);
	}
	CHECK(!px_column_append_padded(column, texts[0], 12));
	px_column_append_bytes(column, "xy", 2);
	CHECK_MEM(small.values + 60, "xy", 2);
}

static void
packed_values_cut_anywhere_are_refused(void)
{
	static const size_t sizes[] = {0, 3, 127, 126, 200, 1};
	uint8_t		text[200] = {0};
	uint8_t		values[600];
	const uint32_t n = lengthof(sizes);
	size_t		nbytes = pack(values, text, sizes, n);

	for (size_t cut = 0; cut < nbytes; cut++)
		CHECK_EQ(decode_packed(values, cut, n, NULL), PX_TRUNCATED);
	CHECK_EQ(decode_packed(values, nbytes, n, NULL), PX_OK);
	CHECK_EQ(decode_packed(values, nbytes, n - 1, NULL), PX_TRAILING);
	CHECK_EQ(decode_packed(values, nbytes, n + 1, NULL), PX_TRUNCATED);
}

static void
malformed_packed_values_are_refused(void)
{
	static const struct
	{
		const char *name;
		uint8_t		bytes[12];
		size_t		nbytes;		/* 0xff follows bytes */
		uint32_t	n;
		px_status	status;
	} cases[] = {
		{"short of total length 0", {0x01}, 1, 1, PX_BAD_VALUE},
		{"short beyond the end", {0x07, 'a'}, 2, 1, PX_TRUNCATED},
		{"longest short beyond the end", {0xff}, 127, 1, PX_OK},
		{"longest short beyond the end by one", {0xff}, 126, 1, PX_TRUNCATED},
		{"padding, then nothing", {0x03, 0}, 2, 2, PX_TRUNCATED},
		{"padding, then end", {0x03, 0, 0, 0}, 4, 2, PX_TRUNCATED},
		{"padding not zero",
		 {0x03, 0x02, 0, 0, 0x0c, 0x02, 0, 0},
		 200,
		 2,
		 PX_BAD_VALUE},
		{"last padding not zero",
		 {0x03, 0, 0, 0x02, 0x0c, 0x02, 0, 0},
		 200,
		 2,
		 PX_BAD_VALUE},
		{"short in place of padding",
		 {0x03, 0, 0x03, 0},
		 200,
		 2,
		 PX_BAD_VALUE},
		{"short behind padding", {0x03, 0, 0, 0, 0x03}, 200, 2, PX_BAD_VALUE},
		{"half a long header", {0x0c, 0x02, 0}, 3, 1, PX_TRUNCATED},
		{"long, just right", {0x0c, 0x02, 0, 0}, 131, 1, PX_OK},
		{"long with 126 bytes", {0x08, 0x02, 0, 0}, 130, 1, PX_BAD_VALUE},
		{"long of total length 0", {0, 0, 0, 0}, 8, 1, PX_BAD_VALUE},
		{"long with second bit set", {0x0e, 0x02, 0, 0}, 131, 1, PX_BAD_VALUE},
		{"long beyond the end by one",
		 {0x0c, 0x02, 0, 0},
		 130,
		 1,
		 PX_TRUNCATED},
		{"long of 1 GB", {0xfc, 0xff, 0xff, 0xff}, 131, 1, PX_TRUNCATED},
		{"byte behind the last value",
		 {0x0c, 0x02, 0, 0},
		 132,
		 1,
		 PX_TRAILING},
		{"padding behind the last value", {0x03, 0}, 2, 1, PX_TRAILING},
		{"nothing at all", {0}, 0, 1, PX_TRUNCATED},
	};

	for (size_t i = 0; i < lengthof(cases); i++)
	{
		uint8_t		encoded[256];
		px_fault	fault = {0};

		memset(encoded, 0xff, sizeof(encoded));
		memcpy(encoded, cases[i].bytes, sizeof(cases[i].bytes));
		if (!CHECK_EQ(decode_packed(encoded, cases[i].nbytes, cases[i].n,
									&fault), cases[i].status))
			printf("# %s\n", cases[i].name);
		CHECK_EQ(fault.status, cases[i].status);
		CHECK(fault.status == PX_OK || fault.what != NULL);
	}
}

static void
random_packed_values_never_crash(void)
{
	for (int i = 0; i < 20000; i++)
	{
		uint8_t		encoded[300];
		size_t		nbytes = unit_random() % sizeof(encoded);

		for (size_t k = 0; k < nbytes; k++)
			encoded[k] = unit_random() % 3 ? (uint8_t) (unit_random() % 16)
										   : 0;
		(void) decode_packed(encoded, nbytes, 1 + unit_random() % 20, NULL);
	}
}

/* A constant's integers. */
static px_status
read_constant(const uint8_t *encoded, uint32_t n, uint8_t width,
			  bool is_signed, int64_t *out)
{
	px_int_stream stream = {PX_ENC_CONSTANT, width, is_signed, 0, n,
							encoded,         width};

	return px_encoding_constant.read_stream(&stream, NULL, out, NULL);
}

static void
plain_ints_are_extended_by_sign(void)
{
	for (uint8_t width = 1; width <= 8; width *= 2)
	{
		unit_guarded g = unit_guarded_new(2 * width);
		int64_t		out[2];

		memset(g.data, 0xff, width);
		memset(g.data + width, 0, width);
		g.data[2 * width - 1] = 0x80;
		px_ints_load(g.data, 2, width, true, out);
		CHECK_EQ(out[0], -1);
		CHECK_EQ(out[1], (int64_t) (UINT64_MAX << (8 * width - 1)));
		px_ints_load(g.data, 2, width, false, out);
		CHECK_EQ(out[0], UINT64_MAX >> (64 - 8 * width));
		CHECK_EQ(out[1], UINT64_C(1) << (8 * width - 1));
		CHECK_EQ(read_constant(g.data + width, 2, width, true, out), PX_OK);
		CHECK_EQ(out[0], (int64_t) (UINT64_MAX << (8 * width - 1)));
		CHECK_EQ(out[1], out[0]);
		unit_guarded_free(&g);
	}
}

/* Is the column written as a constant?  If so, of the first value alone. */
static bool
is_constant(const px_column *column)
{
	static uint8_t encoded[5008];
	px_encode_input input = {
		.columns = column, .column = column, .pack = true};
	px_encode_plan plan = {.encoding = PX_ENC_CONSTANT};
	px_encoded	result = {.encoding = PX_ENC_CONSTANT};
	px_writer	out = {encoded, sizeof(encoded), 0};
	size_t		nbytes = column->form == PX_FORM_FIXED ? column->width :
	px_packed_end(0, column->lengths[0]);
	px_status	status = px_encoding_constant.write(&out, &input, &plan,
												  &result);

	if (status != PX_OK)
	{
		CHECK_EQ(status, PX_UNSUITABLE);
		return false;
	}
	CHECK_EQ(out.pos + result.tail_nbytes, nbytes);

	return true;
}

static void
constants_are_found_in_bytes(void)
{
	static const size_t sizes[] = {0, 1, 2, 126, 127, 5000};

	for (size_t i = 0; i < lengthof(sizes); i++)
	{
		size_t		nbytes = sizes[i];

		for (uint32_t n = 1; n <= 5; n++)
		{
			unit_guarded g = unit_guarded_new(n * nbytes);
			uint32_t	lengths[5];
			px_column	column = {
				.form = PX_FORM_BYTES, .nvalues = n, .values = g.data,
				.values_nbytes = n * nbytes, .lengths = lengths
			};

			for (uint32_t k = 0; k < n; k++)
				lengths[k] = (uint32_t) nbytes;
			CHECK(is_constant(&column));
			for (size_t k = 0; n > 1 && k < n * nbytes;
				 k += Max(nbytes - 1, 1))
			{
				g.data[k] ^= 1;
				CHECK(!is_constant(&column));
				g.data[k] ^= 1;
			}
			if (n > 1 && nbytes > 0)
			{
				lengths[n - 1]--;
				CHECK(!is_constant(&column));
			}
			unit_guarded_free(&g);
		}
	}
}

static void
constants_are_found_in_fixed_values(void)
{
	static const uint8_t widths[] = {1, 2, 4, 6, 8, 12, 16};

	for (size_t w = 0; w < lengthof(widths); w++)
	{
		uint8_t		width = widths[w];
		unit_guarded g = unit_guarded_new(5 * width);
		px_column	column = {.form = PX_FORM_FIXED,
							.width = width,
							.nvalues = 5,
							.values = g.data};

		for (int i = 0; i < 5; i++)
			for (int k = 0; k < width; k++)
				g.data[i * width + k] = (uint8_t) k;
		CHECK(is_constant(&column));
		column.nvalues = 1;
		CHECK(is_constant(&column));
		column.nvalues = 5;
		for (int k = 0; k < 5 * width; k++)
		{
			g.data[k] ^= 0x80;
			CHECK(!is_constant(&column));
			g.data[k] ^= 0x80;
		}
		unit_guarded_free(&g);
	}
}

static void
encodings_have_names(void)
{
	CHECK(strcmp(px_encoding_name(PX_ENC_PLAIN), "plain") == 0);
	CHECK(strcmp(px_encoding_name(PX_ENC_CONSTANT), "constant") == 0);
	CHECK(strcmp(px_encoding_name(PX_ENC_FOR), "frame of reference") == 0);
	for (uint8_t i = 0; i < PX_ENCODING_COUNT; i++)
		CHECK(px_encoding_name(i) != NULL &&
			  strcmp(px_encoding_name(i), "unknown") != 0);
	CHECK(strcmp(px_encoding_name(PX_ENCODING_COUNT), "unknown") == 0);
	CHECK(strcmp(px_encoding_name(255), "unknown") == 0);
}

int
main(void)
{
	RUN(nulls_are_written_lazily);
	RUN(columns_without_nulls_never_touch_the_bitmap);
	RUN(reset_forgets_values_and_nulls);
	RUN(fixed_values_are_little_endian);
	RUN(packed_values_have_the_documented_layout);
	RUN(packed_values_of_every_size_round_trip);
	RUN(appended_bytes_stand_without_headers);
	RUN(blanks_are_left_out_and_put_back);
	RUN(packed_values_cut_anywhere_are_refused);
	RUN(malformed_packed_values_are_refused);
	RUN(random_packed_values_never_crash);
	RUN(plain_ints_are_extended_by_sign);
	RUN(constants_are_found_in_bytes);
	RUN(constants_are_found_in_fixed_values);
	RUN(encodings_have_names);

	return unit_done();
}
