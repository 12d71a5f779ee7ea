/*-------------------------------------------------------------------------
 *
 * test_codec.c
 *		One suite for all codecs (codec/codec.h), and known blocks of each.
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include <stdlib.h>

#include "codec/codec.h"
#include "unit.h"

static const size_t sizes[] = {
	0, 1, 2, 7, 8, 9, 63, 64, 65, 255, 256, 257, 4095, 4096, 4097,
	65535, 65536, 65537, 1048576, 1048577
};

/* Bytes like those of a text column: some repetition, some noise. */
static void
fill_compressible(uint8_t *out, size_t n)
{
	static const char *const words[] = {"lorem", "ipsum", "dolor", "sit",
										"amet"};
	size_t		pos = 0;

	while (pos < n)
	{
		const char *word = words[unit_random() % lengthof(words)];
		size_t		len = Min(strlen(word), n - pos);

		memcpy(out + pos, word, len);
		pos += len;
	}
}

/* Compress with all the room that any codec could need. */
static size_t
compress_all(const px_codec *codec, px_codec_context *context, int level,
			 const uint8_t *src, size_t n, uint8_t **dst)
{
	size_t		cap = n + n / 100 + 1024;
	size_t		got = 0;

	*dst = unit_alloc(cap);
	CHECK_EQ(codec->compress(context, level, src, n, *dst, cap, &got), PX_OK);

	return got;
}

/* Decompress from and to buffers that end at guard pages. */
static px_status
decompress_guarded(const px_codec *codec, px_codec_context *context,
				   const uint8_t *src, size_t src_nbytes, size_t dst_nbytes,
				   const uint8_t *expected)
{
	unit_guarded in = unit_guarded_copy(src, src_nbytes);
	unit_guarded out = unit_guarded_new(dst_nbytes);
	px_status	status;

	status = codec->decompress(context, in.data, src_nbytes,
							   out.data, dst_nbytes);
	if (status == PX_OK && expected)
		CHECK_MEM(out.data, expected, dst_nbytes);
	unit_guarded_free(&in);
	unit_guarded_free(&out);

	return status;
}

/* ---------------------------------------------------------------------
 * The suite: each of these gets every codec
 * --------------------------------------------------------------------- */

static void
check_round_trip(const px_codec *codec, px_codec_context *context)
{
	for (size_t i = 0; i < lengthof(sizes); i++)
	{
		for (int compressible = 0; compressible < 2; compressible++)
		{
			size_t		n = sizes[i];
			unit_guarded src = unit_guarded_new(n);
			uint8_t    *dst;
			size_t		got;

			if (compressible)
				fill_compressible(src.data, n);
			else
				unit_random_bytes(src.data, n);
			got = compress_all(codec, context, 0, src.data, n, &dst);
			CHECK_EQ(decompress_guarded(codec, context, dst, got, n, src.data),
					 PX_OK);
			free(dst);
			unit_guarded_free(&src);
		}
	}
}

static void
check_one_byte_more_or_less(const px_codec *codec, px_codec_context *context)
{
	for (size_t i = 0; i < lengthof(sizes); i++)
	{
		size_t		n = sizes[i];
		uint8_t    *src = unit_alloc(n);
		uint8_t    *dst;
		size_t		got;

		fill_compressible(src, n);
		got = compress_all(codec, context, 0, src, n, &dst);
		CHECK_EQ(decompress_guarded(codec, context, dst, got, n + 1, NULL),
				 PX_CODEC_FAILED);
		if (n > 0)
			CHECK_EQ(decompress_guarded(codec, context, dst, got, n - 1, NULL),
					 PX_CODEC_FAILED);
		free(dst);
		free(src);
	}
}

static void
check_truncated_input(const px_codec *codec, px_codec_context *context)
{
	size_t		n = 2000;
	uint8_t    *src = unit_alloc(n);
	uint8_t    *dst;
	size_t		got;

	fill_compressible(src, n);
	got = compress_all(codec, context, 0, src, n, &dst);
	for (size_t cut = 0; cut < got; cut++)
		CHECK_EQ(decompress_guarded(codec, context, dst, cut, n, NULL),
				 PX_CODEC_FAILED);
	dst[got] = 0;
	CHECK_EQ(decompress_guarded(codec, context, dst, got + 1, n, NULL),
			 PX_CODEC_FAILED);
	free(dst);
	free(src);
}

/*
 * Either it fails or it makes exactly the announced bytes; it never crashes.
 */
static void
check_corrupt_input(const px_codec *codec, px_codec_context *context)
{
	size_t		n = 500;
	uint8_t    *src = unit_alloc(n);
	uint8_t    *dst;
	size_t		got;

	fill_compressible(src, n);
	got = compress_all(codec, context, 0, src, n, &dst);
	for (size_t bit = 0; bit < got * 8; bit++)
	{
		px_status	status;

		dst[bit / 8] ^= (uint8_t) (1 << bit % 8);
		status = decompress_guarded(codec, context, dst, got, n, NULL);
		CHECK(status == PX_OK || status == PX_CODEC_FAILED);
		dst[bit / 8] ^= (uint8_t) (1 << bit % 8);
	}
	for (int i = 0; i < 2000; i++)
	{
		px_status	status;

		unit_random_bytes(dst, got);
		status = decompress_guarded(codec, context, dst, got, n, NULL);
		CHECK(status == PX_OK || status == PX_CODEC_FAILED);
	}
	free(dst);
	free(src);
}

/*
 * Every cap: either the result fits, or PX_NOT_SMALLER and nothing beyond it.
 */
static void
check_cap(const px_codec *codec, px_codec_context *context)
{
	size_t		n = 600;
	uint8_t    *src = unit_alloc(n);
	uint8_t    *dst;
	size_t		need;

	fill_compressible(src, n);
	need = compress_all(codec, context, 0, src, n, &dst);
	for (size_t cap = 0; cap <= n; cap++)
	{
		unit_guarded out = unit_guarded_new(cap);
		size_t		got = 0;
		px_status	status;

		status = codec->compress(context, 0, src, n, out.data, cap, &got);
		CHECK(status == PX_OK || status == PX_NOT_SMALLER);
		if (status == PX_OK)
		{
			CHECK(got <= cap);
			CHECK_EQ(decompress_guarded(codec, context, out.data, got, n, src),
					 PX_OK);
		}
		else
			CHECK(cap < need + 64);
		if (cap < need / 2)
			CHECK_EQ(status, PX_NOT_SMALLER);
		unit_guarded_free(&out);
	}
	free(dst);
	free(src);
}

static void
check_incompressible_is_refused(const px_codec *codec,
								px_codec_context *context)
{
	size_t		n = 10000;
	uint8_t    *src = unit_alloc(n);
	unit_guarded out = unit_guarded_new(n - 1);
	size_t		got;

	unit_random_bytes(src, n);
	CHECK_EQ(codec->compress(context, 0, src, n, out.data, n - 1, &got),
			 PX_NOT_SMALLER);
	unit_guarded_free(&out);
	free(src);
}

static void
check_levels(const px_codec *codec, px_codec_context *context)
{
	size_t		n = 5000;
	uint8_t    *src = unit_alloc(n);

	fill_compressible(src, n);
	for (int level = -2; level <= 9; level++)
	{
		uint8_t    *dst;
		size_t		got = compress_all(codec, context, level, src, n, &dst);

		CHECK_EQ(decompress_guarded(codec, context, dst, got, n, src), PX_OK);
		free(dst);
	}
	free(src);
}

/* ---------------------------------------------------------------------
 * The suite for every codec
 * --------------------------------------------------------------------- */

static void
for_all_codecs(void (*check) (const px_codec *, px_codec_context *))
{
	for (uint8_t id = 0; id < PX_CODEC_COUNT; id++)
	{
		px_codec_context *context = px_codec_open();

		if (CHECK(context != NULL))
			check(px_codec_by_id(id), context);
		px_codec_close(context);
	}
}

static void
all_codecs_round_trip_every_size(void)
{
	for_all_codecs(check_round_trip);
}

static void
all_codecs_refuse_one_byte_more_or_less(void)
{
	for_all_codecs(check_one_byte_more_or_less);
}

static void
all_codecs_refuse_truncated_input(void)
{
	for_all_codecs(check_truncated_input);
}

static void
all_codecs_survive_corrupt_input(void)
{
	for_all_codecs(check_corrupt_input);
}

static void
all_codecs_keep_within_cap(void)
{
	for_all_codecs(check_cap);
}

static void
all_codecs_refuse_incompressible_data_without_room(void)
{
	for_all_codecs(check_incompressible_is_refused);
}

static void
all_codecs_take_all_levels(void)
{
	for_all_codecs(check_levels);
}

/* ---------------------------------------------------------------------
 * Single codecs
 * --------------------------------------------------------------------- */

static void
exactly_three_codecs_are_registered(void)
{
	CHECK(px_codec_by_id(0) == &px_codec_none);
	CHECK(px_codec_by_id(1) == &px_codec_lz4);
	CHECK(px_codec_by_id(2) == &px_codec_zstd);
	for (int id = 3; id < 256; id++)
		CHECK(px_codec_by_id((uint8_t) id) == NULL);
	for (uint8_t id = 0; id < PX_CODEC_COUNT; id++)
		CHECK_EQ(px_codec_by_id(id)->id, id);
	CHECK(strcmp(px_codec_none.name, "none") == 0);
	CHECK(strcmp(px_codec_lz4.name, "lz4") == 0);
	CHECK(strcmp(px_codec_zstd.name, "zstd") == 0);
	px_codec_close(NULL);
}

/* Decoding of blocks made by hand from the formats' specifications. */
static void
known_blocks_decode(void)
{
	/* token: 1 literal, match of 4 + 10; offset 1; then 5 literals */
	static const uint8_t lz4[] = {
		0x1a, 'a', 0x01, 0x00, 0x50, 'b', 'c', 'd', 'e', 'f'
	};
	static const char lz4_text[] = "aaaaaaaaaaaaaaabcdef";

	/* magic; single segment of 5 bytes; last block, raw, 5 bytes */
	static const uint8_t zstd_raw[] = {
		0x28, 0xb5, 0x2f, 0xfd, 0x20, 0x05, 0x29, 0x00, 0x00,
		'h', 'e', 'l', 'l', 'o'
	};

	/* the same with a block of type RLE: 100 times 'x' */
	static const uint8_t zstd_rle[] = {
		0x28, 0xb5, 0x2f, 0xfd, 0x20, 0x64, 0x23, 0x03, 0x00, 'x'
	};
	uint8_t		x[100];
	px_codec_context *context = px_codec_open();

	memset(x, 'x', sizeof(x));
	CHECK_EQ(decompress_guarded(&px_codec_none, context,
								(const uint8_t *) "abc", 3, 3,
								(const uint8_t *) "abc"), PX_OK);
	CHECK_EQ(decompress_guarded(&px_codec_lz4, context, lz4, sizeof(lz4), 20,
								(const uint8_t *) lz4_text), PX_OK);
	CHECK_EQ(decompress_guarded(&px_codec_zstd, context, zstd_raw,
								sizeof(zstd_raw), 5,
								(const uint8_t *) "hello"), PX_OK);
	CHECK_EQ(decompress_guarded(&px_codec_zstd, context, zstd_rle,
								sizeof(zstd_rle), 100, x), PX_OK);
	px_codec_close(context);
}

static void
contexts_are_reused_across_codecs(void)
{
	px_codec_context *context = px_codec_open();
	uint8_t		src[3000];

	for (int i = 0; i < 60; i++)
	{
		const px_codec *codec = px_codec_by_id((uint8_t) (i % PX_CODEC_COUNT));
		size_t		n = 1 + unit_random() % sizeof(src);
		uint8_t    *dst;
		size_t		got;

		fill_compressible(src, n);
		got = compress_all(codec, context, 0, src, n, &dst);
		CHECK_EQ(decompress_guarded(codec, context, dst, got, n, src), PX_OK);
		CHECK_EQ(decompress_guarded(codec, context, dst, got - 1, n, src),
				 PX_CODEC_FAILED);
		CHECK_EQ(decompress_guarded(codec, context, dst, got, n, src), PX_OK);
		free(dst);
	}
	px_codec_close(context);
}

int
main(void)
{
	RUN(exactly_three_codecs_are_registered);
	RUN(known_blocks_decode);
	RUN(all_codecs_round_trip_every_size);
	RUN(all_codecs_refuse_one_byte_more_or_less);
	RUN(all_codecs_refuse_truncated_input);
	RUN(all_codecs_survive_corrupt_input);
	RUN(all_codecs_keep_within_cap);
	RUN(all_codecs_refuse_incompressible_data_without_room);
	RUN(all_codecs_take_all_levels);
	RUN(contexts_are_reused_across_codecs);

	return unit_done();
}
