/*-------------------------------------------------------------------------
 *
 * bloom.h
 *		A Bloom filter of join keys, as exchange.in_filter takes it.
 *
 * This is the split-block Bloom filter of Apache Parquet and Impala (Putze,
 * Sanders, Singler: Cache-, Hash- and Space-Efficient Bloom Filters, 2007).  A
 * key sets one bit in each of the eight words of a block of 32 bytes, so it
 * takes one cache line to look for it.
 *
 * Integers are little endian.
 *
 *	OFFSET	SIZE	MEANING
 *	0		4		PXBF
 *	4		1		version: 1
 *	5		3		zero
 *	8		4		number of blocks, at least 1
 *	12		20		name of the encoding that text keys have; NUL-padded
 *	32		32 each	blocks: eight words of 32 bits
 *
 * Both ends must compute the same hash value of a key.  So it is defined here,
 * and does not depend on the version or the platform: see
 * px_bloom_hash_int64 and px_bloom_hash_bytes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_WIRE_BLOOM_H
#define PX_WIRE_BLOOM_H

#include "base/status.h"

#define PX_BLOOM_HEADER_NBYTES		32
#define PX_BLOOM_BLOCK_NBYTES		32
#define PX_BLOOM_ENCODING_NBYTES	20	/* with a NUL at least */

/* One megabyte: 12 bits for each of 699,050 keys. */
#define PX_BLOOM_BLOCKS_MAX			32768

/* A filter that was opened; valid as long as its bytes. */
typedef struct px_bloom
{
	const uint8_t *blocks;
	uint32_t	nblocks;
	const char *encoding;		/* NUL-terminated */
} px_bloom;

/* How many blocks are good for so many distinct keys: 12 bits for each. */
extern uint32_t px_bloom_blocks_for(uint64_t nkeys);

/* The size of a filter of so many blocks. */
extern size_t px_bloom_nbytes(uint32_t nblocks);

/*
 * Make an empty filter in data, which has px_bloom_nbytes(nblocks) bytes.
 * encoding is cut at PX_BLOOM_ENCODING_NBYTES - 1 bytes.
 */
extern void px_bloom_init(uint8_t *data, uint32_t nblocks,
						  const char *encoding);

/* Add a key by its hash value, to a filter that px_bloom_init has made. */
extern void px_bloom_add(uint8_t *data, uint64_t hash);

/*
 * Open a filter of nbytes bytes, which may be forged.  PX_TRUNCATED,
 * PX_TRAILING, PX_BAD_MAGIC, PX_BAD_VERSION, PX_BAD_HEADER or PX_OVER_LIMIT if
 * it is not one.  All bits may be set in any way.
 */
extern px_status px_bloom_open(const uint8_t *data, size_t nbytes,
							   px_bloom *bloom, px_fault *fault);

/*
 * May the key with that hash value be in the filter?  If not, it was not
 * added.
 */
extern bool px_bloom_has(const px_bloom *bloom, uint64_t hash);

/* The hash value of an integer: the finalizer of SplitMix64. */
extern uint64_t px_bloom_hash_int64(int64_t key);

/*
 * The hash value of bytes, as of a string.  h is their number; for each eight
 * of them, read as an integer w, with zeros after the last ones:
 * h = rotate_left(h ^ w * 0x9E3779B97F4A7C15, 29) * 0xBF58476D1CE4E5B9.  Then
 * the finalizer of SplitMix64.
 */
extern uint64_t px_bloom_hash_bytes(const uint8_t *data, size_t nbytes);

#endif							/* PX_WIRE_BLOOM_H */
