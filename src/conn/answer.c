/*-------------------------------------------------------------------------
 *
 * answer.c
 *		Reading what a remote answers, without trusting it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "storage/latch.h"
#include "utils/timeout.h"
#include "utils/timestamp.h"

#include "conn/answer.h"
#include "conn/genuine.h"
#include "conn/remote_text.h"
#include "stats/wait_event.h"

/* Largest answer in lines: a plan, or statistics of tables. */
#define LINES_NBYTES_MAX	(4 * 1024 * 1024)

/* A reason is one line of EXPLAIN: it is cut off after so many bytes. */
#define REASON_NBYTES_MAX	1024

/* ---------------------------------------------------------------------
 * Waiting
 * --------------------------------------------------------------------- */

/* The shortest one of this transaction's sessions; 0: there is none. */
static uint32 shortest_idle_ms = 0;

void
px_setup_note_idle_timeout(uint32 idle_ms)
{
	if (idle_ms > 0 && (shortest_idle_ms == 0 || idle_ms < shortest_idle_ms))
		shortest_idle_ms = idle_ms;
}

void
px_setup_forget_idle_timeouts(void)
{
	shortest_idle_ms = 0;
}

int
px_setup_limited_ms(int ms)
{
	if (shortest_idle_ms > 0)
		ms = Min(ms, Max(shortest_idle_ms / 4, 1));
	if (get_timeout_active(STATEMENT_TIMEOUT))
	{
		long		left = TimestampDifferenceMilliseconds(
			GetCurrentTimestamp(), get_timeout_finish_time(STATEMENT_TIMEOUT));

		ms = Min(ms, Max(left / 2, 1));
	}
	return ms;
}

TimestampTz
px_setup_deadline(void)
{
	return TimestampTzPlusMilliseconds(
		GetCurrentTimestamp(), px_setup_limited_ms(PX_SETUP_TIMEOUT_MS));
}

bool
px_consume_input(PGconn *pg)
{
	PGnotify   *notify;

	if (!PQconsumeInput(pg))
		return false;
	while ((notify = PQnotifies(pg)) != NULL)
		PQfreemem(notify);
	return true;
}

bool
px_wait_for_result(PGconn *pg, TimestampTz deadline)
{
	/* The loop may end without having waited: so check here, too. */
	CHECK_FOR_INTERRUPTS();

	for (;;)
	{
		int			wanted = WL_LATCH_SET | WL_SOCKET_READABLE |
			WL_EXIT_ON_PM_DEATH;
		long		ms = -1;
		int			rc;

		/* Up to 15, the time until DT_NOEND is too long for a wait. */
		if (!TIMESTAMP_IS_NOEND(deadline))
		{
			ms = TimestampDifferenceMilliseconds(GetCurrentTimestamp(),
												 deadline);
			if (ms <= 0)
				return false;
			wanted |= WL_TIMEOUT;
		}
		if (!PQisBusy(pg))
			return true;
		if (PQflush(pg) > 0)
			wanted |= WL_SOCKET_WRITEABLE;
		rc = WaitLatchOrSocket(MyLatch, wanted, PQsocket(pg), ms,
							   px_wait_event(PX_WAIT_RECEIVE));
		if (rc & WL_LATCH_SET)
		{
			ResetLatch(MyLatch);
			CHECK_FOR_INTERRUPTS();
		}
		if ((rc & WL_SOCKET_READABLE) && !px_consume_input(pg))
			return true;		/* PQgetResult says what is wrong */
	}
}

/* ---------------------------------------------------------------------
 * Answers
 * --------------------------------------------------------------------- */

/*
 * Take the next result of the pipeline, which must have this status.  With
 * PGRES_EMPTY_QUERY, which no statement returns, there must be no result.
 */
static px_answer
expect_result(PGconn *pg, ExecStatusType expected, TimestampTz deadline,
			  PGresult **result)
{
	ExecStatusType status;

	if (!px_wait_for_result(pg, deadline))
		return PX_ANSWER_SILENT;
	*result = PQgetResult(pg);
	if (PQstatus(pg) != CONNECTION_OK)
		return PX_ANSWER_BROKEN;
	if (*result == NULL)
		return expected == PGRES_EMPTY_QUERY ? PX_ANSWER_OK :
			PX_ANSWER_UNEXPECTED;
	status = PQresultStatus(*result);
	if (status == expected && status != PGRES_EMPTY_QUERY)
		return PX_ANSWER_OK;
	return status == PGRES_FATAL_ERROR ? PX_ANSWER_ERROR :
		PX_ANSWER_UNEXPECTED;
}

/* Take what follows the first result of an answer. */
static px_answer
expect_end(PGconn *pg, bool has_row, TimestampTz deadline, PGresult **result)
{
	px_answer	answer = PX_ANSWER_OK;

	if (has_row)
	{
		answer = expect_result(pg, PGRES_TUPLES_OK, deadline, result);
		if (answer != PX_ANSWER_OK)
			return answer;
		PQclear(*result);
		*result = NULL;
	}
	return expect_result(pg, PGRES_EMPTY_QUERY, deadline, result);
}

px_answer
px_take_answer(PGconn *pg, bool has_row, TimestampTz deadline,
			   PGresult **result)
{
	PGresult   *volatile first = NULL;
	PGresult   *further = NULL;
	px_answer	answer;

	*result = NULL;

	/*
	 * Without this libpq would collect all rows that come, even if none were
	 * asked for.  It has no effect once some of the first answer was read:
	 * then the caller has set it before.
	 */
	(void) PQsetSingleRowMode(pg);

	answer = expect_result(pg, has_row ? PGRES_SINGLE_TUPLE :
						   PGRES_COMMAND_OK, deadline, result);
	if (answer != PX_ANSWER_OK)
		return answer;
	first = *result;
	*result = NULL;
	PG_TRY();
	{
		answer = expect_end(pg, has_row, deadline, &further);
	}
	PG_CATCH();
	{
		PQclear(first);
		PG_RE_THROW();
	}
	PG_END_TRY();

	if (answer != PX_ANSWER_OK)
	{
		PQclear(first);
		first = further;
	}
	*result = first;
	return answer;
}

/* Not longer than a reason is. */
static char *
shorten(const char *text)
{
	return px_remote_text(pnstrdup(text, REASON_NBYTES_MAX));
}

char *
px_answer_text(PGconn *pg, px_answer answer, const PGresult *result)
{
	const char *message;

	switch (answer)
	{
		case PX_ANSWER_OK:
			break;
		case PX_ANSWER_ERROR:
			message = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
			if (message != NULL)
				return shorten(message);
			break;
		case PX_ANSWER_SILENT:
			return pstrdup("session does not answer in time");
		case PX_ANSWER_BROKEN:
			return shorten(pchomp(PQerrorMessage(pg)));
		case PX_ANSWER_UNEXPECTED:
			return psprintf("unexpected %s", result == NULL ?
							"end of results" :
							PQresStatus(PQresultStatus(result)));
	}
	return pstrdup("no message");
}

px_rest
px_take_rest(PGconn *pg, px_rest_limit *limit)
{
	PGresult   *res = PQgetResult(pg);
	ExecStatusType status = PQresultStatus(res);
	bool		none = res == NULL;

	PQclear(res);
	if (PQstatus(pg) != CONNECTION_OK)
		return PX_REST_FAILED;

	/* In a pipeline, a NULL only ends the results of one command. */
	if (none)
	{
		if (PQpipelineStatus(pg) == PQ_PIPELINE_OFF)
			return PX_REST_DONE;

		/* There is no command without a result: the end was not even sent. */
		return limit->nulls++ == 0 ? PX_REST_MORE : PX_REST_FAILED;
	}
	limit->nulls = 0;

	switch (status)
	{
		case PGRES_PIPELINE_SYNC:
			return PQexitPipelineMode(pg) ? PX_REST_DONE : PX_REST_FAILED;
		case PGRES_COPY_OUT:
		case PGRES_COPY_IN:
		case PGRES_COPY_BOTH:
			return PX_REST_FAILED;
		case PGRES_SINGLE_TUPLE:
			return limit->rows ? PX_REST_MORE : PX_REST_FAILED;
		default:
			if (limit->results-- > 0)
				return PX_REST_MORE;
			return status == PGRES_FATAL_ERROR ? PX_REST_ERROR :
				PX_REST_FAILED;
	}
}

bool
px_come_to_rest(PGconn *pg, px_rest_limit limit, TimestampTz deadline)
{
	px_rest		rest = PX_REST_MORE;

	while (rest == PX_REST_MORE && px_wait_for_result(pg, deadline))
		rest = px_take_rest(pg, &limit);
	return rest == PX_REST_DONE;
}

bool
px_send_command(PGconn *pg, const char *sql)
{
	/* In single-row mode libpq does not collect rows until there is an end. */
	return PQsendQuery(pg, sql) && PQsetSingleRowMode(pg);
}

/* ---------------------------------------------------------------------
 * Lines
 * --------------------------------------------------------------------- */

/* The next statement is to return a row, which says nothing. */
static px_answer
skip_row(PGconn *pg, TimestampTz deadline, PGresult **result)
{
	px_answer	answer = expect_result(pg, PGRES_SINGLE_TUPLE, deadline,
									   result);

	if (answer != PX_ANSWER_OK)
		return answer;
	PQclear(*result);
	*result = NULL;
	answer = expect_result(pg, PGRES_TUPLES_OK, deadline, result);
	if (answer != PX_ANSWER_OK)
		return answer;
	PQclear(*result);
	*result = NULL;
	return PX_ANSWER_OK;
}

/* Take all rows of the last statement. */
static px_answer
take_lines(PGconn *pg, TimestampTz deadline, StringInfo text,
		   PGresult **result)
{
	for (;;)
	{
		px_answer	answer = expect_result(pg, PGRES_SINGLE_TUPLE, deadline,
										   result);
		const char *line;

		if (answer != PX_ANSWER_OK)
		{
			if (PQresultStatus(*result) != PGRES_TUPLES_OK)
				return answer;
			PQclear(*result);
			*result = NULL;
			return expect_result(pg, PGRES_EMPTY_QUERY, deadline, result);
		}
		line = PQgetvalue(*result, 0, 0);
		if (PQnfields(*result) != 1 ||
			text->len + 1 + strlen(line) > LINES_NBYTES_MAX)
			return PX_ANSWER_UNEXPECTED;
		appendStringInfo(text, "%s%s", text->len > 0 ? "\n" : "", line);
		PQclear(*result);
		*result = NULL;
	}
}

bool
px_send_lines(PGconn *pg, const char *sql, int lock_timeout_ms)
{
	char	   *timeout = lock_timeout_ms > 0 ?
		psprintf("pg_catalog.set_config('lock_timeout', '%dms', true),"
				 " pg_catalog.set_config('statement_timeout', '%dms', true), ",
				 lock_timeout_ms, PX_SETUP_TIMEOUT_MS) : "";

	/*
	 * Not in a pipeline: there, a parameter without a value would be an
	 * error, GENERIC_PLAN or not.
	 */
	return px_send_command(pg, psprintf("SELECT %s" PX_REQUIRE_STILL_GENUINE
										"; %s", timeout, sql));
}

px_outcome
px_take_lines(PGconn *pg, TimestampTz deadline, char **lines, bool *usable)
{
	px_answer	answer;
	PGresult   *volatile result = NULL;
	px_outcome	outcome = px_ok();
	StringInfoData text;

	*usable = false;
	initStringInfo(&text);
	PG_TRY();
	{
		answer = skip_row(pg, deadline, (PGresult **) &result);
		if (answer == PX_ANSWER_OK)
			answer = take_lines(pg, deadline, &text, (PGresult **) &result);
		if (answer != PX_ANSWER_OK)
			outcome = px_failed(px_answer_text(pg, answer, result));
		if (answer == PX_ANSWER_OK || answer == PX_ANSWER_ERROR)
			*usable = px_come_to_rest(pg, PX_REST_OF_ALL, deadline);
	}
	PG_FINALLY();
	{
		PQclear(result);
	}
	PG_END_TRY();
	*lines = px_is_ok(outcome) ? text.data : NULL;
	return outcome;
}

px_outcome
px_exec_lines(PGconn *pg, const char *sql, char **lines, bool *usable)
{
	if (px_send_lines(pg, sql, 0))
		return px_take_lines(pg, px_setup_deadline(), lines, usable);
	*usable = false;
	*lines = NULL;
	return px_failed(px_answer_text(pg, PX_ANSWER_BROKEN, NULL));
}

/* ---------------------------------------------------------------------
 * Errors
 * --------------------------------------------------------------------- */

int
px_result_sqlstate(const PGresult *res)
{
	const char *text = PQresultErrorField(res, PG_DIAG_SQLSTATE);

	if (text == NULL || strlen(text) != 5)
		return ERRCODE_CONNECTION_FAILURE;
	return MAKE_SQLSTATE(text[0], text[1], text[2], text[3], text[4]);
}

/*
 * A field of an error as postgres_fdw would show it, on several lines if it
 * has some; NULL if it is not there.
 */
static const char *
show_text(const char *text)
{
	if (text == NULL ||
		pg_verify_mbstr(GetDatabaseEncoding(), text, strlen(text), true))
		return text;
	return px_remote_text(text);
}

static const char *
show_field(const PGresult *res, int field)
{
	return show_text(PQresultErrorField(res, field));
}

void
px_report_remote_error(int elevel, PGresult *res, PGconn *pg,
					   const char *servername, const char *sql)
{
	PG_TRY();
	{
		const char *message = show_field(res, PG_DIAG_MESSAGE_PRIMARY);
		const char *detail = show_field(res, PG_DIAG_MESSAGE_DETAIL);
		const char *hint = show_field(res, PG_DIAG_MESSAGE_HINT);
		const char *context = show_field(res, PG_DIAG_CONTEXT);

		/* A broken connection leaves a message without fields. */
		if (message == NULL)
			message = show_text(pchomp(res &&
									   PQresultErrorMessage(res)[0] != '\0' ?
									   PQresultErrorMessage(res) :
									   PQerrorMessage(pg)));

		ereport(elevel,
				(errcode(px_result_sqlstate(res)),
				 message[0] != '\0' ?
				 errmsg_internal("%s", message) :
				 errmsg("could not obtain message string for remote error"),
				 detail ? errdetail_internal("%s", detail) : 0,
				 hint ? errhint("%s", hint) : 0,
				 errdetail_log("%s%sThe error was raised by server \"%s\".",
							   detail ? detail : "", detail ? "\n" : "",
							   servername),
				 context ? errcontext("%s", context) : 0,
				 errcontext("remote SQL command: %s", sql)));
	}
	PG_FINALLY();
	{
		PQclear(res);
	}
	PG_END_TRY();
}
