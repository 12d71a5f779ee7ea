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

#include <limits.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "commands/defrem.h"
#include "libpq/libpq-be-fe-helpers.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "postmaster/postmaster.h"
#include "storage/latch.h"
#include "utils/guc.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "conn/answer.h"
#include "conn/connect.h"
#include "conn/remote_text.h"
#include "stats/wait_event.h"

/*
 * File descriptors that are left to others: for wait event sets, and for
 * connections of postgres_fdw.
 */
#define FILES_LEFT	8

/*
 * A notice is cut off after so many bytes before it goes to the server's log.
 */
#define NOTICE_NBYTES_MAX	1024

/* How long to wait for the end of a session that was closed. */
#define DISCONNECT_WAIT_MS	1000

/* Keywords and values for PQconnectStartParams, NULL-terminated. */
typedef struct connection_params
{
	const char **keywords;
	const char **values;
	int			n;
	bool		scram_passthrough;	/* logs in with the keys of this
									 * session's client */
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
add_options(connection_params *params, const PQconninfoOption *known,
			List *options)
{
	ListCell   *lc;

	foreach(lc, options)
	{
		DefElem    *def = lfirst_node(DefElem, lc);

		if (is_connection_option(known, def->defname))
			add_param(params, def->defname, defGetString(def));
	}
}

/* Who logged in, whoever the session has become since. */
static char *
authenticated_user(void)
{
	return GetUserNameFromId(GetAuthenticatedUserId(), false);
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
				appendStringInfo(&buf, "%llx.%x", (long long) MyStartTime,
								 MyProcPid);
				break;
			case 'C':
				appendStringInfoString(&buf, cluster_name);
				break;
			case 'd':
				appendStringInfoString(&buf, MyProcPort ?
									   get_database_name(MyDatabaseId) :
									   "[unknown]");
				break;
			case 'p':
				appendStringInfo(&buf, "%d", MyProcPid);
				break;
			case 'u':
				appendStringInfoString(&buf, MyProcPort ?
									   authenticated_user() : "[unknown]");
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
choose_application_name(connection_params *params)
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

/*
 * use_scram_passthrough: the user mapping's option counts, else the server's.
 */
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
add_scram_passthrough(connection_params *params, ForeignServer *server,
					  UserMapping *user)
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
	const char *fdw_name =
		GetConfigOption("postgres_fdw.application_name", true, false);
	int			nmax = list_length(server->options) +
		list_length(user->options) + 7;

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
	choose_application_name(&params);
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

/* Of an option given twice the last counts.  One second means two to libpq. */
static int
connect_timeout_ms(const connection_params *params)
{
	int			seconds = 0;

	for (int i = 0; params->keywords[i]; i++)
	{
		if (strcmp(params->keywords[i], "connect_timeout") == 0)
			seconds = atoi(params->values[i]);
	}
	return seconds <= 0 ? PX_CONNECT_TIMEOUT_MS :
		Min(Max(seconds, 2), INT_MAX / 1000) * 1000;
}

bool
px_connect_is_pending(const px_connecting *connecting)
{
	return PQstatus(connecting->pg) != CONNECTION_BAD &&
		connecting->status != PGRES_POLLING_OK &&
		connecting->status != PGRES_POLLING_FAILED;
}

int
px_connect_events(const px_connecting *connecting)
{
	return connecting->status == PGRES_POLLING_READING ?
		WL_SOCKET_READABLE : WL_SOCKET_WRITEABLE;
}

void
px_connect_go_on(px_connecting *connecting)
{
	connecting->status = PQconnectPoll(connecting->pg);
}

/* Wait until the connection is made, has failed, or takes too long. */
static void
finish_connecting(px_connecting *connecting)
{
	while (px_connect_is_pending(connecting))
	{
		int			wanted = px_connect_events(connecting);
		long		ms = TimestampDifferenceMilliseconds(GetCurrentTimestamp(),
														 connecting->deadline);
		int			rc;

		if (ms <= 0)
			break;
		rc = WaitLatchOrSocket(MyLatch,
							   WL_LATCH_SET | WL_TIMEOUT |
							   WL_EXIT_ON_PM_DEATH | wanted,
							   PQsocket(connecting->pg), ms,
							   px_wait_event(PX_WAIT_CONNECT));
		if (rc & WL_LATCH_SET)
		{
			ResetLatch(MyLatch);
			CHECK_FOR_INTERRUPTS();
		}
		if (rc & wanted)
			px_connect_go_on(connecting);
	}
}

/*
 * Reserve a file descriptor, unless few are left: without one, nobody in this
 * session can wait for a socket, and postgres_fdw has no way around that.
 */
static bool
reserve_file(void)
{
	int			nreserved = 0;
	bool		enough;

	while (nreserved <= FILES_LEFT && AcquireExternalFD())
		nreserved++;
	enough = nreserved > FILES_LEFT;
	for (int i = enough ? 1 : 0; i < nreserved; i++)
		ReleaseExternalFD();
	return enough;
}

/*
 * What the remote wants to have noticed goes to the server's log, as with
 * postgres_fdw.  libpq calls this, so it must not fail.
 */
static void
log_notice(void *arg, const char *message)
{
	char		start[NOTICE_NBYTES_MAX];
	char	   *text;

	strlcpy(start, message, sizeof(start));
	text = px_remote_text(start);
	ereport(LOG_SERVER_ONLY,
			(errmsg_internal("received message from a remote server: %s", text),
			 errhidestmt(true),
			 errhidecontext(true)));
	pfree(text);
}

/* How has it ended, and how has it logged in? */
static px_outcome
check_connection(const px_connecting *connecting)
{
	PGconn	   *pg = connecting->pg;

	if (px_connect_is_pending(connecting))
		return px_silent(psprintf("could not connect: no answer within %d ms",
								  connecting->timeout_ms));
	if (PQstatus(pg) != CONNECTION_OK)
		return px_failed(psprintf("could not connect: %s",
								  px_remote_text(pchomp(PQerrorMessage(pg)))));
	if (connecting->needs_password && !PQconnectionUsedPassword(pg))
		return px_failed("password is required");
	if (PQsetnonblocking(pg, 1) != 0)
		return px_failed("could not connect: out of memory");
	return px_ok();
}

bool
px_keeps_connections(const ForeignServer *server)
{
	ListCell   *lc;

	foreach(lc, server->options)
	{
		DefElem    *def = lfirst_node(DefElem, lc);

		if (strcmp(def->defname, "keep_connections") == 0)
			return defGetBoolean(def);
	}
	return true;
}

px_outcome
px_connect_start(ForeignServer *server, UserMapping *user,
				 px_connecting *connecting)
{
	connection_params params = build_params(server, user);
	bool		password_required = is_password_required(user);

	connecting->pg = NULL;

	/*
	 * A non-superuser must not use the server's own identity: see
	 * postgres_fdw.  Keys of the client's are its own, and nothing but keys
	 * gets through with them.
	 */
	if (password_required && !has_password(&params) &&
		!params.scram_passthrough)
		return px_failed("password is required");
	connecting->needs_password = password_required &&
		!params.scram_passthrough;

	/*
	 * libpq does not apply connect_timeout where the caller polls it.
	 */
	connecting->timeout_ms =
		px_setup_limited_ms(connect_timeout_ms(&params));
	connecting->deadline =
		TimestampTzPlusMilliseconds(GetCurrentTimestamp(),
									connecting->timeout_ms);
	connecting->status = PGRES_POLLING_WRITING;
	if (!reserve_file())
		return px_failed("too many open files here");
	connecting->pg = PQconnectStartParams(params.keywords, params.values,
										  false);
	if (connecting->pg == NULL)
	{
		ReleaseExternalFD();
		return px_failed("could not connect: out of memory");
	}
	(void) PQsetNoticeProcessor(connecting->pg, log_notice, NULL);
	return px_ok();
}

px_outcome
px_connect_finish(px_connecting *connecting)
{
	finish_connecting(connecting);
	return check_connection(connecting);
}

void
px_disconnect(PGconn *pg)
{
	libpqsrv_disconnect(pg);
}

void
px_disconnect_wait(PGconn *pg)
{
	TimestampTz deadline = TimestampTzPlusMilliseconds(GetCurrentTimestamp(),
													   DISCONNECT_WAIT_MS);
	pgsocket	socket = dup(PQsocket(pg));
	char		rest[64];

	px_disconnect(pg);
	if (socket == PGINVALID_SOCKET)
		return;

	/* A backend leaves its socket to the kernel, which closes it at last. */
	for (;;)
	{
		long		ms = TimestampDifferenceMilliseconds(GetCurrentTimestamp(),
														 deadline);

		if (ms <= 0 ||
			(WaitLatchOrSocket(MyLatch,
							   WL_SOCKET_READABLE | WL_TIMEOUT |
							   WL_EXIT_ON_PM_DEATH,
							   socket, ms,
							   px_wait_event(PX_WAIT_CLEANUP)) &
			 WL_SOCKET_READABLE) == 0 ||
			recv(socket, rest, sizeof(rest), 0) <= 0)
			break;
	}
	close(socket);
}

bool
px_socket_is_same_host(pgsocket socket)
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

	if (getsockname(socket, &here.any, &here_nbytes) != 0 ||
		getpeername(socket, &there.any, &there_nbytes) != 0 ||
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
