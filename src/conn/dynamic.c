/*-------------------------------------------------------------------------
 *
 * dynamic.c
 *		Queries that a remote's session runs only if it may.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/builtins.h"
#include "utils/fmgroids.h"

#include "conn/dynamic.h"
#include "conn/genuine.h"

/* What is run; and how its rows are put together if there may be several. */
#define ROW		"(SELECT w.word FROM pg_catalog.ts_stat(%s) w)"
#define ROWS \
	"(SELECT pg_catalog.string_agg(%s, ''" \
	" ORDER BY w.word COLLATE pg_catalog.\"C\")" \
	" FROM pg_catalog.ts_stat(%s) w)"

#define AS_WORDS	"SELECT pg_catalog.array_to_tsvector(ARRAY(%s))"

/* Pieces of a long text.  A character has up to four bytes. */
#define PIECES \
	"SELECT (100000 OPERATOR(pg_catalog.+) i)::pg_catalog.text" \
	" OPERATOR(pg_catalog.||) pg_catalog.substr(x.long," \
	" i OPERATOR(pg_catalog.*) 500 OPERATOR(pg_catalog.+) 1, 500)" \
	" FROM (SELECT %s OFFSET 0) x(long), LATERAL" \
	" pg_catalog.generate_series(0," \
	" pg_catalog.length(x.long) OPERATOR(pg_catalog./) 500) i"

/*
 * May the user do what conn/genuine.h does, and what comes with it?  Everybody
 * may, unless an administrator has taken the right away.  The numbers are of
 * pg_proc, pg_depend, pg_namespace and pg_extension.
 */
#define NUMBER(oid)		CppAsString2(oid) ","
#define MAY_CHECK \
	"(SELECT pg_catalog.bool_and(" \
	"pg_catalog.has_function_privilege(f, 'EXECUTE'))" \
	" FROM pg_catalog.unnest('{" \
	NUMBER(F_CONVERT_TO) NUMBER(F_CURRENT_SETTING_TEXT) \
	NUMBER(F_CURRENT_SETTING_TEXT_BOOL) NUMBER(F_ENCODE) \
	NUMBER(F_HAS_SCHEMA_PRIVILEGE_OID_TEXT) NUMBER(F_LENGTH_TEXT) \
	NUMBER(F_PG_BACKEND_PID) NUMBER(F_PG_GET_FUNCTIONDEF) \
	NUMBER(F_PG_HAS_ROLE_OID_OID_TEXT) \
	NUMBER(F_PG_IDENTIFY_OBJECT) NUMBER(F_RIGHT) CppAsString2(F_SHA256) \
	"}'::pg_catalog.oid[]) f)" \
	" AND (SELECT pg_catalog.bool_and(" \
	"pg_catalog.has_table_privilege(t, 'SELECT'))" \
	" FROM pg_catalog.unnest('{1255,2608,2615,3079}'::pg_catalog.oid[]) t)"

char *
px_dynamic_sql(const char *query)
{
	char	   *words = psprintf(AS_WORDS, query);

	return psprintf(ROW, quote_literal_cstr(words));
}

char *
px_dynamic_rows_sql(const char *query)
{
	char	   *words = psprintf(AS_WORDS, query);

	return psprintf(ROWS, "w.word", quote_literal_cstr(words));
}

char *
px_dynamic_long_sql(const char *expression)
{
	char	   *words = psprintf(AS_WORDS, psprintf(PIECES, expression));

	return psprintf(ROWS, "pg_catalog.substr(w.word, 7)",
					quote_literal_cstr(words));
}

char *
px_dynamic_if_sql(const char *check, const char *call)
{
	return psprintf("CASE WHEN " MAY_CHECK " THEN"
					" (SELECT c.word OPERATOR(pg_catalog.||) %s"
					" FROM (SELECT %s OFFSET 0) c(word)"
					" WHERE c.word IS NOT NULL) END",
					call, px_dynamic_sql(check));
}

char *
px_dynamic_fault_sql(const char *fault)
{
	char	   *query = psprintf("SELECT x.fault FROM (SELECT %s) x(fault)"
								 " WHERE x.fault IS NOT NULL", fault);

	return psprintf("CASE WHEN " MAY_CHECK " THEN %s"
					" ELSE '" PX_REMOTE_IS_RESTRICTED "' END",
					px_dynamic_sql(query));
}
