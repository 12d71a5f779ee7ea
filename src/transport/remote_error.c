/*-------------------------------------------------------------------------
 *
 * remote_error.c
 *		Errors that postgres_fdw raises for a query of ours.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "storage/latch.h"
#include "storage/proc.h"
#include "utils/memutils.h"
#include "utils/timeout.h"

#include "compat.h"
#include "conn/remote_text.h"
#include "transport/remote_error.h"

/* context with the query that is to be reported in place of ours. */
static char *
report_other_query(char *context, const char *sql, const char *reported)
{
	char	   *ours = context ? strstr(context, sql) : NULL;

	if (ours == NULL || sql[0] == '\0')
		return context;
	return psprintf("%.*s%s%s", (int) (ours - context), context, reported,
					ours + strlen(sql));
}

/* Whoever catches the error may store its text. */
static char *
verified(char *text)
{
	if (text == NULL || pg_verifymbstr(text, (int) strlen(text), true))
		return text;
	return px_remote_text(text);
}

ErrorData *
px_remote_error_copy(const char *sql, const char *reported)
{
	ErrorData  *error = CopyErrorData();

	FlushErrorState();
	error->message = verified(error->message);
	error->detail = verified(error->detail);
	error->hint = verified(error->hint);
	error->context = verified(report_other_query(error->context, sql,
												 reported));
	return error;
}

void
px_remote_error_rethrow(MemoryContext context, const char *sql,
						const char *reported)
{
	MemoryContextSwitchTo(context);
	ReThrowError(px_remote_error_copy(sql, reported));
}

bool
px_error_is_own_cancel(const ErrorData *error)
{
	return error->sqlerrcode == ERRCODE_QUERY_CANCELED && error->funcname &&
		strcmp(error->funcname, "ProcessInterrupts") == 0;
}

void
px_cancel_again(void)
{
	if (StatementTimeout > 0 && !get_timeout_active(STATEMENT_TIMEOUT))
		enable_timeout_after(STATEMENT_TIMEOUT, 1);
	else
	{
		InterruptPending = QueryCancelPending = true;
		SetLatch(MyLatch);
	}
}
