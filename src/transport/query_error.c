/*-------------------------------------------------------------------------
 *
 * query_error.c
 *		Errors of a stream's query that are not the end of the scan.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "conn/answer.h"
#include "conn/sqlstate.h"
#include "transport/query_error.h"

bool
px_error_is_missing_marker(const PGresult *res)
{
	int			sqlstate = px_result_sqlstate(res);

	return sqlstate == PX_ERRCODE_NOT_PLANNED ||
		sqlstate == ERRCODE_UNDEFINED_FUNCTION ||
		sqlstate == ERRCODE_UNDEFINED_SCHEMA ||
		sqlstate == ERRCODE_INSUFFICIENT_PRIVILEGE;
}

/*
 * Was the query cancelled by hand?  PostgreSQL has no SQLSTATE for that.  In
 * other languages it is taken for a time-out.
 */
static bool
is_cancelled_by_hand(const PGresult *res)
{
	const char *message = PQresultErrorField(res, PG_DIAG_MESSAGE_PRIMARY);

	return message &&
		strcmp(message, "canceling statement due to user request") == 0;
}

bool
px_error_is_limit(const PGresult *res)
{
	int			sqlstate = px_result_sqlstate(res);

	return (sqlstate == ERRCODE_QUERY_CANCELED && !is_cancelled_by_hand(res)) ||
		sqlstate == ERRCODE_PROTOCOL_VIOLATION ||
		ERRCODE_TO_CATEGORY(sqlstate) == ERRCODE_INSUFFICIENT_RESOURCES ||
		ERRCODE_TO_CATEGORY(sqlstate) == ERRCODE_PROGRAM_LIMIT_EXCEEDED;
}
