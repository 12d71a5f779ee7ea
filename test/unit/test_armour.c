/*-------------------------------------------------------------------------
 *
 * test_armour.c
 *		Tests of the 7-bit armour (wire/armour.h).
 *
 * Source and destination end at pages that cannot be accessed.
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include <stdlib.h>

#include "unit.h"
#include "wire/armour.h"

/* Armour n bytes as doc/wire.md says, a bit at a time. */
static size_t
armour_slowly(char *out, const uint8_t *src, size_t n)
{
	size_t		length = 0;

	for (size_t begin = 0; begin < n; begin += PX_ARMOUR_BLOCK_NBYTES)
	{
		size_t		nbits = 8 * Min(n - begin, PX_ARMOUR_BLOCK_NBYTES);
		size_t		nsymbols = (nbits + 6) / 7;
		uint8_t		symbols[PX_ARMOUR_BLOCK_NCHARS] = {0};
		int			mask;

		for (size_t bit = 0; bit < nbits; bit++)
			symbols[bit / 7] |=
				(uint8_t) ((src[begin + bit / 8] >> bit % 8 & 1) << bit % 7);
		for (mask = 127; memchr(symbols, mask, nsymbols) != NULL; mask--)
			;
		out[length++] = (char) mask;
		for (size_t i = 0; i < nsymbols; i++)
			out[length++] = (char) (symbols[i] ^ mask);
	}
	return length;
}

static void
expect_round_trip(const uint8_t *data, size_t n)
{
	unit_guarded src = unit_guarded_copy(data, n);
	unit_guarded text = unit_guarded_new(px_armour_nbytes(n));
	unit_guarded dst = unit_guarded_new(n);
	char	   *expected = unit_alloc(px_armour_nbytes(n) + 1);
	size_t		got = SIZE_MAX;

	px_armour_encode((char *) text.data, src.data, n);
	CHECK_EQ(armour_slowly(expected, data, n), text.nbytes);
	CHECK_MEM(text.data, expected, text.nbytes);
	for (size_t i = 0; i < text.nbytes; i++)
		CHECK(text.data[i] >= 1 && text.data[i] <= 127);

	CHECK_EQ(px_armour_decoded_nbytes(text.nbytes), n);
	CHECK_EQ(px_armour_decode((char *) text.data, text.nbytes, dst.data, n,
							  &got, NULL),
			 PX_OK);
	CHECK_EQ(got, n);
	CHECK_MEM(dst.data, data, n);

	free(expected);
	unit_guarded_free(&src);
	unit_guarded_free(&text);
	unit_guarded_free(&dst);
}

static void
every_length_round_trips(void)
{
	uint8_t		data[1000];

	for (size_t n = 0; n <= sizeof(data); n++)
	{
		unit_random_bytes(data, n);
		expect_round_trip(data, n);
	}
}

static void
runs_of_one_byte_round_trip(void)
{
	uint8_t		data[3 * PX_ARMOUR_BLOCK_NBYTES];

	for (int byte = 0; byte < 256; byte++)
	{
		memset(data, byte, sizeof(data));
		expect_round_trip(data, sizeof(data));
		expect_round_trip(data, sizeof(data) - 1);
	}
}

/* Blocks that have the symbols 127 downwards leave the mask no choice. */
static void
mask_is_found_among_the_last(void)
{
	for (int least = 8; least <= 127; least++)
	{
		char		text[PX_ARMOUR_BLOCK_NCHARS];
		uint8_t		data[PX_ARMOUR_BLOCK_NBYTES];
		char		again[PX_ARMOUR_BLOCK_NCHARS];
		int			mask = least > 8 ? least - 1 : 7;
		size_t		n;

		text[0] = (char) mask;
		for (int i = 0; i < 120; i++)
			text[1 + i] = (char) (Max(127 - i, least) ^ mask);
		CHECK_EQ(
			px_armour_decode(text, sizeof(text), data, sizeof(data), &n, NULL),
			PX_OK);
		expect_round_trip(data, sizeof(data));
		px_armour_encode(again, data, sizeof(data));
		CHECK_EQ(again[0], mask);
	}
}

static px_status
decode(const char *text, size_t nchars, size_t cap)
{
	unit_guarded src = unit_guarded_copy(text, nchars);
	unit_guarded dst = unit_guarded_new(cap);
	px_fault	fault = {0};
	size_t		nbytes;
	px_status	status = px_armour_decode((char *) src.data, nchars, dst.data,
										cap, &nbytes, &fault);

	CHECK_EQ(fault.status, status);
	CHECK(status == PX_OK || strcmp(fault.what, "armour") == 0);
	unit_guarded_free(&src);
	unit_guarded_free(&dst);
	return status;
}

static void
impossible_lengths_are_refused(void)
{
	uint8_t		data[400] = {0};
	char		text[500];

	memset(text, 'x', sizeof(text));
	for (size_t n = 0; n < sizeof(text); n++)
	{
		size_t		rest = n % PX_ARMOUR_BLOCK_NCHARS;
		bool		possible = rest == 0 || (rest > 1 && (rest - 1) % 8 != 1);

		CHECK_EQ(decode(text, n, px_armour_decoded_nbytes(n)),
				 possible ? PX_OK : PX_TRUNCATED);
	}

	/* and no length of text is another's */
	for (size_t n = 1; n < sizeof(data); n++)
		CHECK(px_armour_nbytes(n) > px_armour_nbytes(n - 1));
}

static void
bad_characters_are_refused(void)
{
	static const size_t sizes[] = {1, 6, 7, 8, 50, 104, 105, 106, 300};
	uint8_t		data[300];
	char		text[400];

	unit_random_bytes(data, sizeof(data));
	for (size_t i = 0; i < lengthof(sizes); i++)
	{
		size_t		nchars = px_armour_nbytes(sizes[i]);

		px_armour_encode(text, data, sizes[i]);
		CHECK_EQ(decode(text, nchars, sizes[i]), PX_OK);
		for (size_t at = 0; at < nchars; at++)
		{
			char		right = text[at];

			text[at] = 0;
			CHECK_EQ(decode(text, nchars, sizes[i]), PX_BAD_VALUE);
			text[at] = (char) (right | 0x80);
			CHECK_EQ(decode(text, nchars, sizes[i]), PX_BAD_VALUE);
			text[at] = (char) 0x80;
			CHECK_EQ(decode(text, nchars, sizes[i]), PX_BAD_VALUE);
			text[at] = right;
		}
	}
}

static void
bits_after_the_last_byte_are_refused(void)
{
	/* n bytes of zeros, in n + 1 symbols with 7 - n bits to spare */
	for (size_t n = 1; n < 7; n++)
	{
		for (size_t bit = 0; bit < 7; bit++)
		{
			uint8_t		data[7] = {0};
			char		text[9];

			px_armour_encode(text, data, n);
			text[n + 1] ^= (char) (1 << bit);
			CHECK_EQ(decode(text, n + 2, n), bit < n ? PX_OK : PX_BAD_VALUE);
		}
	}
}

static void
small_buffers_are_refused(void)
{
	uint8_t		data[300];
	char		text[400];

	unit_random_bytes(data, sizeof(data));
	for (size_t n = 1; n <= sizeof(data); n++)
	{
		px_armour_encode(text, data, n);
		CHECK_EQ(decode(text, px_armour_nbytes(n), n - 1), PX_NO_SPACE);
		CHECK_EQ(decode(text, px_armour_nbytes(n), n + 20), PX_OK);
	}
}

int
main(void)
{
	RUN(every_length_round_trips);
	RUN(runs_of_one_byte_round_trip);
	RUN(mask_is_found_among_the_last);
	RUN(impossible_lengths_are_refused);
	RUN(bad_characters_are_refused);
	RUN(bits_after_the_last_byte_are_refused);
	RUN(small_buffers_are_refused);

	return unit_done();
}
