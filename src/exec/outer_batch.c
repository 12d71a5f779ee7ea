/*-------------------------------------------------------------------------
 *
 * outer_batch.c
 *		The outer rows of an ExchangeLookup that are joined at a time.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "utils/array.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "exec/outer_batch.h"
#include "exec/value_set.h"

struct px_outer_batch
{
	/* Fixed. */
	int			nkeys;
	px_value_type *types;
	MemoryContext context;		/* all of the following; reset with them */

	/* The rows. */
	px_outer_row *first;
	px_outer_row *last;
	uint64		nrows;
	size_t		nbytes;			/* that they take */
	size_t		nkeybytes;		/* that values of keys take, beside rows */
	valueset_hash **sets;		/* for each key, its distinct values */

	/* After px_outer_batch_finish. */
	px_outer_row **buckets;
	uint32		mask;			/* of hash values, for a bucket */
};

#define KEYSET_SIZE_MIN	64
#define BUCKETS_MIN		64
#define BUCKETS_MAX		(1 << 26)	/* less than MaxAllocSize */

px_outer_batch *
px_outer_batch_new(int nkeys, const Oid *key_types)
{
	px_outer_batch *batch = palloc0(sizeof(px_outer_batch));

	batch->nkeys = nkeys;
	batch->types = palloc(nkeys * sizeof(px_value_type));
	for (int i = 0; i < nkeys; i++)
	{
		px_value_type *type = &batch->types[i];

		type->type = key_types[i];
		get_typlenbyvalalign(type->type, &type->typlen, &type->typbyval,
							 &type->typalign);
	}
	batch->context = AllocSetContextCreate(CurrentMemoryContext,
										   "ExchangeLookup batch",
										   ALLOCSET_DEFAULT_SIZES);
	px_outer_batch_reset(batch);
	return batch;
}

void
px_outer_batch_reset(px_outer_batch *batch)
{
	MemoryContext oldcontext;

	MemoryContextReset(batch->context);
	batch->first = batch->last = NULL;
	batch->nrows = batch->nbytes = batch->nkeybytes = 0;
	batch->buckets = NULL;

	oldcontext = MemoryContextSwitchTo(batch->context);
	batch->sets = palloc(batch->nkeys * sizeof(valueset_hash *));
	for (int i = 0; i < batch->nkeys; i++)
		batch->sets[i] = valueset_create(batch->context, KEYSET_SIZE_MIN,
									   &batch->types[i]);
	MemoryContextSwitchTo(oldcontext);
}

/* Add a value to the distinct ones, if it is new.  In the batch's context. */
static void
add_key(px_outer_batch *batch, int key, Datum value, uint32 hash)
{
	const px_value_type *type = &batch->types[key];
	bool		found;
	px_value   *entry = valueset_insert_hash(batch->sets[key], value, hash,
										   &found);

	if (found)
		return;
	if (!type->typbyval)
	{
		Size		nbytes;

		entry->value = datumCopy(value, false, type->typlen);
		nbytes = datumGetSize(entry->value, false, type->typlen);
		batch->nbytes += nbytes;
		batch->nkeybytes += nbytes;
	}
	batch->nbytes += sizeof(px_value);
}

void
px_outer_batch_add(px_outer_batch *batch, TupleTableSlot *slot,
				   const Datum *values, const uint32 *hashes, bool has_null,
				   uint32 hash)
{
	MemoryContext oldcontext = MemoryContextSwitchTo(batch->context);
	px_outer_row *row = palloc(sizeof(px_outer_row));

	row->next = row->next_in_bucket = NULL;
	row->tuple = ExecCopySlotMinimalTuple(slot);
	row->hash = hash;
	row->has_null = has_null;
	row->matched = false;
	if (batch->last)
		batch->last->next = row;
	else
		batch->first = row;
	batch->last = row;
	batch->nrows++;

	/* With a bucket for each row. */
	batch->nbytes += sizeof(px_outer_row) + sizeof(px_outer_row *) +
		row->tuple->t_len;

	if (!has_null)
	{
		for (int i = 0; i < batch->nkeys; i++)
			add_key(batch, i, values[i], hashes[i]);
	}
	MemoryContextSwitchTo(oldcontext);
}

bool
px_outer_batch_is_full(const px_outer_batch *batch)
{
	/* Arrays of keys and their text form must be far below 1 GB. */
	if (batch->nbytes >= get_hash_memory_limit() ||
		batch->nkeybytes >= PX_OUTER_BATCH_KEY_BYTES_MAX)
		return true;
	for (int i = 0; i < batch->nkeys; i++)
	{
		if (batch->sets[i]->members >= PX_OUTER_BATCH_KEYS_MAX)
			return true;
	}
	return false;
}

void
px_outer_batch_finish(px_outer_batch *batch)
{
	uint64		nbuckets = pg_nextpower2_64(
		Min(Max(batch->nrows, BUCKETS_MIN), BUCKETS_MAX));

	batch->buckets = MemoryContextAllocZero(batch->context,
											nbuckets * sizeof(px_outer_row *));
	batch->mask = (uint32) (nbuckets - 1);
	for (px_outer_row *row = batch->first; row; row = row->next)
	{
		px_outer_row **bucket = &batch->buckets[row->hash & batch->mask];

		if (row->has_null)
			continue;
		row->next_in_bucket = *bucket;
		*bucket = row;
	}
}

uint64
px_outer_batch_nrows(const px_outer_batch *batch)
{
	return batch->nrows;
}

uint64
px_outer_batch_nkeys(const px_outer_batch *batch, int key)
{
	return batch->sets[key]->members;
}

Datum
px_outer_batch_key_array(px_outer_batch *batch, int key)
{
	const px_value_type *type = &batch->types[key];
	valueset_hash *set = batch->sets[key];
	MemoryContext oldcontext = MemoryContextSwitchTo(batch->context);
	Datum	   *values = palloc(set->members * sizeof(Datum));
	valueset_iterator iterator;
	const px_value *entry;
	int			n = 0;
	ArrayType  *array;

	valueset_start_iterate(set, &iterator);
	while ((entry = valueset_iterate(set, &iterator)) != NULL)
		values[n++] = entry->value;
	array = construct_array(values, n, type->type, type->typlen,
							type->typbyval, type->typalign);
	pfree(values);
	MemoryContextSwitchTo(oldcontext);
	return PointerGetDatum(array);
}

px_outer_row *
px_outer_batch_first(const px_outer_batch *batch)
{
	return batch->first;
}

/* The first of these rows that has the hash value. */
static px_outer_row *
first_equal(px_outer_row *row, uint32 hash)
{
	while (row && row->hash != hash)
		row = row->next_in_bucket;
	return row;
}

px_outer_row *
px_outer_batch_find(const px_outer_batch *batch, uint32 hash)
{
	return first_equal(batch->buckets[hash & batch->mask], hash);
}

px_outer_row *
px_outer_row_next_equal(const px_outer_row *row)
{
	return first_equal(row->next_in_bucket, row->hash);
}

void
px_outer_batch_hide(px_outer_batch *batch, const px_outer_row *row)
{
	px_outer_row **link = &batch->buckets[row->hash & batch->mask];

	while (*link != row)
		link = &(*link)->next_in_bucket;
	*link = row->next_in_bucket;
}
