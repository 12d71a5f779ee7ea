/*-------------------------------------------------------------------------
 *
 * ahead.c
 *		Queries that are sent before the stream of the last one has ended.
 *
 * All of them are one pipeline, with one Sync at its end.  So an error in one
 * of them is the end of all that follow; but it has also aborted the
 * transaction in which they were to run.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "transport/ahead.h"
#include "transport/prepare.h"

void
px_ahead_add(px_ahead *first, px_ahead *to, const char *sql)
{
	px_ahead   *last = first;

	Assert(!to->sent && to->next == NULL);
	while (last->next)
		last = last->next;
	last->next = to;
	to->sql = sql;
	to->sent = true;
}

/*
 * Each query waits for locks as briefly as the first one.  As there, the
 * answer to that statement is flushed before the query runs.
 */
bool
px_ahead_send(const px_ahead *first, PGconn *pg)
{
	for (const px_ahead *to = first->next; to; to = to->next)
	{
		if (!px_prepare_send(pg, PX_PREPARE_NEXT, NULL, "") ||
			!PQsendFlushRequest(pg) ||
			!PQsendQueryParams(pg, to->sql, 0, NULL, NULL, NULL, NULL,
							   PX_FRAME_FORMAT))
			return false;
	}
	return true;
}

bool
px_ahead_was_sent(px_ahead *ahead)
{
	bool		was_sent = ahead->sent;

	ahead->sent = false;
	return was_sent;
}

bool
px_ahead_is_next(const px_ahead *ended, const px_ahead *to)
{
	return ended->next == (to->sent ? to : NULL);
}

px_rest
px_ahead_finish_query(PGconn *pg)
{
	PGresult   *res = PQgetResult(pg);
	bool		ended = res == NULL;

	PQclear(res);
	return ended ? PX_REST_DONE : PX_REST_FAILED;
}

void
px_ahead_release(px_ahead *ended, px_connection *connection)
{
	if (ended->next || ended->sent)
		px_connection_abandon(connection);
	else
		px_connection_release(connection);
	px_ahead_forget(ended);
}

void
px_ahead_forget(px_ahead *ahead)
{
	ahead->sent = false;
	while (ahead->next)
	{
		px_ahead   *to = ahead->next;

		ahead->next = NULL;
		to->sent = false;
		ahead = to;
	}
}
