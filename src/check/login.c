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

/* What stands after the host and port. */
#define AFTER_HOST	" failed: "

/* By what in a line an error is known. */
typedef enum login_key
{
	BY_SQLSTATE,
	BY_SQLSTATE_AND_DATABASE,	/* the line names the database, too */
	BY_TEXT						/* libpq's own words, without an SQLSTATE */
} login_key;

/* What a message says is wrong. */
typedef struct login_error
{
	const char *key;
	const char *fault;
	const char *advice;
	login_key	by;
} login_error;

#define OPTION_ADVICE \
	"Correct the server's options: that server does not accept a setting" \
	" that the connection begins with (ALTER SERVER ... OPTIONS (SET options" \
	" ...))."
#define TLS_ADVICE \
	"Let that server use TLS (ssl = on, and a certificate that this host" \
	" trusts and that is for this host name), or correct sslmode," \
	" sslrootcert and sslkey of the foreign server and user mapping."
#define OTHER_PROGRAM_ADVICE \
	"Correct host and port: what listens there is no PostgreSQL server."
#define INVALID_ADVICE \
	"Correct the options of the foreign server or user mapping: nothing can" \
	" be connected to with these."

/*
 * Of several messages, as there are with several hosts and with sslmode
 * prefer, the one counts that comes first here.
 */
static const login_error login_errors[] = {
	{"28P01", "wrong_password",
	"Correct user and password: ALTER USER MAPPING FOR ... SERVER ..."
	" OPTIONS (SET user ..., SET password ...). Or the password has expired"
	" there: ALTER ROLE ... VALID UNTIL ...", BY_SQLSTATE},
	{"28000", "login_refused",
	"Let pg_hba.conf of that server accept this host, user, database and"
	" encryption (see sslmode in the server's options), and let the role log"
	" in (ALTER ROLE ... LOGIN); or correct the user of the user mapping.",
	BY_SQLSTATE},
	{"3D000", "database_missing",
	"Correct the database: ALTER SERVER ... OPTIONS (SET dbname ...), or (ADD"
	" dbname ...) if the server has no such option: then the database has the"
	" name of the remote user.", BY_SQLSTATE},
	{"55000", "database_closed",
	"Run there: ALTER DATABASE ... ALLOW_CONNECTIONS true; or correct dbname"
	" in the server's options.", BY_SQLSTATE},
	{"53300", "server_full",
	"Close sessions there, or raise its max_connections, or the limit of the"
	" role or database.", BY_SQLSTATE},
	{"42501", "no_connect_right",
	"Run there: GRANT CONNECT ON DATABASE ... TO ...",
	BY_SQLSTATE_AND_DATABASE},
	{"57P03", "not_ready",
	"Wait until that server has started, or look into its log.", BY_SQLSTATE},
	{"08P01", "pooler_refused",
	"A pooler has refused the connection: look into its log, and let it"
	" accept the server's options (ignore_startup_parameters in"
	" pgbouncer.ini).", BY_SQLSTATE},
	{"22023", "option_refused", OPTION_ADVICE, BY_SQLSTATE},
	{"42501", "option_refused", OPTION_ADVICE, BY_SQLSTATE},
	{"42601", "option_refused", OPTION_ADVICE, BY_SQLSTATE},
	{"42704", "option_refused", OPTION_ADVICE, BY_SQLSTATE},
	{"invalid response to SSL", "not_postgresql",
	OTHER_PROGRAM_ADVICE, BY_TEXT},
	{"expected authentication request", "not_postgresql",
	OTHER_PROGRAM_ADVICE, BY_TEXT},
	{"SSL", "tls", TLS_ADVICE, BY_TEXT},
	{"certificate", "tls", TLS_ADVICE, BY_TEXT},
	{"private key", "tls", TLS_ADVICE, BY_TEXT},
	{"GSSAPI", "gssapi",
	"Correct gssencmode of the foreign server, or give this host credentials"
	" for that server.", BY_TEXT},
	{"standby mode", "wrong_role",
	"Correct target_session_attrs of the server, or its hosts.", BY_TEXT},
	{"read-only", "wrong_role",
	"Correct target_session_attrs of the server, or its hosts.", BY_TEXT},
	{"invalid ", "invalid_option", INVALID_ADVICE, BY_TEXT},
	{"could not match ", "invalid_option", INVALID_ADVICE, BY_TEXT},
	{"definition of service", "invalid_option", INVALID_ADVICE, BY_TEXT},
	{"service file", "invalid_option", INVALID_ADVICE, BY_TEXT}
};

/* Any other error of the server. */
static const login_error other_error = {
	.fault = "login_failed",
	.advice = "That server answers, and lets nobody in: look for the reason"
	" in its log."
};

static const login_error no_password = {
	.fault = "no_password",
	.advice = "Add a password: ALTER USER MAPPING FOR ... SERVER ... OPTIONS"
	" (ADD password ...)."
};

static const login_error no_server = {
	.fault = "unreachable",
	.advice = "Correct host and port (ALTER SERVER ... OPTIONS (SET host ...,"
	" SET port ...)), start that server, and let it listen"
	" (listen_addresses) and firewalls pass."
};

/* A line of what libpq says. */
typedef struct message_line
{
	char	   *text;			/* without the SQLSTATE */
	const char *words;			/* the part after names of hosts */
	char		sqlstate[SQLSTATE_NBYTES + 1];	/* empty: there is none */
} message_line;

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

static message_line *
read_line(const char *line, size_t nbytes)
{
	message_line *read = palloc0(sizeof(message_line));
	char	   *state;
	const char *words;

	read->text = pnstrdup(line, nbytes);
	state = find_sqlstate(read->text);
	if (state)
	{
		char	   *rest = state + SQLSTATE_NBYTES + strlen(AFTER_SQLSTATE);

		strlcpy(read->sqlstate, state, sizeof(read->sqlstate));
		memmove(state, rest, strlen(rest) + 1);
	}
	words = strstr(read->text, AFTER_HOST);
	read->words = words ? words + strlen(AFTER_HOST) : read->text;
	return read;
}

/* There is one at least. */
static List *
read_lines(const char *message)
{
	List	   *lines = NIL;

	for (;;)
	{
		size_t		nbytes = strcspn(message, "\n");

		/* What begins with a tab explains the line before it. */
		if (lines == NIL || (nbytes > 0 && message[0] != '\t'))
			lines = lappend(lines, read_line(message, nbytes));
		if (message[nbytes] == '\0')
			return lines;
		message += nbytes + 1;
	}
}

static bool
is_error(const message_line *line, const login_error *error,
		 const char *database)
{
	if (error->by == BY_TEXT)
		return line->sqlstate[0] == '\0' && strstr(line->words, error->key);
	return strcmp(line->sqlstate, error->key) == 0 &&
		(error->by == BY_SQLSTATE || database == NULL ||
		 strstr(line->words, psprintf("\"%s\"", database)));
}

/* Which error is it, and in which line? */
static const login_error *
judge_lines(PGconn *pg, List *lines, message_line **line)
{
	ListCell   *lc;

	for (size_t i = 0; i < lengthof(login_errors); i++)
	{
		foreach(lc, lines)
		{
			*line = lfirst(lc);
			if (is_error(*line, &login_errors[i], PQdb(pg)))
				return &login_errors[i];
		}
	}
	foreach(lc, lines)
	{
		*line = lfirst(lc);
		if ((*line)->sqlstate[0] != '\0')
			return &other_error;
	}
	*line = linitial(lines);
	return PQconnectionNeedsPassword(pg) ? &no_password : &no_server;
}

/* The server or the network has said no. */
static px_finding
judge_message(PGconn *pg)
{
	message_line *line;
	const login_error *error =
		judge_lines(pg, read_lines(PQerrorMessage(pg)), &line);

	return (px_finding) {
		.item = "connection",
		.fault = error->fault,
		.found = px_remote_text(line->text),
		.advice = error->advice
	};
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
