/*-------------------------------------------------------------------------
 *
 * stream.c
 *		One stream of frames on a connection of the pool.
 *
 * A frame is the single bytea column of a single row, received in binary in
 * libpq's single-row mode: so at most one frame is held here, and one more
 * may stand in libpq's input buffer.  What is in a frame is not looked at.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "pgstat.h"
#include "storage/latch.h"
#include "utils/builtins.h"

#include "compat.h"
#include "conn/connect.h"
#include "conn/stream.h"
#include "send/send.h"

px_stream_status
px_stream_begin(px_connection *connection, const char *snapshot,
				const char **reason)
{
	px_stream_status status = PX_STREAM_OK;
	PGresult   *res;
	char	   *sql;

	/* The snapshot id comes from the remote: quote it like any string. */
	sql = psprintf("START TRANSACTION ISOLATION LEVEL REPEATABLE READ; "
				   "SET TRANSACTION SNAPSHOT %s",
				   quote_literal_cstr(snapshot));
	res = px_exec(connection->pg, sql);
	if (PQresultStatus(res) != PGRES_COMMAND_OK)
	{
		status = PQstatus(connection->pg) == CONNECTION_OK ?
			PX_STREAM_NO_SNAPSHOT : PX_STREAM_BROKEN;
		*reason = psprintf("snapshot cannot be imported: %s",
						   pchomp(PQerrorMessage(connection->pg)));
	}
	PQclear(res);
	pfree(sql);
	return status;
}

void
px_stream_query(px_connection *connection, const char *servername,
				const char *sql, int nparams, const char *const *values)
{
	/* Parameter types are in the SQL text: "$1::type", as postgres_fdw does. */
	if (!PQsendQueryParams(connection->pg, sql, nparams, NULL, values,
						   NULL, NULL, 1) ||
		!PQsetSingleRowMode(connection->pg))
		px_report_remote_error(ERROR, NULL, connection->pg, servername, sql);
}

/* Wait until PQgetResult would not block. */
static void
wait_for_result(px_connection *connection, const char *servername,
				const char *sql, instr_time *wait)
{
	PGconn	   *pg = connection->pg;
	instr_time	begin;
	instr_time	end;

	if (!PQisBusy(pg))
		return;

	INSTR_TIME_SET_CURRENT(begin);
	do
	{
		int			rc = WaitLatchOrSocket(MyLatch,
										   WL_LATCH_SET | WL_SOCKET_READABLE |
										   WL_EXIT_ON_PM_DEATH,
										   PQsocket(pg), -1L, PG_WAIT_EXTENSION);

		if (rc & WL_LATCH_SET)
		{
			ResetLatch(MyLatch);
			CHECK_FOR_INTERRUPTS();
		}
		if ((rc & WL_SOCKET_READABLE) && !PQconsumeInput(pg))
			px_report_remote_error(ERROR, NULL, pg, servername, sql);
	} while (PQisBusy(pg));
	INSTR_TIME_SET_CURRENT(end);
	INSTR_TIME_ACCUM_DIFF(*wait, end, begin);
}

px_stream_status
px_stream_next(px_connection *connection, const char *servername,
			   const char *sql, const uint8_t **frame, size_t *nbytes,
			   instr_time *wait)
{
	PGresult   *res;

	PQclear(connection->result);
	connection->result = NULL;

	wait_for_result(connection, servername, sql, wait);
	connection->result = res = PQgetResult(connection->pg);

	switch (PQresultStatus(res))
	{
		case PGRES_SINGLE_TUPLE:
			if (PQnfields(res) != 1 || PQgetisnull(res, 0, 0))
				ereport(ERROR,
						(errcode(ERRCODE_PROTOCOL_VIOLATION),
						 errmsg("invalid response from server \"%s\"", servername),
						 errdetail("Expected one column with a frame, got %d columns.",
								   PQnfields(res))));
			*frame = (const uint8_t *) PQgetvalue(res, 0, 0);
			*nbytes = PQgetlength(res, 0, 0);
			return PX_STREAM_OK;

		case PGRES_TUPLES_OK:
			PQclear(res);
			connection->result = NULL;
			/* The result is followed by a NULL one; then the connection is idle. */
			wait_for_result(connection, servername, sql, wait);
			while ((res = PQgetResult(connection->pg)) != NULL)
				PQclear(res);
			return PX_STREAM_END;

		default:
			connection->result = NULL;
			if (res && px_result_sqlstate(res) == PX_ERRCODE_NOT_PLANNED)
			{
				PQclear(res);
				return PX_STREAM_NOT_PLANNED;
			}
			px_report_remote_error(ERROR, res, connection->pg, servername, sql);
			return PX_STREAM_END;	/* not reached */
	}
}
