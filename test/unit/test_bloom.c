/*-------------------------------------------------------------------------
 *
 * test_bloom.c
 *		Tests of Bloom filters (wire/bloom.h).
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include <stdlib.h>

#include "unit.h"
#include "wire/bloom.h"

#define KEYS	50000

/* A filter of the keys 0, 3, 6, ... */
static uint8_t *
make_filter(uint32_t *nblocks)
{
	uint8_t    *data;

	*nblocks = px_bloom_blocks_for(KEYS);
	data = unit_alloc(px_bloom_nbytes(*nblocks));
	px_bloom_init(data, *nblocks, "UTF8");
	for (int64_t key = 0; key < KEYS; key++)
		px_bloom_add(data, px_bloom_hash_int64(3 * key));
	return data;
}

static void
each_key_is_found_and_few_others(void)
{
	uint32_t	nblocks;
	uint8_t    *data = make_filter(&nblocks);
	px_bloom	bloom;
	int			found = 0;
	int			others = 0;

	CHECK_EQ(px_bloom_open(data, px_bloom_nbytes(nblocks), &bloom, NULL),
			 PX_OK);
	CHECK(strcmp(bloom.encoding, "UTF8") == 0);
	for (int64_t key = 0; key < KEYS; key++)
	{
		found += px_bloom_has(&bloom, px_bloom_hash_int64(3 * key));
		others += px_bloom_has(&bloom, px_bloom_hash_int64(3 * key + 1));
	}
	CHECK_EQ(found, KEYS);
	CHECK(others < KEYS / 100);
	free(data);
}

/* What another version must compute, too; made by a program in Python. */
static void
hash_values_are_those_of_the_document(void)
{
	CHECK_EQ(px_bloom_hash_int64(0), UINT64CONST(0xe220a8397b1dcdaf));
	CHECK_EQ(px_bloom_hash_int64(-1), UINT64CONST(0xe4d971771b652c20));
	CHECK_EQ(px_bloom_hash_int64(1234567890123), UINT64CONST(0x9a253c9557cd08d8));
	CHECK_EQ(px_bloom_hash_bytes((const uint8_t *) "", 0),
			 UINT64CONST(0xe220a8397b1dcdaf));
	CHECK_EQ(px_bloom_hash_bytes((const uint8_t *) "exchange", 8),
			 UINT64CONST(0xbd72bd7303c7709d));
	CHECK_EQ(px_bloom_hash_bytes((const uint8_t *) "split-block", 11),
			 UINT64CONST(0x8a2786fb815baaa4));
}

static void
bytes_are_read_to_their_end_and_not_beyond(void)
{
	for (size_t n = 1; n <= 40; n++)
	{
		unit_guarded guarded = unit_guarded_new(n);
		uint64_t	before;

		memset(guarded.data, 7, n);
		before = px_bloom_hash_bytes(guarded.data, n);
		guarded.data[n - 1] = 8;
		CHECK(px_bloom_hash_bytes(guarded.data, n) != before);
		unit_guarded_free(&guarded);
	}
}

static void
the_size_follows_the_number_of_keys(void)
{
	CHECK_EQ(px_bloom_blocks_for(0), 1);
	CHECK_EQ(px_bloom_blocks_for(1), 1);
	CHECK_EQ(px_bloom_blocks_for(64), 3);
	CHECK_EQ(px_bloom_blocks_for(699050), PX_BLOOM_BLOCKS_MAX);
	CHECK_EQ(px_bloom_blocks_for(UINT64_MAX), PX_BLOOM_BLOCKS_MAX);
	CHECK_EQ(px_bloom_nbytes(2), 96);
}

static void
forged_filters_are_refused(void)
{
	px_bloom	bloom;
	uint8_t		data[96];
	static const struct
	{
		int			at;
		uint8_t		value;
		px_status	status;
	}			forged[] = {
		{0, 'x', PX_BAD_MAGIC}, {3, 0, PX_BAD_MAGIC},
		{4, 2, PX_BAD_VERSION}, {5, 1, PX_BAD_HEADER},
		{7, 1, PX_BAD_HEADER}, {8, 0, PX_BAD_HEADER},
		{8, 3, PX_TRUNCATED}, {8, 1, PX_TRAILING},
		{10, 1, PX_OVER_LIMIT}, {11, 255, PX_OVER_LIMIT},
		{31, 'x', PX_BAD_HEADER}
	};

	for (size_t i = 0; i < sizeof(forged) / sizeof(forged[0]); i++)
	{
		px_fault	fault;

		px_bloom_init(data, 2, "a name of an encoding that is long");
		CHECK_EQ(px_bloom_open(data, sizeof(data), &bloom, &fault), PX_OK);
		data[forged[i].at] = forged[i].value;
		CHECK_EQ(px_bloom_open(data, sizeof(data), &bloom, &fault),
				 forged[i].status);
		CHECK_EQ(fault.status, forged[i].status);
	}
	for (size_t n = 0; n < sizeof(data); n++)
	{
		unit_guarded guarded;

		px_bloom_init(data, 2, "UTF8");
		guarded = unit_guarded_copy(data, n);
		CHECK_EQ(px_bloom_open(guarded.data, n, &bloom, NULL), PX_TRUNCATED);
		unit_guarded_free(&guarded);
	}
}

static void
any_bits_and_any_hash_values_stay_inside(void)
{
	uint32_t	nblocks = 5;
	size_t		nbytes = px_bloom_nbytes(nblocks);
	unit_guarded guarded = unit_guarded_new(nbytes);
	px_bloom	bloom;

	px_bloom_init(guarded.data, nblocks, "");
	memset(guarded.data + PX_BLOOM_HEADER_NBYTES, 0xff,
		   nblocks * PX_BLOOM_BLOCK_NBYTES);
	CHECK_EQ(px_bloom_open(guarded.data, nbytes, &bloom, NULL), PX_OK);
	CHECK(px_bloom_has(&bloom, 0));
	CHECK(px_bloom_has(&bloom, UINT64_MAX));
	for (int i = 0; i < 10000; i++)
		CHECK(px_bloom_has(&bloom, unit_random()));
	unit_guarded_free(&guarded);
}

int
main(void)
{
	RUN(each_key_is_found_and_few_others);
	RUN(hash_values_are_those_of_the_document);
	RUN(bytes_are_read_to_their_end_and_not_beyond);
	RUN(the_size_follows_the_number_of_keys);
	RUN(forged_filters_are_refused);
	RUN(any_bits_and_any_hash_values_stay_inside);

	return unit_done();
}
