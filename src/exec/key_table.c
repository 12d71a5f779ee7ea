/*-------------------------------------------------------------------------
 *
 * key_table.c
 *		Is an integer one of many?
 *
 * Whoever chooses the keys can have them all want the same place: then each
 * would be sought among all others.  So if some are too far from their places,
 * the table is made anew with a hash that nobody knows before.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/pg_prng.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"

#include "exec/key_table.h"

/* The least number of places for which the bitmap is whole words. */
#define PLACES_MIN	4

/*
 * No key is further from its place.  With a table that is half full, random
 * keys are not 100 places away, even if they are 100 million.
 */
#define DISTANCE_MAX	512

/* 2^64 / golden ratio: consecutive keys are far from each other. */
#define FIRST_MULTIPLIER	UINT64CONST(0x9E3779B97F4A7C15)

/* So many hashes are tried; the last one is taken, however far keys are. */
#define HASHES_MAX		16

/* Interrupts are served once in so many keys. */
#define INTERRUPT_KEYS	65536

/* The place that a key wants. */
static inline uint32
place_of(const px_key_table *table, int64 key)
{
	return (uint32) (px_key_table_bit(table, key) >> PX_KEY_BITS_LOG2);
}

bool
px_key_table_search(const px_key_table *table, int64 key)
{
	uint32		place = place_of(table, key);

	if (key == table->empty)
		return false;
	while (table->keys[place] != table->empty)
	{
		if (table->keys[place] == key)
			return true;
		place = (place + 1) & table->mask;
	}
	return false;
}

/* ---------------------------------------------------------------------
 * Arrays
 * --------------------------------------------------------------------- */

/* The keys of an array that are not null, one after another. */
static const void *
keys_of(ArrayType *array, Oid type, int *nkeys)
{
	const uint8 *nulls = ARR_NULLBITMAP(array);
	int			nelements = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));

	if (ARR_ELEMTYPE(array) != type)
		elog(ERROR, "keys are of type %u, not %u", ARR_ELEMTYPE(array), type);
	*nkeys = nelements;
	for (int i = 0; nulls != NULL && i < nelements; i++)
		*nkeys -= (nulls[i / 8] & (1 << (i % 8))) == 0;
	return ARR_DATA_PTR(array);
}

bool
px_keys_have(ArrayType *array, Oid type, int64 key)
{
	int			nkeys;
	const void *data = keys_of(array, type, &nkeys);

	for (int i = 0; i < nkeys; i++)
		if (px_key_at(data, type, i) == key)
			return true;
	return false;
}

/* ---------------------------------------------------------------------
 * Making a table
 * --------------------------------------------------------------------- */

/* A number that is none of the keys: one of the nkeys + 1 lowest ones. */
static int64
find_gap(const void *data, Oid type, int nkeys)
{
	bool	   *taken = palloc_extended((Size) nkeys + 1,
										MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	int			gap = 0;

	for (int i = 0; i < nkeys; i++)
	{
		uint64		number = (uint64) px_key_at(data, type, i) -
			(uint64) PG_INT64_MIN;

		if (number < (uint64) nkeys)
			taken[number] = true;
	}
	while (taken[gap])
		gap++;
	pfree(taken);
	return PG_INT64_MIN + gap;
}

static void
add_key(px_key_table *table, int64 key, uint32 *distance)
{
	uint64		bit = px_key_table_bit(table, key);
	uint32		place = place_of(table, key);

	table->bits[bit / 64] |= UINT64CONST(1) << (bit % 64);
	*distance = 0;
	while (table->keys[place] != table->empty && table->keys[place] != key)
	{
		place = (place + 1) & table->mask;
		(*distance)++;
	}
	table->keys[place] = key;
}

/* False if a key would be further from its place than distance_max. */
static bool
add_keys(px_key_table *table, const void *data, Oid type, int nkeys,
		 uint32 distance_max)
{
	uint32		nplaces = table->mask + 1;

	memset(table->bits, 0, (Size) nplaces << PX_KEY_BITS_LOG2 >> 3);
	for (uint32 i = 0; i < nplaces; i++)
		table->keys[i] = table->empty;
	for (int i = 0; i < nkeys; i++)
	{
		uint32		distance;

		if (i % INTERRUPT_KEYS == 0)
			CHECK_FOR_INTERRUPTS();
		add_key(table, px_key_at(data, type, i), &distance);
		if (distance > distance_max)
			return false;
	}
	return true;
}

px_key_table *
px_key_table_make(ArrayType *array, Oid type, MemoryContext context)
{
	int			nkeys;
	const void *data = keys_of(array, type, &nkeys);
	uint32		nplaces = pg_nextpower2_32(Max(2 * (uint32) nkeys,
											   PLACES_MIN));
	px_key_table *table;
	int			nhashes = 1;

	table = MemoryContextAllocExtended(context,
									   offsetof(px_key_table, keys) +
									   sizeof(int64) * (Size) nplaces,
									   MCXT_ALLOC_HUGE);
	table->bits = MemoryContextAllocExtended(context,
											 (Size) nplaces <<
											 PX_KEY_BITS_LOG2 >> 3,
											 MCXT_ALLOC_HUGE);
	table->multiplier = FIRST_MULTIPLIER;
	table->shift = 64 - pg_leftmost_one_pos32(nplaces) - PX_KEY_BITS_LOG2;
	table->mask = nplaces - 1;
	table->empty = find_gap(data, type, nkeys);
	while (!add_keys(table, data, type, nkeys,
					 nhashes < HASHES_MAX ? DISTANCE_MAX : nplaces))
	{
		/* Universal hashing: Dietzfelbinger et al., J. Algorithms 25 (1997). */
		table->multiplier = pg_prng_uint64(&pg_global_prng_state) | 1;
		nhashes++;
	}
	return table;
}
