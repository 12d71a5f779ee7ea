/*-------------------------------------------------------------------------
 *
 * guc.c
 *		Settings.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <ctype.h>
#include <limits.h>

#include "miscadmin.h"
#include "utils/guc.h"

#include "adapt/choice.h"
#include "guc.h"
#include "wire/frame.h"
#include "wire/request.h"

/* More than a server can have: see MAX_BACKENDS. */
#define CONNECTIONS_MAX	262143

bool		px_enabled = true;
bool		px_partitionwise = true;
int			px_transport_setting = PX_TRANSPORT_AUTO;
int			px_partial_aggregates_setting = PX_PARTIAL_ON;
int			px_join_exchange_setting = PX_JOIN_EXCHANGE_AUTO;
bool		px_join_pull = false;
bool		px_explain_remote = false;
bool		px_lookup_joins = true;
bool		px_runtime_filters = true;
bool		px_writes = true;
bool		px_remote_statistics = true;
int			px_compression = PX_MODE_AUTO;
char	   *px_server_compression = "";
double		px_compression_cpu_limit = 1.0;
bool		px_debug_random_choices = false;
int			px_local_scope_setting = PX_SCOPE_HOST;
int			px_min_bytes = 64 * 1024;
int			px_batch_rows_max = 4096;
int			px_batch_bytes_max = 1024 * 1024;
int			px_max_connections_per_server = 4;
int			px_max_connections = 0;
int			px_max_connections_per_backend = -1;
int			px_idle_timeout = 10 * 60 * 1000;
int			px_min_write_rows = 128;
int			px_write_streams = 0;
int			px_receive_buffer = 32 * 1024 * 1024;
int			px_fragment_memory = 32 * 1024 * 1024;
int			px_slices_setting = 1;
int			px_max_frame_bytes = PX_FRAME_SENT_NBYTES_MAX;
int			px_max_decompression_ratio = PX_RAW_RATIO_MAX;
int			px_stat_max = 1000;

static const struct config_enum_entry mode_options[] = {
	{"none", PX_MODE_NONE, false},
	{"fast", PX_MODE_FAST, false},
	{"high_compression", PX_MODE_HIGH_COMPRESSION, false},
	{"auto", PX_MODE_AUTO, false},
	{"unspecified", PX_MODE_AUTO, true},
	{NULL, 0, false}
};

/* The modes: their names in EXPLAIN, and their sets of choices. */
static const struct
{
	const char *name;
	uint32		choices;		/* 1 << px_choice */
}			modes[] = {
	[PX_MODE_NONE] = {"NONE", 1 << PX_CHOICE_PLAIN},
	[PX_MODE_FAST] = {"FAST", 1 << PX_CHOICE_LZ4},
	[PX_MODE_HIGH_COMPRESSION] = {"HIGH_COMPRESSION", 1 << PX_CHOICE_ZSTD},
	[PX_MODE_AUTO] = {"AUTO", PX_CHOICES_ALL},
};

static const struct config_enum_entry scope_options[] = {
	{"none", PX_SCOPE_NONE, false},
	{"instance", PX_SCOPE_INSTANCE, false},
	{"host", PX_SCOPE_HOST, false},
	{NULL, 0, false}
};

static const struct config_enum_entry transport_options[] = {
	{"auto", PX_TRANSPORT_AUTO, false},
	{"stream", PX_TRANSPORT_STREAM, false},
	{"session", PX_TRANSPORT_SESSION, false},
	{NULL, 0, false}
};

static const struct config_enum_entry partial_options[] = {
	{"on", PX_PARTIAL_ON, false},
	{"exact", PX_PARTIAL_EXACT, false},
	{"off", PX_PARTIAL_OFF, false},
	{"true", PX_PARTIAL_ON, true},
	{"yes", PX_PARTIAL_ON, true},
	{"1", PX_PARTIAL_ON, true},
	{"false", PX_PARTIAL_OFF, true},
	{"no", PX_PARTIAL_OFF, true},
	{"0", PX_PARTIAL_OFF, true},
	{NULL, 0, false}
};

static const struct config_enum_entry join_exchange_options[] = {
	{"auto", PX_JOIN_EXCHANGE_AUTO, false},
	{"broadcast", PX_JOIN_EXCHANGE_BROADCAST, false},
	{"hash_partition", PX_JOIN_EXCHANGE_HASH_PARTITION, false},
	{"off", PX_JOIN_EXCHANGE_OFF, false},
	{"false", PX_JOIN_EXCHANGE_OFF, true},
	{"no", PX_JOIN_EXCHANGE_OFF, true},
	{"0", PX_JOIN_EXCHANGE_OFF, true},
	{NULL, 0, false}
};

/*
 * One item of server_compression: name=mode.  The name of the server is in
 * double quotes if it has a comma, an equals sign, or spaces at its ends.
 */
typedef struct server_mode
{
	char	   *name;			/* unquoted */
	px_mode		mode;
} server_mode;

static const char *
skip_spaces(const char *p)
{
	while (isspace((unsigned char) *p))
		p++;
	return p;
}

/*
 * Read a server's name into name, which has room for it.  Returns the position
 * after the equals sign, or NULL if the item is malformed.
 */
static const char *
read_server_name(const char *p, char *name)
{
	if (*p == '"')
	{
		/* A quote inside the name is doubled. */
		for (p++; *p && (*p != '"' || p[1] == '"'); p++)
		{
			if (*p == '"')
				p++;
			*name++ = *p;
		}
		if (*p != '"')
			return NULL;
		p = skip_spaces(p + 1);
	}
	else
	{
		char	   *begin = name;

		while (*p && *p != '=' && *p != ',')
			*name++ = *p++;
		while (name > begin && isspace((unsigned char) name[-1]))
			name--;
		if (name == begin)
			return NULL;
	}
	*name = '\0';
	return *p == '=' ? p + 1 : NULL;
}

/*
 * Read an item, and move *p after it and its comma.  item->name must have room
 * for the whole setting.  Returns false if the item is malformed.
 */
static bool
read_server_mode(const char **p, server_mode *item)
{
	const char *mode = read_server_name(skip_spaces(*p), item->name);
	size_t		length;

	if (mode == NULL)
		return false;
	mode = skip_spaces(mode);
	length = strcspn(mode, ", \t\n");
	*p = skip_spaces(mode + length);
	if (**p == ',')
		(*p)++;
	else if (**p != '\0')
		return false;

	for (const struct config_enum_entry *option = mode_options; option->name;
		 option++)
	{
		if (strlen(option->name) == length &&
			pg_strncasecmp(option->name, mode, length) == 0)
		{
			item->mode = option->val;
			return true;
		}
	}
	return false;
}

static bool
check_server_compression(char **newval, void **extra, GucSource source)
{
	server_mode item = {.name = palloc(strlen(*newval) + 1)};
	const char *p = skip_spaces(*newval);
	bool		ok = true;

	while (ok && *p)
	{
		const char *begin = p;

		ok = read_server_mode(&p, &item);
		if (!ok)
			GUC_check_errdetail(
				"Expected server=mode with mode none, fast, high_compression or auto, at \"%s\".",
				begin);
	}
	pfree(item.name);
	return ok;
}

px_mode
px_mode_for_server(const char *servername)
{
	px_mode		mode = px_compression;
	server_mode item = {.name = palloc(strlen(px_server_compression) + 1)};
	const char *p = skip_spaces(px_server_compression);

	while (*p && read_server_mode(&p, &item))
	{
		if (strcmp(item.name, servername) == 0)
			mode = item.mode;
	}
	pfree(item.name);
	return mode;
}

uint32
px_mode_choices(px_mode mode)
{
	return modes[mode].choices;
}

const char *
px_mode_name(px_mode mode)
{
	return modes[mode].name;
}

/* Settings for compression and batches. */
static void
define_stream_settings(void)
{
	DefineCustomEnumVariable("pg_exchange.compression",
							 "Sets how tuples are compressed on their way between nodes.",
							 NULL,
							 &px_compression,
							 PX_MODE_AUTO,
							 mode_options,
							 PGC_USERSET, 0,
							 NULL, NULL, NULL);

	DefineCustomStringVariable("pg_exchange.server_compression",
							   "Sets the compression of single servers, overriding pg_exchange.compression.",
							   "A comma-separated list of server=mode.",
							   &px_server_compression,
							   "",
							   PGC_USERSET, 0,
							   check_server_compression, NULL, NULL);

	DefineCustomRealVariable("pg_exchange.compression_cpu_limit",
							 "Sets the fraction of one core that mode auto may use for compressing a stream.",
							 NULL,
							 &px_compression_cpu_limit,
							 1.0, 0.0, 1.0,
							 PGC_USERSET, 0,
							 NULL, NULL, NULL);

	DefineCustomBoolVariable("pg_exchange.debug_random_choices",
							 "Makes mode auto choose at random, for tests.",
							 NULL,
							 &px_debug_random_choices,
							 false,
							 PGC_USERSET, GUC_NOT_IN_SAMPLE,
							 NULL, NULL, NULL);

	DefineCustomEnumVariable("pg_exchange.local_scope",
							 "Sets which connections count as local and are never compressed.",
							 NULL,
							 &px_local_scope_setting,
							 PX_SCOPE_HOST,
							 scope_options,
							 PGC_USERSET, 0,
							 NULL, NULL, NULL);

	DefineCustomIntVariable("pg_exchange.batch_rows_max",
							"Sets the number of rows at which a batch ends.",
							NULL,
							&px_batch_rows_max,
							4096, 1, PX_FRAME_ROWS_MAX,
							PGC_USERSET, 0,
							NULL, NULL, NULL);

	DefineCustomIntVariable("pg_exchange.batch_bytes_max",
							"Sets the size of uncompressed values at which a batch ends.",
							NULL,
							&px_batch_bytes_max,
							1024 * 1024, 1024, PX_REQUEST_BATCH_BYTES_MAX,
							PGC_USERSET, GUC_UNIT_BYTE,
							NULL, NULL, NULL);
}

/*
 * Settings that say when the receiver uses exchanges, and what these may take.
 * A setting that allows more connections or memory, or that shows more than
 * postgres_fdw does, needs a privilege to be set.
 */
static void
define_receiver_settings(void)
{
	DefineCustomBoolVariable("pg_exchange.enabled",
							 "Enables the planner's use of exchanges for foreign scans.",
							 NULL,
							 &px_enabled,
							 true,
							 PGC_USERSET, GUC_EXPLAIN,
							 NULL, NULL, NULL);

	DefineCustomBoolVariable("pg_exchange.partitionwise",
							 "Enables partition-wise joins and aggregates of tables with foreign partitions.",
							 NULL,
							 &px_partitionwise,
							 true,
							 PGC_USERSET, GUC_EXPLAIN,
							 NULL, NULL, NULL);

	DefineCustomEnumVariable("pg_exchange.transport",
							 "Sets the kind of connection that exchanges use.",
							 "A stream has a connection of its own, a session read uses that of postgres_fdw.",
							 &px_transport_setting,
							 PX_TRANSPORT_AUTO,
							 transport_options,
							 PGC_USERSET, GUC_EXPLAIN,
							 NULL, NULL, NULL);

	DefineCustomEnumVariable("pg_exchange.partial_aggregates",
							 "Sets which aggregates servers compute in parts, each for its own rows.",
							 "With exact, none whose last digits may depend on the order of addition.",
							 &px_partial_aggregates_setting,
							 PX_PARTIAL_ON,
							 partial_options,
							 PGC_USERSET, GUC_EXPLAIN,
							 NULL, NULL, NULL);

	DefineCustomBoolVariable("pg_exchange.explain_remote",
							 "Includes the plans of remote servers in EXPLAIN.",
							 "EXPLAIN without ANALYZE then connects to them.",
							 &px_explain_remote,
							 false,
							 PGC_SUSET, 0,
							 NULL, NULL, NULL);

	DefineCustomBoolVariable("pg_exchange.writes",
							 "Enables INSERT, COPY, UPDATE and DELETE by frames.",
							 NULL,
							 &px_writes,
							 true,
							 PGC_USERSET,
							 0,
							 NULL, NULL, NULL);
	DefineCustomIntVariable("pg_exchange.min_write_rows",
							"Sets the number of rows up to which a write is left to postgres_fdw.",
							"It counts for each foreign table that a statement writes to.",
							&px_min_write_rows,
							128,
							0, 10000,
							PGC_USERSET,
							0,
							NULL, NULL, NULL);
	DefineCustomIntVariable("pg_exchange.write_streams",
							"Sets how many servers a statement writes to at once.",
							"Zero means all of them. With 1, statements lock rows of several servers in the order in which postgres_fdw does.",
							&px_write_streams,
							0,
							0, INT_MAX,
							PGC_USERSET,
							0,
							NULL, NULL, NULL);
	DefineCustomEnumVariable("pg_exchange.join_exchange",
							 "Sets whether joins run on the servers of a foreign table, which are sent the rows of the other side.",
							 NULL,
							 &px_join_exchange_setting,
							 PX_JOIN_EXCHANGE_AUTO,
							 join_exchange_options,
							 PGC_USERSET, GUC_EXPLAIN,
							 NULL, NULL, NULL);
	DefineCustomBoolVariable("pg_exchange.join_pull",
							 "Lets servers of a join get each other's rows directly, where they have servers for one another.",
							 "It counts on the coordinator, where the rows otherwise pass through, and on each of the servers.",
							 &px_join_pull,
							 false,
							 PGC_SUSET, 0,
							 NULL, NULL, NULL);
	DefineCustomBoolVariable("pg_exchange.lookup_joins",
							 "Enables joins that send the keys of one side to the foreign tables of the other.",
							 NULL,
							 &px_lookup_joins,
							 true,
							 PGC_USERSET, GUC_EXPLAIN,
							 NULL, NULL, NULL);

	DefineCustomBoolVariable("pg_exchange.runtime_filters",
							 "Enables hash joins that send the keys of their inner side to the scans of the outer one.",
							 NULL,
							 &px_runtime_filters,
							 true,
							 PGC_USERSET, GUC_EXPLAIN,
							 NULL, NULL, NULL);

	DefineCustomBoolVariable("pg_exchange.remote_statistics",
							 "Enables the use of servers' own statistics for foreign tables that were not analyzed.",
							 "The servers are asked when a query is planned.",
							 &px_remote_statistics,
							 true,
							 PGC_USERSET, GUC_EXPLAIN,
							 NULL, NULL, NULL);

	DefineCustomIntVariable("pg_exchange.min_bytes",
							"Sets the expected result size below which a scan is not read by a stream.",
							NULL,
							&px_min_bytes,
							64 * 1024, 0, INT_MAX,
							PGC_USERSET, GUC_UNIT_BYTE | GUC_EXPLAIN,
							NULL, NULL, NULL);

	DefineCustomIntVariable("pg_exchange.slices",
							"Sets the number of streams that one big remote table is split into.",
							"Each reads a range of its blocks, on a connection of its own as far as pg_exchange.max_connections_per_server allows.",
							&px_slices_setting,
							1, 1, PX_REQUEST_SLICES_MAX,
							PGC_SUSET, 0,
							NULL, NULL, NULL);

	DefineCustomIntVariable("pg_exchange.receive_buffer",
							"Sets the memory that one query may use for received frames.",
							NULL,
							&px_receive_buffer,
							32 * 1024 * 1024, 64 * 1024, INT_MAX,
							PGC_SUSET, GUC_UNIT_BYTE,
							NULL, NULL, NULL);

	DefineCustomIntVariable("pg_exchange.fragment_memory",
							"Sets the memory that a hash table of a join by hash partition may use on a server, if its own settings allow less.",
							NULL,
							&px_fragment_memory,
							32 * 1024 * 1024, 0, INT_MAX,
							PGC_SUSET, GUC_UNIT_BYTE,
							NULL, NULL, NULL);
}

/* Settings for the connections that streams have of their own. */
static void
define_connection_settings(void)
{
	DefineCustomIntVariable("pg_exchange.max_connections_per_server",
							"Sets the number of streams that one session runs at once on one server as one user.",
							NULL,
							&px_max_connections_per_server,
							4, 1, 1000,
							PGC_SUSET, 0,
							NULL, NULL, NULL);

	DefineCustomIntVariable("pg_exchange.max_connections",
							"Sets the number of connections for streams that all sessions together may have open to one server.",
							"Zero means no limit. It takes shared_preload_libraries; otherwise each process counts its own alone.",
							&px_max_connections,
							0, 0, CONNECTIONS_MAX,
							PGC_SUSET, 0,
							NULL, NULL, NULL);

	DefineCustomIntVariable("pg_exchange.max_connections_per_backend",
							"Sets the number of connections for streams that one process may have open to all servers.",
							"Zero means no limit, -1 as many as pg_exchange.max_connections.",
							&px_max_connections_per_backend,
							-1, -1, CONNECTIONS_MAX,
							PGC_SUSET, 0,
							NULL, NULL, NULL);

	DefineCustomIntVariable("pg_exchange.idle_timeout",
							"Sets the time after which an idle connection for streams is closed.",
							"Zero means that it is kept until the session ends.",
							&px_idle_timeout,
							10 * 60 * 1000, 0, INT_MAX,
							PGC_USERSET, GUC_UNIT_MS,
							NULL, NULL, NULL);
}

/* Limits on what a remote may send, which may be malicious. */
static void
define_limits(void)
{
	DefineCustomIntVariable(
		"pg_exchange.max_frame_bytes",
		"Sets the size of a frame that is accepted from a server.",
		"A frame holds a batch, of at least one row: larger rows are refused.",
		&px_max_frame_bytes, PX_FRAME_SENT_NBYTES_MAX, 64 * 1024,
		PX_FRAME_SENT_NBYTES_MAX, PGC_SUSET, GUC_UNIT_BYTE, NULL, NULL, NULL);

	DefineCustomIntVariable("pg_exchange.max_decompression_ratio",
							"Sets how many times the size of its frame a large batch may take when it is decoded.",
							"Batches of up to 8MB are exempt. Servers keep to 256.",
							&px_max_decompression_ratio,
							PX_RAW_RATIO_MAX, 1, INT_MAX,
							PGC_SUSET, 0,
							NULL, NULL, NULL);
}

/* This setting is for shared memory, which only the postmaster can request. */
static void
define_statistics_settings(void)
{
	if (!process_shared_preload_libraries_in_progress)
		return;
	DefineCustomIntVariable("pg_exchange.stat_max",
							"Sets the maximum number of rows of pg_stat_exchange: one for each server, user and database.",
							NULL,
							&px_stat_max,
							1000, 10, 1000000,
							PGC_POSTMASTER, 0,
							NULL, NULL, NULL);
}

void
px_guc_init(void)
{
	define_stream_settings();
	define_receiver_settings();
	define_connection_settings();
	define_limits();
	define_statistics_settings();
	MarkGUCPrefixReserved("pg_exchange");
}
