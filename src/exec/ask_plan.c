/*-------------------------------------------------------------------------
 *
 * ask_plan.c
 *		What plain EXPLAIN asks a server: its plan of the query.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"
#include "mb/pg_wchar.h"

#include "compat.h"
#include "conn/answer.h"
#include "exec/ask_plan.h"
#include "exec/request.h"
#include "exec/start.h"

/* server_version_num of the first that can EXPLAIN a query with parameters. */
#define GENERIC_PLAN_SINCE	160000

char *
px_receive_ask_plan(px_receive_state *state, const char *options, const char **reason)
{
	px_stream_reader *reader = state->readers ? state->readers[0] : px_start_add_reader(state);
	px_stream  *stream = reader->stream;
	char	   *text;
	bool		usable;
	const char *generic = "";

	if (px_transport_setting == PX_TRANSPORT_SESSION)
	{
		*reason = "pg_exchange.transport is session";
		return NULL;
	}
	if (!px_start_connect(state, reader, reason))
	{
		if (*reason == NULL)
			*reason = "all connections are in use";
		return NULL;
	}
	if (state->foreign->fdw_exprs != NIL)
	{
		generic = ", GENERIC_PLAN";
		if (reader->peer_version < GENERIC_PLAN_SINCE)
		{
			*reason = "the query has parameters, and the remote server is before PostgreSQL 16";
			px_stream_close(stream);
			return NULL;
		}
	}

	px_slices_init(&state->local_slices, state->nslices_max);
	px_request_for_stream(state, reader);
	text = px_exec_lines(stream->holder.connection->pg,
						 psprintf("EXPLAIN (%s%s) %s", options, generic, stream->sql),
						 reason, &usable);
	stream->holder.connection->invalidated |= !usable;
	if (text)
		(void) pg_verifymbstr(text, strlen(text), false);
	px_stream_close(stream);
	return text;
}
