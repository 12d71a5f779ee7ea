/*-------------------------------------------------------------------------
 *
 * ask_plan.c
 *		What plain EXPLAIN asks a server: its plan of the query.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "mb/pg_wchar.h"

#include "conn/answer.h"
#include "exec/ask_plan.h"
#include "exec/open_reader.h"
#include "exec/request.h"

/* server_version_num of the first that can EXPLAIN a query with parameters. */
#define GENERIC_PLAN_SINCE	160000

/* Send the EXPLAIN on the reader's connection, and read the answer. */
static px_outcome
exec_explain(px_receive_state *state, px_stream_reader *reader,
			 const char *options, char **plan)
{
	px_connection *connection = reader->stream->holder.connection;
	const char *generic = "";
	px_outcome	outcome;
	bool		usable;

	if (state->params != NIL)
	{
		generic = ", GENERIC_PLAN";
		if (reader->peer_version < GENERIC_PLAN_SINCE)
			return px_refused("the query has parameters, and the remote server is before PostgreSQL 16");
	}

	px_slices_init(&state->local_slices, state->nslices_max);
	px_request_for_stream(state, reader, reader->stream->holder.connection);
	outcome = px_exec_lines(connection->pg,
							psprintf("EXPLAIN (%s%s) %s", options, generic,
									 reader->stream->sql),
							plan, &usable);
	connection->invalidated |= !usable;
	if (px_is_ok(outcome))
		(void) pg_verifymbstr(*plan, strlen(*plan), false);
	return outcome;
}

px_outcome
px_ask_plan(px_receive_state *state, const char *options, char **plan)
{
	px_stream_reader *reader = px_open_first_reader(state);
	px_outcome	outcome;

	if (px_transport_setting == PX_TRANSPORT_SESSION)
		return px_refused("pg_exchange.transport is session");
	outcome = px_open_connect(state, reader);
	if (outcome.kind == PX_OUTCOME_BUSY)
		return px_busy("all connections are in use");
	if (!px_is_ok(outcome))
		return outcome;
	outcome = exec_explain(state, reader, options, plan);
	px_stream_close(reader->stream);
	return outcome;
}
