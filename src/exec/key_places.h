/*-------------------------------------------------------------------------
 *
 * key_places.h
 *		Where keys lie among the partitions of a table.
 *
 * Rows that are equal to a key in the partition column are in the partitions
 * that the key lies in.  That is what the bounds say; they are taken for true
 * of foreign tables, too, as the planner does when it prunes partitions.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_EXEC_KEY_PLACES_H
#define PX_EXEC_KEY_PLACES_H

#include "nodes/execnodes.h"

/* A table is this partition of parent, or below that. */
typedef struct px_partition_level
{
	Oid			parent;
	Oid			partition;
} px_partition_level;

/* The places of some keys, or of ranges of keys, in one parent. */
typedef struct px_key_places px_key_places;

/*
 * The levels at which a table is a partition by its column attnum, as far as
 * rows with column = key by the operator lie where the key does, which may be
 * of another integer type.  Only parents that are in the range table count:
 * these are locked.  A list in the current memory context.
 */
extern List *px_partition_levels(EState *estate, Oid table, AttrNumber attnum,
								 Oid operator);

/*
 * The places of keys, or of all keys from lowest to highest, in the parent of
 * a level.  In the current memory context.
 */
extern px_key_places *px_key_places_of_keys(Oid parent, Oid operator,
											const Datum *keys, int nkeys);
extern px_key_places *px_key_places_of_range(Oid parent, Oid operator,
											 Datum lowest, Datum highest);

/* The table whose partitions the places are in. */
extern Oid	px_key_places_parent(const px_key_places *places);

/*
 * Keep the keys that can lie in the partition: set chosen to false for all
 * others.  There is one element for each key, or one for the range.
 */
extern void px_key_places_choose(const px_key_places *places, Oid partition,
								 bool *chosen);

#endif							/* PX_EXEC_KEY_PLACES_H */
