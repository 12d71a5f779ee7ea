/*-------------------------------------------------------------------------
 *
 * key_set.c
 *		The distinct values of a join key, or a summary of them.
 *
 * A value is added for each row of the inner side of a hash join, so that must
 * not cost much more than the join's own hash table.  Hence values are
 * compared by their images: of values that are equal but look different, as
 * 1.0 and 1.00, each is kept.
 *
 * Beyond the bound, hash values are kept.  The Bloom filter is made of them in
 * the end, when their number is known.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "mb/pg_wchar.h"
#include "utils/array.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "compat.h"
#include "exec/key_set.h"
#include "exec/value_set.h"
#include "tuple/policy.h"
#include "wire/bloom.h"

struct px_key_set
{
	MemoryContext context;		/* of the set and all that it has */
	px_value_type type;
	bool		ordered;		/* values are as ordered as an int64 */

	/* While it is exact. */
	valueset_hash *values;		/* NULL if it is not exact */
	MemoryContext values_context;
	size_t		nbytes;			/* of values of varying length */

	/* When it is not exact. */
	uint64		nadded;			/* values, some of them more than once */
	int64		lowest;			/* valid if ordered */
	int64		highest;

	/*
	 * The distinct hash values: a table in which a value is looked for from
	 * its own place on, to the first empty one.
	 */
	px_key_hash hashing;
	uint64	   *hashes;			/* 0: empty; NULL if there are none */
	uint64		mask;			/* of a hash value, for a place */
	uint64		nhashes;
};

#define VALUES_AT_FIRST	64
#define HASHES_AT_FIRST	(4 * PX_KEY_SET_KEYS_MAX)

/*
 * Are the type's values passed as integers, in whose order they are on every
 * server?
 */
static bool
is_ordered(Oid type)
{
	switch (type)
	{
		case INT2OID:
		case INT4OID:
		case INT8OID:
		case DATEOID:
		case TIMEOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			return true;
		default:
			return false;
	}
}

px_key_hash
px_key_hash_of(Oid type)
{
	switch (type)
	{
		case INT2OID:
		case INT4OID:
		case INT8OID:
			return PX_KEY_HASH_INTEGER;
		case TEXTOID:
		case VARCHAROID:
			return PX_KEY_HASH_TEXT;
		case BYTEAOID:
		case UUIDOID:
			return PX_KEY_HASH_BYTES;
		default:
			return PX_KEY_HASH_NONE;
	}
}

px_key_set *
px_key_set_new(Oid type)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "ExchangeKeys set",
												  ALLOCSET_SMALL_SIZES);
	px_key_set *set = MemoryContextAllocZero(context, sizeof(px_key_set));

	set->context = context;
	set->values_context = AllocSetContextCreate(context, "ExchangeKeys values",
												ALLOCSET_DEFAULT_SIZES);
	set->type.type = type;
	get_typlenbyvalalign(type, &set->type.typlen, &set->type.typbyval,
						 &set->type.typalign);
	set->ordered = is_ordered(type);
	set->hashing = px_key_hash_of(type);
	set->lowest = PG_INT64_MAX;
	set->highest = PG_INT64_MIN;
	set->values = valueset_create(set->values_context, VALUES_AT_FIRST,
								  &set->type);
	return set;
}

/* ---------------------------------------------------------------------
 * Adding values
 * --------------------------------------------------------------------- */

/* Put a hash value into the table; false if it was there. */
static inline bool
put_hash(uint64 *hashes, uint64 mask, uint64 hash)
{
	uint64		at = hash & mask;

	while (hashes[at] != 0)
	{
		if (hashes[at] == hash)
			return false;
		at = (at + 1) & mask;
	}
	hashes[at] = hash;
	return true;
}

/* At most half of the places are taken. */
static void
make_room_for_hash(px_key_set *set)
{
	uint64		nplaces = set->hashes ? 2 * (set->mask + 1) :
		pg_nextpower2_64(HASHES_AT_FIRST);
	uint64	   *hashes;

	if (set->hashes && set->nhashes <= set->mask / 2)
		return;
	if (set->nhashes >= PX_KEY_SET_HASHES_MAX)
	{
		pfree(set->hashes);
		set->hashes = NULL;
		set->hashing = PX_KEY_HASH_NONE;
		return;
	}
	hashes = MemoryContextAllocZero(set->context, nplaces * sizeof(uint64));
	for (uint64 i = 0; set->hashes && i <= set->mask; i++)
	{
		if (set->hashes[i] != 0)
			put_hash(hashes, nplaces - 1, set->hashes[i]);
	}
	if (set->hashes)
		pfree(set->hashes);
	set->hashes = hashes;
	set->mask = nplaces - 1;
}

static uint64
hash_of_value(const px_key_set *set, Datum value)
{
	const char *bytes = DatumGetPointer(value);
	uint64		hash;

	if (set->hashing == PX_KEY_HASH_INTEGER)
		hash = px_bloom_hash_int64(px_integer_of_value(set->type.type, value));
	else if (set->type.typlen == -1)
		hash = px_bloom_hash_bytes((const uint8_t *) VARDATA_ANY(bytes),
								   VARSIZE_ANY_EXHDR(bytes));
	else
		hash = px_bloom_hash_bytes((const uint8_t *) bytes, set->type.typlen);
	return hash;
}

static inline void
summarise(px_key_set *set, Datum value)
{
	if (set->ordered)
	{
		int64		number = px_integer_of_value(set->type.type, value);

		set->lowest = Min(set->lowest, number);
		set->highest = Max(set->highest, number);
	}
	if (set->hashing != PX_KEY_HASH_NONE)
	{
		make_room_for_hash(set);
		if (set->hashes)
		{
			uint64		hash = hash_of_value(set, value);

			/* An empty place is 0: see px_key_set_bloom. */
			if (hash != 0 && put_hash(set->hashes, set->mask, hash))
				set->nhashes++;
		}
	}
}

/* There are too many values to keep them. */
static void
give_up_values(px_key_set *set)
{
	valueset_iterator iterator;
	const px_value *entry;

	set->nadded = set->values->members;
	valueset_start_iterate(set->values, &iterator);
	while ((entry = valueset_iterate(set->values, &iterator)) != NULL)
		summarise(set, entry->value);
	set->values = NULL;
	MemoryContextDelete(set->values_context);
	set->values_context = NULL;
}

/* Values that are the same have the same image. */
static inline uint32
hash_of_image(const px_value_type *type, Datum value)
{
	char	   *bytes = DatumGetPointer(value);

	if (type->typbyval)
		return murmurhash32((uint32) value ^ (uint32) (value >> 32));
	if (type->typlen == -1)
		return hash_bytes((unsigned char *) VARDATA_ANY(bytes),
						  (int) VARSIZE_ANY_EXHDR(bytes));
	return hash_bytes((unsigned char *) bytes,
					  (int) datumGetSize(value, false, type->typlen));
}

static void
keep_value(px_key_set *set, px_value *entry)
{
	const px_value_type *type = &set->type;

	if (!type->typbyval)
	{
		MemoryContext oldcontext = MemoryContextSwitchTo(set->values_context);

		entry->value = datumCopy(entry->value, false, type->typlen);
		set->nbytes += datumGetSize(entry->value, false, type->typlen);
		MemoryContextSwitchTo(oldcontext);
	}
	if (set->values->members > PX_KEY_SET_KEYS_MAX ||
		set->nbytes > PX_KEY_SET_BYTES_MAX)
		give_up_values(set);
}

void
px_key_set_add(px_key_set *set, Datum value)
{
	bool		found;
	px_value   *entry;

	/* A value may be compressed, or stored elsewhere. */
	if (set->type.typlen == -1)
		value = PointerGetDatum(PG_DETOAST_DATUM_PACKED(value));
	if (set->values == NULL)
	{
		set->nadded++;
		summarise(set, value);
		return;
	}
	entry = valueset_insert_hash(set->values, value,
								 hash_of_image(&set->type, value), &found);
	if (!found)
		keep_value(set, entry);
}

/* ---------------------------------------------------------------------
 * Reading them
 * --------------------------------------------------------------------- */

uint64
px_key_set_count(const px_key_set *set)
{
	return set->values ? set->values->members :
		set->hashes ? set->nhashes : set->nadded;
}

bool
px_key_set_is_exact(const px_key_set *set)
{
	return set->values != NULL;
}

Datum *
px_key_set_values(const px_key_set *set, int *nvalues)
{
	Datum	   *values = palloc(set->values->members * sizeof(Datum) + 1);
	valueset_iterator iterator;
	const px_value *entry;
	int			n = 0;

	valueset_start_iterate(set->values, &iterator);
	while ((entry = valueset_iterate(set->values, &iterator)) != NULL)
		values[n++] = entry->value;
	*nvalues = n;
	return values;
}

Datum
px_key_set_array(const px_key_set *set, Datum *values, int nvalues)
{
	const px_value_type *type = &set->type;

	return PointerGetDatum(construct_array(values, nvalues, type->type,
										   type->typlen, type->typbyval,
										   type->typalign));
}

bool
px_key_set_bounds(const px_key_set *set, Datum *lowest, Datum *highest)
{
	if (set->values || !set->ordered)
		return false;
	*lowest = px_value_of_integer(set->type.type, set->lowest);
	*highest = px_value_of_integer(set->type.type, set->highest);
	return true;
}

bytea *
px_key_set_bloom(const px_key_set *set)
{
	uint32		nblocks = px_bloom_blocks_for(set->nhashes);
	size_t		nbytes = px_bloom_nbytes(nblocks);
	bytea	   *bloom;
	uint8_t    *data;

	if (set->values || set->hashes == NULL)
		return NULL;
	bloom = palloc(VARHDRSZ + nbytes);
	SET_VARSIZE(bloom, VARHDRSZ + nbytes);
	data = (uint8_t *) VARDATA(bloom);
	px_bloom_init(data, nblocks, GetDatabaseEncodingName());

	/* One key may have the hash value that an empty place has. */
	px_bloom_add(data, 0);
	for (uint64 i = 0; i <= set->mask; i++)
	{
		if (set->hashes[i] != 0)
			px_bloom_add(data, set->hashes[i]);
	}
	return bloom;
}
