/*-------------------------------------------------------------------------
 *
 * key_places.c
 *		Where keys lie among the partitions of a table.
 *
 * A place is what core's search of the bounds finds, as numbers of
 * PartitionBoundInfo.indexes.  It is a range of these: for a key if there are
 * several partition columns, of which we know the first one only; and for a
 * range of keys.
 *
 * The bounds that are needed later are copied: concurrent commands may number
 * the partitions anew.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/hash.h"
#include "access/nbtree.h"
#include "access/table.h"
#include "access/transam.h"
#include "catalog/partition.h"
#include "catalog/pg_type_d.h"
#include "partitioning/partbounds.h"
#include "partitioning/partdesc.h"
#include "utils/lsyscache.h"
#include "utils/partcache.h"
#include "utils/rel.h"

#include "compat.h"
#include "exec/key_places.h"
#include "tuple/policy.h"

/* Numbers of indexes, which are none if last < first. */
typedef struct place
{
	int			first;
	int			last;
	bool		in_default;		/* the default partition, too */
} place;

struct px_key_places
{
	Oid			parent;
	int			nparts;
	Oid		   *oids;			/* of the partitions */
	int			default_index;	/* among oids; -1: there is none */
	int		   *indexes;		/* PartitionBoundInfo's */
	int			nplaces;
	place		places[FLEXIBLE_ARRAY_MEMBER];
};

/* What it takes to find a place. */
typedef struct search
{
	Relation	rel;
	PartitionKey key;
	PartitionBoundInfo bounds;
	FmgrInfo	function;		/* compares a bound with a key, or hashes a
								 * key */
} search;

/* ---------------------------------------------------------------------
 * The partition column
 * --------------------------------------------------------------------- */

/*
 * Are rows with column = key where the key lies?  Collations need not be those
 * of the partitions: a filter's keys have deterministic ones, in which only
 * values of the same bytes are equal.
 */
static bool
fits_operator(PartitionKey key, Oid operator)
{
	Oid			family = key->partopfamily[0];
	Oid			type = key->partopcintype[0];
	int			equality = key->strategy == PARTITION_STRATEGY_HASH ?
		HTEqualStrategyNumber : BTEqualStrategyNumber;
	Oid			left;
	Oid			right;

	/* Functions of users may do anything. */
	if (family >= FirstGenbkiObjectId ||
		get_op_opfamily_strategy(operator, family) != equality)
		return false;
	op_input_types(operator, &left, &right);
	return left == type &&
		(right == type ||
		 (px_type_is_integer(left) && px_type_is_integer(right)));
}

/* Is parent partitioned by the column of that name? */
static bool
is_partitioned_by(Oid parent, const char *column, Oid operator)
{
	Relation	rel = table_open(parent, NoLock);
	PartitionKey key = RelationGetPartitionKey(rel);
	int			attnum = key->partattrs[0];
	bool		result;

	/* The hash of several columns takes all of them. */
	result = attnum > 0 &&
		(key->partnatts == 1 || key->strategy == PARTITION_STRATEGY_RANGE) &&
		strcmp(NameStr(TupleDescAttr(RelationGetDescr(rel),
									 attnum - 1)->attname), column) == 0 &&
		fits_operator(key, operator);
	table_close(rel, NoLock);
	return result;
}

static bool
is_in_query(EState *estate, Oid table)
{
	ListCell   *lc;

	foreach(lc, estate->es_range_table)
	{
		const RangeTblEntry *rte = lfirst_node(RangeTblEntry, lc);

		if (rte->rtekind == RTE_RELATION && rte->relid == table)
			return true;
	}
	return false;
}

List *
px_partition_levels(EState *estate, Oid table, AttrNumber attnum, Oid operator)
{
	const char *column = get_attname(table, attnum, false);
	List	   *levels = NIL;
	Oid			partition = table;
	ListCell   *lc;

	if (!get_rel_relispartition(table))
		return NIL;
	foreach(lc, get_partition_ancestors(table))
	{
		Oid			parent = lfirst_oid(lc);

		if (is_in_query(estate, parent) &&
			is_partitioned_by(parent, column, operator))
		{
			px_partition_level *level = palloc(sizeof(px_partition_level));

			level->parent = parent;
			level->partition = partition;
			levels = lappend(levels, level);
		}
		partition = parent;
	}
	return levels;
}

/* ---------------------------------------------------------------------
 * Places
 * --------------------------------------------------------------------- */

static place
place_by_hash(search *search, Datum value)
{
	bool		isnull = false;
	uint64		hash = compute_partition_hash_value(
		1, &search->function, search->key->partcollation, &value, &isnull);
	int			number = (int) (hash % (uint64) search->bounds->nindexes);

	return (place) {number, number, false};
}

/* A value that is not in a list is between two that are. */
static place
place_by_list(search *search, Datum value)
{
	bool		is_equal = false;
	int			at = partition_list_bsearch(
		&search->function, search->key->partcollation, search->bounds, value,
		&is_equal);

	return (place) {is_equal ? at : at + 1, at, !is_equal};
}

/* How do the first columns of a bound compare with the value? */
static int
compare_bound(search *search, int at, Datum value)
{
	return partition_rbound_datum_cmp(
		&search->function, search->key->partcollation,
		search->bounds->datums[at], search->bounds->kind[at], &value, 1);
}

/*
 * Each index is that of the partition below its bound.  If there are several
 * columns, bounds may have the value in the first one: rows with the value are
 * on either side of these.  And there, nulls in other columns are in the
 * default partition.
 */
static place
place_by_range(search *search, Datum value)
{
	PartitionBoundInfo bounds = search->bounds;
	bool		several = search->key->partnatts > 1;
	bool		is_equal = false;
	int			below = partition_range_datum_bsearch(
		&search->function, search->key->partcollation, bounds, 1, &value,
		&is_equal);
	int			first = below + 1;
	int			last = below + 1;

	if (several && is_equal)
	{
		first = below;
		while (first > 0 && compare_bound(search, first - 1, value) == 0)
			first--;
		while (last < bounds->ndatums &&
			   compare_bound(search, last, value) == 0)
			last++;
	}
	return (place) {first, last, several};
}

static place
place_of_key(search *search, Datum key)
{
	switch (search->key->strategy)
	{
		case PARTITION_STRATEGY_HASH:
			return place_by_hash(search, key);
		case PARTITION_STRATEGY_LIST:
			return place_by_list(search, key);
		default:
			return place_by_range(search, key);
	}
}

static place
place_of_range(search *search, Datum lowest, Datum highest)
{
	place		low;
	place		high;

	if (search->key->strategy == PARTITION_STRATEGY_HASH)
		return (place) {0, search->bounds->nindexes - 1, false};
	low = place_of_key(search, lowest);
	high = place_of_key(search, highest);
	return (place) {low.first, high.last, low.in_default ||
		search->key->strategy == PARTITION_STRATEGY_LIST};
}

/*
 * Begin a search, for so many places.  There are none if the partitions have
 * gone meanwhile.
 */
static px_key_places *
begin_search(search *search, Oid parent, Oid operator, int nplaces)
{
	PartitionDesc partitions;
	px_key_places *places =
		palloc0(offsetof(px_key_places, places) + nplaces * sizeof(place));
	Oid			family;
	Oid			left;
	Oid			right;

	places->parent = parent;
	search->rel = table_open(parent, NoLock);
	search->key = RelationGetPartitionKey(search->rel);
	partitions = RelationGetPartitionDesc(search->rel, false);
	search->bounds = partitions->boundinfo;
	if (partitions->nparts == 0)
		return places;

	op_input_types(operator, &left, &right);
	family = search->key->partopfamily[0];
	fmgr_info(search->key->strategy == PARTITION_STRATEGY_HASH ?
			  get_opfamily_proc(family, right, right, HASHEXTENDED_PROC) :
			  get_opfamily_proc(family, left, right, BTORDER_PROC),
			  &search->function);

	places->nplaces = nplaces;
	places->nparts = partitions->nparts;
	places->oids = palloc(places->nparts * sizeof(Oid));
	memcpy(places->oids, partitions->oids, places->nparts * sizeof(Oid));
	places->default_index = search->bounds->default_index;
	places->indexes = palloc(search->bounds->nindexes * sizeof(int));
	memcpy(places->indexes, search->bounds->indexes,
		   search->bounds->nindexes * sizeof(int));
	return places;
}

px_key_places *
px_key_places_of_keys(Oid parent, Oid operator, const Datum *keys, int nkeys)
{
	search		search;
	px_key_places *places = begin_search(&search, parent, operator, nkeys);

	for (int i = 0; i < places->nplaces; i++)
		places->places[i] = place_of_key(&search, keys[i]);
	table_close(search.rel, NoLock);
	return places;
}

px_key_places *
px_key_places_of_range(Oid parent, Oid operator, Datum lowest, Datum highest)
{
	search		search;
	px_key_places *places = begin_search(&search, parent, operator, 1);

	if (places->nplaces > 0)
		places->places[0] = place_of_range(&search, lowest, highest);
	table_close(search.rel, NoLock);
	return places;
}

Oid
px_key_places_parent(const px_key_places *places)
{
	return places->parent;
}

/* ---------------------------------------------------------------------
 * Keys of a partition
 * --------------------------------------------------------------------- */

/* Values without a partition of their own are in the default partition. */
static bool
is_in_place(const px_key_places *places, const place *place, int partition)
{
	if (place->in_default && partition == places->default_index)
		return true;
	for (int i = place->first; i <= place->last; i++)
	{
		int			index = places->indexes[i];

		if ((index < 0 ? places->default_index : index) == partition)
			return true;
	}
	return false;
}

void
px_key_places_choose(const px_key_places *places, Oid partition, bool *chosen)
{
	int			index = 0;

	while (index < places->nparts && places->oids[index] != partition)
		index++;
	if (index == places->nparts)
		return;
	for (int i = 0; i < places->nplaces; i++)
		chosen[i] &= is_in_place(places, &places->places[i], index);
}
