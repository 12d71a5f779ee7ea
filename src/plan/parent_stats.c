/*-------------------------------------------------------------------------
 *
 * parent_stats.c
 *		Statistics of tables whose rows are those of other tables.
 *
 * PostgreSQL derives the number of rows of a partitioned table from its
 * partitions, but no statistics of columns: these it has only if the
 * partitioned table itself was analyzed, which autovacuum never does.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "common/hashfn.h"
#include "foreign/fdwapi.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "parser/parsetree.h"
#include "utils/hsearch.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

#include "compat.h"
#include "plan/column_stats.h"
#include "plan/known_stats.h"
#include "plan/parent_stats.h"

/*
 * At most so many tables are looked at: those with most rows.  That is enough
 * for estimates, and bounds the time for partitioned tables with thousands of
 * partitions.
 */
#define LEAVES_MAX		16

/* A table below the parent. */
typedef struct leaf
{
	RelOptInfo *rel;
	Oid			relid;
	AttrNumber	attnum;			/* of the column */
	double		tuples;
	HeapTuple	stats;			/* NULL if not known */
	bool		cached;			/* stats is the system cache's */
} leaf;

/* What was derived last for a column. */
typedef struct derived_key
{
	Oid			relid;			/* of the parent; of the first table of a
								 * UNION ALL */
	Oid			userid;
	int			attnum;
	bool		is_table;
} derived_key;

typedef struct derived
{
	derived_key key;			/* hash key: must be first */
	uint64		signature;		/* of what it was derived from */
	HeapTuple	tuple;
} derived;

static HTAB *derivations = NULL;

static Oid
user_of(const RelOptInfo *rel)
{
	return OidIsValid(rel->userid) ? rel->userid : GetUserId();
}

/*
 * Add the tables below the parent rti.  False if the column is not, in each of
 * them, a plain column of the same type.  That type is returned.
 */
static bool
add_leaves(PlannerInfo *root, Index rti, AttrNumber attnum,
		   px_column_type *type, List **leaves)
{
	ListCell   *lc;

	foreach(lc, root->append_rel_list)
	{
		AppendRelInfo *child = lfirst_node(AppendRelInfo, lc);
		RelOptInfo *rel = root->simple_rel_array[child->child_relid];
		RangeTblEntry *rte = root->simple_rte_array[child->child_relid];
		Var		   *var;

		if (child->parent_relid != rti || rel == NULL || IS_DUMMY_REL(rel))
			continue;
		if (attnum > list_length(child->translated_vars))
			return false;
		var = list_nth(child->translated_vars, attnum - 1);
		if (var == NULL || !IsA(var, Var) || var->varattno <= 0 ||
			(Index) var->varno != child->child_relid)
			return false;
		if (!OidIsValid(type->type))
		{
			type->type = getBaseType(var->vartype);
			type->collation = var->varcollid;
		}
		if (getBaseType(var->vartype) != type->type ||
			var->varcollid != type->collation)
			return false;
		if (rte->inh)
		{
			if (!add_leaves(root, child->child_relid, var->varattno, type,
							leaves))
				return false;
		}
		else if (rte->rtekind == RTE_RELATION)
		{
			leaf	   *l = palloc0(sizeof(leaf));

			l->rel = rel;
			l->relid = rte->relid;
			l->attnum = var->varattno;
			l->tuples = Max(rel->tuples, 0);
			*leaves = lappend(*leaves, l);
		}
		else
			return false;
	}
	return true;
}

static int
compare_leaves(const ListCell *a, const ListCell *b)
{
	double		left = ((const leaf *) lfirst(a))->tuples;
	double		right = ((const leaf *) lfirst(b))->tuples;

	return left > right ? -1 : left < right;
}

static void
find_stats(leaf *l)
{
	if (l->rel->fdwroutine != NULL)
		l->stats = px_known_column(l->relid, user_of(l->rel), l->attnum);
	if (l->stats == NULL)
	{
		l->stats = SearchSysCache3(STATRELATTINH, ObjectIdGetDatum(l->relid),
								   Int16GetDatum(l->attnum),
								   BoolGetDatum(false));
		l->cached = HeapTupleIsValid(l->stats);
	}
}

static uint64
combine(uint64 signature, uint64 value)
{
	return hash_combine64(signature, value);
}

/* Changes when statistics or sizes of the tables do. */
static uint64
sign_leaves(List *leaves)
{
	uint64		signature = 0;
	ListCell   *lc;

	foreach(lc, leaves)
	{
		leaf	   *l = lfirst(lc);
		px_known_table *known = px_known_table_any(l->relid);

		signature = combine(signature, l->relid);
		signature = combine(signature, (uint64) l->tuples);
		if (l->cached)
		{
			signature = combine(
				signature, HeapTupleHeaderGetRawXmin(l->stats->t_data));
			signature = combine(
				signature, ItemPointerGetBlockNumber(&l->stats->t_self));
			signature = combine(
				signature, ItemPointerGetOffsetNumber(&l->stats->t_self));
		}
		else if (l->stats && known)
			signature = combine(signature, known->generation);
	}
	return signature;
}

/* Is the column the whole partition key? */
static bool
is_partition_key(const RelOptInfo *rel, AttrNumber attnum)
{
	Var		   *key;

	if (rel->part_scheme == NULL || rel->part_scheme->partnatts != 1 ||
		rel->partexprs == NULL || list_length(rel->partexprs[0]) != 1)
		return false;
	key = linitial(rel->partexprs[0]);
	return IsA(key, Var) && key->varattno == attnum;
}

/* Derive the statistics, in the current memory context. */
static void
merge_leaves(const RelOptInfo *rel, AttrNumber attnum, px_column_type type,
			 List *leaves, double all_tuples, px_column_stats *merged)
{
	px_column_stats *parts = palloc(list_length(leaves) * sizeof(*parts));
	double	   *tuples = palloc(list_length(leaves) * sizeof(double));
	int			n = 0;
	ListCell   *lc;

	foreach(lc, leaves)
	{
		leaf	   *l = lfirst(lc);

		if (l->stats == NULL)
			continue;
		px_column_stats_read(l->stats, type, &parts[n]);
		tuples[n++] = l->tuples;
	}
	px_column_stats_merge(type, parts, tuples, n, all_tuples,
						  is_partition_key(rel, attnum), merged);
}

static derived *
find_derived(derived_key key)
{
	derived    *entry;
	bool		found;

	if (derivations == NULL)
	{
		HASHCTL		ctl;

		ctl.keysize = sizeof(derived_key);
		ctl.entrysize = sizeof(derived);
		derivations = hash_create("pg_exchange derived statistics", 32, &ctl,
								  HASH_ELEM | HASH_BLOBS);
	}
	entry = hash_search(derivations, &key, HASH_ENTER, &found);
	if (!found)
	{
		entry->signature = 0;
		entry->tuple = NULL;
	}
	return entry;
}

/* Derive statistics, or take those that were derived last. */
static HeapTuple
derive(const RelOptInfo *rel, const RangeTblEntry *rte, AttrNumber attnum,
	   px_column_type type, List *leaves, double all_tuples)
{
	bool		is_table = rte->rtekind == RTE_RELATION;
	leaf	   *first = linitial(leaves);
	uint64		signature = combine(sign_leaves(leaves), (uint64) all_tuples);
	derived_key key;
	derived    *entry;
	px_column_stats merged;
	HeapTuple	tuple;
	MemoryContext context;
	MemoryContext old;

	memset(&key, 0, sizeof(key));
	key.relid = is_table ? rte->relid : first->relid;
	key.userid = user_of(rel);
	key.attnum = attnum;
	key.is_table = is_table;
	entry = find_derived(key);
	if (entry->tuple != NULL && entry->signature == signature)
		return entry->tuple;

	context = AllocSetContextCreate(CurrentMemoryContext,
									"pg_exchange derived statistics",
									ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(context);
	merge_leaves(rel, attnum, type, leaves, all_tuples, &merged);
	tuple = px_column_stats_tuple(key.relid, attnum, true, type, &merged);
	MemoryContextSwitchTo(CacheMemoryContext);
	tuple = heap_copytuple(tuple);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);

	/* Looking into caches may have made another one meanwhile. */
	entry = find_derived(key);
	if (entry->tuple)
		heap_freetuple(entry->tuple);
	entry->tuple = tuple;
	entry->signature = signature;
	return tuple;
}

HeapTuple
px_parent_stats(PlannerInfo *root, RelOptInfo *rel, const RangeTblEntry *rte,
				AttrNumber attnum)
{
	px_column_type type = {InvalidOid, InvalidOid};
	List	   *leaves = NIL;
	bool		has_foreign = false;
	bool		has_stats = false;
	double		all_tuples = 0;
	HeapTuple	tuple = NULL;
	ListCell   *lc;

	if (rte->rtekind == RTE_RELATION &&
		SearchSysCacheExists3(STATRELATTINH, ObjectIdGetDatum(rte->relid),
							  Int16GetDatum(attnum), BoolGetDatum(true)))
		return NULL;
	if (!add_leaves(root, rel->relid, attnum, &type, &leaves))
		return NULL;
	foreach(lc, leaves)
	{
		leaf	   *l = lfirst(lc);

		has_foreign |= l->rel->fdwroutine != NULL;
		all_tuples += l->tuples;
	}
	if (!has_foreign)
		return NULL;

	list_sort(leaves, compare_leaves);
	leaves = list_truncate(leaves, LEAVES_MAX);
	foreach(lc, leaves)
	{
		leaf	   *l = lfirst(lc);

		find_stats(l);
		has_stats |= l->stats != NULL;
	}
	if (has_stats)
		tuple = derive(rel, rte, attnum, type, leaves, all_tuples);
	foreach(lc, leaves)
	{
		leaf	   *l = lfirst(lc);

		if (l->cached)
			ReleaseSysCache(l->stats);
	}
	return tuple;
}
