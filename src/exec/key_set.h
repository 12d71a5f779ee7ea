/*-------------------------------------------------------------------------
 *
 * key_set.h
 *		The distinct values of a join key, or a summary of them.
 *
 * A set has the values themselves up to a bound.  Beyond it, it has the lowest
 * and the highest one, as far as the type has an order that all servers share,
 * and a Bloom filter, as far as the values have the same bytes everywhere.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_EXEC_KEY_SET_H
#define PX_EXEC_KEY_SET_H

/* Values are kept up to so many, and up to so many bytes of varying length. */
#define PX_KEY_SET_KEYS_MAX		10000
#define PX_KEY_SET_BYTES_MAX	(128 * 1024)

/* A Bloom filter is made of so many distinct keys at most. */
#define PX_KEY_SET_HASHES_MAX	524288

/* How the keys of a Bloom filter are hashed: alike at both ends. */
typedef enum px_key_hash
{
	PX_KEY_HASH_NONE,			/* not at all */
	PX_KEY_HASH_INTEGER,
	PX_KEY_HASH_TEXT,
	PX_KEY_HASH_BYTES			/* bytea, and what becomes that */
} px_key_hash;

typedef struct px_key_set px_key_set;

/* How values of a type are hashed. */
extern px_key_hash px_key_hash_of(Oid type);

/*
 * A new, empty set of values of a type, which must have an array type.  It is
 * in a memory context of its own, a child of the current one.
 */
extern px_key_set *px_key_set_new(Oid type);

/* Add a value, which is copied if it is new.  It must not be null. */
extern void px_key_set_add(px_key_set *set, Datum value);

/*
 * Number of distinct values.  Values count as distinct if their images
 * differ.  If the set is not exact, it is the number of hash values, or, if
 * these are too many, of values that were added.
 */
extern uint64 px_key_set_count(const px_key_set *set);

/* Has the set the values themselves? */
extern bool px_key_set_is_exact(const px_key_set *set);

/*
 * The values of an exact set, in the current memory context; what they point
 * to is the set's.
 */
extern Datum *px_key_set_values(const px_key_set *set, int *nvalues);

/* Some values of the set's type as an array, in the current memory context. */
extern Datum px_key_set_array(const px_key_set *set, Datum *values,
							  int nvalues);

/*
 * The lowest and the highest value of a set that is not exact.  False if the
 * type has no such order.
 */
extern bool px_key_set_bounds(const px_key_set *set, Datum *lowest,
							  Datum *highest);

/*
 * The Bloom filter of a set that is not exact, as wire/bloom.h has it: a bytea
 * in the current memory context.  NULL if there is none, because of the type
 * or because there are too many values.
 */
extern bytea *px_key_set_bloom(const px_key_set *set);

#endif							/* PX_EXEC_KEY_SET_H */
