/*-------------------------------------------------------------------------
 *
 * outer_batch.h
 *		The outer rows of an ExchangeLookup that are joined at a time.
 *
 * Rows are found by the hash value of their keys.  Beside the rows, a batch
 * has the distinct values of each key, as an array that a remote query takes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_EXEC_OUTER_BATCH_H
#define PX_EXEC_OUTER_BATCH_H

#include "executor/tuptable.h"

/* A batch has at most so many distinct values of a key. */
#define PX_OUTER_BATCH_KEYS_MAX	50000

/* It ends when its distinct keys take so many bytes. */
#define PX_OUTER_BATCH_KEY_BYTES_MAX	(64 * 1024 * 1024)

/* A row.  It is valid until the batch is reset. */
typedef struct px_outer_row
{
	struct px_outer_row *next;	/* in the order in which they were added */
	struct px_outer_row *next_in_bucket;	/* valid after _finish */
	MinimalTuple tuple;
	uint32		hash;			/* of its keys; undefined if has_null */
	bool		has_null;		/* a key is null: it is not looked up */
	bool		matched;		/* the caller's; false at first */
} px_outer_row;

typedef struct px_outer_batch px_outer_batch;

/*
 * A new, empty batch in the current memory context.  key_types has the type of
 * each of nkeys keys, which must have an array type.
 */
extern px_outer_batch *px_outer_batch_new(int nkeys, const Oid *key_types);

/* Forget all rows. */
extern void px_outer_batch_reset(px_outer_batch *batch);

/*
 * Add a copy of the row in slot.  values and hashes have one member for each
 * key; hash is that of all of them.  has_null: a key is null; then values and
 * hashes are not looked at.
 */
extern void px_outer_batch_add(px_outer_batch *batch, TupleTableSlot *slot,
							   const Datum *values, const uint32 *hashes,
							   bool has_null, uint32 hash);

/* May no more rows be added, because of memory or of the number of keys? */
extern bool px_outer_batch_is_full(const px_outer_batch *batch);

/* All rows were added: make them ready to be found. */
extern void px_outer_batch_finish(px_outer_batch *batch);

/* Number of rows. */
extern uint64 px_outer_batch_nrows(const px_outer_batch *batch);

/* Number of distinct values of a key. */
extern uint64 px_outer_batch_nkeys(const px_outer_batch *batch, int key);

/*
 * The distinct values of a key as an array, which is valid until the batch is
 * reset.  Values count as distinct if their images differ.
 */
extern Datum px_outer_batch_key_array(px_outer_batch *batch, int key);

/* The first row, for a walk by px_outer_row.next; NULL if there is none. */
extern px_outer_row *px_outer_batch_first(const px_outer_batch *batch);

/* The first row with that hash value, and the one after row; or NULL. */
extern px_outer_row *px_outer_batch_find(const px_outer_batch *batch,
										 uint32 hash);
extern px_outer_row *px_outer_row_next_equal(const px_outer_row *row);

/* Let a row not be found any more.  The one after it is found as before. */
extern void px_outer_batch_hide(px_outer_batch *batch,
								const px_outer_row *row);

#endif							/* PX_EXEC_OUTER_BATCH_H */
