/*-------------------------------------------------------------------------
 *
 * bloom.c
 *		A Bloom filter of join keys, as exchange.in_filter takes it.
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include "base/bytes.h"
#include "wire/bloom.h"

#define MAGIC			"PXBF"
#define VERSION			1
#define VERSION_AT		4
#define ZERO_AT			5
#define NBLOCKS_AT		8
#define ENCODING_AT		12

#define WORDS			8		/* of a block */
#define BITS_PER_KEY	12		/* one of 300 other keys is let through */
#define BITS_OF_BLOCK	(8 * PX_BLOOM_BLOCK_NBYTES)

/* Parquet's constants: odd numbers, chosen at random. */
static const uint32_t salts[WORDS] = {
	0x47b6137bU, 0x44974d91U, 0x8824ad5bU, 0xa2b7289dU,
	0x705495c7U, 0x2df1424bU, 0x9efc4947U, 0x5c6bfb31U
};

/* ---------------------------------------------------------------------
 * Hash values
 * --------------------------------------------------------------------- */

static uint64_t
finalize(uint64_t h)
{
	h += UINT64CONST(0x9E3779B97F4A7C15);
	h = (h ^ (h >> 30)) * UINT64CONST(0xBF58476D1CE4E5B9);
	h = (h ^ (h >> 27)) * UINT64CONST(0x94D049BB133111EB);
	return h ^ (h >> 31);
}

uint64_t
px_bloom_hash_int64(int64_t key)
{
	return finalize((uint64_t) key);
}

static uint64_t
mix(uint64_t h, uint64_t word)
{
	h ^= word * UINT64CONST(0x9E3779B97F4A7C15);
	h = h << 29 | h >> 35;
	return h * UINT64CONST(0xBF58476D1CE4E5B9);
}

uint64_t
px_bloom_hash_bytes(const uint8_t *data, size_t nbytes)
{
	uint64_t	h = nbytes;
	size_t		at = 0;

	for (; nbytes - at >= 8; at += 8)
		h = mix(h, px_load_u64(data + at));
	if (at < nbytes)
	{
		uint64_t	word = 0;

		for (size_t i = at; i < nbytes; i++)
			word |= (uint64_t) data[i] << (8 * (i - at));
		h = mix(h, word);
	}
	return finalize(h);
}

/* ---------------------------------------------------------------------
 * The filter
 * --------------------------------------------------------------------- */

uint32_t
px_bloom_blocks_for(uint64_t nkeys)
{
	uint64_t	nblocks;

	if (nkeys >= (uint64_t) PX_BLOOM_BLOCKS_MAX * BITS_OF_BLOCK / BITS_PER_KEY)
		return PX_BLOOM_BLOCKS_MAX;
	nblocks = (nkeys * BITS_PER_KEY + BITS_OF_BLOCK - 1) / BITS_OF_BLOCK;
	return nblocks > 0 ? (uint32_t) nblocks : 1;
}

size_t
px_bloom_nbytes(uint32_t nblocks)
{
	return PX_BLOOM_HEADER_NBYTES + (size_t) nblocks * PX_BLOOM_BLOCK_NBYTES;
}

void
px_bloom_init(uint8_t *data, uint32_t nblocks, const char *encoding)
{
	size_t		length = strlen(encoding);

	if (length > PX_BLOOM_ENCODING_NBYTES - 1)
		length = PX_BLOOM_ENCODING_NBYTES - 1;
	memset(data, 0, px_bloom_nbytes(nblocks));
	memcpy(data, MAGIC, VERSION_AT);
	data[VERSION_AT] = VERSION;
	px_store_u32(data + NBLOCKS_AT, nblocks);
	memcpy(data + ENCODING_AT, encoding, length);
}

/* The upper half of the hash value says which block, without a division. */
static size_t
block_offset(uint32_t nblocks, uint64_t hash)
{
	return (size_t) (((hash >> 32) * nblocks) >> 32) * PX_BLOOM_BLOCK_NBYTES;
}

/* The bit of a word that the lower half says. */
static uint32_t
bit_of(uint64_t hash, int word)
{
	return (uint32_t) 1 << (((uint32_t) hash * salts[word]) >> 27);
}

void
px_bloom_add(uint8_t *data, uint64_t hash)
{
	uint8_t    *block = data + PX_BLOOM_HEADER_NBYTES +
		block_offset(px_load_u32(data + NBLOCKS_AT), hash);

	for (int i = 0; i < WORDS; i++)
		px_store_u32(block + 4 * i, px_load_u32(block + 4 * i) | bit_of(hash, i));
}

bool
px_bloom_has(const px_bloom *bloom, uint64_t hash)
{
	const uint8_t *block = bloom->blocks + block_offset(bloom->nblocks, hash);

	for (int i = 0; i < WORDS; i++)
	{
		if ((px_load_u32(block + 4 * i) & bit_of(hash, i)) == 0)
			return false;
	}
	return true;
}

px_status
px_bloom_open(const uint8_t *data, size_t nbytes, px_bloom *bloom,
			  px_fault *fault)
{
	if (nbytes < PX_BLOOM_HEADER_NBYTES)
		return px_fail(fault, PX_TRUNCATED, "filter", PX_BLOOM_HEADER_NBYTES,
					   nbytes);
	if (memcmp(data, MAGIC, VERSION_AT) != 0)
		return px_fail(fault, PX_BAD_MAGIC, "filter magic", 0, 0);
	if (data[VERSION_AT] != VERSION)
		return px_fail(fault, PX_BAD_VERSION, "filter version", VERSION,
					   data[VERSION_AT]);
	for (int i = ZERO_AT; i < NBLOCKS_AT; i++)
	{
		if (data[i] != 0)
			return px_fail(fault, PX_BAD_HEADER, "filter zeros", 0, data[i]);
	}
	bloom->nblocks = px_load_u32(data + NBLOCKS_AT);
	if (bloom->nblocks == 0)
		return px_fail(fault, PX_BAD_HEADER, "filter blocks", 1, 0);
	if (bloom->nblocks > PX_BLOOM_BLOCKS_MAX)
		return px_fail(fault, PX_OVER_LIMIT, "filter blocks",
					   PX_BLOOM_BLOCKS_MAX, bloom->nblocks);
	if (nbytes < px_bloom_nbytes(bloom->nblocks))
		return px_fail(fault, PX_TRUNCATED, "filter",
					   px_bloom_nbytes(bloom->nblocks), nbytes);
	if (nbytes > px_bloom_nbytes(bloom->nblocks))
		return px_fail(fault, PX_TRAILING, "filter",
					   px_bloom_nbytes(bloom->nblocks), nbytes);
	if (data[ENCODING_AT + PX_BLOOM_ENCODING_NBYTES - 1] != 0)
		return px_fail(fault, PX_BAD_HEADER, "filter encoding", 0, 0);
	bloom->encoding = (const char *) data + ENCODING_AT;
	bloom->blocks = data + PX_BLOOM_HEADER_NBYTES;
	return PX_OK;
}
