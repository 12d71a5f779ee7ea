/*-------------------------------------------------------------------------
 *
 * test_text.c
 *		Tests of the request, the hello and their numbers (wire/request.h,
 *		wire/hello.h, base/text.h).
 *
 * Every text is read from a buffer whose NUL is the last byte before a page
 * that cannot be accessed.
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include <stdlib.h>

#include "codec/codec.h"
#include "unit.h"
#include "wire/frame.h"
#include "wire/hello.h"
#include "wire/request.h"
#include "base/text.h"

static const char request_text[] =
"version=1 encodings=7 codec=lz4 level=0 batch_rows=4096 "
"batch_bytes=1048576 server_version=150020 columns=20:-1,1700:983042,0:-1";

static const char hello_text[] =
"protocol=1-1 codecs=7 encodings=7 endian=little encoding=UTF8 "
"server_version=150020 instance=0123456789abcdef0123456789abcdef export=1";

static px_status
read_request(const char *text, px_request *request,
			 px_request_column *columns, px_fault *fault)
{
	unit_guarded g = unit_guarded_copy(text, strlen(text) + 1);
	px_status	status = px_request_read((const char *) g.data, request,
										 columns, fault);

	unit_guarded_free(&g);
	return status;
}

static px_status
read_hello(const char *text, px_hello *hello, px_fault *fault)
{
	unit_guarded g = unit_guarded_copy(text, strlen(text) + 1);
	px_status	status = px_hello_read((const char *) g.data, hello, fault);

	unit_guarded_free(&g);
	return status;
}

/* text with its first old replaced by new; free with free(). */
static char *
replaced(const char *text, const char *old, const char *new)
{
	const char *at = strstr(text, old);
	char	   *result = unit_alloc(strlen(text) + strlen(new) + 1);

	if (CHECK(at != NULL))
	{
		memcpy(result, text, (size_t) (at - text));
		strcat(result, new);
		strcat(result, at + strlen(old));
	}
	return result;
}

static void
expect_request(const char *old, const char *new, px_status expected,
			   const char *what)
{
	static px_request_column columns[PX_FRAME_COLUMNS_MAX];
	char	   *text = replaced(request_text, old, new);
	px_request	request;
	px_fault	fault = {0};

	if (!CHECK_EQ(read_request(text, &request, columns, &fault), expected) ||
		!CHECK(expected == PX_OK || strcmp(fault.what, what) == 0))
		printf("# request: %s\n", text);
	free(text);
}

static void
expect_hello(const char *old, const char *new, px_status expected,
			 const char *what)
{
	char	   *text = replaced(hello_text, old, new);
	px_hello	hello;
	px_fault	fault = {0};

	if (!CHECK_EQ(read_hello(text, &hello, &fault), expected) ||
		!CHECK(expected == PX_OK || strcmp(fault.what, what) == 0))
		printf("# hello: %s\n", text);
	free(text);
}

static void
a_request_round_trips(void)
{
	static px_request_column columns[PX_FRAME_COLUMNS_MAX];
	px_request	request = {0};
	char		text[512];

	CHECK_EQ(read_request(request_text, &request, columns, NULL), PX_OK);
	CHECK_EQ(request.version, 1);
	CHECK_EQ(request.encodings, 7);
	CHECK_EQ(request.codec, PX_CODEC_LZ4);
	CHECK_EQ(request.level, 0);
	CHECK_EQ(request.batch_rows, 4096);
	CHECK_EQ(request.batch_bytes, 1048576);
	CHECK_EQ(request.server_version, 150020);
	CHECK_EQ(request.ncolumns, 3);
	CHECK_EQ(columns[1].type_oid, 1700);
	CHECK_EQ(columns[1].typmod, 983042);
	CHECK_EQ(columns[2].type_oid, 0);
	CHECK(columns[2].typmod == -1);

	CHECK_EQ(px_request_write(text, sizeof(text), &request, columns),
			 strlen(request_text));
	CHECK(strcmp(text, request_text) == 0);
}

static void
the_largest_request_round_trips(void)
{
	static px_request_column columns[PX_FRAME_COLUMNS_MAX];
	static px_request_column got_columns[PX_FRAME_COLUMNS_MAX];
	px_request	request = {
		.version = PX_PROTOCOL_MAX,
		.encodings = UINT32_MAX,
		.codec = PX_CODEC_ZSTD,
		.level = INT32_MIN,
		.batch_rows = PX_FRAME_ROWS_MAX,
		.batch_bytes = PX_REQUEST_BATCH_BYTES_MAX,
		.server_version = INT32_MAX,
		.ncolumns = PX_FRAME_COLUMNS_MAX,
	};
	px_request	got = {0};
	size_t		nbytes;
	char	   *text;

	for (int i = 0; i < PX_FRAME_COLUMNS_MAX; i++)
	{
		columns[i].type_oid = UINT32_MAX - (uint32_t) i;
		columns[i].typmod = INT32_MAX - i;
	}
	nbytes = px_request_write(NULL, 0, &request, columns);
	text = unit_alloc(nbytes + 1);
	CHECK_EQ(px_request_write(text, nbytes + 1, &request, columns), nbytes);
	CHECK_EQ(strlen(text), nbytes);
	CHECK_EQ(read_request(text, &got, got_columns, NULL), PX_OK);
	CHECK_EQ(got.level == request.level, true);
	CHECK_EQ(got.encodings, request.encodings);
	CHECK_EQ(got.ncolumns, request.ncolumns);
	CHECK_MEM(got_columns, columns, sizeof(columns));
	free(text);
}

static void
writing_stops_at_the_end_of_the_buffer(void)
{
	px_request_column columns[3] = {{20, -1}, {1700, 983042}, {0, -1}};
	px_request	request = {
		.version = 1,
		.encodings = 7,
		.codec = PX_CODEC_LZ4,
		.batch_rows = 4096,
		.batch_bytes = 1048576,
		.server_version = 150020,
		.slices = 1,
		.ncolumns = 3,
	};
	size_t		nbytes = strlen(request_text);

	for (size_t cap = 1; cap <= nbytes + 1; cap++)
	{
		unit_guarded g = unit_guarded_new(cap);

		CHECK_EQ(px_request_write((char *) g.data, cap, &request, columns),
				 nbytes);
		CHECK_EQ(strlen((char *) g.data), cap - 1);
		CHECK_MEM(g.data, request_text, cap - 1);
		unit_guarded_free(&g);
	}
}

/*
 * A request cut short is refused, unless what is left is a shorter list of
 * columns: then it means just that, no more.
 */
static void
truncated_requests_are_refused(void)
{
	static px_request_column columns[PX_FRAME_COLUMNS_MAX];
	size_t		first_column_end = (size_t) (strchr(request_text, ',') -
										request_text);
	char		text[sizeof(request_text)];
	char		written[sizeof(request_text)];
	px_request	request;

	for (size_t n = 0; n < strlen(request_text); n++)
	{
		memcpy(text, request_text, n);
		text[n] = '\0';
		if (read_request(text, &request, columns, NULL) != PX_OK)
			continue;
		CHECK(n >= first_column_end);
		px_request_write(written, sizeof(written), &request, columns);
		CHECK(strcmp(written, text) == 0);
	}
}

static void
a_request_for_a_slice_round_trips(void)
{
	static px_request_column columns[PX_FRAME_COLUMNS_MAX];
	static const char *const words[] = {
		"slices=2 slice=0 blocks=0 columns", "slices=2 slice=1 blocks=1 columns",
		"slices=64 slice=63 blocks=4294967295 columns",
	};

	for (size_t i = 0; i < lengthof(words); i++)
	{
		char	   *text = replaced(request_text, "columns", words[i]);
		char		written[2 * sizeof(request_text)];
		px_request	request;

		CHECK_EQ(read_request(text, &request, columns, NULL), PX_OK);
		CHECK(request.slices > 1);
		px_request_write(written, sizeof(written), &request, columns);
		CHECK(strcmp(written, text) == 0);
		free(text);
	}
}

static void
a_request_to_explain_round_trips(void)
{
	static px_request_column columns[PX_FRAME_COLUMNS_MAX];
	static const char *const words[] = {
		"explain=1 columns",
		"explain=15 columns",
		"slices=2 slice=1 blocks=1 explain=3 columns",
	};

	for (size_t i = 0; i < lengthof(words); i++)
	{
		char	   *text = replaced(request_text, "columns", words[i]);
		char		written[2 * sizeof(request_text)];
		px_request	request;

		CHECK_EQ(read_request(text, &request, columns, NULL), PX_OK);
		CHECK(request.explain != 0);
		px_request_write(written, sizeof(written), &request, columns);
		CHECK(strcmp(written, text) == 0);
		free(text);
	}
	expect_request("columns", "explain=0 columns", PX_OVER_LIMIT, "explain");
	expect_request("columns", "explain=16 columns", PX_OVER_LIMIT, "explain");
	expect_request("columns", "explain= columns", PX_BAD_HEADER, "explain");
	expect_request("columns", "explain=1 slices=2 slice=1 blocks=1 columns",
				   PX_BAD_HEADER, "columns");
}

static void
a_request_for_targets_round_trips(void)
{
	static px_request_column columns[PX_FRAME_COLUMNS_MAX];
	static const char *const words[] = {
		"targets=2 columns",
		"targets=64 fetch_rows=1 columns",
		"slices=2 slice=1 blocks=1 explain=3 targets=3 session=0000000000000000 columns",
	};
	px_request	request;

	for (size_t i = 0; i < lengthof(words); i++)
	{
		char	   *text = replaced(request_text, "columns", words[i]);
		char		written[2 * sizeof(request_text)];

		CHECK_EQ(read_request(text, &request, columns, NULL), PX_OK);
		CHECK(request.targets > 1);
		CHECK_EQ(request.ncolumns, 3);
		px_request_write(written, sizeof(written), &request, columns);
		CHECK(strcmp(written, text) == 0);
		free(text);
	}
	CHECK_EQ(read_request(request_text, &request, columns, NULL), PX_OK);
	CHECK_EQ(request.targets, 1);
}

static void
a_request_to_spread_rows_round_trips(void)
{
	static px_request_column columns[PX_FRAME_COLUMNS_MAX];
	char	   *text = replaced(request_text, "columns",
								"targets=2 spread=1 fetch_rows=5 columns");
	char		written[2 * sizeof(request_text)];
	px_request	request;

	CHECK_EQ(read_request(text, &request, columns, NULL), PX_OK);
	CHECK(request.spread);
	CHECK_EQ(request.targets, 2);
	CHECK_EQ(request.fetch_rows, 5);
	px_request_write(written, sizeof(written), &request, columns);
	CHECK(strcmp(written, text) == 0);
	free(text);
	CHECK_EQ(read_request(request_text, &request, columns, NULL), PX_OK);
	CHECK(!request.spread);
	expect_request("columns", "spread=1 columns", PX_BAD_HEADER, "columns");
	expect_request("columns", "spread=1 targets=2 columns", PX_BAD_HEADER,
				   "columns");
	expect_request("columns", "targets=2 spread=0 columns", PX_OVER_LIMIT,
				   "spread");
	expect_request("columns", "targets=2 spread=2 columns", PX_OVER_LIMIT,
				   "spread");
	expect_request("columns", "targets=2 spread= columns", PX_BAD_HEADER,
				   "spread");
}

static void
impossible_targets_are_refused(void)
{
	expect_request("columns", "targets=1 columns", PX_OVER_LIMIT, "targets");
	expect_request("columns", "targets=65 columns", PX_OVER_LIMIT, "targets");
	expect_request("columns", "targets= columns", PX_BAD_HEADER, "targets");
	expect_request("columns", "targets=2,3 columns", PX_BAD_HEADER, "targets");
	expect_request("columns", "targets=2 explain=1 columns", PX_BAD_HEADER,
				   "columns");
	expect_request("columns", "fetch_rows=1 targets=2 columns", PX_BAD_HEADER,
				   "columns");
	expect_request("columns", "targets=2 fetch_rows=1 fixed=1 columns",
				   PX_BAD_HEADER, "targets");
}

static void
a_request_for_fetches_round_trips(void)
{
	static px_request_column columns[PX_FRAME_COLUMNS_MAX];
	static const char *const words[] = {
		"fetch_rows=100 columns", "fetch_rows=2147483647 fixed=1 columns",
		"session=0123456789abcdef columns", "explain=1 fetch_rows=1 session=0000000000000000 columns",
		"fetch_rows=1 fixed=1 session=ffffffffffffffff columns",
	};

	for (size_t i = 0; i < lengthof(words); i++)
	{
		char	   *text = replaced(request_text, "columns", words[i]);
		char		written[2 * sizeof(request_text)];
		px_request	request;

		CHECK_EQ(read_request(text, &request, columns, NULL), PX_OK);
		CHECK_EQ(request.fetch_rows != 0, strstr(text, "fetch_rows=") != NULL);
		CHECK_EQ(request.fixed, strstr(text, "fixed=") != NULL);
		CHECK_EQ(request.has_session, strstr(text, "session=") != NULL);
		px_request_write(written, sizeof(written), &request, columns);
		CHECK(strcmp(written, text) == 0);
		free(text);
	}
}

static void
impossible_fetches_are_refused(void)
{
	static const struct
	{
		const char *words;
		px_status	status;
		const char *field;
	}			cases[] = {
		{"fetch_rows=0 columns", PX_OVER_LIMIT, "fetch_rows"},
		{"fetch_rows=2147483648 columns", PX_OVER_LIMIT, "fetch_rows"},
		{"fetch_rows= columns", PX_BAD_HEADER, "fetch_rows"},
		{"fetch_rows=1 fetch_rows=1 columns", PX_BAD_HEADER, "columns"},
		{"fetch_rows=1 explain=1 columns", PX_BAD_HEADER, "columns"},
		{"fixed=1 columns", PX_BAD_HEADER, "fetch_rows"},
		{"fetch_rows=1 fixed=0 columns", PX_OVER_LIMIT, "fixed"},
		{"fetch_rows=1 fixed=2 columns", PX_OVER_LIMIT, "fixed"},
		{"fixed=1 fetch_rows=1 columns", PX_BAD_HEADER, "fetch_rows"},
		{"session= columns", PX_BAD_HEADER, "session"},
		{"session=0123456789abcde columns", PX_BAD_HEADER, "session"},
		{"session=0123456789abcdef0 columns", PX_BAD_HEADER, "session"},
		{"session=0123456789ABCDEF columns", PX_BAD_HEADER, "session"},
		{"session=0123456789abcdef fetch_rows=1 columns", PX_BAD_HEADER, "columns"},
	};

	for (size_t i = 0; i < lengthof(cases); i++)
		expect_request("columns", cases[i].words, cases[i].status,
					   cases[i].field);
}

static void
an_adaptive_request_round_trips(void)
{
	static px_request_column columns[PX_FRAME_COLUMNS_MAX];
	static const char *const words[] = {
		"codecs=0 cpu_limit=0 link=0 idle=0 random=0 columns",
		"codecs=6 cpu_limit=250 link=6250000 idle=17 random=1 columns",
		"codecs=4294967295 cpu_limit=1000 link=281474976710656 idle=1000 random=0 slices=2 slice=1 blocks=1 columns",
	};

	for (size_t i = 0; i < lengthof(words); i++)
	{
		char	   *words_added = replaced(request_text, "columns", words[i]);
		char	   *text = replaced(words_added, "codec=lz4", "codec=auto");
		char		written[2 * sizeof(request_text)];
		px_request	request;

		CHECK_EQ(read_request(text, &request, columns, NULL), PX_OK);
		CHECK(request.adaptive);
		px_request_write(written, sizeof(written), &request, columns);
		CHECK(strcmp(written, text) == 0);

		/* These words are for codec auto alone, and it cannot do without. */
		CHECK_EQ(read_request(words_added, &request, columns, NULL),
				 PX_BAD_HEADER);
		free(words_added);
		free(text);
	}
	expect_request("codec=lz4", "codec=auto", PX_BAD_HEADER, "codecs");
}

static void
impossible_adaptive_requests_are_refused(void)
{
	static const struct
	{
		const char *words;
		px_status	status;
		const char *field;
	}			cases[] = {
		{"codecs=4294967296 cpu_limit=0 link=0 idle=0 random=0 columns", PX_OVER_LIMIT, "codecs"},
		{"codecs=6 cpu_limit=1001 link=0 idle=0 random=0 columns", PX_OVER_LIMIT, "cpu_limit"},
		{"codecs=6 cpu_limit=0 link=-1 idle=0 random=0 columns", PX_BAD_HEADER, "link"},
		{"codecs=6 cpu_limit=0 link=281474976710657 idle=0 random=0 columns", PX_OVER_LIMIT, "link"},
		{"codecs=6 cpu_limit=0 link=0 idle=1001 random=0 columns", PX_OVER_LIMIT, "idle"},
		{"codecs=6 cpu_limit=0 link=0 idle=0 random=2 columns", PX_OVER_LIMIT, "random"},
		{"codecs=6 cpu_limit=0 link=0 idle=0 columns", PX_BAD_HEADER, "random"},
	};

	for (size_t i = 0; i < lengthof(cases); i++)
	{
		static px_request_column columns[PX_FRAME_COLUMNS_MAX];
		char *words_added = replaced(request_text, "columns", cases[i].words);
		char	   *text = replaced(words_added, "codec=lz4", "codec=auto");
		px_request	request;
		px_fault	fault = {0};

		CHECK_EQ(read_request(text, &request, columns, &fault),
				 cases[i].status);
		CHECK(fault.what != NULL && strcmp(fault.what, cases[i].field) == 0);
		free(words_added);
		free(text);
	}
}

static void
impossible_slices_are_refused(void)
{
	static const struct
	{
		const char *words;
		px_status	status;
		const char *field;
	}			cases[] = {
		{"slices=1 slice=0 blocks=0 columns", PX_OVER_LIMIT, "slices"},
		{"slices=65 slice=0 blocks=0 columns", PX_OVER_LIMIT, "slices"},
		{"slices=3 slice=3 blocks=9 columns", PX_OVER_LIMIT, "slice"},
		{"slices=3 slice=-1 blocks=9 columns", PX_BAD_HEADER, "slice"},
		{"slices=3 slice=0 blocks=9 columns", PX_OVER_LIMIT, "blocks"},
		{"slices=3 slice=1 blocks=0 columns", PX_OVER_LIMIT, "blocks"},
		{"slices=3 slice=1 blocks=4294967296 columns", PX_OVER_LIMIT, "blocks"},
		{"slices=3 slice=1 columns", PX_BAD_HEADER, "blocks"},
		{"slices=3 columns", PX_BAD_HEADER, "slice"},
		{"slice=1 blocks=1 columns", PX_BAD_HEADER, "columns"},
	};

	for (size_t i = 0; i < lengthof(cases); i++)
		expect_request("columns", cases[i].words, cases[i].status,
					   cases[i].field);
}

static void
malformed_requests_are_refused(void)
{
	static const char *const keys[] = {
		"version",    "encodings",   "codec",          "level",
		"batch_rows", "batch_bytes", "server_version", "columns"};

	for (size_t i = 0; i < lengthof(keys); i++)
	{
		char		wrong[32];

		snprintf(wrong, sizeof(wrong), "X%s", keys[i]);
		expect_request(keys[i], wrong, PX_BAD_HEADER, keys[i]);
	}

	expect_request("version=1", "version=01", PX_BAD_HEADER, "version");
	expect_request("version=1", "version=+1", PX_BAD_HEADER, "version");
	expect_request("version=1", "version= 1", PX_BAD_HEADER, "version");
	expect_request("version=1", "version=1x", PX_BAD_HEADER, "version");
	expect_request("version=1", "version=-1", PX_BAD_HEADER, "version");
	expect_request("version=1", "version=", PX_BAD_HEADER, "version");
	expect_request("version=1 ", "version=1  ", PX_BAD_HEADER, "encodings");
	expect_request("version=1 ", "version=1\t", PX_BAD_HEADER, "version");
	expect_request("version=1", "version=0", PX_BAD_VERSION, "version");
	expect_request("version=1", "version=2", PX_BAD_VERSION, "version");
	expect_request("version=1", "version=65536", PX_OVER_LIMIT, "version");
	expect_request("encodings=7", "encodings=6", PX_BAD_HEADER, "encodings");
	expect_request("encodings=7", "encodings=0x7", PX_BAD_HEADER, "encodings");
	expect_request("encodings=7", "encodings=4294967297", PX_OVER_LIMIT,
				   "encodings");
	expect_request("encodings=7", "encodings=18446744073709551623",
				   PX_OVER_LIMIT, "encodings");
	expect_request("codec=lz4", "codec=", PX_BAD_CODEC, "codec");
	expect_request("codec=lz4", "codec=lz", PX_BAD_CODEC, "codec");
	expect_request("codec=lz4", "codec=lz44", PX_BAD_CODEC, "codec");
	expect_request("codec=lz4", "codec=LZ4", PX_BAD_CODEC, "codec");
	expect_request("codec=lz4", "codec=none", PX_OK, NULL);
	expect_request("codec=lz4", "codec=zstd", PX_OK, NULL);
	expect_request("level=0", "level=-0", PX_BAD_HEADER, "level");
	expect_request("level=0", "level=-", PX_BAD_HEADER, "level");
	expect_request("level=0", "level=-7", PX_OK, NULL);
	expect_request("level=0", "level=2147483648", PX_OVER_LIMIT, "level");
	expect_request("level=0", "level=-2147483649", PX_OVER_LIMIT, "level");
	expect_request("batch_rows=4096", "batch_rows=0", PX_OVER_LIMIT,
				   "batch_rows");
	expect_request("batch_rows=4096", "batch_rows=65536", PX_OK, NULL);
	expect_request("batch_rows=4096", "batch_rows=65537", PX_OVER_LIMIT,
				   "batch_rows");
	expect_request("batch_bytes=1048576", "batch_bytes=0", PX_OVER_LIMIT,
				   "batch_bytes");
	expect_request("batch_bytes=1048576", "batch_bytes=268435456", PX_OK,
				   NULL);
	expect_request("batch_bytes=1048576", "batch_bytes=268435457",
				   PX_OVER_LIMIT, "batch_bytes");
	expect_request("columns=20:-1", "columns=", PX_BAD_HEADER, "columns");
	expect_request("columns=20:-1", "columns=20", PX_BAD_HEADER, "columns");
	expect_request("columns=20:-1", "columns=20:-2", PX_OVER_LIMIT, "columns");
	expect_request("columns=20:-1", "columns=4294967296:-1", PX_OVER_LIMIT,
				   "columns");
	expect_request("0:-1,1700", "0:-1,,1700", PX_BAD_HEADER, "columns");
	expect_request("0:-1,1700", "0:-1, 1700", PX_BAD_HEADER, "columns");
	expect_request(",0:-1", ",0:-1,", PX_BAD_HEADER, "columns");
	expect_request(",0:-1", ",0:-1 ", PX_BAD_HEADER, "columns");
}

static void
too_many_columns_are_refused(void)
{
	static px_request_column columns[PX_FRAME_COLUMNS_MAX];
	char *text = unit_alloc(sizeof(request_text) + 4 * PX_FRAME_COLUMNS_MAX);
	px_request	request;
	px_fault	fault = {0};

	/* three columns, then as many again as there may be in all */
	strcpy(text, request_text);
	for (int i = 3; i < PX_FRAME_COLUMNS_MAX; i++)
		memcpy(text + strlen(request_text) + (size_t) (i - 3) * 4, ",0:0", 5);
	CHECK_EQ(read_request(text, &request, columns, NULL), PX_OK);
	CHECK_EQ(request.ncolumns, PX_FRAME_COLUMNS_MAX);
	strcat(text, ",0:0");
	CHECK_EQ(read_request(text, &request, columns, &fault), PX_OVER_LIMIT);
	CHECK_EQ(fault.expected, PX_FRAME_COLUMNS_MAX);
	CHECK_EQ(fault.got, PX_FRAME_COLUMNS_MAX + 1);
	free(text);
}

static void
a_hello_round_trips(void)
{
	px_hello	hello;
	char		text[PX_HELLO_NBYTES_MAX + 1];

	CHECK_EQ(read_hello(hello_text, &hello, NULL), PX_OK);
	CHECK_EQ(hello.protocol_min, 1);
	CHECK_EQ(hello.protocol_max, 1);
	CHECK_EQ(hello.codecs, 7);
	CHECK_EQ(hello.encodings, 7);
	CHECK(hello.little_endian);
	CHECK(strcmp(hello.encoding, "UTF8") == 0);
	CHECK_EQ(hello.server_version, 150020);
	CHECK(strcmp(hello.instance, "0123456789abcdef0123456789abcdef") == 0);
	CHECK(hello.can_export);
	CHECK_EQ(px_hello_write(text, sizeof(text), &hello), strlen(hello_text));
	CHECK(strcmp(text, hello_text) == 0);
}

static void
a_request_of_links_that_are_pulled_round_trips(void)
{
	static px_request_column columns[PX_FRAME_COLUMNS_MAX];
	char	   *text = replaced(request_text, "columns",
								"targets=6 spread=1 links=3 "
								"pulled=0000000000000005 "
								"plain=0000000000000004 fetch_rows=5 columns");
	char		written[2 * sizeof(request_text)];
	px_request	request;

	CHECK_EQ(read_request(text, &request, columns, NULL), PX_OK);
	CHECK_EQ(request.links, 3);
	CHECK_EQ(request.pulled, 5);
	CHECK_EQ(request.plain, 4);
	px_request_write(written, sizeof(written), &request, columns);
	CHECK(strcmp(written, text) == 0);
	free(text);
	CHECK_EQ(read_request(request_text, &request, columns, NULL), PX_OK);
	CHECK_EQ(request.links, 0);
	CHECK_EQ(request.pulled, 0);
}

static void
links_that_make_no_sense_are_refused(void)
{
	static const struct
	{
		const char *words;
		px_status	status;
		const char *what;
	}			cases[] = {
		{"links=1 pulled=0000000000000001 plain=0000000000000000 columns",
		PX_BAD_HEADER, "columns"},
		{"targets=4 links=3 pulled=0000000000000001 plain=0000000000000000 columns",
		PX_BAD_HEADER, "links"},
		{"targets=4 links=8 pulled=0000000000000001 plain=0000000000000000 columns",
		PX_OVER_LIMIT, "links"},
		{"targets=4 links=0 pulled=0000000000000001 plain=0000000000000000 columns",
		PX_OVER_LIMIT, "links"},
		{"targets=4 links=2 pulled=0000000000000004 plain=0000000000000000 columns",
		PX_BAD_HEADER, "pulled"},
		{"targets=4 links=2 pulled=1 plain=0000000000000000 columns",
		PX_BAD_HEADER, "pulled"},
		{"targets=4 links=2 pulled=0000000000000001 columns",
		PX_BAD_HEADER, "plain"},
		{"targets=4 links=2 pulled=0000000000000001 plain=0000000000000002 columns",
		PX_BAD_HEADER, "plain"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		expect_request("columns", cases[i].words, cases[i].status,
					   cases[i].what);
}

static void
a_hello_says_whether_rows_can_be_pulled(void)
{
	char	   *text = replaced(hello_text, "export=1",
								"export=1 spread=1 pull="
								"fedcba9876543210fedcba9876543210");
	char		written[PX_HELLO_NBYTES_MAX + 1];
	px_hello	hello;

	CHECK_EQ(read_hello(hello_text, &hello, NULL), PX_OK);
	CHECK(strcmp(hello.pull_id, "") == 0);
	CHECK_EQ(read_hello(text, &hello, NULL), PX_OK);
	CHECK(strcmp(hello.pull_id, "fedcba9876543210fedcba9876543210") == 0);
	px_hello_write(written, sizeof(written), &hello);
	CHECK(strcmp(written, text) == 0);
	free(text);
	expect_hello("export=1", "export=1 pull=1", PX_BAD_HEADER, "pull");
	expect_hello("export=1",
				 "export=1 pull=fedcba9876543210fedcba98765432100",
				 PX_BAD_HEADER, "pull");
}

static void
a_hello_says_whether_rows_can_be_spread(void)
{
	char	   *text = replaced(hello_text, "export=1", "export=1 spread=1");
	char		written[PX_HELLO_NBYTES_MAX + 1];
	px_hello	hello;

	CHECK_EQ(read_hello(hello_text, &hello, NULL), PX_OK);
	CHECK(!hello.can_spread);
	CHECK_EQ(read_hello(text, &hello, NULL), PX_OK);
	CHECK(hello.can_spread);
	px_hello_write(written, sizeof(written), &hello);
	CHECK(strcmp(written, text) == 0);
	free(text);
	text = replaced(hello_text, "export=1", "spread=0 export=1");
	CHECK_EQ(read_hello(text, &hello, NULL), PX_OK);
	CHECK(!hello.can_spread);
	free(text);
	expect_hello("export=1", "export=1 spread=2", PX_OVER_LIMIT, "spread");
	expect_hello("export=1", "export=1 spread=", PX_BAD_HEADER, "spread");
	expect_hello("export=1", "export=1 spread=1 spread=1", PX_BAD_HEADER,
				 "spread");
}

static void
a_hello_says_how_many_connections_are_free(void)
{
	static const char *const values[] = {"quarter", "few"};
	px_hello	hello;

	CHECK_EQ(read_hello(hello_text, &hello, NULL), PX_OK);
	CHECK_EQ(hello.free, PX_FREE_MANY);
	for (size_t i = 0; i < lengthof(values); i++)
	{
		char		word[32];
		char		written[PX_HELLO_NBYTES_MAX + 1];
		char	   *text;

		snprintf(word, sizeof(word), "export=1 free=%s", values[i]);
		text = replaced(hello_text, "export=1", word);
		CHECK_EQ(read_hello(text, &hello, NULL), PX_OK);
		CHECK_EQ(hello.free, i == 0 ? PX_FREE_QUARTER : PX_FREE_FEW);
		px_hello_write(written, sizeof(written), &hello);
		CHECK(strcmp(written, text) == 0);
		free(text);
	}
	expect_hello("export=1", "export=1 free=", PX_BAD_HEADER, "free");
	expect_hello("export=1", "export=1 free=many", PX_BAD_HEADER, "free");
	expect_hello("export=1", "export=1 free=fewer", PX_BAD_HEADER, "free");
	expect_hello("export=1", "export=1 free=few free=few", PX_BAD_HEADER,
				 "free");
}

static void
a_hello_of_a_later_version_is_read(void)
{
	px_hello	hello;

	expect_hello("protocol=1-1", "protocol=1-9", PX_OK, NULL);
	expect_hello("codecs=7", "codecs=4294967295", PX_OK, NULL);
	expect_hello("export=1", "export=0 colour=green tea=", PX_OK, NULL);
	expect_hello("protocol", "x=1 protocol", PX_OK, NULL);
	/* in another order */
	CHECK_EQ(read_hello("export=0 instance=ffffffffffffffffffffffffffffffff "
						"server_version=0 encoding=EUC_JIS_2004 endian=big "
						"encodings=1 codecs=1 protocol=2-3",
						&hello, NULL), PX_OK);
	CHECK_EQ(hello.protocol_max, 3);
	CHECK(!hello.little_endian);
	CHECK(!hello.can_export);
}

static void
incomplete_hellos_are_refused(void)
{
	char		text[sizeof(hello_text)];
	px_hello	hello;

	for (size_t n = 0; n < strlen(hello_text); n++)
	{
		memcpy(text, hello_text, n);
		text[n] = '\0';
		CHECK(read_hello(text, &hello, NULL) != PX_OK);
	}
	expect_hello("codecs=7 ", "", PX_TRUNCATED, "codecs");
	expect_hello(" export=1", "", PX_TRUNCATED, "export");
}

static void
malformed_hellos_are_refused(void)
{
	char	   *text;
	px_hello	hello;

	expect_hello("protocol=1-1", "protocol=1", PX_BAD_HEADER, "protocol");
	expect_hello("protocol=1-1", "protocol=0-1", PX_BAD_HEADER, "protocol");
	expect_hello("protocol=1-1", "protocol=2-1", PX_BAD_HEADER, "protocol");
	expect_hello("protocol=1-1", "protocol=1-65536", PX_OVER_LIMIT,
				 "protocol");
	expect_hello("codecs=7", "codecs=-1", PX_BAD_HEADER, "codecs");
	expect_hello("codecs=7", "codecs=7 codecs=7", PX_BAD_HEADER, "codecs");
	expect_hello("encodings=7", "encodings=4294967296", PX_OVER_LIMIT,
				 "encodings");
	expect_hello("endian=little", "endian=middle", PX_BAD_HEADER, "endian");
	expect_hello("endian=little", "endian=littler", PX_BAD_HEADER, "endian");
	expect_hello("encoding=UTF8", "encoding=", PX_BAD_HEADER, "encoding");
	expect_hello("encoding=UTF8", "encoding=UTF8;", PX_BAD_HEADER, "encoding");
	expect_hello("encoding=UTF8", "encoding=0123456789abcdef0123456789abcde",
				 PX_OK, NULL);
	expect_hello("encoding=UTF8", "encoding=0123456789abcdef0123456789abcdef",
				 PX_BAD_HEADER, "encoding");
	expect_hello("server_version=150020", "server_version=2147483648",
				 PX_OVER_LIMIT, "server_version");
	expect_hello("instance=0", "instance=", PX_BAD_HEADER, "instance");
	expect_hello("instance=0", "instance=00", PX_BAD_HEADER, "instance");
	expect_hello("instance=0", "instance=G", PX_BAD_HEADER, "instance");
	expect_hello("instance=0", "instance=A", PX_BAD_HEADER, "instance");
	expect_hello("export=1", "export=2", PX_OVER_LIMIT, "export");
	expect_hello("export=1", "export=1 ", PX_BAD_HEADER, "hello");
	expect_hello("codecs=7 ", "codecs=7  ", PX_BAD_HEADER, "hello");
	expect_hello("codecs=7 ", "codecs=7 word ", PX_BAD_HEADER, "hello");
	expect_hello("codecs=7 ", "codecs=7 =word ", PX_BAD_HEADER, "hello");

	/* one byte too long */
	text = unit_alloc(PX_HELLO_NBYTES_MAX + 2);
	strcpy(text, hello_text);
	strcat(text, " x=");
	memset(text + strlen(text), 'y', PX_HELLO_NBYTES_MAX - strlen(text));
	CHECK_EQ(strlen(text), PX_HELLO_NBYTES_MAX);
	CHECK_EQ(read_hello(text, &hello, NULL), PX_OK);
	strcat(text, "y");
	CHECK_EQ(read_hello(text, &hello, NULL), PX_OVER_LIMIT);
	free(text);
}

static void
the_highest_common_version_is_taken(void)
{
	px_hello	a = {.protocol_min = 1, .protocol_max = 3};
	px_hello	b = {.protocol_min = 2, .protocol_max = 5};

	CHECK_EQ(px_hello_common_version(&a, &b), 3);
	CHECK_EQ(px_hello_common_version(&b, &a), 3);
	b.protocol_min = 3;
	CHECK_EQ(px_hello_common_version(&a, &b), 3);
	b.protocol_min = 4;
	CHECK_EQ(px_hello_common_version(&a, &b), 0);
	CHECK_EQ(px_hello_common_version(&b, &a), 0);
}

static void
numbers_have_one_spelling(void)
{
	static const int64_t numbers[] = {0, 1, -1, 9, 10, INT64_MAX,
	INT64_MIN + 1, INT64_MIN};
	char		buffer[24];
	int64_t		got;

	for (size_t i = 0; i < lengthof(numbers); i++)
	{
		px_text		text = {buffer, sizeof(buffer), 0};
		const char *at = buffer;

		px_text_put_number(&text, numbers[i]);
		px_text_end(&text);
		/* INT64_MIN can be written, but its digits alone overflow */
		if (numbers[i] == INT64_MIN)
		{
			CHECK(strcmp(buffer, "-9223372036854775808") == 0);
			continue;
		}
		CHECK_EQ(
			px_text_take_number(&at, "n", INT64_MIN, INT64_MAX, &got, NULL),
			PX_OK);
		CHECK(got == numbers[i]);
		CHECK(*at == '\0');
	}
}

int
main(void)
{
	RUN(a_request_round_trips);
	RUN(the_largest_request_round_trips);
	RUN(writing_stops_at_the_end_of_the_buffer);
	RUN(truncated_requests_are_refused);
	RUN(a_request_for_a_slice_round_trips);
	RUN(impossible_slices_are_refused);
	RUN(a_request_to_explain_round_trips);
	RUN(a_request_for_targets_round_trips);
	RUN(a_request_to_spread_rows_round_trips);
	RUN(a_request_of_links_that_are_pulled_round_trips);
	RUN(links_that_make_no_sense_are_refused);
	RUN(impossible_targets_are_refused);
	RUN(a_request_for_fetches_round_trips);
	RUN(impossible_fetches_are_refused);
	RUN(an_adaptive_request_round_trips);
	RUN(impossible_adaptive_requests_are_refused);
	RUN(malformed_requests_are_refused);
	RUN(too_many_columns_are_refused);
	RUN(a_hello_round_trips);
	RUN(a_hello_says_whether_rows_can_be_spread);
	RUN(a_hello_says_whether_rows_can_be_pulled);
	RUN(a_hello_says_how_many_connections_are_free);
	RUN(a_hello_of_a_later_version_is_read);
	RUN(incomplete_hellos_are_refused);
	RUN(malformed_hellos_are_refused);
	RUN(the_highest_common_version_is_taken);
	RUN(numbers_have_one_spelling);

	return unit_done();
}
