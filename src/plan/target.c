/*-------------------------------------------------------------------------
 *
 * target.c
 *		SQL of the target that a row goes to, by the hash of its key or by the
 *		bounds of partitions.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/tupmacs.h"
#include "catalog/pg_type_d.h"
#include "partitioning/partbounds.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "compat.h"
#include "plan/target.h"
#include "transport/transmission.h"
#include "tuple/policy.h"

/* A query with more partitions by hash is not worth its length. */
#define MAP_MAX		1024

char *
px_target_by_hash(int ntargets, Oid type)
{
	return psprintf(
		"exchange.partition_number(%d, %%s::%s)", ntargets,
		px_transmission_type(type, -1));
}

/* The number of a partition of big among the leaves, or -1. */
static int
leaf_of_partition(const px_fragment_join *join, int partition)
{
	const RelOptInfo *big = join->fragment.big;
	const RelOptInfo *rel = partition < 0 ? NULL : big->part_rels[partition];
	ListCell   *lc;

	foreach(lc, join->leaves)
	{
		if (lfirst(lc) == rel)
			return foreach_current_index(lc);
	}
	return -1;
}

/* From what indexes of the bounds say to targets: null for no partition. */
static char *
map_of_targets(const px_fragment_join *join, const int *indexes, int n)
{
	const PartitionBoundInfo bounds = join->fragment.big->boundinfo;
	StringInfoData map;

	initStringInfo(&map);
	for (int i = 0; i < n; i++)
	{
		int			partition = indexes[i] >= 0 ? indexes[i] :
			bounds->default_index;
		int			leaf = leaf_of_partition(join, partition);

		appendStringInfo(&map, "%s%s", i > 0 ? "," : "",
						 leaf < 0 ? "NULL" : psprintf("%d", leaf));
	}
	return psprintf("('{%s}'::pg_catalog.int4[])", map.data);
}

char *
px_target_by_hash_bounds(const px_fragment_join *join, const px_cut_key *key)
{
	const PartitionBoundInfo bounds = join->fragment.big->boundinfo;

	if (bounds->nindexes > MAP_MAX ||
		join->fragment.big->part_scheme->partopfamily[0] !=
		lookup_type_cache(key->big_type, TYPECACHE_HASH_OPFAMILY)->hash_opf)
		return NULL;
	return psprintf(
		"%s[exchange.partition_number(%d, %%s::%s)"
		" OPERATOR(pg_catalog.+) 1]",
		map_of_targets(join, bounds->indexes, bounds->nindexes),
		bounds->nindexes, px_transmission_type(key->side_type, -1));
}

/* The type in which keys are compared with bounds, or InvalidOid. */
static Oid
type_of_bounds(const px_fragment_join *join, const px_cut_key *key)
{
	const PartitionScheme scheme = join->fragment.big->part_scheme;
	const TypeCacheEntry *entry;
	int16		typlen;
	bool		typbyval;
	char		typalign;

	if (OidIsValid(scheme->partcollation[0]))
		return InvalidOid;
	entry = lookup_type_cache(key->big_type, TYPECACHE_BTREE_OPFAMILY);
	if (scheme->partopfamily[0] != entry->btree_opf)
		return InvalidOid;
	if (px_type_is_integer(key->big_type) &&
		px_type_is_integer(key->side_type))
		return INT8OID;

	/* PostgreSQL's width_bucket takes no heed of gaps between elements. */
	get_typlenbyvalalign(key->big_type, &typlen, &typbyval, &typalign);
	if (typlen > 0 && (int) att_align_nominal(typlen, typalign) != typlen)
		return InvalidOid;
	return key->big_type == key->side_type ? key->big_type : InvalidOid;
}

/* An element in the text of an array. */
static void
append_element(StringInfo text, const char *element)
{
	appendStringInfoChar(text, '"');
	for (const char *c = element; *c != '\0'; c++)
	{
		if (*c == '"' || *c == '\\')
			appendStringInfoChar(text, '\\');
		appendStringInfoChar(text, *c);
	}
	appendStringInfoChar(text, '"');
}

/* The bounds that are values, in order, as an array's text. */
static char *
bounds_as_text(const px_fragment_join *join, int first, int n)
{
	const PartitionBoundInfo bounds = join->fragment.big->boundinfo;
	Oid			output;
	bool		is_varlena;
	StringInfoData text;

	getTypeOutputInfo(join->fragment.big->part_scheme->partopcintype[0],
					  &output, &is_varlena);
	initStringInfo(&text);
	for (int i = first; i < first + n; i++)
	{
		if (i > first)
			appendStringInfoChar(&text, ',');
		append_element(&text, OidOutputFunctionCall(
						   output, bounds->datums[i][0]));
	}
	return quote_literal_cstr(psprintf("{%s}", text.data));
}

char *
px_target_by_range(const px_fragment_join *join, const px_cut_key *key)
{
	const PartitionBoundInfo bounds = join->fragment.big->boundinfo;
	Oid			type = type_of_bounds(join, key);
	int			first = 0;
	int			end = bounds->ndatums;
	int			nestlevel;
	char	   *sql;

	if (!OidIsValid(type) || bounds->ndatums > MAP_MAX)
		return NULL;

	/* Below MINVALUE and above MAXVALUE is nothing. */
	while (first < end &&
		   bounds->kind[first][0] == PARTITION_RANGE_DATUM_MINVALUE)
		first++;
	while (end > first &&
		   bounds->kind[end - 1][0] == PARTITION_RANGE_DATUM_MAXVALUE)
		end--;
	if (first == end)
		return NULL;
	nestlevel = px_transmission_begin();
	sql = psprintf(
		"%s[pg_catalog.width_bucket(%%s::%s, %s::%s[])"
		" OPERATOR(pg_catalog.+) 1]",
		map_of_targets(join, &bounds->indexes[first], end - first + 1),
		px_transmission_type(type, -1),
		bounds_as_text(join, first, end - first),
		px_transmission_type(type, -1));
	AtEOXact_GUC(true, nestlevel);
	return sql;
}
