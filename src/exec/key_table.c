/*-------------------------------------------------------------------------
 *
 * key_table.c
 *		Is an integer one of many?
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type_d.h"
#include "port/pg_bitutils.h"

#include "exec/key_table.h"

/* The least number of places for which the bitmap is whole words. */
#define PLACES_MIN	4

/*
 * No key is further from its place.  With a table that is half full, random
 * keys are not 100 places away, even if they are 100 million.
 */
#define DISTANCE_MAX	512

/* The place that a key wants. */
static inline uint32
place_of(const px_key_table *table, int64 key)
{
	return (uint32) (px_key_table_bit(table, key) >> PX_KEY_TABLE_BITS_LOG2);
}

static bool
is_among(const int64 *keys, int nkeys, int64 key)
{
	int			first = 0;
	int			end = nkeys;

	while (first < end)
	{
		int			middle = first + (end - first) / 2;

		if (keys[middle] == key)
			return true;
		if (keys[middle] < key)
			first = middle + 1;
		else
			end = middle;
	}
	return false;
}

bool
px_key_table_search(const px_key_table *table, int64 key)
{
	uint32		place = place_of(table, key);

	if (key == table->empty)
		return false;
	if (table->nsorted > 0)
		return is_among(table->keys, table->nsorted, key);
	while (table->keys[place] != table->empty)
	{
		if (table->keys[place] == key)
			return true;
		place = (place + 1) & table->mask;
	}
	return false;
}

static void
add_bit(px_key_table *table, int64 key)
{
	uint64		bit = px_key_table_bit(table, key);

	table->bits[bit / 64] |= UINT64CONST(1) << (bit % 64);
}

/* False if the key would be too far from its place. */
static bool
add_key(px_key_table *table, int64 key)
{
	uint32		place = place_of(table, key);

	for (int i = 0; i < DISTANCE_MAX; i++)
	{
		if (table->keys[place] == table->empty)
		{
			table->keys[place] = key;
			return true;
		}
		place = (place + 1) & table->mask;
	}
	return false;
}

/* Add sorted keys without duplicates. */
static void
add_keys(px_key_table *table, const int64 *keys, int nkeys)
{
	bool		placed = true;

	for (int i = 0; i < nkeys; i++)
		add_bit(table, keys[i]);
	table->nsorted = 0;
	for (int i = 0; i < nkeys && placed; i++)
		placed = add_key(table, keys[i]);
	if (!placed)
	{
		memcpy(table->keys, keys, nkeys * sizeof(int64));
		table->nsorted = nkeys;
	}
}

static int64
key_at(const void *keys, Oid type, int i)
{
	switch (type)
	{
		case INT2OID:
			return ((const int16 *) keys)[i];
		case INT4OID:
			return ((const int32 *) keys)[i];
		default:
			return ((const int64 *) keys)[i];
	}
}

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

static int
compare_int64(const void *a, const void *b)
{
	int64		x = *(const int64 *) a;
	int64		y = *(const int64 *) b;

	return (x > y) - (x < y);
}

/* Sort the keys, leave out duplicates, and return how many are left. */
static int
sort_keys(int64 *keys, int nkeys)
{
	int			nleft = Min(nkeys, 1);

	qsort(keys, nkeys, sizeof(int64), compare_int64);
	for (int i = 1; i < nkeys; i++)
		if (keys[i] != keys[nleft - 1])
			keys[nleft++] = keys[i];
	return nleft;
}

/* A number that is not among sorted keys without duplicates. */
static int64
find_gap(const int64 *keys, int nkeys)
{
	for (int i = 0; i < nkeys; i++)
		if (keys[i] != PG_INT64_MIN + i)
			return PG_INT64_MIN + i;
	return PG_INT64_MIN + nkeys;
}

px_key_table *
px_key_table_make(ArrayType *array, Oid type, MemoryContext context)
{
	int			nkeys;
	const void *data = keys_of(array, type, &nkeys);
	int64	   *keys = palloc_extended(sizeof(int64) * Max(nkeys, 1),
									   MCXT_ALLOC_HUGE);
	uint32		nplaces;
	Size		nbits;
	px_key_table *table;

	for (int i = 0; i < nkeys; i++)
		keys[i] = key_at(data, type, i);
	nkeys = sort_keys(keys, nkeys);
	nplaces = pg_nextpower2_32(Max(2 * (uint32) nkeys, PLACES_MIN));
	table = MemoryContextAllocExtended(context,
									   offsetof(px_key_table, keys) +
									   sizeof(int64) * (Size) nplaces,
									   MCXT_ALLOC_HUGE);
	table->shift = 64 - pg_leftmost_one_pos32(nplaces) -
		PX_KEY_TABLE_BITS_LOG2;
	nbits = (Size) nplaces << PX_KEY_TABLE_BITS_LOG2;
	table->bits = MemoryContextAllocExtended(context, nbits / 8,
											 MCXT_ALLOC_HUGE |
											 MCXT_ALLOC_ZERO);
	table->mask = nplaces - 1;
	table->empty = find_gap(keys, nkeys);
	for (uint32 i = 0; i < nplaces; i++)
		table->keys[i] = table->empty;
	add_keys(table, keys, nkeys);
	pfree(keys);
	return table;
}

bool
px_keys_have(ArrayType *array, Oid type, int64 key)
{
	int			nkeys;
	const void *data = keys_of(array, type, &nkeys);

	for (int i = 0; i < nkeys; i++)
		if (key_at(data, type, i) == key)
			return true;
	return false;
}
