/*-------------------------------------------------------------------------
 *
 * views.c
 *		The functions of pg_stat_exchange, pg_stat_progress_exchange and
 *		pg_stat_exchange_connections.
 *
 * Everybody may see the counters, like those of the cumulative statistics
 * system.  Details of a running stream, or of a connection, are for its user,
 * and for roles that may read all statistics, as in pg_stat_activity.
 *
 * The remote query needs more care than the query of pg_stat_activity, because
 * the user has not typed it.  A SECURITY DEFINER function may have made it,
 * and it may contain values that the function's caller must not know.  So it
 * is shown only to those who also have the privileges of the role that the
 * scan runs as.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_authid_d.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

#include "codec/codec.h"
#include "column/encoding.h"
#include "stats/counters.h"
#include "stats/open_connections.h"
#include "stats/progress.h"

extern PGDLLEXPORT Datum px_sql_stat_get_exchange(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum px_sql_stat_get_exchange_1_1(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum px_sql_stat_get_progress(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum px_sql_stat_get_progress_1_1(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum px_sql_stat_get_connections(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum px_sql_reset_stats(PG_FUNCTION_ARGS);

PG_FUNCTION_INFO_V1(px_sql_stat_get_exchange);
PG_FUNCTION_INFO_V1(px_sql_stat_get_exchange_1_1);
PG_FUNCTION_INFO_V1(px_sql_stat_get_progress);
PG_FUNCTION_INFO_V1(px_sql_stat_get_progress_1_1);
PG_FUNCTION_INFO_V1(px_sql_stat_get_connections);
PG_FUNCTION_INFO_V1(px_sql_reset_stats);

#define NCOLUMNS_MAX	64

/* A row of the result, which is filled from left to right. */
typedef struct row_writer
{
	Datum		values[NCOLUMNS_MAX];
	bool		nulls[NCOLUMNS_MAX];
	int			n;
} row_writer;

static void
put(row_writer *row, Datum value)
{
	Assert(row->n < NCOLUMNS_MAX);
	row->nulls[row->n] = false;
	row->values[row->n++] = value;
}

static void
put_uint64(row_writer *row, uint64 value)
{
	put(row, Int64GetDatum((int64) value));
}

static void
put_ms(row_writer *row, double ms)
{
	put(row, Float8GetDatum(ms));
}

/* Add the row to the result.  Columns without a value are null. */
static void
finish_row(row_writer *row, ReturnSetInfo *result)
{
	Assert(row->n <= result->setDesc->natts &&
		   result->setDesc->natts <= NCOLUMNS_MAX);
	for (int i = row->n; i < result->setDesc->natts; i++)
		row->nulls[i] = true;
	tuplestore_putvalues(result->setResult, result->setDesc, row->values,
						 row->nulls);
}

static void
put_join_columns(row_writer *out, const px_counters *counters)
{
	for (int kind = 0; kind < PX_SCAN_KIND_COUNT; kind++)
		put_uint64(out, counters->scan_kinds[kind]);
	put_uint64(out, counters->rows_filtered);
	put_uint64(out, counters->joins_not_sent);
	put_uint64(out, counters->broadcasts);
	put_uint64(out, counters->broadcast_rows);
	put_uint64(out, counters->broadcast_bytes);
	put_uint64(out, counters->hash_partitions);
	put_uint64(out, counters->partition_rows);
	put_uint64(out, counters->partition_bytes);
}

/* The view of version 1.0 has no columns for sessions, writes and joins. */
static void
put_stat_row(const px_counters_row *row, ReturnSetInfo *result,
			 bool is_1_1)
{
	const px_counters *counters = &row->counters;
	row_writer	out = {.n = 0};

	put(&out, ObjectIdGetDatum(row->dbid));
	put(&out, ObjectIdGetDatum(row->userid));
	put(&out, ObjectIdGetDatum(row->serverid));
	put(&out, CStringGetTextDatum(row->servername));
	put_uint64(&out, counters->scans);
	for (int i = 0; i < PX_FALLBACK_COUNT; i++)
		put_uint64(&out, counters->fallbacks[i]);
	put_uint64(&out, counters->streams);
	if (is_1_1)
		put_uint64(&out, counters->sessions);
	put_uint64(&out, counters->errors);
	put_uint64(&out, counters->rows);
	put_uint64(&out, counters->raw_nbytes);
	for (int same_host = 0; same_host < 2; same_host++)
	{
		for (int codec = 0; codec < PX_CODEC_COUNT; codec++)
			put_uint64(&out, counters->wire_nbytes[same_host][codec]);
	}
	put_uint64(&out, counters->batches);
	put_uint64(&out, counters->batches_plain);
	put_ms(&out, counters->encode_us / 1000.0);
	put_ms(&out, counters->send_wait_us / 1000.0);
	put_ms(&out, INSTR_TIME_GET_MILLISEC(counters->receive_wait));
	put_ms(&out, INSTR_TIME_GET_MILLISEC(counters->decode));
	put(&out, TimestampTzGetDatum(row->since));
	if (is_1_1)
	{
		put_uint64(&out, counters->writes);
		put_uint64(&out, counters->write_fallbacks);
		put_uint64(&out, counters->rows_sent);
		put_uint64(&out, counters->sent_nbytes);
		put_join_columns(&out, counters);
		put_uint64(&out, counters->connections_refused);
	}
	finish_row(&out, result);
}

static void
put_stat_row_1_0(const px_counters_row *row, void *arg)
{
	put_stat_row(row, arg, false);
}

static void
put_stat_row_1_1(const px_counters_row *row, void *arg)
{
	put_stat_row(row, arg, true);
}

Datum
px_sql_stat_get_exchange(PG_FUNCTION_ARGS)
{
	InitMaterializedSRF(fcinfo, 0);
	px_counters_read(put_stat_row_1_0, fcinfo->resultinfo);
	return (Datum) 0;
}

Datum
px_sql_stat_get_exchange_1_1(PG_FUNCTION_ARGS)
{
	InitMaterializedSRF(fcinfo, 0);
	px_counters_read(put_stat_row_1_1, fcinfo->resultinfo);
	return (Datum) 0;
}

Datum
px_sql_reset_stats(PG_FUNCTION_ARGS)
{
	px_counters_reset();
	PG_RETURN_VOID();
}

/* The names of the members of a bit set, separated by commas. */
static Datum
names_of(uint32 set, int n, const char *(*name) (uint8 id))
{
	char		buffer[512] = "";

	for (int id = 0; id < n; id++)
	{
		if (!(set & (1u << id)))
			continue;
		if (buffer[0] != '\0')
			strlcat(buffer, ", ", sizeof(buffer));
		strlcat(buffer, name((uint8) id), sizeof(buffer));
	}
	return CStringGetTextDatum(buffer);
}

static const char *
codec_name(uint8 id)
{
	return px_codec_by_id(id)->name;
}

static const char *
encoding_name(uint8 id)
{
	return px_encoding_name(id);
}

static const char *
blocked_name(px_blocked blocked)
{
	switch (blocked)
	{
		case PX_BLOCKED_START:
			return "start";
		case PX_BLOCKED_SERVER:
			return "server";
		case PX_BLOCKED_QUERY:
			return "query";
	}
	return "unknown";
}

static const char *
direction_name(px_direction direction)
{
	switch (direction)
	{
		case PX_DIRECTION_READ:
			return "read";
		case PX_DIRECTION_WRITE:
			return "write";
		case PX_DIRECTION_BROADCAST:
			return "broadcast";
		case PX_DIRECTION_PARTITION:
			return "partition";
	}
	return "unknown";
}

static bool
may_see(Oid userid)
{
	return has_privs_of_role(GetUserId(), ROLE_PG_READ_ALL_STATS) ||
		has_privs_of_role(GetUserId(), userid);
}

/* The view of version 1.0 has no column for the direction. */
static void
put_progress_row(const px_progress *progress, ReturnSetInfo *result,
				 bool is_1_1)
{
	row_writer	out = {.n = 0};

	put(&out, Int32GetDatum(progress->pid));
	put(&out, ObjectIdGetDatum(progress->dbid));
	put(&out, ObjectIdGetDatum(progress->userid));
	if (may_see(progress->userid))
	{
		put(&out, ObjectIdGetDatum(progress->serverid));
		put(&out, CStringGetTextDatum(NameStr(progress->servername)));
		put(&out, Int32GetDatum(progress->remote_pid));
		put(&out, Int32GetDatum(progress->slice));
		put(&out, TimestampTzGetDatum(progress->started));
		put_uint64(&out, progress->rows);
		put_uint64(&out, (uint64) progress->estimated_rows);
		put_uint64(&out, progress->batches);
		put_uint64(&out, progress->raw_nbytes);
		put_uint64(&out, progress->wire_nbytes);
		put(&out,
			names_of(progress->encodings, PX_ENCODING_COUNT, encoding_name));
		put(&out, names_of(progress->codecs, PX_CODEC_COUNT, codec_name));
		put(&out, CStringGetTextDatum(blocked_name(progress->blocked)));
		if (is_1_1)
			put(&out,
				CStringGetTextDatum(direction_name(progress->direction)));
		if (may_see(progress->runs_as))
			put(&out, CStringGetTextDatum(progress->query));
	}
	finish_row(&out, result);
}

static void
put_progress_row_1_0(const px_progress *progress, void *arg)
{
	put_progress_row(progress, arg, false);
}

static void
put_progress_row_1_1(const px_progress *progress, void *arg)
{
	put_progress_row(progress, arg, true);
}

Datum
px_sql_stat_get_progress(PG_FUNCTION_ARGS)
{
	InitMaterializedSRF(fcinfo, 0);
	px_progress_read(put_progress_row_1_0, fcinfo->resultinfo);
	return (Datum) 0;
}

Datum
px_sql_stat_get_progress_1_1(PG_FUNCTION_ARGS)
{
	InitMaterializedSRF(fcinfo, 0);
	px_progress_read(put_progress_row_1_1, fcinfo->resultinfo);
	return (Datum) 0;
}

static const char *
open_state_name(px_open_state state)
{
	switch (state)
	{
		case PX_OPEN_CONNECTING:
			return "connecting";
		case PX_OPEN_ACTIVE:
			return "active";
		case PX_OPEN_IDLE:
			return "idle";
	}
	return "unknown";
}

static void
put_open_connection(const px_open_connection *open, void *arg)
{
	row_writer	out = {.n = 0};

	put(&out, Int32GetDatum(open->pid));
	put(&out, ObjectIdGetDatum(open->dbid));
	put(&out, ObjectIdGetDatum(open->userid));
	if (may_see(open->userid))
	{
		put(&out, ObjectIdGetDatum(open->serverid));
		put(&out, CStringGetTextDatum(NameStr(open->servername)));
		put(&out, Int32GetDatum(open->remote_pid));
		put(&out, CStringGetTextDatum(open_state_name(open->state)));
		put(&out, TimestampTzGetDatum(open->since));
		put(&out, TimestampTzGetDatum(open->changed));
		put_uint64(&out, open->streams);
		put_uint64(&out, open->nbytes);
	}
	finish_row(&out, arg);
}

Datum
px_sql_stat_get_connections(PG_FUNCTION_ARGS)
{
	InitMaterializedSRF(fcinfo, 0);
	px_open_connections_read(put_open_connection, fcinfo->resultinfo);
	return (Datum) 0;
}
