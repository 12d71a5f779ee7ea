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

bool
px_error_is_limit(const PGresult *res)
{
	int			sqlstate = px_result_sqlstate(res);

	return sqlstate == ERRCODE_QUERY_CANCELED ||
		sqlstate == ERRCODE_PROTOCOL_VIOLATION ||
		ERRCODE_TO_CATEGORY(sqlstate) == ERRCODE_INSUFFICIENT_RESOURCES ||
		ERRCODE_TO_CATEGORY(sqlstate) == ERRCODE_PROGRAM_LIMIT_EXCEEDED;
}
