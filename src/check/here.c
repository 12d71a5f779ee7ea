/*-------------------------------------------------------------------------
 *
 * here.c
 *		What exchange.check finds out about this server and session.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/guc.h"
#include "utils/varlena.h"

#include "check/here.h"
#include "guc.h"

/*
 * The version of the extension's objects, and that of its files.  Like all
 * queries here, it names nothing without a schema.
 */
#define VERSION_SQL \
	"SELECT e.extversion, (SELECT a.default_version::pg_catalog.text" \
	" FROM pg_catalog.pg_available_extensions() a" \
	" WHERE a.name OPERATOR(pg_catalog.=) 'pg_exchange')" \
	" FROM pg_catalog.pg_extension e" \
	" WHERE e.extname OPERATOR(pg_catalog.=) 'pg_exchange'"

bool
px_minor_release_is_unsafe(int version)
{
	return version < 150005 || version == 160000;
}

/* Is pg_exchange in the value of one of the settings *_preload_libraries? */
static bool
is_preloaded(const char *setting)
{
	char	   *copy = pstrdup(setting ? setting : "");
	List	   *names = NIL;
	ListCell   *lc;

	if (!SplitDirectoriesString(copy, ',', &names))
		return false;
	foreach(lc, names)
	{
		const char *name = lfirst(lc);
		const char *slash = last_dir_separator(name);

		name = slash ? slash + 1 : name;
		if (strcmp(name, "pg_exchange") == 0 ||
			strcmp(name, "pg_exchange" DLSUFFIX) == 0)
			return true;
	}
	return false;
}

static void
check_library(px_report *report)
{
	px_finding	finding = {.item = "library"};

	if (is_preloaded(shared_preload_libraries_string))
		finding.found = "in shared_preload_libraries";
	else if (is_preloaded(session_preload_libraries_string) ||
			 is_preloaded(local_preload_libraries_string))
	{
		finding.found = "loaded when a session begins";
		finding.advice = "Statistics, what is known of links, and the limit"
			" max_connections are of one session only. For all sessions,"
			" add pg_exchange to shared_preload_libraries and restart.";
	}
	else
	{
		finding.fault = "not_preloaded";
		finding.found = "not loaded when a session begins";
		finding.advice = "Without the library, queries are planned without"
			" exchanges. Add pg_exchange to session_preload_libraries, or to"
			" shared_preload_libraries and restart; then begin a new session."
			" This session has loaded it now, by this check.";
	}
	px_report_add(report, finding);
}

static void
check_postgresql(px_report *report)
{
	int			version = atoi(GetConfigOption("server_version_num", false,
											   false));
	px_finding	finding = {
		.item = "postgresql",
		.found = GetConfigOption("server_version", false, false)
	};

	if (px_minor_release_is_unsafe(version))
	{
		finding.fault = "minor_release";
		finding.advice = PX_MINOR_RELEASE_ADVICE;
	}
	px_report_add(report, finding);
}

/* Read both versions, into the caller's memory context. */
static void
read_versions(char **objects, char **files)
{
	MemoryContext context = CurrentMemoryContext;
	char	   *values[2] = {NULL, NULL};

	SPI_connect();
	if (SPI_execute(VERSION_SQL, true, 1) != SPI_OK_SELECT)
		elog(ERROR, "could not read the version of pg_exchange");
	for (int i = 0; i < 2 && SPI_processed > 0; i++)
	{
		char	   *value = SPI_getvalue(SPI_tuptable->vals[0],
										 SPI_tuptable->tupdesc, i + 1);

		if (value)
			values[i] = MemoryContextStrdup(context, value);
	}
	SPI_finish();
	*objects = values[0];
	*files = values[1];
}

char *
px_extension_version_here(void)
{
	char	   *objects;
	char	   *files;

	read_versions(&objects, &files);
	return objects;
}

static void
check_extension(px_report *report)
{
	px_finding	finding = {.item = "extension"};
	char	   *objects;
	char	   *files;

	read_versions(&objects, &files);
	finding.found = objects;
	if (files == NULL || objects == NULL || strcmp(files, objects) != 0)
	{
		finding.fault = "other_files";
		finding.found = psprintf("version %s, but the installed files are of"
								 " version %s", objects ? objects : "none",
								 files ? files : "none");
		finding.advice = "Install the package of one version, and run ALTER"
			" EXTENSION pg_exchange UPDATE.";
	}
	px_report_add(report, finding);
}

static void
check_settings(px_report *report)
{
	px_finding	enabled = {.item = "enabled", .found = "on"};
	px_finding	transport = {.item = "transport", .found = "auto"};
	px_finding	writes = {.item = "writes", .found = "on"};

	if (!px_enabled)
	{
		enabled.fault = "disabled";
		enabled.found = "off";
		enabled.advice = "Nothing is exchanged: SET pg_exchange.enabled = on.";
	}
	px_report_add(report, enabled);

	if (px_transport_setting == PX_TRANSPORT_SESSION)
	{
		transport.found = "session";
		transport.advice = "Streams are faster, and not used: SET"
			" pg_exchange.transport = auto, unless connections are scarce.";
	}
	else if (px_transport_setting == PX_TRANSPORT_STREAM)
	{
		transport.found = "stream";
		transport.advice = "What no stream may read is read as text: SET"
			" pg_exchange.transport = auto.";
	}
	px_report_add(report, transport);

	if (!px_writes)
	{
		writes.found = "off";
		writes.advice = "Rows are written as text: SET pg_exchange.writes ="
			" on.";
	}
	px_report_add(report, writes);
}

void
px_check_here(px_report *report)
{
	check_library(report);
	check_postgresql(report);
	check_extension(report);
	check_settings(report);
}
