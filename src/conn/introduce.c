/*-------------------------------------------------------------------------
 *
 * introduce.c
 *		How a new connection begins.
 *
 * It begins with one pipeline of three statements.  A server does not even
 * parse a statement of a pipeline after one that has failed: so exchange.hello
 * is not looked up before the second one has found that it is the extension's.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "conn/answer.h"
#include "conn/connect.h"
#include "conn/genuine.h"
#include "conn/hello_self.h"
#include "conn/introduce.h"
#include "conn/seal.h"

/* What postgres_fdw sets on each of its sessions. */
#define CONFIGURE \
	"SELECT pg_catalog.set_config('search_path', 'pg_catalog', false)," \
	" pg_catalog.set_config('timezone', 'GMT', false)," \
	" pg_catalog.set_config('datestyle', 'ISO', false)," \
	" pg_catalog.set_config('intervalstyle', 'postgres', false)," \
	" pg_catalog.set_config('extra_float_digits', '3', false)"

/*
 * The second one says what is wrong, unless there is a seal.  To compare seals
 * takes a new session half of that time.
 */
#define IS_GENUINE	"SELECT " PX_REQUIRE_GENUINE
#define IS_SEALED	"SELECT " PX_REQUIRE("%s")

/* With its exact type, so that no other function can be meant. */
#define HELLO	"SELECT exchange.hello($1::pg_catalog.text)"

/* Send everything at once.  If that fails, so does reading the answers. */
static void
send_all(PGconn *pg, const char *is_genuine, const char *hello)
{
	(void) (PQenterPipelineMode(pg) &&
			PQsendQueryParams(pg, CONFIGURE, 0, NULL, NULL, NULL, NULL, 0) &&
			PQsendQueryParams(pg, is_genuine, 0, NULL, NULL, NULL, NULL, 0) &&
			PQsendFlushRequest(pg) &&
			PQsendQueryParams(pg, HELLO, 1, NULL, &hello, NULL, NULL, 0) &&
			PQpipelineSync(pg));
}

/* The error of IS_GENUINE, in words of our own if it is the expected one. */
static const char *
judge_fault(PGconn *pg, const PGresult *error)
{
	static const char *const faults[] = {
		PX_REMOTE_LACKS_EXTENSION,
		PX_REMOTE_IS_IMPOSTOR,
		PX_REMOTE_IS_TOO_OLD,
		PX_REMOTE_IS_FORBIDDEN
	};
	const char *message = PQresultErrorField(error, PG_DIAG_MESSAGE_PRIMARY);

	for (size_t i = 0; message && i < lengthof(faults); i++)
	{
		if (strstr(message, psprintf("\"%s\"", faults[i])))
			return faults[i];
	}
	return psprintf("pg_exchange cannot be looked for: %s",
					px_answer_text(pg, PX_ANSWER_ERROR, error));
}

px_outcome
px_hello_judge(const px_hello *self, const px_hello *remote, uint16 *version)
{
	*version = px_hello_common_version(self, remote);
	if (*version == 0)
		return px_refused(psprintf("no common protocol version: "
								   "here %d to %d, remote %d to %d",
								   self->protocol_min, self->protocol_max,
								   remote->protocol_min,
								   remote->protocol_max));
	if (!self->little_endian || !remote->little_endian)
		return px_refused("architecture is not little-endian");
	return px_ok();
}

px_locality
px_hello_locality(const px_hello *self, const px_hello *remote,
				  pgsocket socket)
{
	if (strcmp(self->instance, remote->instance) == 0)
		return PX_SAME_INSTANCE;
	return px_socket_is_same_host(socket) ? PX_SAME_HOST : PX_REMOTE;
}

/* Can we read what the remote sends, by the hello that it has answered? */
static px_outcome
judge_hello(px_connection *connection, const px_hello *self,
			const PGresult *answer)
{
	px_fault	fault;
	px_outcome	outcome;

	if (PQnfields(answer) != 1 || PQgetisnull(answer, 0, 0) ||
		px_hello_read(PQgetvalue(answer, 0, 0), &connection->hello,
					  &fault) != PX_OK)
		return px_refused("remote's hello is malformed");
	outcome = px_hello_judge(self, &connection->hello, &connection->version);
	if (!px_is_ok(outcome))
		return outcome;
	if (!connection->hello.can_export)
		return px_refused("remote user may not call pg_export_snapshot");

	connection->locality = px_hello_locality(self, &connection->hello,
											 PQsocket(connection->pg));
	return px_ok();
}

/* The session has said something other than a hello, or nothing at all. */
static px_outcome
fail_hello(px_connection *connection, px_answer answer, const PGresult *result)
{
	const char *reason;

	if (answer == PX_ANSWER_SILENT)
	{
		px_peer_avoid(connection->peer);
		return px_refused("hello failed: no answer");
	}
	reason = psprintf("hello failed: %s",
					  px_answer_text(connection->pg, answer, result));
	return answer == PX_ANSWER_BROKEN ? px_failed(reason) : px_refused(reason);
}

/* Take the answers to all three, up to the first that speaks against it. */
static px_outcome
take_answers(px_connection *connection, const px_hello *self,
			 PGresult **result)
{
	TimestampTz deadline = px_setup_deadline();
	PGconn	   *pg = connection->pg;
	px_answer	answer;
	px_outcome	outcome;

	if (connection->setup_deadline != 0)
		deadline = Min(deadline, connection->setup_deadline);
	answer = px_take_answer(pg, true, deadline, result);
	if (answer == PX_ANSWER_SILENT)
	{
		px_peer_avoid(connection->peer);
		return px_failed(px_answer_text(pg, answer, *result));
	}
	if (answer != PX_ANSWER_OK)
		return px_failed(psprintf("could not configure the session: %s",
								  px_answer_text(pg, answer, *result)));
	PQclear(*result);

	answer = px_take_answer(pg, true, deadline, result);
	if (answer == PX_ANSWER_ERROR && connection->sealed)
	{
		/* The next connection is told what is wrong. */
		px_seal_break(connection->peer);
		return px_failed(PX_REMOTE_HAS_CHANGED);
	}
	if (answer == PX_ANSWER_ERROR)
		return px_refused(judge_fault(pg, *result));
	if (answer == PX_ANSWER_OK)
	{
		PQclear(*result);
		answer = px_take_answer(pg, true, deadline, result);
	}
	if (answer != PX_ANSWER_OK)
		return fail_hello(connection, answer, *result);
	outcome = judge_hello(connection, self, *result);
	if (!px_is_ok(outcome))
		return outcome;

	/* The end of the pipeline. */
	if (!px_come_to_rest(pg, PX_REST_OF_QUERY, deadline))
		return px_failed("hello does not end");
	return px_ok();
}

void
px_introduce_send(px_connection *connection)
{
	px_hello	self;
	char		hello[PX_HELLO_NBYTES_MAX];

	px_hello_self(&self);
	px_hello_write(hello, sizeof(hello), &self);
	connection->sealed = px_is_sealed(connection->peer);
	send_all(connection->pg, connection->sealed ?
			 psprintf(IS_SEALED, px_is_genuine_sql(connection->peer)) :
			 IS_GENUINE, hello);
}

px_outcome
px_introduce_finish(px_connection *connection)
{
	px_hello	self;
	PGresult   *volatile result = NULL;
	px_outcome	outcome;

	px_hello_self(&self);
	PG_TRY();
	{
		outcome = take_answers(connection, &self, (PGresult **) &result);
	}
	PG_FINALLY();
	{
		PQclear(result);
	}
	PG_END_TRY();
	return outcome;
}
