/*-------------------------------------------------------------------------
 *
 * check.c
 *		exchange.check: what is wrong with a server, and what to do about it.
 *
 * What can be wrong is found in the order in which an exchange would meet it.
 * All is tried as an exchange does it, by the same functions.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_foreign_server.h"
#include "catalog/pg_user_mapping.h"
#include "fmgr.h"
#include "funcapi.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"

#include "check/here.h"
#include "check/report.h"
#include "check/session.h"
#include "check/there.h"
#include "compat.h"
#include "conn/connect.h"
#include "conn/foreign_server.h"
#include "conn/pool.h"

PG_FUNCTION_INFO_V1(px_sql_check_here);
PG_FUNCTION_INFO_V1(px_sql_check_there);

/* Options of a server are no secret: pg_foreign_server shows them. */
static void
check_options(px_report *report, ForeignServer *server)
{
	static const char *const names[] = {
		"host", "port", "dbname", "sslmode", "fetch_size", "extensions",
		"keep_connections"
	};
	StringInfoData found;
	px_finding	finding = {.item = "server"};

	initStringInfo(&found);
	for (size_t i = 0; i < lengthof(names); i++)
	{
		const char *value = px_option_value(server->options, names[i], NULL);

		if (value)
			appendStringInfo(&found, "%s%s=%s", found.len > 0 ? " " : "",
							 names[i], value);
	}
	finding.found = found.data;
	if (!px_keeps_connections(server))
		finding.advice = "With keep_connections off, each stream has to"
			" connect.";
	px_report_add(report, finding);
}

/* The current user's mapping, or that of PUBLIC; NULL if there is none. */
static UserMapping *
check_mapping(px_report *report, Oid serverid)
{
	Oid			userid = GetUserId();
	bool		own = SearchSysCacheExists2(USERMAPPINGUSERSERVER,
											ObjectIdGetDatum(userid),
											ObjectIdGetDatum(serverid));
	char	   *name = GetUserNameFromId(userid, false);
	px_finding	finding = {
		.item = "user mapping", .found = own ? name : "that of PUBLIC"
	};

	if (!own && !SearchSysCacheExists2(USERMAPPINGUSERSERVER,
									   ObjectIdGetDatum(InvalidOid),
									   ObjectIdGetDatum(serverid)))
	{
		finding.fault = "no_user_mapping";
		finding.found = psprintf("none for %s", name);
		finding.advice = "CREATE USER MAPPING FOR ... SERVER ... OPTIONS"
			" (user ..., password ...).";
		px_report_add(report, finding);
		return NULL;
	}
	px_report_add(report, finding);
	return GetUserMapping(userid, serverid);
}

/* What this session remembers, so that it does not try again. */
static void
check_memory(px_report *report, UserMapping *user)
{
	px_peer    *peer = px_peer_get(user);
	px_finding	finding = {
		.item = "memory", .found = "nothing speaks against this server"
	};
	const char *reason = peer->refusal ? peer->refusal :
		peer->stream_refusal ? peer->stream_refusal : peer->write_refusal;

	if (reason == NULL && peer->avoid_until > GetCurrentTimestamp())
		reason = "a session did not answer within the last minute";
	if (reason)
	{
		finding.fault = "remembered";
		finding.found = pstrdup(reason);
		finding.advice = "This session has met that, and does not try again:"
			" begin a new one, or call exchange.disconnect of the server.";
	}
	px_report_add(report, finding);
}

static void
check_server(px_report *report, ForeignServer *server)
{
	UserMapping *user;

	report->server = server->servername;
	if (!px_server_is_postgres_fdw(server))
	{
		px_report_add(report, (px_finding) {
			.item = "server",
			.fault = "not_postgres_fdw",
			.found = "of another foreign data wrapper",
			.advice = "Exchanges are made with servers of postgres_fdw only."
		});
		return;
	}
	check_options(report, server);
	if (!px_check_may_use(server))
	{
		px_report_add(report, (px_finding) {
			.item = "user mapping",
			.fault = "no_server_right",
			.found = "the user may use neither this server nor its tables",
			.advice = "GRANT USAGE ON FOREIGN SERVER ... TO ...; or GRANT"
			" SELECT or INSERT on one of its foreign tables."
		});
		return;
	}
	user = check_mapping(report, server->serverid);
	if (user == NULL)
		return;
	if (px_check_there(report, server, user))
		px_check_session(report, server);
	else
		px_report_add(report, (px_finding) {
			.item = "session",
			.found = "not tried: that server does not answer as it should",
			.unknown = true
		});
	check_memory(report, user);
}

/* exchange.check_there(server) */
Datum
px_sql_check_there(PG_FUNCTION_ARGS)
{
	char	   *name = text_to_cstring(PG_GETARG_TEXT_PP(0));
	ForeignServer *server = GetForeignServerByName(name, false);
	px_report	report = {0};

	InitMaterializedSRF(fcinfo, 0);
	report.result = (ReturnSetInfo *) fcinfo->resultinfo;
	check_server(&report, server);
	return (Datum) 0;
}

/* exchange.check_here() */
Datum
px_sql_check_here(PG_FUNCTION_ARGS)
{
	px_report	report = {0};

	InitMaterializedSRF(fcinfo, 0);
	report.result = (ReturnSetInfo *) fcinfo->resultinfo;
	px_check_here(&report);
	return (Datum) 0;
}
