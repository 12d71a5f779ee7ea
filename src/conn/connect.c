/*-------------------------------------------------------------------------
 *
 * connect.c
 *		A connection of our own to the server of a foreign table.
 *
 * Which options count, in which order, and which users may connect how, is
 * postgres_fdw's (contrib/postgres_fdw/connection.c and option.c); this file
 * keeps to it.  Pooling is pool.c's business.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <netinet/in.h>

#include "commands/dbcommands.h"
#include "commands/defrem.h"
#include "libpq/libpq-be-fe-helpers.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/postmaster.h"
#include "utils/guc.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "conn/connect.h"

/* What postgres_fdw sets on each of its sessions, in one round trip. */
#define SESSION_SETTINGS \
	"SET search_path = pg_catalog; " \
	"SET timezone = 'GMT'; " \
	"SET datestyle = ISO; " \
	"SET intervalstyle = postgres; " \
	"SET extra_float_digits = 3"

/* Keywords and values for PQconnectStartParams, NULL-terminated. */
typedef struct connection_params
{
	const char **keywords;
	const char **values;
	int			n;
	bool		scram_passthrough;	/* logs in with the keys of this session's client */
} connection_params;

static void
add_param(connection_params *params, const char *keyword, const char *value)
{
	params->keywords[params->n] = keyword;
	params->values[params->n] = value;
	params->n++;
}

/*
 * Is this an option of libpq's that postgres_fdw passes on?  It reserves
 * client_encoding and fallback_application_name, and hides debug options.
 */
static bool
is_connection_option(const PQconninfoOption *known, const char *keyword)
{
	if (strcmp(keyword, "client_encoding") == 0 ||
		strcmp(keyword, "fallback_application_name") == 0)
		return false;

	for (; known->keyword; known++)
	{
		if (strcmp(known->keyword, keyword) == 0)
			return strchr(known->dispchar, 'D') == NULL;
	}
	return false;
}

static void
add_options(connection_params *params, const PQconninfoOption *known, List *options)
{
	ListCell   *lc;

	foreach(lc, options)
	{
		DefElem    *def = lfirst_node(DefElem, lc);

		if (is_connection_option(known, def->defname))
			add_param(params, def->defname, defGetString(def));
	}
}

/* Replace the escapes of postgres_fdw.application_name. */
static char *
expand_application_name(const char *name)
{
	StringInfoData buf;

	initStringInfo(&buf);
	for (const char *p = name; *p; p++)
	{
		if (*p != '%')
		{
			appendStringInfoChar(&buf, *p);
			continue;
		}
		p++;
		if (*p == '\0')
			break;
		switch (*p)
		{
			case '%':
				appendStringInfoChar(&buf, '%');
				break;
			case 'a':
				appendStringInfoString(&buf, application_name);
				break;
			case 'c':
				appendStringInfo(&buf, "%llx.%x", (long long) MyStartTime, MyProcPid);
				break;
			case 'C':
				appendStringInfoString(&buf, cluster_name);
				break;
			case 'd':
				appendStringInfoString(&buf, MyProcPort ?
									   get_database_name(MyDatabaseId) : "[unknown]");
				break;
			case 'p':
				appendStringInfo(&buf, "%d", MyProcPid);
				break;
			case 'u':
				/* who logged in, whoever the session has become since */
				appendStringInfoString(&buf, MyProcPort ?
									   GetUserNameFromId(GetAuthenticatedUserId(), false) : "[unknown]");
				break;
			default:
				break;			/* postgres_fdw ignores unknown escapes */
		}
	}
	return buf.data;
}

/*
 * The name a connection shows in pg_stat_activity: the last non-empty one of
 * those given, as with postgres_fdw.
 */
static void
settle_application_name(connection_params *params)
{
	for (int i = params->n - 1; i >= 0; i--)
	{
		if (strcmp(params->keywords[i], "application_name") == 0 &&
			params->values[i][0] != '\0')
		{
			char	   *name = expand_application_name(params->values[i]);

			if (name[0] != '\0')
			{
				params->values[i] = name;
				return;
			}
			params->values[i] = "";
		}
	}
}

/* use_scram_passthrough: the user mapping's word goes before the server's. */
static bool
wants_scram_passthrough(ForeignServer *server, UserMapping *user)
{
	List	   *options[] = {user->options, server->options};

	for (size_t i = 0; i < lengthof(options); i++)
	{
		ListCell   *lc;

		foreach(lc, options[i])
		{
			DefElem    *def = lfirst_node(DefElem, lc);

			if (strcmp(def->defname, "use_scram_passthrough") == 0)
				return defGetBoolean(def);
		}
	}
	return false;
}

/*
 * Log in with the keys that this session's client has.  They are of use for
 * SCRAM only, so any other method is refused.  Of an option given twice the
 * last counts: this must come after the options of server and user mapping.
 */
static void
add_scram_passthrough(connection_params *params, ForeignServer *server, UserMapping *user)
{
	char	   *client_key = NULL;
	char	   *server_key = NULL;

	if (!wants_scram_passthrough(server, user) ||
		!px_scram_keys(&client_key, &server_key))
		return;
	add_param(params, "scram_client_key", client_key);
	add_param(params, "scram_server_key", server_key);
	add_param(params, "require_auth", "scram-sha-256");
	params->scram_passthrough = true;
}

static connection_params
build_params(ForeignServer *server, UserMapping *user)
{
	connection_params params = {0};
	PQconninfoOption *known = PQconndefaults();
	const char *fdw_name = GetConfigOption("postgres_fdw.application_name", true, false);
	int			nmax = list_length(server->options) + list_length(user->options) + 7;

	if (known == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FDW_OUT_OF_MEMORY),
				 errmsg("out of memory")));

	params.keywords = palloc(nmax * sizeof(char *));
	params.values = palloc(nmax * sizeof(char *));
	add_options(&params, known, server->options);
	add_options(&params, known, user->options);
	PQconninfoFree(known);

	if (fdw_name && *fdw_name)
		add_param(&params, "application_name", fdw_name);
	settle_application_name(&params);
	add_param(&params, "fallback_application_name", "pg_exchange");
	add_param(&params, "client_encoding", GetDatabaseEncodingName());
	add_scram_passthrough(&params, server, user);
	add_param(&params, NULL, NULL);
	return params;
}

/* password_required of the user mapping; on unless switched off there. */
static bool
is_password_required(UserMapping *user)
{
	ListCell   *lc;

	if (superuser_arg(user->userid))
		return false;
	foreach(lc, user->options)
	{
		DefElem    *def = lfirst_node(DefElem, lc);

		if (strcmp(def->defname, "password_required") == 0)
			return defGetBoolean(def);
	}
	return true;
}

static bool
has_password(const connection_params *params)
{
	for (int i = 0; params->keywords[i]; i++)
	{
		if (strcmp(params->keywords[i], "password") == 0 &&
			params->values[i][0] != '\0')
			return true;
	}
	return false;
}

PGconn *
px_connect(ForeignServer *server, UserMapping *user, char **reason)
{
	connection_params params = build_params(server, user);
	bool		password_required = is_password_required(user);
	PGconn	   *pg;

	/*
	 * A non-superuser must not use the server's own identity: see
	 * postgres_fdw.  Keys of the client's are its own, and nothing but keys
	 * gets through with them.
	 */
	if (password_required && !has_password(&params) && !params.scram_passthrough)
	{
		*reason = pstrdup("password is required");
		return NULL;
	}

	pg = libpqsrv_connect_params(params.keywords, params.values, false,
								 PG_WAIT_EXTENSION);
	PG_TRY();
	{
		*reason = NULL;
		if (pg == NULL || PQstatus(pg) != CONNECTION_OK)
			*reason = psprintf("could not connect: %s",
							   pg ? pchomp(PQerrorMessage(pg)) : "out of memory");
		else if (password_required && !params.scram_passthrough &&
				 !PQconnectionUsedPassword(pg))
			*reason = pstrdup("password is required");
		else
		{
			PGresult   *res = px_exec(pg, SESSION_SETTINGS);

			if (res == NULL && PQstatus(pg) == CONNECTION_OK)
				*reason = psprintf("session does not answer within %d ms", PX_SETUP_TIMEOUT_MS);
			else if (PQresultStatus(res) != PGRES_COMMAND_OK)
				*reason = psprintf("could not configure the session: %s",
								   pchomp(PQerrorMessage(pg)));
			PQclear(res);
		}
	}
	PG_CATCH();
	{
		libpqsrv_disconnect(pg);
		PG_RE_THROW();
	}
	PG_END_TRY();

	if (*reason)
	{
		libpqsrv_disconnect(pg);
		return NULL;
	}
	return pg;
}

void
px_disconnect(PGconn *pg)
{
	libpqsrv_disconnect(pg);
}

bool
px_wait_for_result(PGconn *pg, TimestampTz deadline)
{
	while (PQisBusy(pg))
	{
		long		ms = TimestampDifferenceMilliseconds(GetCurrentTimestamp(), deadline);
		int			rc;

		if (ms <= 0)
			return false;
		rc = WaitLatchOrSocket(MyLatch,
							   WL_LATCH_SET | WL_SOCKET_READABLE | WL_TIMEOUT |
							   WL_EXIT_ON_PM_DEATH,
							   PQsocket(pg), ms, PG_WAIT_EXTENSION);
		if (rc & WL_LATCH_SET)
		{
			ResetLatch(MyLatch);
			CHECK_FOR_INTERRUPTS();
		}
		if ((rc & WL_SOCKET_READABLE) && !PQconsumeInput(pg))
			break;				/* PQgetResult says what is wrong */
	}
	return true;
}

/*
 * Wait for, and return, the last result of what was just sent.  NULL without
 * an answer within PX_SETUP_TIMEOUT_MS: then the connection is of no use.
 */
static PGresult *
get_last_result(PGconn *pg)
{
	TimestampTz deadline = TimestampTzPlusMilliseconds(GetCurrentTimestamp(),
													   PX_SETUP_TIMEOUT_MS);
	PGresult   *volatile last = NULL;

	PG_TRY();
	{
		for (;;)
		{
			PGresult   *res = NULL;
			bool		answered = px_wait_for_result(pg, deadline);

			if (answered)
				res = PQgetResult(pg);
			if (answered && res == NULL)
				break;
			PQclear(last);
			last = res;
			if (!answered || PQstatus(pg) == CONNECTION_BAD)
				break;
		}
	}
	PG_CATCH();
	{
		PQclear(last);
		PG_RE_THROW();
	}
	PG_END_TRY();

	return last;
}

PGresult *
px_exec(PGconn *pg, const char *sql)
{
	if (!PQsendQuery(pg, sql))
		return NULL;
	return get_last_result(pg);
}

PGresult *
px_exec_param(PGconn *pg, const char *sql, const char *param)
{
	if (!PQsendQueryParams(pg, sql, 1, NULL, &param, NULL, NULL, 0))
		return NULL;
	return get_last_result(pg);
}

bool
px_connection_is_same_host(PGconn *pg)
{
	union
	{
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
		struct sockaddr_storage storage;
	}			here,
				there;
	socklen_t	here_nbytes = sizeof(here);
	socklen_t	there_nbytes = sizeof(there);

	if (getsockname(PQsocket(pg), &here.any, &here_nbytes) != 0 ||
		getpeername(PQsocket(pg), &there.any, &there_nbytes) != 0 ||
		here.any.sa_family != there.any.sa_family)
		return false;

	switch (here.any.sa_family)
	{
		case AF_UNIX:
			return true;
		case AF_INET:
			return memcmp(&here.v4.sin_addr, &there.v4.sin_addr,
						  sizeof(here.v4.sin_addr)) == 0;
		case AF_INET6:
			return memcmp(&here.v6.sin6_addr, &there.v6.sin6_addr,
						  sizeof(here.v6.sin6_addr)) == 0;
		default:
			return false;
	}
}

int
px_result_sqlstate(const PGresult *res)
{
	const char *text = PQresultErrorField(res, PG_DIAG_SQLSTATE);

	if (text == NULL || strlen(text) != 5)
		return ERRCODE_CONNECTION_FAILURE;
	return MAKE_SQLSTATE(text[0], text[1], text[2], text[3], text[4]);
}

void
px_report_remote_error(int elevel, PGresult *res, PGconn *pg,
					   const char *servername, const char *sql)
{
	PG_TRY();
	{
		const char *message = PQresultErrorField(res, PG_DIAG_MESSAGE_PRIMARY);
		const char *detail = PQresultErrorField(res, PG_DIAG_MESSAGE_DETAIL);
		const char *hint = PQresultErrorField(res, PG_DIAG_MESSAGE_HINT);
		const char *context = PQresultErrorField(res, PG_DIAG_CONTEXT);

		/* A broken connection leaves a message without fields. */
		if (message == NULL)
			message = pchomp(res && PQresultErrorMessage(res)[0] != '\0' ?
							 PQresultErrorMessage(res) : PQerrorMessage(pg));

		ereport(elevel,
				(errcode(px_result_sqlstate(res)),
				 message[0] != '\0' ?
				 errmsg_internal("%s", message) :
				 errmsg("could not obtain message string for remote error"),
				 detail ? errdetail_internal("%s", detail) : 0,
				 hint ? errhint("%s", hint) : 0,
				 errdetail_log("%s%sThe error was raised by server \"%s\".",
							   detail ? detail : "", detail ? "\n" : "", servername),
				 context ? errcontext("%s", context) : 0,
				 errcontext("remote SQL command: %s", sql)));
	}
	PG_FINALLY();
	{
		PQclear(res);
	}
	PG_END_TRY();
}
