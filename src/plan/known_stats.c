/*-------------------------------------------------------------------------
 *
 * known_stats.c
 *		What servers have told about their tables, kept for the session.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/pg_type_d.h"
#include "foreign/foreign.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "conn/foreign_server.h"
#include "plan/column_stats.h"
#include "plan/guarded.h"
#include "plan/known_stats.h"
#include "tuple/policy.h"

/* How long an answer is used, and how long it is remembered that none came. */
#define ANSWER_LIFE_MS		(10 * 60 * 1000)
#define NO_ANSWER_LIFE_MS	(60 * 1000)

/*
 * When there are so many entries, and twice as many as the last time, those
 * that are not used any more are freed.
 */
#define SWEEP_MIN			64

typedef struct known_key
{
	Oid			relid;			/* hash key */
	px_known_table *first;		/* one for each user */
} known_key;

static HTAB *tables = NULL;		/* NULL until the first question */
static uint64 generations = 0;
static int	ntables = 0;
static int	sweep_at = SWEEP_MIN;

/* ---------------------------------------------------------------------
 * Entries
 * --------------------------------------------------------------------- */

static void
invalidate(known_key *key)
{
	for (px_known_table *table = key->first; table; table = table->next)
	{
		table->invalidated = true;
		table->answered = false;
		table->until = table->plain_until = 0;
	}
}

static void
invalidate_all(void)
{
	HASH_SEQ_STATUS scan;
	known_key  *key;

	hash_seq_init(&scan, tables);
	while ((key = hash_seq_search(&scan)) != NULL)
		invalidate(key);
}

/* A table was changed, or analyzed. */
static void
relcache_callback(Datum arg, Oid relid)
{
	known_key  *key;

	if (!OidIsValid(relid))
		invalidate_all();
	else if ((key = hash_search(tables, &relid, HASH_FIND, NULL)) != NULL)
		invalidate(key);
}

static void
syscache_callback(Datum arg, int cacheid, uint32 hashvalue)
{
	invalidate_all();
}

/* What is not fresh is asked about anew, if it is wanted again. */
static void
free_stale(known_key *key)
{
	px_known_table **next = &key->first;

	while (*next)
	{
		px_known_table *table = *next;

		if (px_known_is_fresh(table) || px_known_plain_is_fresh(table))
		{
			next = &table->next;
			continue;
		}
		*next = table->next;
		if (table->context)
			MemoryContextDelete(table->context);
		pfree(table);
		ntables--;
	}
}

/* Nobody has a pointer to an entry when the transaction ends. */
static void
xact_callback(XactEvent event, void *arg)
{
	HASH_SEQ_STATUS scan;
	known_key  *key;

	if (ntables < sweep_at ||
		(event != XACT_EVENT_COMMIT && event != XACT_EVENT_ABORT))
		return;
	hash_seq_init(&scan, tables);
	while ((key = hash_seq_search(&scan)) != NULL)
	{
		free_stale(key);
		if (key->first == NULL)
			(void) hash_search(tables, &key->relid, HASH_REMOVE, NULL);
	}
	sweep_at = Max(2 * ntables, SWEEP_MIN);
}

static void
create_tables(void)
{
	HASHCTL		ctl;

	ctl.keysize = sizeof(Oid);
	ctl.entrysize = sizeof(known_key);
	tables = hash_create("pg_exchange statistics", 32, &ctl,
						 HASH_ELEM | HASH_BLOBS);
	CacheRegisterRelcacheCallback(relcache_callback, (Datum) 0);
	CacheRegisterSyscacheCallback(FOREIGNSERVEROID, syscache_callback,
								  (Datum) 0);
	CacheRegisterSyscacheCallback(USERMAPPINGOID, syscache_callback,
								  (Datum) 0);
	RegisterXactCallback(xact_callback, NULL);
}

px_known_table *
px_known_table_get(Oid relid, Oid userid)
{
	known_key  *key;
	px_known_table *table;
	bool		found;

	if (tables == NULL)
		create_tables();
	key = hash_search(tables, &relid, HASH_ENTER, &found);
	if (!found)
		key->first = NULL;
	for (table = key->first; table; table = table->next)
	{
		if (table->userid == userid)
			return table;
	}
	table = MemoryContextAllocZero(CacheMemoryContext,
								   sizeof(px_known_table));
	table->relid = relid;
	table->userid = userid;
	table->next = key->first;
	key->first = table;
	ntables++;
	return table;
}

px_known_table *
px_known_table_any(Oid relid)
{
	known_key  *key = tables ?
		hash_search(tables, &relid, HASH_FIND, NULL) : NULL;

	for (px_known_table *table = key ? key->first : NULL; table;
		 table = table->next)
	{
		if (table->answered)
			return table;
	}
	return NULL;
}

bool
px_known_is_fresh(const px_known_table *table)
{
	return table->until != 0 && table->until > GetCurrentTimestamp();
}

bool
px_known_plain_is_fresh(const px_known_table *table)
{
	return table->plain_until > GetCurrentTimestamp();
}

void
px_known_table_renew(px_known_table *table)
{
	if (table->context)
		MemoryContextDelete(table->context);
	table->context = NULL;
	table->columns = NULL;
	table->ncolumns = 0;
	table->answered = false;
	table->invalidated = false;
	table->until = TimestampTzPlusMilliseconds(GetCurrentTimestamp(),
											   NO_ANSWER_LIFE_MS);
}

HeapTuple
px_known_column(Oid relid, Oid userid, AttrNumber attnum)
{
	known_key  *key = tables ?
		hash_search(tables, &relid, HASH_FIND, NULL) : NULL;

	for (px_known_table *table = key ? key->first : NULL; table;
		 table = table->next)
	{
		if (table->userid == userid)
			return table->answered && attnum > 0 && attnum <= table->ncolumns ?
				table->columns[attnum - 1] : NULL;
	}
	return NULL;
}

/* ---------------------------------------------------------------------
 * Columns
 * --------------------------------------------------------------------- */

/* What becomes of a remote column's text. */
typedef struct column_input
{
	const px_remote_column *remote;
	px_column_type type;
	bool		has_values;		/* of a type whose values are read */
	px_column_stats stats;
	bool		valid;
} column_input;

/*
 * Values of built-in types, and labels of enums, are read by their input
 * functions, which only compute.
 */
static bool
is_readable(Oid type)
{
	px_datum_kind kind = px_type_lookup(type, PG_VERSION_NUM).kind;

	return (kind != PX_DATUM_INPUT && kind != PX_DATUM_ARRAY) ||
		type_is_enum(type);
}

/* The elements of an array in text form; none if it is not a plain list. */
static Datum *
read_array(const char *text, Oid type, int *n)
{
	ArrayType  *array;
	Datum	   *elements;
	int16		len;
	bool		byval;
	char		align;

	*n = 0;
	if (text == NULL)
		return NULL;
	array = DatumGetArrayTypeP(OidInputFunctionCall(
		F_ARRAY_IN, unconstify(char *, text), type, -1));
	if (ARR_NDIM(array) != 1 || ARR_HASNULL(array) ||
		ARR_DIMS(array)[0] > PX_STATISTICS_TARGET_MAX)
		return NULL;
	get_typlenbyvalalign(type, &len, &byval, &align);
	deconstruct_array(array, type, len, byval, align, &elements, NULL, n);
	return elements;
}

static double
read_number(const char *text)
{
	return DatumGetFloat8(DirectFunctionCall1(float8in,
											  CStringGetDatum(text)));
}

static void
read_lists(column_input *input)
{
	px_column_stats *stats = &input->stats;
	Datum	   *freq;
	int			nfreq;

	stats->mcv = read_array(input->remote->mcv, input->type.type,
							&stats->nmcv);
	freq = read_array(input->remote->mcv_freq, FLOAT8OID, &nfreq);
	if (nfreq != stats->nmcv)
		stats->nmcv = 0;
	stats->mcv_freq = palloc((stats->nmcv + 1) * sizeof(double));
	for (int i = 0; i < stats->nmcv; i++)
		stats->mcv_freq[i] = DatumGetFloat8(freq[i]);
	stats->bounds = read_array(input->remote->bounds, input->type.type,
							   &stats->nbounds);
}

/* Called by px_guarded. */
static void
read_column(void *arg)
{
	column_input *input = arg;
	const px_remote_column *remote = input->remote;

	if (!remote->null_frac || !remote->width || !remote->n_distinct)
		return;
	input->stats.null_frac = read_number(remote->null_frac);
	input->stats.width = DatumGetInt32(
		DirectFunctionCall1(int4in, CStringGetDatum(remote->width)));
	input->stats.n_distinct = read_number(remote->n_distinct);
	input->stats.has_correlation = remote->correlation != NULL;
	if (remote->correlation)
		input->stats.correlation = read_number(remote->correlation);
	if (input->has_values)
		read_lists(input);
	input->valid = px_column_stats_check(input->type, &input->stats);
}

/* The remote column of that name; one of the whole tree is preferred. */
static const px_remote_column *
find_column(const px_asked_table *answer, const char *name)
{
	const px_remote_column *found = NULL;
	ListCell   *lc;

	foreach(lc, answer->columns)
	{
		const px_remote_column *column = lfirst(lc);

		if (strcmp(column->name, name) == 0 &&
			(found == NULL || column->inherited))
			found = column;
	}
	return found;
}

static HeapTuple
make_column(px_known_table *table, const FormData_pg_attribute *attr,
			const px_asked_table *answer)
{
	column_input input = {0};
	MemoryContext old;
	HeapTuple	tuple;

	if (attr->attisdropped)
		return NULL;
	input.remote = find_column(answer, px_remote_column_name(
										   table->relid, attr->attnum));
	if (input.remote == NULL)
		return NULL;
	input.type.type = getBaseType(attr->atttypid);
	input.type.collation = attr->attcollation;
	input.has_values = is_readable(input.type.type);
	if (!px_guarded(read_column, &input))
	{
		/* Its values can't be read here: do without them. */
		memset(&input.stats, 0, sizeof(input.stats));
		input.has_values = false;
		if (!px_guarded(read_column, &input))
			return NULL;
	}
	if (!input.valid)
		return NULL;
	old = MemoryContextSwitchTo(table->context);
	tuple = px_column_stats_tuple(table->relid, attr->attnum, false,
								  input.type, &input.stats);
	MemoryContextSwitchTo(old);
	return tuple;
}

void
px_known_table_fill(px_known_table *table, const px_asked_table *answer)
{
	Relation	relation;
	TupleDesc	tupdesc;

	if (!answer->answered || table->invalidated)
		return;
	table->context = AllocSetContextCreate(CacheMemoryContext,
										   "pg_exchange table statistics",
										   ALLOCSET_SMALL_SIZES);
	relation = table_open(table->relid, NoLock);
	tupdesc = RelationGetDescr(relation);
	table->columns = MemoryContextAllocZero(
		table->context, tupdesc->natts * sizeof(HeapTuple));
	table->ncolumns = tupdesc->natts;
	for (int i = 0; i < tupdesc->natts; i++)
		table->columns[i] = make_column(table, TupleDescAttr(tupdesc, i),
										answer);
	table_close(relation, NoLock);

	table->tuples = answer->tuples;
	table->nbytes = answer->nbytes;
	table->nbytes_unknown = answer->nbytes_unknown;
	table->generation = ++generations;
	table->answered = !table->invalidated;
	table->until = table->invalidated ? 0 :
		TimestampTzPlusMilliseconds(GetCurrentTimestamp(), ANSWER_LIFE_MS);
}
