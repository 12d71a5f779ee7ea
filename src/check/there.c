/*-------------------------------------------------------------------------
 *
 * there.c
 *		What exchange.check finds out by connections of its own to a server.
 *
 * These begin as those of streams do (conn/connect.h, conn/introduce.h,
 * transport/prepare.h), and count as such while they are there.  But they are
 * not the pool's: what was remembered of the server neither helps nor harms,
 * and nothing of what is found here is remembered.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "portability/instr_time.h"
#include "utils/timestamp.h"

#include "check/ask.h"
#include "check/here.h"
#include "check/hello_fault.h"
#include "check/login.h"
#include "check/there.h"
#include "conn/answer.h"
#include "conn/cancel.h"
#include "conn/genuine.h"
#include "conn/introduce.h"
#include "conn/link.h"
#include "conn/pool.h"
#include "guc.h"
#include "stats/open_connections.h"
#include "transport/prepare.h"

/* The link's round trip is the shortest of so many. */
#define PINGS	3

/* How long it may take to have a query over there cancelled. */
#define CANCEL_TIMEOUT_MS	1000

/* Two connections: that of a session, and a stream. */
#define CONNECTIONS	2

/* What is under way with a server. */
typedef struct check_there
{
	px_report  *report;
	ForeignServer *server;
	UserMapping *user;
	px_open_connection *shown[CONNECTIONS];
	px_connecting connecting[CONNECTIONS];	/* pg is NULL: not begun */
	px_peer		peer;			/* not that of the pool */
	px_connection connection;	/* the first one, to be introduced */
	bool		answers;		/* the server does, to the end */
} check_there;

/* What a server tells to any user. */
enum
{
	FACT_PID,
	FACT_VERSION,
	FACT_STANDBY,
	FACT_ENCODING,
	FACT_OBJECTS,
	FACT_FILES,
	NFACTS
};

/* All but FACT_FILES come at once. */
#define NFACTS_ASKED	FACT_FILES

/* By which limits connections are free. */
#define NLIMITS	3

/*
 * The session has not got its search_path yet.  So everything has its schema.
 */
#define MINUS	" OPERATOR(pg_catalog.-) "
#define SETTING(name) \
	"pg_catalog.current_setting('" name "')::pg_catalog.int4"
#define FACTS_SQL \
	"SELECT pg_catalog.pg_backend_pid()," \
	" pg_catalog.current_setting('server_version')," \
	" pg_catalog.pg_is_in_recovery()," \
	" pg_catalog.getdatabaseencoding()," \
	" (SELECT e.extversion FROM pg_catalog.pg_extension e" \
	" WHERE e.extname" PX_EQ "'pg_exchange')"

/* What follows may be forbidden there to all but some users. */
#define FILES_SQL \
	"SELECT pg_catalog.max(a.default_version::pg_catalog.text)" \
	" FROM pg_catalog.pg_available_extensions() a" \
	" WHERE a.name" PX_EQ "'pg_exchange'"

/*
 * Connections that are free, but for this one; a role or database without a
 * limit has none, and superusers have no such limits.
 */
#define FREE_SQL \
	"SELECT " SETTING("max_connections") \
	MINUS SETTING("superuser_reserved_connections") \
	MINUS "coalesce(pg_catalog.current_setting('reserved_connections', true)" \
	"::pg_catalog.int4, 0)" MINUS \
	"(SELECT pg_catalog.sum(d.numbackends)::pg_catalog.int4" \
	" FROM pg_catalog.pg_stat_database d)," \
	" (SELECT r.rolconnlimit" MINUS \
	"(SELECT pg_catalog.count(*)::pg_catalog.int4" \
	" FROM pg_catalog.pg_stat_activity a WHERE a.usesysid" PX_EQ "r.oid)" \
	" FROM pg_catalog.pg_roles r WHERE r.rolname" PX_EQ "CURRENT_USER" \
	" AND r.rolconnlimit OPERATOR(pg_catalog.>=) 0 AND NOT r.rolsuper)," \
	" (SELECT d.datconnlimit" MINUS "s.numbackends" \
	" FROM pg_catalog.pg_database d, pg_catalog.pg_stat_database s" \
	" WHERE s.datid" PX_EQ "d.oid" \
	" AND d.datname" PX_EQ "pg_catalog.current_database()" \
	" AND d.datconnlimit OPERATOR(pg_catalog.>=) 0" \
	" AND pg_catalog.current_setting('is_superuser')" PX_EQ "'off')"

/*
 * Close a connection, if it was begun.  If it works, wait until the session
 * over there has ended: its user may be allowed no more.
 */
static void
close_connection(check_there *check, int i)
{
	PGconn	   *pg = check->connecting[i].pg;

	/* What still runs there, after an interrupt or in vain, would run on. */
	if (pg && PQtransactionStatus(pg) == PQTRANS_ACTIVE)
		(void) px_cancel(pg, TimestampTzPlusMilliseconds(GetCurrentTimestamp(),
														 CANCEL_TIMEOUT_MS));
	if (pg && check->answers && PQstatus(pg) == CONNECTION_OK)
		px_disconnect_wait(pg);
	else if (pg)
		px_disconnect(pg);
	check->connecting[i].pg = NULL;
	px_open_connection_remove(check->shown[i]);
	check->shown[i] = NULL;
}

static void
count_connection(const px_connection *connection, void *arg)
{
	(*(int *) arg)++;
}

/* May another connection be made, by our own limits? */
static bool
allow_connection(check_there *check, int i)
{
	int			limit = px_max_connections_per_backend < 0 ?
		px_max_connections : px_max_connections_per_backend;
	int			open = i;

	px_pool_read(count_connection, &open);
	return (limit == 0 || open < limit) &&
		px_open_connection_add(check->server->serverid,
							   check->server->servername,
							   px_max_connections, &check->shown[i]);
}

/* Connect for the first or second time. */
static px_outcome
connect_again(check_there *check, int i)
{
	if (!allow_connection(check, i))
		return px_busy("as many connections are open as is allowed");
	return px_check_connect(check->server, check->user,
							&check->connecting[i]);
}

static void
add_busy(check_there *check)
{
	px_report_add(check->report, (px_finding) {
		.item = "connections here",
		.fault = "limit_reached",
		.found = "as many connections are open as is allowed",
		.advice = "Raise pg_exchange.max_connections or"
		" max_connections_per_backend, or lower idle_timeout. Until then,"
		" sessions of postgres_fdw read."
	});
}

static void
check_tls(check_there *check)
{
	PGconn	   *pg = check->connecting[0].pg;
	const char *version = PQsslInUse(pg) ?
		PQsslAttribute(pg, "protocol") : NULL;
	px_finding	finding = {
		.item = "tls",
		.found = version ? version : "not encrypted"
	};

	if (PQgssEncInUse(pg))
		finding.found = "encrypted by GSSAPI";
	else if (!version && !px_socket_is_same_host(PQsocket(pg)))
		finding.advice = "Set sslmode of the server to verify-full, unless"
			" you trust the network.";
	px_report_add(check->report, finding);
}

/*
 * A pooler tells its clients a process id of its own, so that it can take
 * their requests to cancel.
 */
static void
check_pooler(check_there *check, char **facts)
{
	px_finding	finding = {.item = "pooler", .found = "none"};

	if (facts[FACT_PID] &&
		atoi(facts[FACT_PID]) != PQbackendPID(check->connecting[0].pg))
	{
		finding.fault = "pooler";
		finding.found = "a pooler or proxy answers";
		finding.advice = "It works if it has room for streams. Otherwise let"
			" the foreign server go around it, or SET pg_exchange.transport ="
			" session. If it pools by transaction, load the library there by"
			" session_preload_libraries.";
	}
	px_report_add(check->report, finding);
}

static void
check_version(check_there *check, char **facts)
{
	px_report_add(check->report, (px_finding) {
		.item = "postgresql there", .found = facts[FACT_VERSION]
	});
	px_report_add(check->report, (px_finding) {
		.item = "role",
		.found = facts[FACT_STANDBY] && facts[FACT_STANDBY][0] == 't' ?
		"standby: for reading only" : "primary"
	});
}

static void
check_encoding(check_there *check, char **facts)
{
	px_finding	finding = {
		.item = "encoding",
		.found = facts[FACT_ENCODING]
	};

	if (finding.found &&
		strcmp(finding.found, GetDatabaseEncodingName()) != 0)
	{
		finding.fault = "other_encoding";
		finding.found = psprintf("%s, and %s here", finding.found,
								 GetDatabaseEncodingName());
		finding.advice = "Rows are read as frames, but not written, and joins"
			" do not run there. Both databases need the same encoding.";
	}
	px_report_add(check->report, finding);
}

/* How many more connections are there, by the tightest limit? */
static px_outcome
check_free(check_there *check)
{
	px_finding	finding = {.item = "connections there"};
	int			least = INT_MAX;
	char	   *limits[NLIMITS];
	px_outcome	outcome = px_check_ask(check->connecting[0].pg, FREE_SQL,
									   NLIMITS, limits);

	if (outcome.kind == PX_OUTCOME_REFUSED)
	{
		finding.unknown = true;
		finding.found = outcome.reason;
		px_report_add(check->report, finding);
		return px_ok();
	}
	if (!px_is_ok(outcome))
		return outcome;
	for (int i = 0; i < NLIMITS; i++)
	{
		if (limits[i])
			least = Min(least, Max(atoi(limits[i]), 0));
	}
	finding.found = psprintf("%d free", least);
	if (least < px_max_connections_per_server)
	{
		finding.fault = "few_connections";
		finding.found = psprintf("%d free, and a session here may want %d",
								 least, px_max_connections_per_server);
		finding.advice = "Raise max_connections there, or the limit of the"
			" role or database; or lower"
			" pg_exchange.max_connections_per_server here.";
	}
	px_report_add(check->report, finding);
	return px_ok();
}

/* Ask a few times for nothing, and add what streams have measured. */
static px_outcome
check_link(check_there *check)
{
	double		shortest_ms = -1;
	uint64		rate;
	uint32		idle;
	StringInfoData found;

	for (int i = 0; i < PINGS; i++)
	{
		instr_time	start;
		instr_time	end;
		char	   *value;
		px_outcome	outcome;
		double		ms;

		INSTR_TIME_SET_CURRENT(start);
		outcome = px_check_ask(check->connecting[0].pg, "SELECT 1", 1,
							   &value);
		if (!px_is_ok(outcome))
			return outcome;
		INSTR_TIME_SET_CURRENT(end);
		INSTR_TIME_SUBTRACT(end, start);
		ms = INSTR_TIME_GET_MILLISEC(end);
		if (shortest_ms < 0 || ms < shortest_ms)
			shortest_ms = ms;
	}
	initStringInfo(&found);
	appendStringInfo(&found, "round trip %.2f ms", shortest_ms);
	px_peer_recall_reading(px_peer_get(check->user), &rate, &idle);
	if (rate > 0)
		appendStringInfo(&found, ", carries %.1f Mbit/s",
						 rate * 8 / 1e6);
	px_report_add(check->report, (px_finding) {
		.item = "link", .found = found.data
	});
	return px_ok();
}

/* Ask what any server can tell. */
static px_outcome
check_facts(check_there *check, char **facts)
{
	PGconn	   *pg = check->connecting[0].pg;
	px_outcome	outcome = px_check_ask(pg, FACTS_SQL, NFACTS_ASKED, facts);

	if (!px_is_ok(outcome))
		return outcome;
	outcome = px_check_ask(pg, FILES_SQL, 1, &facts[FACT_FILES]);
	if (outcome.kind == PX_OUTCOME_REFUSED)
		facts[FACT_FILES] = "";	/* there may be some */
	else if (!px_is_ok(outcome))
		return outcome;
	check_pooler(check, facts);
	check_version(check, facts);
	check_encoding(check, facts);
	outcome = check_free(check);
	return px_is_ok(outcome) ? check_link(check) : outcome;
}

/* Introduce the connection, as that of a stream is. */
static px_outcome
introduce(check_there *check)
{
	px_connection *connection = &check->connection;

	connection->pg = check->connecting[0].pg;
	connection->peer = &check->peer;
	px_introduce_send(connection);
	return px_introduce_finish(connection);
}

/* The extension there, and whether it is the one that is expected. */
static void
check_objects(check_there *check, char **facts)
{
	const char *here = px_extension_version_here();
	const char *there = facts[FACT_OBJECTS];
	px_finding	finding = {.item = "extension there", .found = there};

	if (there && here && strcmp(there, here) != 0)
	{
		finding.fault = "other_version";
		finding.found = psprintf("version %s, and %s here", there, here);
		finding.advice = "Install the same package on both servers, and run"
			" ALTER EXTENSION pg_exchange UPDATE where the version is lower.";
	}
	px_report_add(check->report, finding);
	if (px_minor_release_is_unsafe(
			(int) check->connection.hello.server_version))
		px_report_add(check->report, (px_finding) {
			.item = "minor release there",
			.fault = "minor_release",
			.found = psprintf("server_version_num %u",
							  check->connection.hello.server_version),
			.advice = PX_MINOR_RELEASE_ADVICE
		});
}

/* Are the functions there by which frames are written, and joins run? */
static px_outcome
check_functions(check_there *check)
{
	px_finding	finding = {
		.item = "writes there", .found = "rows can be written as frames"
	};
	char	   *fault;
	px_outcome	outcome = px_check_ask(check->connecting[0].pg,
									   "SELECT " PX_WRITE_FAULT, 1, &fault);

	if (!px_is_ok(outcome))
		return outcome;
	if (fault)
		finding = px_hello_finding("writes there", fault, NULL);
	px_report_add(check->report, finding);
	return outcome;
}

static void
check_locality(check_there *check)
{
	px_locality locality = check->connection.locality;
	const char *mode =
		px_mode_name(px_mode_for_server(check->server->servername));
	px_finding	finding = {.item = "compression"};

	if (px_locality_is_local(locality))
	{
		finding.found = psprintf("NONE (%s)",
								 locality == PX_SAME_INSTANCE ?
								 "same instance" : "same host");
		finding.advice = "Frames that stay on one host are not compressed. To"
			" try compression all the same: SET pg_exchange.local_scope ="
			" none.";
	}
	else
		finding.found = mode;
	px_report_add(check->report, finding);
}

/*
 * Export a snapshot on the first connection, as postgres_fdw's session would,
 * and import it on a second one, as a stream does.
 */
static px_outcome
share_snapshot(check_there *check)
{
	PGconn	   *first = check->connecting[0].pg;
	PGconn	   *second;
	px_outcome	outcome;
	char	   *snapshot = NULL;
	char	   *ignored[8];

	outcome = px_check_ask(first, "START TRANSACTION ISOLATION LEVEL"
						   " REPEATABLE READ", 0, NULL);
	if (px_is_ok(outcome))
		outcome = px_check_ask(first, "SELECT pg_catalog.pg_export_snapshot()",
							   1, &snapshot);
	if (!px_is_ok(outcome) || snapshot == NULL)
		return outcome;
	outcome = connect_again(check, 1);
	if (!px_is_ok(outcome))
		return outcome;

	second = check->connecting[1].pg;
	strlcpy(check->peer.snapshot, snapshot, PX_SNAPSHOT_ID_NBYTES);
	(void) (PQenterPipelineMode(second) &&
			px_prepare_send(second, PX_PREPARE_FIRST, &check->peer, "") &&
			PQpipelineSync(second));
	outcome = px_check_answer(second, 0, NULL);
	if (px_is_ok(outcome))
		outcome = px_check_answer(second, 0, NULL);
	if (px_is_ok(outcome))
		outcome = px_check_answer(second,
								  px_prepare_columns(PX_PREPARE_FIRST),
								  ignored);
	return outcome;
}

static void
check_snapshot(check_there *check)
{
	px_finding	finding = {
		.item = "snapshot", .found = "exported and imported"
	};
	px_outcome	outcome = share_snapshot(check);

	if (outcome.kind == PX_OUTCOME_BUSY)
	{
		add_busy(check);
		return;
	}
	if (!px_is_ok(outcome))
	{
		finding.fault = "no_snapshot";
		finding.found = outcome.reason;
		finding.advice = "A stream needs a second connection to the same"
			" server and database, under the snapshot of the first one: look"
			" for a limit of connections, and for a pooler or several hosts"
			" behind one name. Until then, sessions of postgres_fdw read.";
	}
	px_report_add(check->report, finding);
}

/* All that needs a connection. */
static bool
check_connections(check_there *check)
{
	px_outcome	outcome = connect_again(check, 0);
	char	   *facts[NFACTS] = {NULL};

	if (outcome.kind == PX_OUTCOME_BUSY)
	{
		add_busy(check);
		return true;
	}
	if (!px_is_ok(outcome))
	{
		px_report_add(check->report,
					  px_login_finding(&check->connecting[0], outcome));
		return outcome.kind != PX_OUTCOME_SILENT;
	}
	px_report_add(check->report, (px_finding) {
		.item = "connection", .found = "a stream can connect"
	});
	check_tls(check);
	outcome = check_facts(check, facts);
	if (px_is_ok(outcome))
		outcome = introduce(check);
	if (!px_is_ok(outcome))
	{
		px_finding	finding = px_hello_finding("extension there",
											   outcome.reason,
											   facts[FACT_FILES]);

		px_report_add(check->report, finding);
		return outcome.kind == PX_OUTCOME_REFUSED &&
			strcmp(finding.fault, PX_FAULT_NO_ANSWER) != 0;
	}
	check_objects(check, facts);
	outcome = check_functions(check);
	if (!px_is_ok(outcome))
		return false;
	check_locality(check);
	check_snapshot(check);
	return true;
}

bool
px_check_there(px_report *report, ForeignServer *server, UserMapping *user)
{
	check_there check = {
		.report = report,
		.server = server,
		.user = user
	};

	PG_TRY();
	{
		check.answers = check_connections(&check);
	}
	PG_FINALLY();
	{
		for (int i = 0; i < CONNECTIONS; i++)
			close_connection(&check, i);
	}
	PG_END_TRY();
	return check.answers;
}
