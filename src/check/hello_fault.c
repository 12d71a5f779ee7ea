/*-------------------------------------------------------------------------
 *
 * hello_fault.c
 *		What to do if a server refuses exchanges.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "check/hello_fault.h"
#include "conn/genuine.h"

/* A reason that has this text in it; the first that fits counts. */
typedef struct hello_fault
{
	const char *text;
	const char *fault;
	const char *advice;
} hello_fault;

static const hello_fault hello_faults[] = {
	{PX_REMOTE_LACKS_EXTENSION, "extension_missing",
	"Run there, in that database: CREATE EXTENSION pg_exchange."},
	{PX_REMOTE_IS_TOO_OLD, "extension_too_old",
	"Install the package of this version there, and run: ALTER EXTENSION"
	" pg_exchange UPDATE."},
	{PX_REMOTE_IS_FORBIDDEN, "no_rights",
	"Run there: GRANT USAGE ON SCHEMA exchange TO the user of the user"
	" mapping; and GRANT EXECUTE ON its functions, if that was revoked."},
	{PX_REMOTE_IS_IMPOSTOR, "impostor",
	"Find out who owns schema exchange there and its functions. Drop what is"
	" not pg_exchange's, and create the extension anew as a superuser."},
	{"$libdir/pg_exchange", "library_missing",
	"Install the package of pg_exchange there, for the PostgreSQL that runs."},
	{"pg_exchange" DLSUFFIX, "library_mismatch",
	"The library there is not the one of the SQL objects: install one package,"
	" and restart that server if it preloads the library."},
	{"no common protocol version", "protocol",
	"Install the same version of pg_exchange on both servers."},
	{"not little-endian", "big_endian",
	"None: postgres_fdw reads from servers of this architecture."},
	{"pg_export_snapshot", "no_snapshot_right",
	"Run there: GRANT EXECUTE ON FUNCTION pg_catalog.pg_export_snapshot() TO"
	" the user of the user mapping."},
	{"does not answer", PX_FAULT_NO_ANSWER,
	"Look for a pooler without a free connection, or what keeps that server"
	" busy."},
	{"no answer", PX_FAULT_NO_ANSWER,
	"Look for a pooler without a free connection, or what keeps that server"
	" busy."}
};

px_finding
px_hello_finding(const char *item, const char *reason, const char *files)
{
	px_finding	finding = {
		.item = item,
		.fault = "hello_failed",
		.found = reason,
		.advice = "Look for the reason in doc/troubleshooting.md, and in that"
		" server's log."
	};

	for (size_t i = 0; i < lengthof(hello_faults); i++)
	{
		if (strstr(reason, hello_faults[i].text))
		{
			finding.fault = hello_faults[i].fault;
			finding.advice = hello_faults[i].advice;
			break;
		}
	}
	if (strcmp(finding.fault, "extension_missing") == 0 && files == NULL)
	{
		finding.fault = "package_missing";
		finding.advice = "Install the package of pg_exchange there, then run"
			" in that database: CREATE EXTENSION pg_exchange.";
	}
	return finding;
}
