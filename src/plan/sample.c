/*-------------------------------------------------------------------------
 *
 * sample.c
 *		Samples of foreign tables, taken by their servers.
 *
 * The query is a UNION ALL of the tables' whole rows.  It is planned as usual.
 * Then the remote SQL of each scan gets a clause that takes a sample, which
 * could not be said of a foreign table in SQL.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/pg_type_d.h"
#include "common/pg_prng.h"
#include "executor/executor.h"
#include "lib/stringinfo.h"
#include "parser/parsetree.h"
#include "tcop/dest.h"
#include "tcop/tcopprot.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "compat.h"
#include "compat_executor.h"
#include "exec/plan_walk.h"
#include "plan/sample.h"

/*
 * A sample is a little larger than what is wanted, because the number of rows
 * is not known exactly.
 */
#define SAMPLE_MARGIN	1.1

/* Rows are chosen by so many bits of a hash of their place. */
#define HASH_BITS		65536

/* For tables whose size the server has not told, such as views. */
#define PAGES_UNKNOWN	10
#define ROWS_OF_PAGE	100

/*
 * For tables that were never analyzed there.  Less than most have, so that the
 * sample is rather too large.
 */
#define ROWS_OF_PAGE_MIN	20

/* Where the rows of the query go. */
typedef struct sample_receiver
{
	DestReceiver dest;			/* must be first */
	List	   *samples;
	instr_time	begin;
} sample_receiver;

double
px_sample_total(const px_sample *sample)
{
	return rint(sample->nseen / sample->fraction);
}

double
px_sample_pages(const px_sample *sample)
{
	return sample->asked->answered ?
		Max(1, ceil(sample->asked->nbytes / BLCKSZ)) :
		Max(PAGES_UNKNOWN, sample->nseen / ROWS_OF_PAGE);
}

bool
px_sample_fits(const px_sample *sample, TupleDesc desc)
{
	return equalTupleDescs(sample->desc, desc);
}

/* ---------------------------------------------------------------------
 * The query
 * --------------------------------------------------------------------- */

/*
 * The clause that takes a sample, or NULL to read the whole table.  As core's
 * ANALYZE does, it takes as many blocks as rows are wanted, and then rows of
 * these blocks.  A hash of its place decides about a row: a call of random()
 * would keep the query from being a stream.
 */
static char *
sample_clause(px_sample *sample)
{
	const px_asked_table *asked = sample->asked;
	StringInfoData clause;
	double		blocks;
	double		rows;
	double		hashes;

	sample->fraction = 1;
	rows = asked->tuples + asked->nbytes_unknown / BLCKSZ * ROWS_OF_PAGE_MIN;
	if (!asked->answered || !asked->can_sample || rows <= 0)
		return NULL;
	initStringInfo(&clause);
	blocks = Max(asked->nbytes / BLCKSZ, 1);
	if (blocks > sample->target)
	{
		sample->fraction = sample->target / blocks;
		appendStringInfo(&clause,
						 " TABLESAMPLE pg_catalog.system(%.9f)",
						 100 * sample->fraction);
	}
	hashes = ceil((double) HASH_BITS * sample->target * SAMPLE_MARGIN /
				  (rows * sample->fraction));
	if (hashes < HASH_BITS)
	{
		sample->fraction *= hashes / HASH_BITS;
		appendStringInfo(&clause,
						 " WHERE (pg_catalog.hashtid(ctid)"
						 " OPERATOR(pg_catalog.&) %d)"
						 " OPERATOR(pg_catalog.<) %.0f",
						 HASH_BITS - 1, hashes);
	}
	return clause.len > 0 ? clause.data : NULL;
}

static const char *
table_name(const px_sample *sample)
{
	return quote_qualified_identifier(
		get_namespace_name(get_rel_namespace(sample->relid)),
		get_rel_name(sample->relid));
}

/*
 * Each table has a column of its own for its rows, because rows of different
 * types cannot be in one column.  A table may have a column named t.
 */
static char *
query_sql(List *samples)
{
	StringInfoData sql;
	ListCell   *lc;
	ListCell   *column;

	initStringInfo(&sql);
	foreach(lc, samples)
	{
		appendStringInfo(&sql, "%sSELECT %d",
						 sql.len > 0 ? " UNION ALL " : "",
						 foreach_current_index(lc));
		foreach(column, samples)
		{
			if (column == lc)
				appendStringInfo(&sql, ", t.*::%s", table_name(lfirst(lc)));
			else
				appendStringInfo(&sql, ", NULL::%s",
								 table_name(lfirst(column)));
		}
		appendStringInfo(&sql, " FROM ONLY %s t", table_name(lfirst(lc)));
	}
	return sql.data;
}

typedef struct clause_context
{
	const PlannedStmt *stmt;
	List	   *samples;
} clause_context;

/* Add the clause to the remote SQL of a scan, which has no other clause. */
static bool
add_clause(Plan *plan, void *arg)
{
	clause_context *context = arg;
	ForeignScan *scan = (ForeignScan *) plan;
	ListCell   *lc;
	Oid			relid;

	if (px_plan_is_receive(plan))
		scan = linitial(((CustomScan *) plan)->custom_plans);
	if (!IsA(scan, ForeignScan) || scan->scan.scanrelid == 0)
		return false;
	relid = rt_fetch(scan->scan.scanrelid, context->stmt->rtable)->relid;
	foreach(lc, context->samples)
	{
		px_sample  *sample = lfirst(lc);
		char	   *clause;

		/* The walk may come to a scan twice. */
		if (sample->relid != relid || sample->fraction > 0)
			continue;
		clause = sample_clause(sample);
		if (clause)
			linitial(scan->fdw_private) = makeString(
				psprintf("%s%s", strVal(linitial(scan->fdw_private)),
						 clause));
	}
	return false;
}

static PlannedStmt *
plan_query(const char *sql, List *samples)
{
	RawStmt    *raw = linitial_node(RawStmt, pg_parse_query(sql));
	Query	   *query = linitial_node(
		Query, pg_analyze_and_rewrite_fixedparams(raw, sql, NULL, 0, NULL));
	PlannedStmt *stmt = px_plan_query(query, sql, 0);
	clause_context context = {stmt, samples};

	(void) px_plan_walk(stmt->planTree, add_clause, &context);
	return stmt;
}

/* ---------------------------------------------------------------------
 * The rows
 * --------------------------------------------------------------------- */

/* Keep a row, or put it in the place of another one (reservoir sampling). */
static void
keep_row(px_sample *sample, HeapTupleHeader row)
{
	MemoryContext old = MemoryContextSwitchTo(sample->context);
	HeapTupleData tuple;
	int			place = sample->nrows;

	sample->nseen++;
	if (place >= sample->target)
		place = (int) Min(pg_prng_uint64_range(&pg_global_prng_state, 0,
											   (uint64) sample->nseen - 1),
						  (uint64) sample->target);
	if (place < sample->target)
	{
		if (place < sample->nrows)
			heap_freetuple(sample->rows[place]);
		else
			sample->nrows++;
		tuple.t_len = HeapTupleHeaderGetDatumLength(row);
		ItemPointerSetInvalid(&tuple.t_self);
		tuple.t_tableOid = sample->relid;
		tuple.t_data = row;
		sample->rows[place] = heap_copytuple(&tuple);
	}
	MemoryContextSwitchTo(old);
}

static bool
receive_row(TupleTableSlot *slot, DestReceiver *self)
{
	sample_receiver *receiver = (sample_receiver *) self;
	px_sample  *sample;
	instr_time	now;
	int			table;

	slot_getallattrs(slot);
	table = DatumGetInt32(slot->tts_values[0]);
	sample = list_nth(receiver->samples, table);
	keep_row(sample, DatumGetHeapTupleHeader(slot->tts_values[1 + table]));

	INSTR_TIME_SET_CURRENT(now);
	INSTR_TIME_SUBTRACT(now, receiver->begin);
	sample->milliseconds = INSTR_TIME_GET_MILLISEC(now);
	return true;
}

static void
receive_startup(DestReceiver *self, int operation, TupleDesc typeinfo)
{
}

static void
receive_end(DestReceiver *self)
{
}

/* Make room for the rows of a table, which is locked. */
static void
begin_sample(px_sample *sample)
{
	Relation	relation = table_open(sample->relid, NoLock);
	MemoryContext old;

	sample->context = AllocSetContextCreate(CurrentMemoryContext,
											"pg_exchange sample",
											ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(sample->context);
	sample->desc = CreateTupleDescCopyConstr(RelationGetDescr(relation));
	sample->rows = MemoryContextAllocHuge(
		sample->context, sample->target * sizeof(HeapTuple));
	MemoryContextSwitchTo(old);
	table_close(relation, NoLock);
}

void
px_samples_read(List *samples)
{
	sample_receiver receiver = {
		.dest = {
			.receiveSlot = receive_row,
			.rStartup = receive_startup,
			.rShutdown = receive_end,
			.rDestroy = receive_end,
			.mydest = DestNone
		},
		.samples = samples
	};
	char	   *sql = query_sql(samples);
	QueryDesc  *query;
	ListCell   *lc;

	foreach(lc, samples)
		begin_sample(lfirst(lc));
	INSTR_TIME_SET_CURRENT(receiver.begin);
	PushActiveSnapshot(GetTransactionSnapshot());
	query = CreateQueryDesc(plan_query(sql, samples), sql,
							GetActiveSnapshot(), InvalidSnapshot,
							&receiver.dest, NULL, NULL, 0);
	ExecutorStart(query, 0);
	px_executor_run(query);
	ExecutorFinish(query);
	ExecutorEnd(query);
	FreeQueryDesc(query);
	PopActiveSnapshot();
}

void
px_sample_thin(px_sample *sample, int nrows)
{
	int			kept = 0;

	/* Each row that is left has the same chance; the order stays. */
	for (int i = 0; i < sample->nrows; i++)
	{
		int			wanted = nrows - kept;
		int			left = sample->nrows - i;

		if (wanted >= left ||
			pg_prng_double(&pg_global_prng_state) * left < wanted)
			sample->rows[kept++] = sample->rows[i];
		else
			heap_freetuple(sample->rows[i]);
	}
	sample->nrows = kept;
}

void
px_sample_free(px_sample *sample)
{
	if (sample->context)
		MemoryContextDelete(sample->context);
	sample->context = NULL;
	sample->rows = NULL;
	sample->desc = NULL;
	sample->nrows = 0;
}
