/*-------------------------------------------------------------------------
 *
 * in_keys.c
 *		The SQL functions exchange.in_keys: is an integer one of many?
 *
 * The planner of a sender puts them in place of key = ANY (keys) where rows
 * are filtered (plan/in_keys.c).  Core has a hash table for that as well, but
 * calls functions to hash and to compare: of a scan of three million rows of
 * 64 bytes for 1,000 keys, that takes a third of the time.
 *
 * The table is made in the first call of an expression whose keys are
 * constant, and is gone with the expression.  It is at most half full, and a
 * key is sought from its place on (linear probing).  Nearly all rows have other
 * keys, and whether the first place is empty would be a branch that no
 * processor can predict.  So a bitmap that is nearly empty is asked first.
 *
 * Whoever chooses the keys can have them all want the same place: then each
 * would be sought among all others.  So the keys are kept sorted in place of a
 * table if some are too far from their places.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type_d.h"
#include "nodes/primnodes.h"
#include "port/pg_bitutils.h"
#include "utils/array.h"

#include "exec/in_keys.h"

PG_FUNCTION_INFO_V1(px_sql_in_keys_int2);
PG_FUNCTION_INFO_V1(px_sql_in_keys_int4);
PG_FUNCTION_INFO_V1(px_sql_in_keys_int8);

/*
 * Bits of the bitmap for each place.  With 16 to 32 bits for a key, 3 to 6 % of
 * other keys meet a bit that is set; with 1,000 keys the bitmap takes 4 kB.
 */
#define BITS_LOG2	4

/* The least number of places for which the bitmap is whole words. */
#define PLACES_MIN	4

/*
 * No key is further from its place.  With a table that is half full, random
 * keys are not 100 places away, even if they are 100 million.
 */
#define DISTANCE_MAX	512

typedef struct key_table
{
	int			shift;			/* of a hash, to get a bit */
	uint32		mask;			/* number of places - 1 */
	int64		empty;			/* what an empty place has: not a key */
	int			nsorted;		/* 0: keys has places; else these, sorted */
	uint64	   *bits;			/* 1 << BITS_LOG2 for each place */
	int64		keys[FLEXIBLE_ARRAY_MEMBER];
} key_table;

/* 2^64 / golden ratio: Knuth, The Art of Computer Programming 3, 6.4. */
static inline uint64
bit_of(const key_table *table, int64 key)
{
	return ((uint64) key * UINT64CONST(0x9E3779B97F4A7C15)) >> table->shift;
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

static inline bool
has_key(const key_table *table, int64 key)
{
	uint64		bit = bit_of(table, key);
	uint32		place = (uint32) (bit >> BITS_LOG2);

	if ((table->bits[bit / 64] & (UINT64CONST(1) << (bit % 64))) == 0 ||
		key == table->empty)
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
add_bit(key_table *table, int64 key)
{
	uint64		bit = bit_of(table, key);

	table->bits[bit / 64] |= UINT64CONST(1) << (bit % 64);
}

/* False if the key would be too far from its place. */
static bool
add_key(key_table *table, int64 key)
{
	uint32		place = (uint32) (bit_of(table, key) >> BITS_LOG2);

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
add_keys(key_table *table, const int64 *keys, int nkeys)
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

static key_table *
make_table(ArrayType *array, Oid type, MemoryContext context)
{
	int			nkeys;
	const void *data = keys_of(array, type, &nkeys);
	int64	   *keys = palloc_extended(sizeof(int64) * Max(nkeys, 1),
									   MCXT_ALLOC_HUGE);
	uint32		nplaces;
	key_table  *table;

	for (int i = 0; i < nkeys; i++)
		keys[i] = key_at(data, type, i);
	nkeys = sort_keys(keys, nkeys);
	nplaces = pg_nextpower2_32(Max(2 * (uint32) nkeys, PLACES_MIN));
	table = MemoryContextAllocExtended(context,
									   offsetof(key_table, keys) +
									   sizeof(int64) * (Size) nplaces,
									   MCXT_ALLOC_HUGE);
	table->shift = 64 - pg_leftmost_one_pos32(nplaces) - BITS_LOG2;
	table->bits = MemoryContextAllocExtended(context,
											 (Size) nplaces << BITS_LOG2 >> 3,
											 MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	table->mask = nplaces - 1;
	table->empty = find_gap(keys, nkeys);
	for (uint32 i = 0; i < nplaces; i++)
		table->keys[i] = table->empty;
	add_keys(table, keys, nkeys);
	pfree(keys);
	return table;
}

/* Keys that differ from call to call are looked through. */
static bool
look_through(ArrayType *array, Oid type, int64 key)
{
	int			nkeys;
	const void *data = keys_of(array, type, &nkeys);

	for (int i = 0; i < nkeys; i++)
		if (key_at(data, type, i) == key)
			return true;
	return false;
}

static bool
has_constant_keys(const FmgrInfo *flinfo)
{
	const FuncExpr *call = (const FuncExpr *) flinfo->fn_expr;

	return call != NULL && IsA(call, FuncExpr) &&
		IsA(linitial(call->args), Const);
}

static bool
in_keys(FunctionCallInfo fcinfo, Oid type, int64 key)
{
	FmgrInfo   *flinfo = fcinfo->flinfo;

	if (flinfo->fn_extra == NULL)
	{
		if (!has_constant_keys(flinfo))
			return look_through(PG_GETARG_ARRAYTYPE_P(0), type, key);
		flinfo->fn_extra = make_table(PG_GETARG_ARRAYTYPE_P(0), type,
									  flinfo->fn_mcxt);
	}
	return has_key(flinfo->fn_extra, key);
}

Datum
px_sql_in_keys_int2(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(in_keys(fcinfo, INT2OID, PG_GETARG_INT16(1)));
}

Datum
px_sql_in_keys_int4(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(in_keys(fcinfo, INT4OID, PG_GETARG_INT32(1)));
}

Datum
px_sql_in_keys_int8(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(in_keys(fcinfo, INT8OID, PG_GETARG_INT64(1)));
}
