/*-------------------------------------------------------------------------
 *
 * ask_statistics.c
 *		What servers know about their tables.
 *
 * A server answers with lines, which are JSON arrays of strings.  The first
 * string is "table", "column" or "plain".  pg_stats shows what the remote user
 * may see.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "foreign/foreign.h"
#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "utils/builtins.h"
#include "utils/float.h"
#include "utils/jsonb.h"
#include "utils/lsyscache.h"

#include "compat.h"
#include "conn/answer.h"
#include "conn/foreign_server.h"
#include "conn/genuine.h"
#include "conn/pool.h"
#include "plan/ask_statistics.h"
#include "plan/guarded.h"

/* As for a stream: see transport/stream.c. */
#define LOCK_TIMEOUT_MS		100

/* More than a line has. */
#define WORDS_MAX			12

/* A server, as a user sees it, and what it is asked about. */
typedef struct asked_server
{
	px_connection_holder holder;	/* must be first */
	Oid			serverid;
	Oid			userid;
	MemoryContextCallback forget;
	List	   *tables;			/* of px_asked_table */
	char	   *sql;			/* the question */
	char	   *lines;			/* the answer, or NULL */
} asked_server;

/* ---------------------------------------------------------------------
 * The question
 * --------------------------------------------------------------------- */

px_asked_table *
px_asked_table_new(Oid relid, Oid userid)
{
	px_asked_table *asked = palloc0(sizeof(px_asked_table));

	asked->serverid = GetForeignTable(relid)->serverid;
	asked->userid = userid;
	px_remote_table_name(relid, &asked->schema, &asked->name);
	return asked;
}

/* The tables of these names, as c, and the members of each, itself too. */
#define NAMED_SQL \
	" FROM (" \
	"SELECT t.oid, n.nspname::pg_catalog.text, t.relname::pg_catalog.text" \
	" FROM pg_catalog.pg_class t JOIN pg_catalog.pg_namespace n" \
	" ON n.oid" PX_EQ "t.relnamespace WHERE n.nspname" PX_EQ \
	"ANY (%s::pg_catalog.name[]) AND t.relname" PX_EQ \
	"ANY (%s::pg_catalog.name[])) c CROSS JOIN LATERAL (" \
	"WITH RECURSIVE i(o) AS (SELECT c.oid UNION ALL SELECT h.inhrelid" \
	" FROM pg_catalog.pg_inherits h, i WHERE h.inhparent" PX_EQ "i.o)"

/*
 * An estimate of rows uses the present size, as the planner there would.  A
 * member with rows that was never analyzed has only its size.
 */
#define TABLES_SQL \
	"SELECT pg_catalog.json_build_array('table', c.nspname, c.relname," \
	" m.tuples, m.nbytes, m.unknown, CASE WHEN m.stored THEN 't' END)" \
	"::pg_catalog.text" NAMED_SQL \
	" SELECT pg_catalog.sum(CASE WHEN NOT s.known THEN 0" \
	" WHEN s.relpages OPERATOR(pg_catalog.>) 0" \
	" THEN s.reltuples::pg_catalog.float8 OPERATOR(pg_catalog.*) s.nbytes" \
	" OPERATOR(pg_catalog./) (s.relpages::pg_catalog.float8" \
	" OPERATOR(pg_catalog.*) s.block) ELSE s.reltuples END)" \
	"::pg_catalog.text AS tuples," \
	" pg_catalog.sum(s.nbytes)::pg_catalog.text AS nbytes," \
	" pg_catalog.sum(CASE WHEN s.known THEN 0 ELSE s.nbytes END)" \
	"::pg_catalog.text AS unknown, pg_catalog.bool_and(s.stored) AS stored" \
	" FROM (" \
	"SELECT k.*, k.reltuples OPERATOR(pg_catalog.>=) 0 AND (k.relpages" \
	" OPERATOR(pg_catalog.>) 0 OR k.nbytes" PX_EQ "0) AS known FROM (" \
	"SELECT r.reltuples, r.relpages, b.block," \
	" r.relkind OPERATOR(pg_catalog.<>) 'f' AS stored, CASE WHEN r.relkind" PX_EQ \
	"'f' THEN r.relpages::pg_catalog.float8" \
	" OPERATOR(pg_catalog.*) b.block" \
	" ELSE pg_catalog.pg_relation_size(r.oid::pg_catalog.regclass)" \
	"::pg_catalog.float8 END AS nbytes" \
	" FROM i JOIN pg_catalog.pg_class r ON r.oid" PX_EQ "i.o," \
	" (SELECT pg_catalog.current_setting('block_size')" \
	"::pg_catalog.float8) b(block)" \
	" WHERE r.relkind" PX_EQ "ANY ('{r,m,f}'::pg_catalog.\"char\"[])" \
	" OFFSET 0) k OFFSET 0) s) m WHERE m.nbytes IS NOT NULL"

#define COLUMNS_SQL \
	"SELECT pg_catalog.json_build_array('column'," \
	" s.schemaname::pg_catalog.text, s.tablename::pg_catalog.text," \
	" s.attname::pg_catalog.text," \
	" CASE WHEN s.inherited THEN 't' ELSE 'f' END," \
	" s.null_frac::pg_catalog.text, s.avg_width::pg_catalog.text," \
	" s.n_distinct::pg_catalog.text, s.correlation::pg_catalog.text," \
	" s.most_common_vals::pg_catalog.text," \
	" s.most_common_freqs::pg_catalog.text," \
	" s.histogram_bounds::pg_catalog.text)::pg_catalog.text" \
	" FROM pg_catalog.pg_stats s WHERE s.schemaname" PX_EQ \
	"ANY (%s::pg_catalog.name[]) AND s.tablename" PX_EQ \
	"ANY (%s::pg_catalog.name[])"

/* Attributes of kind v: since 18. */
#define PLAIN_SQL \
	"SELECT pg_catalog.json_build_array('plain', c.nspname, c.relname," \
	" CASE WHEN m.plain AND pg_catalog.has_table_privilege(c.oid, 'SELECT')" \
	" AND pg_catalog.has_schema_privilege(c.nspname::pg_catalog.text, 'USAGE')" \
	" THEN pg_catalog.getdatabaseencoding()::pg_catalog.text END," \
	" (SELECT pg_catalog.json_object_agg(a.attname," \
	" pg_catalog.concat(a.atttypid, ' ', a.atttypmod, ' '," \
	" (SELECT l.collname FROM pg_catalog.pg_collation l" \
	" WHERE l.oid" PX_EQ "a.attcollation AND l.collnamespace" PX_EQ \
	"'pg_catalog'::pg_catalog.regnamespace)))" \
	"::pg_catalog.text FROM pg_catalog.pg_attribute a" \
	" WHERE a.attrelid" PX_EQ "c.oid AND a.attnum OPERATOR(pg_catalog.>) 0" \
	" AND NOT a.attisdropped))::pg_catalog.text" NAMED_SQL \
	" SELECT pg_catalog.bool_and(r.relkind" PX_EQ \
	"ANY ('{r,m,p}'::pg_catalog.\"char\"[]) AND NOT r.relrowsecurity" \
	" AND r.relispopulated" \
	" AND NOT EXISTS (SELECT FROM pg_catalog.pg_attribute a" \
	" WHERE a.attrelid" PX_EQ "r.oid AND a.attgenerated" PX_EQ "'v')) AS plain" \
	" FROM i JOIN pg_catalog.pg_class r ON r.oid" PX_EQ "i.o) m"

/* A literal of an array of names. */
static void
append_name(StringInfo array, const char *name)
{
	appendStringInfo(array, "%s%s", array->len > 0 ? ", " : "",
					 quote_literal_cstr(name));
}

/* The names of the server's tables, as two arrays. */
static void
make_arrays(const asked_server *server, char **s, char **n)
{
	StringInfoData schemas;
	StringInfoData names;
	ListCell   *lc;

	initStringInfo(&schemas);
	initStringInfo(&names);
	foreach(lc, server->tables)
	{
		const px_asked_table *table = lfirst(lc);

		append_name(&schemas, table->schema);
		append_name(&names, table->name);
	}
	*s = psprintf("ARRAY[%s]", schemas.data);
	*n = psprintf("ARRAY[%s]", names.data);
}

static char *
statistics_sql(const asked_server *server)
{
	char	   *s;
	char	   *n;

	make_arrays(server, &s, &n);
	return psprintf(TABLES_SQL " UNION ALL " COLUMNS_SQL, s, n, s, n);
}

static char *
plain_sql(const asked_server *server)
{
	char	   *s;
	char	   *n;

	make_arrays(server, &s, &n);
	return psprintf(PLAIN_SQL, s, n);
}

/* The question needs no clean-up of its own if its connection is taken. */
static void
lose_connection(px_connection_holder *holder)
{
}

/* Send the question, if there is a connection. */
static void
ask(asked_server *server)
{
	UserMapping *user;
	px_peer    *peer;

	if (!px_server_has_mapping(server->serverid, server->userid))
		return;
	user = GetUserMapping(server->userid, server->serverid);
	peer = px_peer_get(user);
	if (peer->refusal)
		return;
	server->holder.lose = lose_connection;
	server->holder.servername = GetForeignServer(server->serverid)->servername;
	if (!px_is_ok(px_connection_acquire(peer, user, &server->holder)))
		return;

	/* It is no stream, so exchange.connections does not count it. */
	server->holder.connection->streams--;
	if (!px_send_lines(server->holder.connection->pg, server->sql,
					   LOCK_TIMEOUT_MS))
		px_connection_discard(server->holder.connection);
}

/* ---------------------------------------------------------------------
 * The answer
 * --------------------------------------------------------------------- */

/* A number that is finite and not negative; false if it is not. */
static bool
read_number(const char *text, double *number)
{
	if (text == NULL)
		return false;
	*number = DatumGetFloat8(DirectFunctionCall1(float8in,
												 CStringGetDatum(text)));
	return isfinite(*number) && *number >= 0;
}

/* A line as strings, NULL for null and for what is missing. */
static void
read_words(const char *line, char **words)
{
	Jsonb	   *json = DatumGetJsonbP(
		DirectFunctionCall1(jsonb_in, CStringGetDatum(line)));

	for (int i = 0; i < WORDS_MAX; i++)
	{
		JsonbValue *value = JB_ROOT_IS_ARRAY(json) ?
			getIthJsonbValueFromContainer(&json->root, i) : NULL;

		words[i] = value && value->type == jbvString ?
			pnstrdup(value->val.string.val, value->val.string.len) : NULL;
	}
}

/* Note the words of a line about the table. */
static void
note_words(px_asked_table *table, char *const *words)
{
	if (strcmp(words[0], "table") == 0)
	{
		table->can_sample = words[6] != NULL;
		table->answered = read_number(words[3], &table->tuples) &&
			read_number(words[4], &table->nbytes) &&
			read_number(words[5], &table->nbytes_unknown);
	}
	else if (strcmp(words[0], "plain") == 0)
	{
		table->plain = words[3] != NULL &&
			strcmp(words[3], GetDatabaseEncodingName()) == 0;
		table->types = words[4];
	}
	else if (strcmp(words[0], "column") == 0 && words[3] != NULL)
	{
		px_remote_column *column = palloc(sizeof(px_remote_column));

		*column = (px_remote_column) {
			.name = words[3],
			.inherited = words[4] && words[4][0] == 't',
			.null_frac = words[5],
			.width = words[6],
			.n_distinct = words[7],
			.correlation = words[8],
			.mcv = words[9],
			.mcv_freq = words[10],
			.bounds = words[11]
		};
		table->columns = lappend(table->columns, column);
	}
}

/* Several foreign tables may stand for the table of a line. */
static void
read_line(const asked_server *server, const char *line)
{
	char	   *words[WORDS_MAX];
	ListCell   *lc;

	read_words(line, words);
	if (words[0] == NULL || words[1] == NULL || words[2] == NULL)
		return;
	foreach(lc, server->tables)
	{
		px_asked_table *table = lfirst(lc);

		if (strcmp(table->schema, words[1]) == 0 &&
			strcmp(table->name, words[2]) == 0)
			note_words(table, words);
	}
}

/* Read the answer.  Raises errors about its form. */
static void
read_lines(void *arg)
{
	asked_server *server = arg;
	char	   *next;

	(void) pg_verifymbstr(server->lines, strlen(server->lines), false);
	for (char *line = server->lines; line != NULL; line = next)
	{
		next = strchr(line, '\n');
		if (next != NULL)
			*next++ = '\0';
		read_line(server, line);
	}
}

/* Wait for the answer, and give the connection back. */
static void
take_answer(asked_server *server, TimestampTz deadline)
{
	px_connection *connection = server->holder.connection;
	px_outcome	outcome;
	bool		usable;

	outcome = px_take_lines(connection->pg, deadline, &server->lines,
							&usable);

	/*
	 * The user may be allowed a single connection, which postgres_fdw is going
	 * to make.  So what was opened for this question is closed again.
	 */
	if (!usable)
		px_connection_discard(connection);
	else if (connection->reused)
		px_connection_release(connection);
	else
		px_connection_finish(connection);
	if (!px_is_ok(outcome))
		elog(DEBUG1, "server \"%s\" has told nothing about its tables: %s",
			 server->holder.servername, outcome.reason);
}

/* ---------------------------------------------------------------------
 * All servers
 * --------------------------------------------------------------------- */

static List *
group_by_server(List *tables)
{
	List	   *servers = NIL;
	ListCell   *lc;
	ListCell   *other;

	foreach(lc, tables)
	{
		px_asked_table *table = lfirst(lc);
		asked_server *server = NULL;

		foreach(other, servers)
		{
			server = lfirst(other);
			if (server->serverid == table->serverid &&
				server->userid == table->userid)
				break;
			server = NULL;
		}
		if (server == NULL)
		{
			server = palloc0(sizeof(asked_server));
			server->serverid = table->serverid;
			server->userid = table->userid;
			server->forget.func = px_connection_forget_holder;
			server->forget.arg = &server->holder;
			MemoryContextRegisterResetCallback(CurrentMemoryContext,
											   &server->forget);
			servers = lappend(servers, server);
		}
		server->tables = lappend(server->tables, table);
	}
	return servers;
}

static void
ask_servers(List *tables, char *(*make_sql) (const asked_server *server))
{
	List	   *servers = group_by_server(tables);
	TimestampTz deadline;
	ListCell   *lc;

	PG_TRY();
	{
		foreach(lc, servers)
		{
			asked_server *server = lfirst(lc);

			server->sql = make_sql(server);
			ask(server);
		}
		deadline = px_setup_deadline();
		foreach(lc, servers)
		{
			asked_server *server = lfirst(lc);

			if (server->holder.connection)
				take_answer(server, deadline);
		}
	}
	PG_CATCH();
	{
		/* An interrupt. */
		foreach(lc, servers)
		{
			asked_server *server = lfirst(lc);

			if (server->holder.connection)
				px_connection_discard(server->holder.connection);
		}
		PG_RE_THROW();
	}
	PG_END_TRY();

	foreach(lc, servers)
	{
		asked_server *server = lfirst(lc);

		if (server->lines)
			(void) px_guarded(read_lines, server);
	}
}

void
px_ask_statistics(List *tables)
{
	ask_servers(tables, statistics_sql);
}

void
px_ask_if_plain(List *tables)
{
	ask_servers(tables, plain_sql);
}
