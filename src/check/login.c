/*-------------------------------------------------------------------------
 *
 * login.c
 *		Why a connection to a server cannot be made.
 *
 * A server says so by an SQLSTATE.  libpq shows it in a message, if that is
 * asked for.  All other errors are libpq's own, or the network's.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <ctype.h>

#include "check/hello_fault.h"
#include "check/login.h"
#include "conn/remote_text.h"

/* What stands before and after the SQLSTATE in a verbose message. */
#define SQLSTATE_NBYTES	5
#define BEFORE_SQLSTATE	":  "
#define AFTER_SQLSTATE	": "

/* A login error, by its SQLSTATE. */
typedef struct login_error
{
	const char *sqlstate;
	const char *fault;
	const char *advice;
} login_error;

static const login_error login_errors[] = {
	{"28P01", "wrong_password",
	"Correct user and password: ALTER USER MAPPING FOR ... SERVER ..."
	" OPTIONS (SET user ..., SET password ...)."},
	{"28000", "login_refused",
	"Let pg_hba.conf of that server accept this host, user, database and"
	" encryption (see sslmode in the server's options), or correct the user"
	" of the user mapping."},
	{"3D000", "database_missing",
	"Correct the database: ALTER SERVER ... OPTIONS (SET dbname ...), or (ADD"
	" dbname ...) if the server has no such option: then the database has the"
	" name of the remote user."},
	{"53300", "server_full",
	"Close sessions there, or raise its max_connections, or the limit of the"
	" role or database."},
	{"42501", "no_connect_right",
	"Run there: GRANT CONNECT ON DATABASE ... TO ..."},
	{"57P03", "not_ready",
	"Wait until that server has started, or look into its log."},
	{"08P01", "pooler_refused",
	"A pooler has refused the connection: look into its log, and let it"
	" accept the server's options (ignore_startup_parameters in"
	" pgbouncer.ini)."}
};

/*
 * Where the SQLSTATE is in a line of a verbose message: its severity comes
 * before it.  NULL if there is none.
 */
static char *
find_sqlstate(char *line)
{
	for (char *at = line; (at = strstr(at, BEFORE_SQLSTATE)) != NULL; at++)
	{
		char	   *state = at + strlen(BEFORE_SQLSTATE);
		int			n = 0;

		while (isdigit((unsigned char) state[n]) ||
			   isupper((unsigned char) state[n]))
			n++;
		if (n == SQLSTATE_NBYTES && strncmp(state + n, AFTER_SQLSTATE,
											strlen(AFTER_SQLSTATE)) == 0)
			return state;
	}
	return NULL;
}

/* The error with the SQLSTATE, which is taken out of the line; or NULL. */
static const login_error *
take_login_error(char *line)
{
	char	   *state = find_sqlstate(line);
	const login_error *found = NULL;
	char	   *rest;

	if (state == NULL)
		return NULL;
	for (size_t i = 0; i < lengthof(login_errors); i++)
	{
		if (strncmp(state, login_errors[i].sqlstate, SQLSTATE_NBYTES) == 0)
			found = &login_errors[i];
	}
	rest = state + SQLSTATE_NBYTES + strlen(AFTER_SQLSTATE);
	memmove(state, rest, strlen(rest) + 1);
	return found;
}

/* The server or the network has said no. */
static px_finding
judge_message(PGconn *pg)
{
	px_finding	finding = {
		.item = "connection",
		.fault = "unreachable",
		.advice = "Correct host and port (ALTER SERVER ... OPTIONS (SET host"
		" ..., SET port ...)), start that server, and let it listen"
		" (listen_addresses) and firewalls pass."
	};
	char	   *line = pstrdup(PQerrorMessage(pg));
	const login_error *error;

	line[strcspn(line, "\n")] = '\0';
	error = take_login_error(line);
	finding.found = px_remote_text(line);
	if (error)
	{
		finding.fault = error->fault;
		finding.advice = error->advice;
	}
	else if (PQconnectionNeedsPassword(pg))
	{
		finding.fault = "no_password";
		finding.advice = "Add a password: ALTER USER MAPPING FOR ... SERVER"
			" ... OPTIONS (ADD password ...).";
	}
	else if (strstr(line, "SSL") || strstr(line, "certificate"))
	{
		finding.fault = "tls";
		finding.advice = "Let that server use TLS (ssl = on and a certificate"
			" that this host trusts), or correct sslmode and sslrootcert of"
			" the foreign server. With verify-full, its host must be a name"
			" in the certificate.";
	}
	return finding;
}

px_outcome
px_check_connect(ForeignServer *server, UserMapping *user,
				 px_connecting *connecting)
{
	px_outcome	outcome = px_connect_start(server, user, connecting);

	if (!px_is_ok(outcome))
		return outcome;
	(void) PQsetErrorVerbosity(connecting->pg, PQERRORS_VERBOSE);
	return px_connect_finish(connecting);
}

px_finding
px_login_finding(const px_connecting *connecting, px_outcome outcome)
{
	px_finding	finding = {.item = "connection", .found = outcome.reason};

	if (outcome.kind == PX_OUTCOME_SILENT)
	{
		finding.fault = PX_FAULT_NO_ANSWER;
		finding.advice = "Correct host and port, and let firewalls pass; or"
			" set connect_timeout of the server if it takes longer.";
	}
	else if (strcmp(outcome.reason, "password is required") == 0)
	{
		finding.fault = "password_required";
		finding.advice = "Add a password that the server asks for: ALTER USER"
			" MAPPING ... OPTIONS (ADD password ...). Or let a superuser set"
			" password_required to false there.";
	}
	else if (connecting->pg && PQstatus(connecting->pg) != CONNECTION_OK)
		finding = judge_message(connecting->pg);
	else
	{
		finding.fault = "not_connected";
		finding.advice = "Close files or connections of this session, and try"
			" again.";
	}
	return finding;
}
