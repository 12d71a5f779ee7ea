/*-------------------------------------------------------------------------
 *
 * session.c
 *		Whether postgres_fdw itself can connect to a server.
 *
 * Its connections are its own affair.  So it is made to connect by a query, in
 * a subtransaction, because it may raise an error.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/resowner.h"

#include "check/session.h"

/* The foreign tables of the server for which this is true, as SQL. */
#define TABLES_SQL(may) \
	"SELECT pg_catalog.format('%%I.%%I', n.nspname, c.relname)" \
	" FROM pg_catalog.pg_foreign_table t" \
	" JOIN pg_catalog.pg_class c ON c.oid OPERATOR(pg_catalog.=) t.ftrelid" \
	" JOIN pg_catalog.pg_namespace n" \
	" ON n.oid OPERATOR(pg_catalog.=) c.relnamespace" \
	" WHERE t.ftserver OPERATOR(pg_catalog.=) %u::pg_catalog.oid" \
	" AND pg_catalog.has_schema_privilege(n.oid, 'USAGE')" \
	" AND (" may ")" \
	" ORDER BY t.ftrelid USING OPERATOR(pg_catalog.<) LIMIT 1"

/* One that the user may read, or a column of it. */
#define TABLE_SQL \
	TABLES_SQL("pg_catalog.has_any_column_privilege(c.oid, 'SELECT')")

/*
 * May the user have anything to do with the server?  Whoever may read or write
 * one of its tables may have postgres_fdw connect to it.
 */
#define MAY_USE_SQL \
	"SELECT pg_catalog.has_server_privilege(%u::pg_catalog.oid, 'USAGE')" \
	" OR EXISTS (" TABLES_SQL( \
		"pg_catalog.has_any_column_privilege(c.oid," \
		" 'SELECT, INSERT, UPDATE')" \
		" OR pg_catalog.has_table_privilege(c.oid, 'DELETE, TRUNCATE')") ")"

/*
 * Run a query.  Its first value is palloc'd in context; NULL if there is none.
 */
static char *
run_query(const char *sql, MemoryContext context)
{
	char	   *value = NULL;
	char	   *copy = NULL;

	SPI_connect();
	if (SPI_execute(sql, true, 0) != SPI_OK_SELECT)
		elog(ERROR, "could not run a query of exchange.check");
	if (SPI_processed > 0 && SPI_tuptable->tupdesc->natts > 0)
		value = SPI_getvalue(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1);
	if (value)
		copy = MemoryContextStrdup(context, value);
	SPI_finish();
	return copy;
}

/*
 * A query of the table by postgres_fdw alone, as far as its connection.  The
 * settings end with the subtransaction.
 */
static void
connect_by_scan(const char *table)
{
	(void) set_config_option("pg_exchange.enabled", "off", PGC_USERSET,
							 PGC_S_SESSION, GUC_ACTION_LOCAL, true, 0, false);
	(void) run_query(psprintf("SELECT FROM %s LIMIT 0", table),
					 CurrentMemoryContext);
}

/* Has the remote found fault with the query, having been reached? */
static bool
is_about_query(int sqlerrcode)
{
	return ERRCODE_TO_CATEGORY(sqlerrcode) ==
		ERRCODE_TO_CATEGORY(ERRCODE_SYNTAX_ERROR);
}

/* Is that the remote's error, and not an interrupt of this session? */
static bool
is_remote(const ErrorData *error)
{
	return error->context && strstr(error->context, "remote SQL command: ");
}

/* The error, copied, that the scan has raised; NULL if it has raised none. */
static ErrorData *
try_scan(const char *table)
{
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	ErrorData  *volatile error = NULL;

	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(context);
	PG_TRY();
	{
		connect_by_scan(table);
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		FlushErrorState();
	}
	PG_END_TRY();

	/* In any case: nothing is to be kept. */
	RollbackAndReleaseCurrentSubTransaction();
	MemoryContextSwitchTo(context);
	CurrentResourceOwner = owner;
	if (error && !is_remote(error) &&
		(error->sqlerrcode == ERRCODE_QUERY_CANCELED ||
		 error->sqlerrcode == ERRCODE_OUT_OF_MEMORY))
		ReThrowError(error);
	return error;
}

bool
px_check_may_use(const ForeignServer *server)
{
	char	   *may = run_query(psprintf(MAY_USE_SQL, server->serverid,
										 server->serverid),
								CurrentMemoryContext);

	return may && may[0] == 't';
}

void
px_check_session(px_report *report, const ForeignServer *server)
{
	px_finding	finding = {
		.item = "session", .found = "postgres_fdw can connect"
	};
	char	   *table = run_query(psprintf(TABLE_SQL, server->serverid),
								  CurrentMemoryContext);
	ErrorData  *error;

	if (table == NULL)
	{
		finding.unknown = true;
		finding.found = "no foreign table of this server to try it with";
		px_report_add(report, finding);
		return;
	}
	error = try_scan(table);
	if (error && !is_about_query(error->sqlerrcode))
	{
		finding.fault = "session_failed";
		finding.found = error->message;
		finding.advice = "Correct first what is wrong with \"connection\"; or"
			" see the documentation of postgres_fdw.";
	}
	px_report_add(report, finding);
}
