/*-------------------------------------------------------------------------
 *
 * guc.c
 *		Settings.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>

#include "utils/guc.h"
#include "utils/varlena.h"

#include "guc.h"
#include "wire/frame.h"
#include "wire/request.h"

bool		px_enabled = true;
int			px_compression = PX_MODE_AUTO;
char	   *px_server_compression = NULL;
int			px_local_scope_setting = PX_SCOPE_HOST;
int			px_min_bytes = 64 * 1024;
int			px_batch_rows_max = 4096;
int			px_batch_bytes_max = 1024 * 1024;
int			px_max_connections_per_server = 4;
int			px_receive_buffer = 32 * 1024 * 1024;

static const struct config_enum_entry mode_options[] = {
	{"none", PX_MODE_NONE, false},
	{"fast", PX_MODE_FAST, false},
	{"high_compression", PX_MODE_HIGH_COMPRESSION, false},
	{"auto", PX_MODE_AUTO, false},
	{"unspecified", PX_MODE_AUTO, true},
	{NULL, 0, false}
};

static const struct config_enum_entry scope_options[] = {
	{"none", PX_SCOPE_NONE, false},
	{"instance", PX_SCOPE_INSTANCE, false},
	{"host", PX_SCOPE_HOST, false},
	{NULL, 0, false}
};

/*
 * Split "server=mode" at its last equals sign, so that a server may have one
 * in its name.  Modifies item.  False if it has no such form or the mode is
 * unknown.
 */
static bool
parse_server_mode(char *item, px_mode *mode)
{
	char	   *equals = strrchr(item, '=');
	char	   *name_end;
	char	   *mode_text;

	if (equals == NULL)
		return false;

	for (name_end = equals; name_end > item && name_end[-1] == ' '; name_end--)
		;
	for (mode_text = equals + 1; *mode_text == ' '; mode_text++)
		;
	if (name_end == item)
		return false;
	*name_end = '\0';

	for (const struct config_enum_entry *option = mode_options; option->name; option++)
	{
		if (pg_strcasecmp(option->name, mode_text) == 0)
		{
			*mode = option->val;
			return true;
		}
	}
	return false;
}

static bool
check_server_compression(char **newval, void **extra, GucSource source)
{
	char	   *copy = pstrdup(*newval);
	List	   *items;
	ListCell   *lc;
	bool		ok = true;

	if (!SplitGUCList(copy, ',', &items))
	{
		GUC_check_errdetail("List syntax is invalid.");
		ok = false;
	}

	foreach(lc, items)
	{
		char	   *item = pstrdup(lfirst(lc));
		px_mode		mode;

		if (ok && !parse_server_mode(item, &mode))
		{
			GUC_check_errdetail("Expected server=mode with mode none, fast, high_compression or auto, got \"%s\".",
								(char *) lfirst(lc));
			ok = false;
		}
		pfree(item);
	}

	list_free(items);
	pfree(copy);
	return ok;
}

px_mode
px_mode_for_server(const char *servername)
{
	px_mode		mode = px_compression;
	char	   *copy;
	List	   *items;
	ListCell   *lc;

	if (px_server_compression == NULL || px_server_compression[0] == '\0')
		return mode;

	copy = pstrdup(px_server_compression);
	if (SplitGUCList(copy, ',', &items))
	{
		foreach(lc, items)
		{
			px_mode		item_mode;

			if (parse_server_mode(lfirst(lc), &item_mode) &&
				strcmp(lfirst(lc), servername) == 0)
				mode = item_mode;
		}
	}
	list_free(items);
	pfree(copy);
	return mode;
}

const char *
px_mode_name(px_mode mode)
{
	switch (mode)
	{
		case PX_MODE_NONE:
			return "NONE";
		case PX_MODE_FAST:
			return "FAST";
		case PX_MODE_HIGH_COMPRESSION:
			return "HIGH_COMPRESSION";
		case PX_MODE_AUTO:
			return "AUTO";
	}
	return "unknown";
}

/* How frames are made: compression and batches. */
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
							   PGC_USERSET, GUC_LIST_INPUT,
							   check_server_compression, NULL, NULL);

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

/* When the receiver uses an exchange, and what it may hold. */
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

	DefineCustomIntVariable("pg_exchange.min_bytes",
							"Sets the expected result size below which a scan is left to postgres_fdw.",
							NULL,
							&px_min_bytes,
							64 * 1024, 0, INT_MAX,
							PGC_USERSET, GUC_UNIT_BYTE | GUC_EXPLAIN,
							NULL, NULL, NULL);

	DefineCustomIntVariable("pg_exchange.max_connections_per_server",
							"Sets the number of streams that one session runs at once on one server as one user.",
							NULL,
							&px_max_connections_per_server,
							4, 1, 1000,
							PGC_USERSET, 0,
							NULL, NULL, NULL);

	DefineCustomIntVariable("pg_exchange.receive_buffer",
							"Sets the memory that one query may use for received frames.",
							NULL,
							&px_receive_buffer,
							32 * 1024 * 1024, 64 * 1024, INT_MAX,
							PGC_USERSET, GUC_UNIT_BYTE,
							NULL, NULL, NULL);
}

void
px_guc_init(void)
{
	define_stream_settings();
	define_receiver_settings();
	MarkGUCPrefixReserved("pg_exchange");
}
