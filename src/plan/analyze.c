/*-------------------------------------------------------------------------
 *
 * analyze.c
 *		The SQL function exchange.analyze.
 *
 * It analyzes the foreign tables of a schema in rounds.  In each round it
 * reads samples of some tables at the same time, and then has core's ANALYZE
 * compute and store the statistics of each.  ANALYZE asks the table's
 * FdwRoutine for a sample: there it finds ours.  If the relation cache has
 * lost our function meanwhile, or the table has other columns now,
 * postgres_fdw reads the whole table instead.
 *
 * Tables above the foreign ones come last.  Their sample is made of rows that
 * were kept from those of the foreign tables.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "common/pg_prng.h"
#include "foreign/fdwapi.h"
#include "foreign/foreign.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/syscache.h"
#include "utils/tuplestore.h"

#include "compat.h"
#include "conn/foreign_server.h"
#include "plan/sample.h"

PG_FUNCTION_INFO_V1(px_sql_analyze);

/* Tables whose samples are read at the same time, and held in memory. */
#define ROUND_TABLES	16

/* ANALYZE wants so many rows for each unit of the statistics target. */
#define ROWS_OF_TARGET	300

/* A table that is to be analyzed. */
typedef struct analyzed_table
{
	px_sample	sample;			/* not of a parent: relid, owner alone */
	List	   *parents;		/* Oids of the tables above it */
	int			kept;			/* rows that these want of its sample */
} analyzed_table;

/*
 * The tables of the running exchange.analyze whose samples ANALYZE may ask
 * for; NIL if none runs.  It cannot be nested: nothing here calls functions of
 * users but in the middle of ANALYZE, with the tables locked by us.
 */
static List *sampled = NIL;
static AnalyzeForeignTable_function fdw_analyze = NULL;

/* ---------------------------------------------------------------------
 * What ANALYZE calls
 * --------------------------------------------------------------------- */

/*
 * The sample of a table; NULL if there is none.  ANALYZE of another table may
 * have called a function of its owner's, which has changed the columns since:
 * our lock does not keep this session from that.
 */
static px_sample *
find_sample(Relation relation)
{
	ListCell   *lc;

	foreach(lc, sampled)
	{
		analyzed_table *table = lfirst(lc);

		if (table->sample.relid == RelationGetRelid(relation) &&
			table->sample.rows != NULL &&
			px_sample_fits(&table->sample, RelationGetDescr(relation)))
			return &table->sample;
	}
	return NULL;
}

/* AcquireSampleRowsFunc */
static int
acquire_sample(Relation relation, int elevel, HeapTuple *rows, int nrows_max,
			   double *total, double *dead)
{
	px_sample  *sample = find_sample(relation);
	int			nrows = 0;

	/* Each row that is left has the same chance; the order stays. */
	for (int i = 0; i < sample->nrows; i++)
	{
		int			wanted = nrows_max - nrows;
		int			left = sample->nrows - i;

		if (wanted >= left ||
			pg_prng_double(&pg_global_prng_state) * left < wanted)
			rows[nrows++] = heap_copytuple(sample->rows[i]);
	}
	*total = px_sample_total(sample);
	*dead = 0;
	ereport(elevel,
			(errmsg("\"%s\": table contains %.0f rows, %d rows in sample",
					RelationGetRelationName(relation), *total, nrows)));
	return nrows;
}

/* AnalyzeForeignTable */
static bool
analyze_foreign_table(Relation relation, AcquireSampleRowsFunc *function,
					  BlockNumber *pages)
{
	px_sample  *sample = find_sample(relation);

	if (sample == NULL)
		return fdw_analyze(relation, function, pages);
	*function = acquire_sample;
	*pages = (BlockNumber) Min(px_sample_pages(sample),
							   (double) MaxBlockNumber);
	return true;
}

/* Have ANALYZE of the table find our sample. */
static void
offer_sample(Oid relid)
{
	Relation	relation = table_open(relid, NoLock);
	FdwRoutine *routine = GetFdwRoutineForRelation(relation, false);

	if (routine->AnalyzeForeignTable != analyze_foreign_table)
	{
		fdw_analyze = routine->AnalyzeForeignTable;
		routine->AnalyzeForeignTable = analyze_foreign_table;
	}
	table_close(relation, NoLock);
}

/* ---------------------------------------------------------------------
 * Tables
 * --------------------------------------------------------------------- */

static bool
is_postgres_fdw(Oid relid)
{
	return get_rel_relkind(relid) == RELKIND_FOREIGN_TABLE &&
		px_server_is_postgres_fdw(
			GetForeignServer(GetForeignTable(relid)->serverid));
}

/* The largest statistics target of a column. */
static int
statistics_target(Oid relid)
{
	int			target = default_statistics_target;
	Relation	relation = table_open(relid, NoLock);

	for (int i = 0; i < RelationGetNumberOfAttributes(relation); i++)
	{
		HeapTuple	tuple = SearchSysCacheAttNum(relid, i + 1);
		Datum		value;
		bool		isnull;

		if (!HeapTupleIsValid(tuple))
			continue;

		/* An int4 up to 16, then an int2; -1 or null means the default. */
		value = SysCacheGetAttr(ATTNUM, tuple,
								Anum_pg_attribute_attstattarget, &isnull);
		if (!isnull)
			target = Max(target, (int16) DatumGetInt32(value));
		ReleaseSysCache(tuple);
	}
	table_close(relation, NoLock);
	return Max(target, 1);
}

/*
 * Lock a table and add it to the list, if the user may analyze it.  What was
 * dropped meanwhile is left out.
 */
static void
add_table(Oid relid, List **tables)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	Form_pg_class form;
	analyzed_table *table;

	if (!HeapTupleIsValid(tuple))
		return;
	form = (Form_pg_class) GETSTRUCT(tuple);
	if (!px_may_analyze(relid, form))
	{
		ReleaseSysCache(tuple);
		return;
	}
	ReleaseSysCache(tuple);

	LockRelationOid(relid, ShareUpdateExclusiveLock);
	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	if (!HeapTupleIsValid(tuple))
	{
		UnlockRelationOid(relid, ShareUpdateExclusiveLock);
		return;
	}
	form = (Form_pg_class) GETSTRUCT(tuple);
	table = palloc0(sizeof(analyzed_table));
	table->sample.relid = relid;
	table->sample.owner = form->relowner;
	table->sample.target = ROWS_OF_TARGET * statistics_target(relid);
	*tables = lappend(*tables, table);
	ReleaseSysCache(tuple);
}

/* The foreign tables of postgres_fdw in a schema, by oid. */
static List *
foreign_tables_of(Oid schema)
{
	Relation	pg_class = table_open(RelationRelationId, AccessShareLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;
	List	   *relids = NIL;

	ScanKeyInit(&key, Anum_pg_class_relnamespace, BTEqualStrategyNumber,
				F_OIDEQ, ObjectIdGetDatum(schema));
	scan = systable_beginscan(pg_class, InvalidOid, false, NULL, 1, &key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_class form = (Form_pg_class) GETSTRUCT(tuple);

		if (form->relkind == RELKIND_FOREIGN_TABLE &&
			is_postgres_fdw(form->oid))
			relids = lappend_oid(relids, form->oid);
	}
	systable_endscan(scan);
	table_close(pg_class, AccessShareLock);
	list_sort(relids, list_oid_cmp);
	return relids;
}

/* The tables above a table; nearest first. */
static List *
ancestors_of(Oid relid)
{
	Relation	pg_inherits = table_open(InheritsRelationId, AccessShareLock);
	List	   *ancestors = list_make1_oid(relid);

	for (int i = 0; i < list_length(ancestors); i++)
	{
		ScanKeyData key;
		SysScanDesc scan;
		HeapTuple	tuple;

		ScanKeyInit(&key, Anum_pg_inherits_inhrelid, BTEqualStrategyNumber,
					F_OIDEQ, ObjectIdGetDatum(list_nth_oid(ancestors, i)));
		scan = systable_beginscan(pg_inherits, InheritsRelidSeqnoIndexId,
								  true, NULL, 1, &key);
		while (HeapTupleIsValid(tuple = systable_getnext(scan)))
			ancestors = list_append_unique_oid(
				ancestors, ((Form_pg_inherits) GETSTRUCT(tuple))->inhparent);
		systable_endscan(scan);
	}
	table_close(pg_inherits, AccessShareLock);
	return list_delete_first(ancestors);
}

/* Ask the servers for the sizes of all tables. */
static void
ask_sizes(List *tables)
{
	List	   *questions = NIL;
	ListCell   *lc;

	foreach(lc, tables)
	{
		px_sample  *sample = lfirst(lc);

		sample->asked = px_asked_table_new(sample->relid, sample->owner);
		questions = lappend(questions, sample->asked);
	}
	px_ask_statistics(questions);
}

/* ---------------------------------------------------------------------
 * Analyzing
 * --------------------------------------------------------------------- */

/*
 * Read the samples of some tables, as their owner, as ANALYZE does.  A check
 * of a domain may call a function of that owner, whose settings must not
 * outlast it: the session may be a superuser's.
 */
static void
read_samples(List *samples)
{
	Oid			user;
	int			security;
	int			nest_level;

	GetUserIdAndSecContext(&user, &security);
	SetUserIdAndSecContext(((px_sample *) linitial(samples))->owner,
						   security | SECURITY_RESTRICTED_OPERATION);
	nest_level = NewGUCNestLevel();
	px_restrict_search_path();
	px_samples_read(samples);
	AtEOXact_GUC(false, nest_level);
	SetUserIdAndSecContext(user, security);
}

/*
 * Not by analyze_rel: only vacuum knows whether ANALYZE runs already.  What
 * ANALYZE calls could call us, or ANALYZE, and it keeps its state in
 * variables.
 */
static void
analyze(Oid relid)
{
	VacuumRelation *relation = makeVacuumRelation(NULL, relid, NIL);
	VacuumParams params;

	memset(&params, 0, sizeof(params));
	params.options = VACOPT_ANALYZE;
	CommandCounterIncrement();
	px_vacuum(list_make1(relation), &params, GetAccessStrategy(BAS_VACUUM));
	CommandCounterIncrement();
}

/* The rows of the catalogs that ANALYZE has just written. */
static double
stored_rows(Oid relid)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	double		rows = 0;

	if (HeapTupleIsValid(tuple))
	{
		rows = ((Form_pg_class) GETSTRUCT(tuple))->reltuples;
		ReleaseSysCache(tuple);
	}
	return Max(rows, 0);
}

static void
put_row(ReturnSetInfo *result, Oid relid, double nrows, int sampled_rows,
		double milliseconds)
{
	Datum		values[4];
	bool		nulls[4] = {0};

	values[0] = ObjectIdGetDatum(relid);
	values[1] = Int64GetDatum((int64) nrows);
	values[2] = Int64GetDatum(sampled_rows);
	values[3] = Float8GetDatum(milliseconds);
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

static double
milliseconds_since(instr_time begin)
{
	instr_time	now;

	INSTR_TIME_SET_CURRENT(now);
	INSTR_TIME_SUBTRACT(now, begin);
	return INSTR_TIME_GET_MILLISEC(now);
}

/* Read samples of the tables, and analyze each of them. */
static void
run_round(List *tables, ReturnSetInfo *result)
{
	ListCell   *lc;

	read_samples(tables);
	foreach(lc, tables)
	{
		analyzed_table *table = lfirst(lc);
		instr_time	begin;

		INSTR_TIME_SET_CURRENT(begin);
		offer_sample(table->sample.relid);
		analyze(table->sample.relid);
		put_row(result, table->sample.relid,
				px_sample_total(&table->sample), table->sample.nrows,
				table->sample.milliseconds + milliseconds_since(begin));
		if (table->kept > 0)
			px_sample_thin(&table->sample, table->kept);
		else
			px_sample_free(&table->sample);
	}
}

/*
 * How many rows of each sample do the tables above want?  ANALYZE takes rows
 * in proportion to pages.
 */
static void
share_parents(List *tables, List *parents)
{
	ListCell   *lc;
	ListCell   *other;

	foreach(lc, parents)
	{
		analyzed_table *parent = lfirst(lc);
		double		pages = 0;

		foreach(other, tables)
		{
			analyzed_table *table = lfirst(other);

			if (list_member_oid(table->parents, parent->sample.relid))
				pages += px_sample_pages(&table->sample);
		}
		foreach(other, tables)
		{
			analyzed_table *table = lfirst(other);

			if (list_member_oid(table->parents, parent->sample.relid))
				table->kept = Max(
					table->kept,
					(int) ceil(parent->sample.target *
							   px_sample_pages(&table->sample) / pages) +
					1);
		}
	}
}

/* Analyze the foreign tables, in rounds of tables of the same owner. */
static void
run_rounds(List *tables, ReturnSetInfo *result)
{
	List	   *round = NIL;
	ListCell   *lc;

	foreach(lc, tables)
	{
		analyzed_table *table = lfirst(lc);

		if (round != NIL &&
			(list_length(round) == ROUND_TABLES ||
			 ((px_sample *) linitial(round))->owner != table->sample.owner))
		{
			run_round(round, result);
			round = NIL;
		}
		round = lappend(round, table);
	}
	if (round != NIL)
		run_round(round, result);
}

static void
analyze_parent(analyzed_table *parent, List *tables, ReturnSetInfo *result)
{
	instr_time	begin;
	int			nrows = 0;
	ListCell   *lc;

	INSTR_TIME_SET_CURRENT(begin);
	foreach(lc, tables)
	{
		analyzed_table *table = lfirst(lc);

		if (!list_member_oid(table->parents, parent->sample.relid))
			continue;
		offer_sample(table->sample.relid);
		nrows += table->sample.nrows;
	}
	analyze(parent->sample.relid);
	put_row(result, parent->sample.relid,
			stored_rows(parent->sample.relid),
			Min(nrows, parent->sample.target), milliseconds_since(begin));
}

static int
compare_owners(const ListCell *a, const ListCell *b)
{
	const px_sample *left = lfirst(a);
	const px_sample *right = lfirst(b);

	if (left->owner != right->owner)
		return left->owner < right->owner ? -1 : 1;
	return left->relid < right->relid ? -1 : left->relid > right->relid;
}

/* exchange.analyze(schema name) */
Datum
px_sql_analyze(PG_FUNCTION_ARGS)
{
	Oid			schema = LookupExplicitNamespace(NameStr(*PG_GETARG_NAME(0)),
												 false);
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	List	   *tables = NIL;
	List	   *parents = NIL;
	List	   *ancestors = NIL;
	ListCell   *lc;

	PreventCommandDuringRecovery("exchange.analyze()");
	if (sampled != NIL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_IN_USE),
				 errmsg("exchange.analyze() is already running in this session")));
	InitMaterializedSRF(fcinfo, 0);

	foreach(lc, foreign_tables_of(schema))
		add_table(lfirst_oid(lc), &tables);
	if (tables == NIL)
		return (Datum) 0;
	foreach(lc, tables)
	{
		analyzed_table *table = lfirst(lc);

		table->parents = ancestors_of(table->sample.relid);
		ancestors = list_concat_unique_oid(ancestors, table->parents);
	}
	foreach(lc, tables)
		ancestors = list_delete_oid(
			ancestors, ((px_sample *) lfirst(lc))->relid);
	foreach(lc, ancestors)
		add_table(lfirst_oid(lc), &parents);
	ask_sizes(tables);
	share_parents(tables, parents);
	list_sort(tables, compare_owners);

	PG_TRY();
	{
		sampled = tables;
		run_rounds(tables, result);
		foreach(lc, parents)
			analyze_parent(lfirst(lc), tables, result);
	}
	PG_FINALLY();
	{
		sampled = NIL;
	}
	PG_END_TRY();
	return (Datum) 0;
}
