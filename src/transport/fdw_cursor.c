/*-------------------------------------------------------------------------
 *
 * fdw_cursor.c
 *		A cursor of our own on the connection that postgres_fdw has.
 *
 * What calls an asynchronous ForeignScan is an Append, and postgres_fdw looks
 * into it.  So each cursor has an AppendState of which the few fields that
 * are looked at are true: the set of events to wait for, and room for a
 * result.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "executor/executor.h"
#include "executor/nodeSubplan.h"
#include "foreign/fdwapi.h"
#include "lib/ilist.h"
#include "miscadmin.h"
#include "storage/latch.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "stats/wait_event.h"
#include "transport/fdw_cursor.h"
#include "transport/fdw_scan.h"
#include "transport/remote_error.h"
#include "transport/transmission.h"

struct px_fdw_cursor
{
	EState	   *estate;			/* of its own */
	ForeignScanState *node;
	FdwRoutine *routine;
	char	   *sql;			/* which postgres_fdw points to */
	Size		sql_nbytes;		/* room for it */
	const char *reported;
	bool		is_call;		/* a cursor for want of another way to ask */
	Bitmapset  *paramids;		/* PARAM_EXEC that its parameters are made of */

	AsyncRequest request;
	AppendState *requestor;
	TupleTableSlot *result;		/* room for requestor's results */
	bool		asked;			/* for a row that was not fetched */
	bool		arrived;		/* postgres_fdw has it */
	ErrorData  *error;			/* that has come instead of the row, and is to
								 * be raised; or NULL */
	pgsocket	socket;

	SubTransactionId subid;		/* of the cursor; the parent's once that was
								 * committed */
	struct query_link *query;	/* NULL if the query's memory was freed */
	dlist_node	link;			/* in cursors */
	MemoryContextCallback forget;
};

/* In the memory of the query that has the cursor. */
typedef struct query_link
{
	px_fdw_cursor *cursor;		/* NULL if its memory was freed */
	EState	   *estate;			/* the query's */
	MemoryContextCallback forget;
} query_link;

/* All cursors of this backend. */
static dlist_head cursors = DLIST_STATIC_INIT(cursors);

/*
 * There may be many, and subtransactions come often: may any have a row that
 * was asked for, and which is the newest subtransaction that one belongs to?
 */
static bool any_asked = false;
static SubTransactionId newest_subid = InvalidSubTransactionId;

static void subxact_callback(SubXactEvent event, SubTransactionId mySubid,
							 SubTransactionId parentSubid, void *arg);

/* ---------------------------------------------------------------------
 * Making one
 * --------------------------------------------------------------------- */

static void
stop_pending(px_fdw_cursor *cursor)
{
	cursor->asked = cursor->arrived = false;
	cursor->error = NULL;
}

/* The cursor's memory is freed, when its subtransaction ends at the latest. */
static void
forget_cursor(void *arg)
{
	px_fdw_cursor *cursor = arg;

	dlist_delete(&cursor->link);
	if (cursor->query)
		cursor->query->cursor = NULL;
}

/*
 * The query's memory is freed, maybe after an error: nobody fetches the row.
 */
static void
forget_query(void *arg)
{
	query_link *query = arg;

	if (query->cursor)
	{
		stop_pending(query->cursor);
		query->cursor->query = NULL;
	}
}

static void
link_query(px_fdw_cursor *cursor, EState *estate)
{
	MemoryContext context = estate->es_query_cxt;
	query_link *query = MemoryContextAllocZero(context, sizeof(query_link));

	query->cursor = cursor;
	query->estate = estate;
	query->forget.func = forget_query;
	query->forget.arg = query;
	MemoryContextRegisterResetCallback(context, &query->forget);
	cursor->query = query;
}

/* A cursor for a scan of the range table of own, the cursor's own state. */
static px_fdw_cursor *
begin_cursor(EState *query, EState *own, ForeignScan *scan, char *sql,
			 Size sql_nbytes, const char *reported)
{
	static bool registered = false;
	MemoryContext oldcontext = MemoryContextSwitchTo(own->es_query_cxt);
	px_fdw_cursor *cursor = palloc0(sizeof(px_fdw_cursor));

	cursor->estate = own;
	cursor->sql_nbytes = sql_nbytes;
	cursor->sql = sql;
	cursor->reported = reported;
	cursor->socket = PGINVALID_SOCKET;
	cursor->node = px_fdw_scan_init(scan, own, 0);
	cursor->routine = cursor->node->fdwroutine;
	cursor->paramids = px_fdw_scan_paramids(scan);

	cursor->requestor = makeNode(AppendState);
	cursor->requestor->as_nasyncplans = 1;
	cursor->requestor->as_nasyncremain = 1;
	cursor->requestor->as_asyncresults = &cursor->result;
	cursor->request.requestor = (PlanState *) cursor->requestor;
	cursor->request.requestee = &cursor->node->ss.ps;
	link_query(cursor, query);
	cursor->subid = GetCurrentSubTransactionId();
	if (dlist_is_empty(&cursors))
		newest_subid = InvalidSubTransactionId;
	newest_subid = Max(newest_subid, cursor->subid);
	dlist_push_tail(&cursors, &cursor->link);
	cursor->forget.func = forget_cursor;
	cursor->forget.arg = cursor;
	MemoryContextRegisterResetCallback(own->es_query_cxt, &cursor->forget);
	MemoryContextSwitchTo(oldcontext);

	/*
	 * Callbacks are called last come, first served: postgres_fdw has
	 * registered its own when it made the connection, so ours come before.
	 */
	if (!registered)
		RegisterSubXactCallback(subxact_callback, NULL);
	registered = true;
	return cursor;
}

px_fdw_cursor *
px_fdw_cursor_new(EState *estate, Oid serverid, Index rtindex, Oid userid,
				  List *params, const char *reported, Size sql_nbytes)
{
	EState	   *own = px_fdw_scan_estate(estate);
	MemoryContext oldcontext = MemoryContextSwitchTo(own->es_query_cxt);
	char	   *sql = palloc(sql_nbytes);
	ForeignScan *scan = px_fdw_scan_make(serverid, rtindex, userid, params, sql);

	/* There may be much room, which takes no memory before it is used. */
	sql[0] = '\0';
	MemoryContextSwitchTo(oldcontext);
	return begin_cursor(estate, own, scan, sql, sql_nbytes, reported);
}

px_fdw_cursor *
px_fdw_cursor_new_call(EState *estate, Oid serverid, Oid relid, Oid userid,
					   const char *sql, text *argument, const char *reported)
{
	EState	   *own = px_fdw_scan_estate(estate);
	MemoryContext oldcontext = MemoryContextSwitchTo(own->es_query_cxt);
	Size		sql_nbytes = Max(strlen(sql), strlen(reported)) + 1;
	char	   *copy = palloc(sql_nbytes);
	List	   *params = argument ? px_fdw_scan_text_param(own, argument) : NIL;
	ForeignScan *scan = px_fdw_scan_make(serverid, 1, userid, params, copy);
	px_fdw_cursor *cursor;

	strlcpy(copy, sql, sql_nbytes);
	px_fdw_scan_set_table(own, relid, userid);
	MemoryContextSwitchTo(oldcontext);
	cursor = begin_cursor(estate, own, scan, copy, sql_nbytes, reported);
	cursor->is_call = true;
	cursor->paramids = NULL;	/* its parameters are its own */
	return cursor;
}

void
px_fdw_cursor_set_sql(px_fdw_cursor *cursor, const char *sql)
{
	Size		length = strlen(sql);

	if (length >= cursor->sql_nbytes)
		elog(ERROR, "query of %zu bytes is too long for its cursor", length);
	memcpy(cursor->sql, sql, length + 1);
}

pgsocket
px_fdw_cursor_socket(const px_fdw_cursor *cursor)
{
	return cursor->socket;
}

bool
px_fdw_cursor_is_asked(const px_fdw_cursor *cursor)
{
	return cursor->asked;
}

bool
px_fdw_cursor_is_innermost(const px_fdw_cursor *cursor)
{
	return cursor->subid == GetCurrentSubTransactionId();
}

/* ---------------------------------------------------------------------
 * Errors
 * --------------------------------------------------------------------- */

/*
 * The cursor was declared.  From now on postgres_fdw names the query in errors
 * alone.  It may be somebody else's use of the connection that meets ours, and
 * does not know what to report.
 */
static void
note_declared(px_fdw_cursor *cursor)
{
	strlcpy(cursor->sql, cursor->reported, cursor->sql_nbytes);
}

/* In a PG_CATCH: end error handling, and return the error to be reported. */
static ErrorData *
copy_error(px_fdw_cursor *cursor)
{
	ErrorData  *error = px_remote_error_copy(cursor->sql, cursor->reported);

	if (cursor->is_call)
		px_remote_error_cut_declaration(error, cursor->reported);
	note_declared(cursor);		/* it may raise the error again */
	return error;
}

/* In a PG_CATCH: raise the error again, as that. */
pg_noreturn static void
rethrow(px_fdw_cursor *cursor, MemoryContext context)
{
	ErrorData  *error;

	MemoryContextSwitchTo(context);
	error = copy_error(cursor);
	ReThrowError(error);
}

/* ---------------------------------------------------------------------
 * Asking
 * --------------------------------------------------------------------- */

/* The row that was asked for may have come with the request, or since. */
static void
note_arrival(px_fdw_cursor *cursor)
{
	if (cursor->request.request_complete)
	{
		cursor->request.callback_pending = false;
		cursor->arrived = true;
		note_declared(cursor);
	}
}

/* What ExecAsyncRequest does but for an Append's bookkeeping. */
static void
request_row(px_fdw_cursor *cursor)
{
	PlanState  *node = cursor->request.requestee;

	if (node->chgParam != NULL)
		ExecReScan(node);
	cursor->requestor->as_nasyncresults = 0;
	cursor->requestor->as_needrequest = NULL;
	cursor->request.callback_pending = false;
	cursor->request.request_complete = false;
	cursor->request.result = NULL;
	cursor->routine->ForeignAsyncRequest(&cursor->request);
	note_arrival(cursor);
}

/*
 * Have the query run the InitPlans that parameters come from.  postgres_fdw
 * would run them in the cursor's memory, which may be freed before the query
 * ends them.  As there, it is in the modes that values are sent in.
 */
static void
run_init_plans(px_fdw_cursor *cursor)
{
	int			nestlevel;

	if (cursor->paramids == NULL || cursor->query == NULL)
		return;
	nestlevel = px_transmission_begin();
	ExecSetParamPlanMulti(cursor->paramids,
						  GetPerTupleExprContext(cursor->query->estate));
	AtEOXact_GUC(true, nestlevel);
}

void
px_fdw_cursor_request(px_fdw_cursor *cursor)
{
	MemoryContext context = CurrentMemoryContext;

	if (cursor->asked)
		return;
	run_init_plans(cursor);
	PG_TRY();
	{
		request_row(cursor);
	}
	PG_CATCH();
	{
		rethrow(cursor, context);
	}
	PG_END_TRY();
	cursor->asked = any_asked = true;
}

/*
 * After an error: nobody waits for the row any more.  postgres_fdw may still
 * have the request on its connection, and then processes it itself.
 */
static void
leave_to_fdw(px_fdw_cursor *cursor)
{
	stop_pending(cursor);
	cursor->request.callback_pending = true;
	cursor->request.request_complete = false;
}

/*
 * If the connection is busy with somebody else's request, postgres_fdw sends
 * ours when it is to name the socket to wait for.
 */
static void
send_request(px_fdw_cursor *cursor)
{
	WaitEventSet *set = px_wait_set_new(1);

	PG_TRY();
	{
		cursor->requestor->as_eventset = set;
		cursor->routine->ForeignAsyncConfigureWait(&cursor->request);
		note_arrival(cursor);
	}
	PG_FINALLY();
	{
		cursor->requestor->as_eventset = NULL;
		FreeWaitEventSet(set);
	}
	PG_END_TRY();
}

void
px_fdw_cursor_start(px_fdw_cursor *cursor)
{
	MemoryContext context = CurrentMemoryContext;

	px_fdw_cursor_request(cursor);
	PG_TRY();
	{
		send_request(cursor);
	}
	PG_CATCH();
	{
		leave_to_fdw(cursor);
		rethrow(cursor, context);
	}
	PG_END_TRY();
	note_declared(cursor);
}

/* ---------------------------------------------------------------------
 * Fetching
 * --------------------------------------------------------------------- */

/*
 * Have postgres_fdw name the socket to wait for, and wait for it.  Others may
 * have to be served on the connection before our request is sent: postgres_fdw
 * does that, too, if the set has exactly one event.
 */
static int
wait_for_event(px_fdw_cursor *cursor, WaitEventSet *set, TimestampTz deadline,
			   WaitEvent *event)
{
	long		ms = -1;

	cursor->requestor->as_eventset = set;
	cursor->routine->ForeignAsyncConfigureWait(&cursor->request);
	note_arrival(cursor);
	if (cursor->arrived)
		return 0;
	px_wait_set_add_postmaster(set);
	if (!TIMESTAMP_IS_NOEND(deadline))
		ms = TimestampDifferenceMilliseconds(GetCurrentTimestamp(), deadline);
	return WaitEventSetWait(set, ms, event, 1, px_wait_event(PX_WAIT_RECEIVE));
}

/* Wait until the row has arrived.  False at the deadline. */
static bool
wait_for_row(px_fdw_cursor *cursor, TimestampTz deadline)
{
	note_arrival(cursor);		/* somebody else may have waited for it */
	while (!cursor->arrived)
	{
		WaitEventSet *set = px_wait_set_new(1);
		WaitEvent	event = {0};
		int			nevents;

		PG_TRY();
		{
			nevents = wait_for_event(cursor, set, deadline, &event);
		}
		PG_FINALLY();
		{
			cursor->requestor->as_eventset = NULL;
			FreeWaitEventSet(set);
		}
		PG_END_TRY();

		if (nevents > 0 && (event.events & WL_LATCH_SET))
		{
			ResetLatch(MyLatch);
			CHECK_FOR_INTERRUPTS();
		}
		else if (nevents > 0)
		{
			cursor->socket = event.fd;
			cursor->request.callback_pending = false;
			cursor->routine->ForeignAsyncNotify(&cursor->request);
			note_arrival(cursor);
		}
		else if (!cursor->arrived && !TIMESTAMP_IS_NOEND(deadline) &&
				 GetCurrentTimestamp() >= deadline)
			return false;
	}
	return true;
}

const ErrorData *
px_fdw_cursor_kept_error(const px_fdw_cursor *cursor)
{
	return cursor->error;
}

/* Raise an error that has come when no error could be raised. */
static void
raise_kept_error(px_fdw_cursor *cursor)
{
	ErrorData  *error = cursor->error;

	if (error == NULL)
		return;
	stop_pending(cursor);
	ThrowErrorData(error);		/* in the error context of who fetches */
}

/*
 * Ask for the next row, and wait until it is there: for timeout_ms at most, or
 * for ever with -1.  False if it is not there by then.
 */
static bool
request_and_wait(px_fdw_cursor *cursor, long timeout_ms)
{
	MemoryContext context = CurrentMemoryContext;
	TimestampTz deadline = DT_NOEND;
	bool		arrived;

	raise_kept_error(cursor);
	px_fdw_cursor_request(cursor);
	if (timeout_ms >= 0)
		deadline = TimestampTzPlusMilliseconds(GetCurrentTimestamp(),
											   timeout_ms);
	PG_TRY();
	{
		arrived = wait_for_row(cursor, deadline);
	}
	PG_CATCH();
	{
		leave_to_fdw(cursor);
		rethrow(cursor, context);
	}
	PG_END_TRY();
	return arrived;
}

bool
px_fdw_cursor_wait(px_fdw_cursor *cursor, long timeout_ms)
{
	return request_and_wait(cursor, timeout_ms);
}

text *
px_fdw_cursor_fetch(px_fdw_cursor *cursor)
{
	TupleTableSlot *slot;

	(void) request_and_wait(cursor, -1);
	stop_pending(cursor);
	slot = cursor->request.result;
	if (TupIsNull(slot))
		return NULL;
	slot_getallattrs(slot);
	if (slot->tts_isnull[0])
		return NULL;
	return (text *) DatumGetPointer(slot->tts_values[0]);
}

/* ---------------------------------------------------------------------
 * The end
 * --------------------------------------------------------------------- */

/*
 * Is the fetch in progress on the connection the one for our request?  Then
 * postgres_fdw adds the socket to the set.  While the fetch is for a request
 * of somebody else, it adds nothing, and does nothing as long as the set has
 * other events than the postmaster's death.
 */
static bool
is_in_progress(px_fdw_cursor *cursor)
{
	WaitEventSet *set;
	int			nevents;
	bool		added;

	note_arrival(cursor);
	if (cursor->arrived)
		return false;

	set = px_wait_set_new(1);
	PG_TRY();
	{
		px_wait_set_add_postmaster(set);
		nevents = GetNumRegisteredWaitEvents(set);
		cursor->requestor->as_eventset = set;
		cursor->routine->ForeignAsyncConfigureWait(&cursor->request);
		added = GetNumRegisteredWaitEvents(set) > nevents;
	}
	PG_FINALLY();
	{
		cursor->requestor->as_eventset = NULL;
		FreeWaitEventSet(set);
	}
	PG_END_TRY();
	return added;
}

/*
 * A fetch in progress must have ended before postgres_fdw begins its scan
 * anew: ExecReScanAppend waits for that, and postgres_fdw asserts it in all
 * minor versions since August 2026.
 */
void
px_fdw_cursor_rescan(px_fdw_cursor *cursor)
{
	MemoryContext context = CurrentMemoryContext;
	PlanState  *node = &cursor->node->ss.ps;

	raise_kept_error(cursor);
	PG_TRY();
	{
		if (cursor->asked && is_in_progress(cursor))
			(void) wait_for_row(cursor, DT_NOEND);
	}
	PG_CATCH();
	{
		leave_to_fdw(cursor);
		rethrow(cursor, context);
	}
	PG_END_TRY();
	stop_pending(cursor);

	/*
	 * Any changed parameter has postgres_fdw open a new cursor, and not go
	 * back in this one.
	 */
	bms_free(node->chgParam);
	node->chgParam = bms_make_singleton(0);
	ExecReScan(node);
}

void
px_fdw_cursor_end(px_fdw_cursor *cursor)
{
	MemoryContext context = CurrentMemoryContext;

	raise_kept_error(cursor);
	PG_TRY();
	{
		ExecEndNode(&cursor->node->ss.ps);
	}
	PG_CATCH();
	{
		leave_to_fdw(cursor);
		rethrow(cursor, context);
	}
	PG_END_TRY();
	ExecResetTupleTable(cursor->estate->es_tupleTable, false);
	FreeExecutorState(cursor->estate);
}

void
px_fdw_cursor_leave(px_fdw_cursor *cursor)
{
	if (cursor->asked || cursor->error)
	{
		px_fdw_cursor_end(cursor);
		return;
	}
	ExecResetTupleTable(cursor->estate->es_tupleTable, false);
	FreeExecutorState(cursor->estate);
}

/*
 * postgres_fdw completes pending requests before it uses a connection, but not
 * before it sends SAVEPOINT's end; and what is pending when a subtransaction
 * is rolled back would be cancelled.  So none is, at the beginning and at the
 * end of each.
 */
static void
collect(px_fdw_cursor *cursor)
{
	MemoryContext context = CurrentMemoryContext;

	PG_TRY();
	{
		(void) wait_for_row(cursor, DT_NOEND);
	}
	PG_CATCH();
	{
		leave_to_fdw(cursor);
		rethrow(cursor, context);
	}
	PG_END_TRY();
}

/*
 * The same where no error may be raised, because a subtransaction is just
 * beginning: if it is rolled back before it has begun, the session ends.  An
 * error of the remote is kept for whoever fetches the row.  A cancel leaves
 * the request as it is.
 *
 * From PostgreSQL 17 on, BeginInternalSubTransaction makes every error end the
 * session, by ExitOnAnyError.  Here errors are caught, so they need not.
 */
static void
collect_quietly(px_fdw_cursor *cursor)
{
	MemoryContext context = CurrentMemoryContext;
	ErrorContextCallback *stack = error_context_stack;
	bool		exit_on_error = ExitOnAnyError;

	error_context_stack = NULL;
	ExitOnAnyError = false;
	PG_TRY();
	{
		(void) wait_for_row(cursor, DT_NOEND);
	}
	PG_CATCH();
	{
		ErrorData  *error;

		ExitOnAnyError = exit_on_error;
		error_context_stack = stack;
		MemoryContextSwitchTo(cursor->estate->es_query_cxt);
		error = CopyErrorData();
		leave_to_fdw(cursor);
		cursor->asked = any_asked = true;
		if (!px_error_is_own_cancel(error))
			cursor->error = copy_error(cursor);
		FreeErrorData(error);
		MemoryContextSwitchTo(context);
		if (cursor->error == NULL)
		{
			/* Below the top there is nobody who catches it. */
			if (GetCurrentTransactionNestLevel() == 2 && !exit_on_error)
				PG_RE_THROW();
			FlushErrorState();
			px_cancel_again();
		}
	}
	PG_END_TRY();
	ExitOnAnyError = exit_on_error;
	error_context_stack = stack;
}

static void
collect_pending(void (*how) (px_fdw_cursor *cursor))
{
	dlist_iter	iter;

	bool		any = false;

	if (!any_asked)
		return;
	dlist_foreach(iter, &cursors)
	{
		px_fdw_cursor *cursor = dlist_container(px_fdw_cursor, link, iter.cur);

		if (cursor->asked && cursor->error == NULL && !QueryCancelPending)
			how(cursor);
		any |= cursor->asked;
	}
	any_asked = any;
}

/* The cursors of a subtransaction have become its parent's. */
static void
inherit_cursors(SubTransactionId subid, SubTransactionId parent)
{
	dlist_iter	iter;

	if (subid > newest_subid)
		return;
	dlist_foreach(iter, &cursors)
	{
		px_fdw_cursor *cursor = dlist_container(px_fdw_cursor, link, iter.cur);

		if (cursor->subid == subid)
			cursor->subid = parent;
	}
}

static void
subxact_callback(SubXactEvent event, SubTransactionId mySubid,
				 SubTransactionId parentSubid, void *arg)
{
	switch (event)
	{
		case SUBXACT_EVENT_START_SUB:
			collect_pending(collect_quietly);
			break;
		case SUBXACT_EVENT_PRE_COMMIT_SUB:
			collect_pending(collect);
			break;
		case SUBXACT_EVENT_COMMIT_SUB:
			inherit_cursors(mySubid, parentSubid);
			break;
		case SUBXACT_EVENT_ABORT_SUB:
			break;				/* its cursors are freed with its memory */
	}
}
