/*-------------------------------------------------------------------------
 *
 * stream.c
 *		Streams of frames on a connection of the pool.
 *
 * A frame is the single bytea column of a single row, received in binary in
 * libpq's single-row mode: so at most one frame is held here, and one more
 * may stand in libpq's input buffer.  What is in a frame is not looked at.
 *
 * The beginning is pipelined: transaction, snapshot, a question and the query
 * go out together.  The question is whether the session of postgres_fdw, which
 * owns the snapshot, has a transaction id.  If so it has written, and only it
 * can see what, and may hold locks that our query waits for: the answer is
 * flushed before the query runs, so that it is there in any case.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "conn/connect.h"
#include "conn/stream.h"
#include "send/send.h"

#define FRAME_FORMAT	1		/* binary */

/* Wait for the remote as long as it takes, and add the time to *wait. */
static void
wait_for_result(PGconn *pg, instr_time *wait)
{
	instr_time	begin;
	instr_time	end;

	if (!PQisBusy(pg))
		return;

	INSTR_TIME_SET_CURRENT(begin);
	(void) px_wait_for_result(pg, DT_NOEND);
	INSTR_TIME_SET_CURRENT(end);
	INSTR_TIME_ACCUM_DIFF(*wait, end, begin);
}

static px_stream_status
refuse(PGconn *pg, const char *text, const char **reason)
{
	const char *message = pchomp(PQerrorMessage(pg));

	if (message[0] == '\0')
	{
		*reason = psprintf("%s: session does not answer within %d ms",
						   text, PX_SETUP_TIMEOUT_MS);
		return PX_STREAM_BROKEN;
	}
	*reason = psprintf("%s: %s", text, message);
	return PQstatus(pg) == CONNECTION_OK ? PX_STREAM_REFUSED : PX_STREAM_BROKEN;
}

/*
 * Take the result of the next command of the pipeline's beginning, into
 * connection->result, and step behind it.
 */
static bool
take_result(px_connection *connection, ExecStatusType expected)
{
	TimestampTz deadline = TimestampTzPlusMilliseconds(GetCurrentTimestamp(),
													   PX_SETUP_TIMEOUT_MS);

	if (!px_wait_for_result(connection->pg, deadline))
		return false;
	PQclear(connection->result);
	connection->result = PQgetResult(connection->pg);
	if (PQresultStatus(connection->result) != expected)
		return false;

	/* The NULL that ends a command's results; it is there at once. */
	return PQgetResult(connection->pg) == NULL;
}

/* Send what a stream begins with. */
static bool
send_beginning(px_connection *connection, const px_stream_query *query)
{
	PGconn	   *pg = connection->pg;
	const px_peer *peer = connection->peer;
	char	   *import;
	char	   *question;
	bool		ok;

	/* The snapshot id comes from the remote: quote it like any string. */
	import = psprintf("SET TRANSACTION SNAPSHOT %s", quote_literal_cstr(peer->snapshot));

	/*
	 * When the user mapping changes, postgres_fdw's session goes on with the
	 * old user to the end of the transaction: no row, if ours is another.
	 */
	question = psprintf("SELECT backend_xid FROM pg_catalog.pg_stat_get_activity(%d) "
						"WHERE pg_catalog.pg_get_userbyid(usesysid) OPERATOR(pg_catalog.=) session_user",
						peer->owner_pid);

	/* Parameter types are in the query's text: "$1::type", as postgres_fdw does. */
	ok = PQenterPipelineMode(pg) &&
		PQsendQueryParams(pg, "START TRANSACTION ISOLATION LEVEL REPEATABLE READ",
						  0, NULL, NULL, NULL, NULL, 0) &&
		PQsendQueryParams(pg, import, 0, NULL, NULL, NULL, NULL, 0) &&
		PQsendQueryParams(pg, question, 0, NULL, NULL, NULL, NULL, 0) &&
		PQsendFlushRequest(pg) &&
		PQsendQueryParams(pg, query->sql, query->nparams, NULL, query->values,
						  NULL, NULL, FRAME_FORMAT) &&
		PQpipelineSync(pg);
	pfree(import);
	pfree(question);
	return ok;
}

px_stream_status
px_stream_begin(px_connection *connection, const px_stream_query *query,
				const char **reason)
{
	PGconn	   *pg = connection->pg;

	connection->has_frames = false;
	if (!send_beginning(connection, query) ||
		!take_result(connection, PGRES_COMMAND_OK))
		return refuse(pg, "transaction cannot be started", reason);
	if (!take_result(connection, PGRES_COMMAND_OK))
		return refuse(pg, "snapshot cannot be imported", reason);
	if (!take_result(connection, PGRES_TUPLES_OK))
		return refuse(pg, "session of postgres_fdw cannot be seen", reason);

	if (PQntuples(connection->result) != 1)
	{
		*reason = "session of postgres_fdw cannot be seen";
		return PX_STREAM_REFUSED;
	}
	if (!PQgetisnull(connection->result, 0, 0))
	{
		*reason = "the transaction has written to the server";
		return PX_STREAM_REFUSED;
	}
	if (!PQsetSingleRowMode(pg))
		return refuse(pg, "query cannot be sent", reason);
	return PX_STREAM_OK;
}

void
px_stream_again(px_connection *connection, const px_stream_query *query)
{
	connection->has_frames = false;

	/* The query is still the session's unnamed prepared statement. */
	if (!PQsendQueryPrepared(connection->pg, "", query->nparams, query->values,
							 NULL, NULL, FRAME_FORMAT) ||
		!PQsetSingleRowMode(connection->pg))
		px_report_remote_error(ERROR, NULL, connection->pg,
							   query->servername, query->remote_sql);
}

/*
 * Read what follows the query's last result, and leave pipeline mode.  False
 * if the connection broke.
 */
static bool
finish_query(PGconn *pg, instr_time *wait)
{
	for (;;)
	{
		PGresult   *res;
		bool		synced;

		wait_for_result(pg, wait);
		res = PQgetResult(pg);
		synced = PQresultStatus(res) == PGRES_PIPELINE_SYNC;
		if (res == NULL && PQpipelineStatus(pg) == PQ_PIPELINE_OFF)
			return PQstatus(pg) == CONNECTION_OK;
		PQclear(res);
		if (synced)
			return PQexitPipelineMode(pg) != 0;
		if (PQstatus(pg) != CONNECTION_OK)
			return false;
	}
}

/*
 * Does the error say that the marker was not recognised, or is not there?  The
 * extension may be dropped there after the hello.  If it is another function
 * that is missing, postgres_fdw will say so.
 */
static bool
is_marker_missing(const px_connection *connection, const PGresult *res)
{
	int			sqlstate = px_result_sqlstate(res);

	return sqlstate == PX_ERRCODE_NOT_PLANNED ||
		(!connection->has_frames &&
		 (sqlstate == ERRCODE_UNDEFINED_FUNCTION ||
		  sqlstate == ERRCODE_UNDEFINED_SCHEMA));
}

/*
 * The query ended with an error, in connection->result.  Raise it, unless it
 * is about the marker, or the remote declined.
 */
static px_stream_status
fail_query(px_connection *connection, px_stream_query *query, instr_time *wait)
{
	px_stream_status status = PX_STREAM_NOT_PLANNED;
	PGresult   *res;

	/* An idle connection need not be cancelled by whoever cleans up. */
	if (connection->result)
		(void) finish_query(connection->pg, wait);

	res = connection->result;
	connection->result = NULL;
	if (res && px_result_sqlstate(res) == PX_ERRCODE_DECLINED)
	{
		const char *message = PQresultErrorField(res, PG_DIAG_MESSAGE_PRIMARY);

		strlcpy(query->declined, message ? message : "declined", PX_DECLINED_NBYTES);
		status = PX_STREAM_DECLINED;
	}
	else if (res == NULL || !is_marker_missing(connection, res))
		px_report_remote_error(ERROR, res, connection->pg,
							   query->servername, query->remote_sql);
	PQclear(res);
	return status;
}

px_stream_status
px_stream_next(px_connection *connection, px_stream_query *query,
			   const uint8_t **frame, size_t *nbytes, instr_time *wait)
{
	PGconn	   *pg = connection->pg;
	PGresult   *res;

	PQclear(connection->result);
	connection->result = NULL;

	wait_for_result(pg, wait);
	connection->result = res = PQgetResult(pg);

	switch (PQresultStatus(res))
	{
		case PGRES_SINGLE_TUPLE:
			if (PQnfields(res) != 1 || PQgetisnull(res, 0, 0))
				ereport(ERROR,
						(errcode(ERRCODE_PROTOCOL_VIOLATION),
						 errmsg("invalid response from server \"%s\"", query->servername),
						 errdetail("Expected one column with a frame, got %d columns.",
								   PQnfields(res))));
			*frame = (const uint8_t *) PQgetvalue(res, 0, 0);
			*nbytes = PQgetlength(res, 0, 0);
			connection->has_frames = true;
			return PX_STREAM_OK;

		case PGRES_TUPLES_OK:
			if (finish_query(pg, wait))
				return PX_STREAM_END;
			px_report_remote_error(ERROR, NULL, pg, query->servername, query->remote_sql);
			break;

		default:
			break;
	}

	return fail_query(connection, query, wait);
}
