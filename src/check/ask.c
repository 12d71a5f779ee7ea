/*-------------------------------------------------------------------------
 *
 * ask.c
 *		Questions to a server that exchange.check has connected to.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "check/ask.h"
#include "conn/answer.h"
#include "conn/remote_text.h"

/* No more is kept of a value. */
#define VALUE_NBYTES_MAX	255

static px_outcome
take_values(const PGresult *result, int n, char **values)
{
	if (n > 0 && PQnfields(result) != n)
		return px_failed("an answer has the wrong number of columns");
	for (int i = 0; i < n; i++)
		values[i] = PQgetisnull(result, 0, i) ? NULL :
			px_remote_text(pnstrdup(PQgetvalue(result, 0, i),
									VALUE_NBYTES_MAX));
	return px_ok();
}

px_outcome
px_check_answer(PGconn *pg, int n, char **values)
{
	PGresult   *volatile result = NULL;
	px_outcome	outcome;
	px_answer	answer;

	PG_TRY();
	{
		answer = px_take_answer(pg, n > 0, px_setup_deadline(),
								(PGresult **) &result);
		if (answer == PX_ANSWER_OK)
			outcome = take_values(result, n, values);
		else if (answer == PX_ANSWER_ERROR)
			outcome = px_refused(px_answer_text(pg, answer, result));
		else
			outcome = px_failed(px_answer_text(pg, answer, result));
	}
	PG_FINALLY();
	{
		PQclear(result);
	}
	PG_END_TRY();
	return outcome;
}

px_outcome
px_check_ask(PGconn *pg, const char *sql, int n, char **values)
{
	px_outcome	outcome;

	/* If that fails, so does reading the answer. */
	(void) PQsendQueryParams(pg, sql, 0, NULL, NULL, NULL, NULL, 0);
	outcome = px_check_answer(pg, n, values);

	/* After an error there is nothing else to come. */
	if (outcome.kind == PX_OUTCOME_REFUSED &&
		!px_come_to_rest(pg, PX_REST_OF_QUERY, px_setup_deadline()))
		return px_failed(outcome.reason);
	return outcome;
}
