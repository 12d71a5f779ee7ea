/*-------------------------------------------------------------------------
 *
 * key_table.h
 *		Is an integer one of many?
 *
 * The table is at most half full, and a key is sought from its place on
 * (linear probing).  Nearly all integers that are looked up are others, and
 * whether the first place is empty would be a branch that no processor can
 * predict.  So a bitmap that is nearly empty is asked first.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_EXEC_KEY_TABLE_H
#define PX_EXEC_KEY_TABLE_H

#include "catalog/pg_type_d.h"
#include "utils/array.h"

/*
 * Bits of the bitmap for each place.  With 16 to 32 bits for a key, 3 to 6 % of
 * other keys meet a bit that is set; with 1,000 keys the bitmap takes 4 kB.
 */
#define PX_KEY_BITS_LOG2	4

typedef struct px_key_table
{
	uint64		multiplier;		/* of the hash */
	int			shift;			/* of a hash, to get a bit */
	uint32		mask;			/* number of places - 1 */
	int64		empty;			/* what an empty place has: not a key */
	uint64	   *bits;			/* 1 << PX_KEY_BITS_LOG2 for each place */
	int64		keys[FLEXIBLE_ARRAY_MEMBER];
} px_key_table;

/*
 * A table of the elements of an array of type, which is int2, int4 or int8,
 * that are not null.  It is allocated in context, in two pieces.  Takes time
 * in proportion to the number of keys, whatever they are, and can be
 * interrupted.
 */
extern px_key_table *px_key_table_make(ArrayType *array, Oid type,
									   MemoryContext context);

/* Has the array the key?  Without a table: for arrays that differ each time. */
extern bool px_keys_have(ArrayType *array, Oid type, int64 key);

/* For px_key_table_has alone: the key's bit is set, is the key there? */
extern bool px_key_table_search(const px_key_table *table, int64 key);

/* The integer of type at keys[i]. */
static inline int64
px_key_at(const void *keys, Oid type, int i)
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

/* Multiplicative hashing: Knuth, The Art of Computer Programming 3, 6.4. */
static inline uint64
px_key_table_bit(const px_key_table *table, int64 key)
{
	return ((uint64) key * table->multiplier) >> table->shift;
}

static inline bool
px_key_table_has(const px_key_table *table, int64 key)
{
	uint64		bit = px_key_table_bit(table, key);

	return (table->bits[bit / 64] & (UINT64CONST(1) << (bit % 64))) != 0 &&
		px_key_table_search(table, key);
}

#endif							/* PX_EXEC_KEY_TABLE_H */
