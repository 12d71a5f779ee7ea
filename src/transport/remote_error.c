/*-------------------------------------------------------------------------
 *
 * remote_error.c
 *		Errors that postgres_fdw raises for a query of ours.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <ctype.h>

#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "storage/latch.h"
#include "storage/proc.h"
#include "utils/memutils.h"
#include "utils/timeout.h"

#include "compat.h"
#include "conn/remote_text.h"
#include "transport/remote_error.h"

/* How postgres_fdw declares cursor number 3: "DECLARE c3 CURSOR FOR\n". */
#define DECLARE_BEGIN	"DECLARE c"
#define DECLARE_END		" CURSOR FOR\n"

/* context with the query that is to be reported in place of ours. */
static char *
report_other_query(char *context, const char *sql, const char *reported)
{
	char	   *ours = context ? strstr(context, sql) : NULL;
	char	   *rest;

	if (ours == NULL || sql[0] == '\0')
		return context;
	rest = ours + strlen(sql);

	/* The number of the cursor. */
	if (strcmp(sql, PX_CLOSE_CURSOR) == 0)
		rest += strspn(rest, "0123456789");
	return psprintf("%.*s%s%s", (int) (ours - context), context, reported,
					rest);
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

/* Where suffix begins if it ends before end, and not before begin; or NULL. */
static char *
before_suffix(const char *begin, char *end, const char *suffix)
{
	size_t		n = strlen(suffix);

	if ((size_t) (end - begin) < n || strncmp(end - n, suffix, n) != 0)
		return NULL;
	return end - n;
}

void
px_remote_error_cut_declaration(ErrorData *error, const char *query)
{
	char	   *begin = error->context ? strstr(error->context, query) : NULL;
	char	   *p = begin;

	if (p)
		p = before_suffix(error->context, p, DECLARE_END);
	while (p && p > error->context && isdigit((unsigned char) p[-1]))
		p--;
	if (p)
		p = before_suffix(error->context, p, DECLARE_BEGIN);
	if (p)
		memmove(p, begin, strlen(begin) + 1);
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
