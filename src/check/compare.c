/*-------------------------------------------------------------------------
 *
 * compare.c
 *		exchange.compare: what a query gains by each mode.
 *
 * The query runs by each way in turn, to its end or until its share of the
 * time is up.  Its rows are counted and dropped.  It runs in the transaction
 * of the caller and with the caller's rights, but may not write.
 *
 * There is no subtransaction: postgres_fdw would read in one, and a stream
 * could not.  So a query is stopped between two rows, and not by an error.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/xact.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "parser/parser.h"
#include "tcop/dest.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

#include "compat.h"
#include "stats/counters.h"

PG_FUNCTION_INFO_V1(px_sql_compare);

#define COMPARE_NCOLUMNS	7

/* A way to run the query. */
typedef struct compare_way
{
	const char *name;
	const char *enabled;
	const char *compression;
} compare_way;

/*
 * The first one is not shown: it opens connections, fills caches, and measures
 * links, which all others profit from.  postgres_fdw comes last, and so has
 * what time the others have left.  What has no time left is not run.
 */
static const compare_way ways[] = {
	{"warm-up", "on", "auto"},
	{"auto", "on", "auto"},
	{"fast", "on", "fast"},
	{"none", "on", "none"},
	{"high_compression", "on", "high_compression"},
	{"postgres_fdw", "off", "auto"}
};

#define NWAYS		((int) lengthof(ways))
#define AUTO		1
#define BASELINE	(NWAYS - 1)

/* What has come of a way. */
typedef struct compare_result
{
	uint64		rows;
	uint64		raw_nbytes;
	uint64		wire_nbytes;
	double		seconds;
	bool		complete;		/* it was run, and not stopped */
	bool		ran;			/* what is above is 0 otherwise */
} compare_result;

/* A receiver of rows that only counts them, until a deadline. */
typedef struct count_receiver
{
	DestReceiver base;			/* must be first */
	TimestampTz deadline;
	uint64		rows;
	bool		stopped;
} count_receiver;

static void
count_startup(DestReceiver *self, int operation, TupleDesc typeinfo)
{
}

/* False stops the executor. */
static bool
count_receive(TupleTableSlot *slot, DestReceiver *self)
{
	count_receiver *count = (count_receiver *) self;

	/* The row that comes too late shows that there was more. */
	if (GetCurrentTimestamp() >= count->deadline)
	{
		count->stopped = true;
		return false;
	}
	slot_getallattrs(slot);
	count->rows++;
	return true;
}

static void
count_shutdown(DestReceiver *self)
{
}

static void
count_destroy(DestReceiver *self)
{
}

static void
set_setting(const char *name, const char *value)
{
	(void) set_config_option(name, value,
							 superuser() ? PGC_SUSET : PGC_USERSET,
							 PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
}

/*
 * The settings of a way, until the caller ends the level of settings.
 * Parallel workers here would count for themselves.
 */
static void
set_way(const compare_way *way)
{
	set_setting("pg_exchange.enabled", way->enabled);
	set_setting("pg_exchange.compression", way->compression);
	set_setting("pg_exchange.server_compression", "");
	set_setting("max_parallel_workers_per_gather", "0");
}

/* Run the query by a way, until the deadline. */
static compare_result
run_way(const char *query, const compare_way *way, TimestampTz deadline)
{
	count_receiver count = {
		.base = {
			.receiveSlot = count_receive,
			.rStartup = count_startup,
			.rShutdown = count_shutdown,
			.rDestroy = count_destroy,
			.mydest = DestTuplestore	/* but that it is none of SPI's, nobody
										 * looks at it */
		},
		.deadline = deadline
	};
	SPIExecuteOptions options = {
		.read_only = true,
		.dest = &count.base
	};
	compare_result result = {0};
	bool		was_read_only = XactReadOnly;
	int			level = NewGUCNestLevel();
	px_traffic	before;
	px_traffic	after;
	instr_time	start;
	instr_time	end;

	set_way(way);

	/*
	 * Not by the setting: after 15, a function cannot set that for itself.
	 * After an error the abort of the (sub)transaction puts it back.
	 */
	XactReadOnly = true;
	before = px_counters_traffic();
	INSTR_TIME_SET_CURRENT(start);
	if (SPI_execute_extended(query, &options) != SPI_OK_SELECT)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("only a SELECT can be compared")));
	INSTR_TIME_SET_CURRENT(end);
	after = px_counters_traffic();
	XactReadOnly = was_read_only;
	AtEOXact_GUC(true, level);

	INSTR_TIME_SUBTRACT(end, start);
	result.seconds = INSTR_TIME_GET_DOUBLE(end);
	result.rows = count.rows;
	result.complete = !count.stopped;
	result.ran = true;
	result.raw_nbytes = after.raw_nbytes - before.raw_nbytes;
	result.wire_nbytes = after.wire_nbytes - before.wire_nbytes;
	return result;
}

/* A syntax error is at a place of the query, and not of the caller's. */
static void
place_syntax_error(void *arg)
{
	int			position = geterrposition();

	if (position > 0)
	{
		errposition(0);
		internalerrposition(position);
		internalerrquery((const char *) arg);
	}
}

static List *
parse_query(const char *query)
{
	ErrorContextCallback callback = {
		.previous = error_context_stack,
		.callback = place_syntax_error,
		.arg = unconstify(char *, query)
	};
	List	   *statements;

	error_context_stack = &callback;
	statements = raw_parser(query, RAW_PARSE_DEFAULT);
	error_context_stack = callback.previous;
	return statements;
}

/*
 * The query must be one SELECT that neither writes nor locks.  What it calls
 * is kept from writing, as the transaction is read-only meanwhile.
 */
static void
check_query(const char *query)
{
	List	   *statements = parse_query(query);
	SelectStmt *select;

	if (list_length(statements) != 1 ||
		!IsA(linitial_node(RawStmt, statements)->stmt, SelectStmt))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("only a SELECT can be compared"),
				 errdetail("The text must be one query that begins with"
				" SELECT, WITH, VALUES or TABLE.")));
	select = (SelectStmt *) linitial_node(RawStmt, statements)->stmt;
	if (select->intoClause || select->lockingClause)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("a SELECT that writes or locks rows cannot be"
				" compared")));
}

/* How many times as fast as the baseline; 0 if that is not known. */
static double
speedup(const compare_result *result, const compare_result *baseline)
{
	if (result->seconds <= 0 || baseline->seconds <= 0)
		return 0;
	if (result->complete && baseline->complete)
		return baseline->seconds / result->seconds;
	if (baseline->rows == 0)
		return 0;
	return (result->rows / result->seconds) /
		(baseline->rows / baseline->seconds);
}

/* For people: not more digits than a measurement has. */
static double
round_to(double value, double parts)
{
	return rint(value * parts) / parts;
}

static void
put_result(ReturnSetInfo *out, int way, const compare_result *result,
		   const compare_result *baseline)
{
	double		gain = speedup(result, baseline);
	Datum		values[COMPARE_NCOLUMNS];
	bool		nulls[COMPARE_NCOLUMNS] = {false};

	Assert(out->setDesc->natts == COMPARE_NCOLUMNS);
	values[0] = CStringGetTextDatum(ways[way].name);
	nulls[1] = nulls[4] = !result->ran;
	values[1] = Int64GetDatum((int64) result->rows);
	nulls[2] = nulls[3] = result->wire_nbytes == 0;
	values[2] = Int64GetDatum((int64) result->raw_nbytes);
	values[3] = Int64GetDatum((int64) result->wire_nbytes);
	values[4] = Float8GetDatum(round_to(result->seconds, 1e4));
	nulls[5] = gain <= 0;
	values[5] = Float8GetDatum(round_to(gain, 1e2));
	values[6] = BoolGetDatum(result->complete);
	tuplestore_putvalues(out->setResult, out->setDesc, values, nulls);
}

/* Each way may take an equal part of the time that is left. */
static TimestampTz
share_of_time(TimestampTz end, int nleft)
{
	TimestampTz now = GetCurrentTimestamp();

	return now + Max(end - now, 0) / nleft;
}

/*
 * Is there time for a way?  A query that computes for long before its first
 * row may have used up that of all.  The baseline is run all the same if there
 * is something to compare it with.
 */
static bool
has_time(int way, const compare_result *results, TimestampTz end)
{
	return way == 0 || GetCurrentTimestamp() < end ||
		(way == BASELINE && results[AUTO].ran);
}

static void
tell_result(int way, const compare_result *result)
{
	if (!result->ran)
		ereport(NOTICE,
				(errmsg("%s: not run, as the time is up", ways[way].name)));
	else
		ereport(NOTICE,
				(errmsg("%s: " UINT64_FORMAT " rows in %.2f s%s",
						ways[way].name, result->rows, result->seconds,
						result->complete ? "" : ", stopped")));
}

static void
compare(const char *query, double seconds, ReturnSetInfo *out)
{
	TimestampTz end = GetCurrentTimestamp() +
		(int64) (seconds * USECS_PER_SEC);
	compare_result results[NWAYS] = {0};

	SPI_connect();
	for (int way = 0; way < NWAYS; way++)
	{
		if (has_time(way, results, end))
			results[way] = run_way(query, &ways[way],
								   share_of_time(end, NWAYS - way));
		tell_result(way, &results[way]);
	}
	SPI_finish();
	for (int way = 1; way < NWAYS; way++)
		put_result(out, way, &results[way], &results[BASELINE]);
}

/*
 * A text without any blank, or that begins with a quoted name, can only be the
 * name of a table.  A literal is taken for text, and not for a regclass.
 */
static char *
complete_query(char *text)
{
	return text[0] == '"' || strpbrk(text, " \t\r\n\f\v(") == NULL ?
		psprintf("TABLE %s", text) : text;
}

/* exchange.compare(query text, seconds double precision) */
Datum
px_sql_compare(PG_FUNCTION_ARGS)
{
	char	   *query = complete_query(text_to_cstring(PG_GETARG_TEXT_PP(0)));
	double		seconds = PG_GETARG_FLOAT8(1);

	if (!(seconds > 0 && seconds <= 86400))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("seconds must be greater than 0 and at most 86400")));
	check_query(query);
	InitMaterializedSRF(fcinfo, 0);
	compare(query, seconds, (ReturnSetInfo *) fcinfo->resultinfo);
	return (Datum) 0;
}
