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

#include "access/tupdesc.h"
#include "catalog/pg_type_d.h"
#include "miscadmin.h"
#include "storage/latch.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "conn/connect.h"
#include "conn/stream.h"
#include "send/send.h"
#include "stats/wait_event.h"

#define FRAME_FORMAT	1		/* binary */

static void finish_run(px_stream *stream);

/* ---------------------------------------------------------------------
 * Getting and losing connections
 * --------------------------------------------------------------------- */

/*
 * Nobody has closed the stream: an error or cancel, or the rollback of a
 * subtransaction or of an open cursor, has ended it.
 */
static void
break_off(px_stream *stream)
{
	if (stream->phase == PX_STREAM_BEGUN || stream->phase == PX_STREAM_RUNNING)
		stream->counters->errors++;
	px_progress_end(stream->progress);
	stream->progress = NULL;
}

/*
 * The memory goes.  An error may have brought that about, so this is not the
 * time to talk to the remote: the pool sees to a connection without a stream.
 */
static void
forget_stream(void *arg)
{
	px_stream  *stream = arg;

	PQclear(stream->result);
	PQclear(stream->spooled_error);
	if (stream->connection)
		stream->connection->stream = NULL;
	break_off(stream);
}

px_stream *
px_stream_new(void)
{
	px_stream  *stream = palloc0(sizeof(px_stream));

	stream->context = CurrentMemoryContext;
	stream->resowner = CurrentResourceOwner;
	stream->forget.func = forget_stream;
	stream->forget.arg = stream;
	MemoryContextRegisterResetCallback(CurrentMemoryContext, &stream->forget);
	return stream;
}

void
px_stream_lose(px_stream *stream)
{
	break_off(stream);

	/* If it was only begun, it can as well begin again. */
	stream->phase = stream->phase == PX_STREAM_RUNNING ? PX_STREAM_LOST : PX_STREAM_CLOSED;
}

void
px_stream_close(px_stream *stream)
{
	if (stream->connection)
	{
		if (stream->phase == PX_STREAM_CLOSED)
			px_connection_release(stream->connection);
		else
			px_connection_abandon(stream->connection);
	}
	finish_run(stream);
}

/* Wait for the remote as long as it takes, and add the time to *wait. */
static void
wait_for_result(px_stream *stream, instr_time *wait)
{
	PGconn	   *pg = stream->connection->pg;
	instr_time	begin;
	instr_time	end;

	if (!PQisBusy(pg))
		return;

	INSTR_TIME_SET_CURRENT(begin);
	px_progress_blocked(stream->progress, PX_BLOCKED_SERVER);
	PG_TRY();
	{
		(void) px_wait_for_result(pg, DT_NOEND);
	}
	PG_FINALLY();
	{
		/* A wait that is cancelled was one, too. */
		INSTR_TIME_SET_CURRENT(end);
		INSTR_TIME_ACCUM_DIFF(*wait, end, begin);
		INSTR_TIME_ACCUM_DIFF(stream->counters->receive_wait, end, begin);
	}
	PG_END_TRY();
	px_progress_blocked(stream->progress, PX_BLOCKED_QUERY);
}

static bool
is_frame(const PGresult *res)
{
	return PQresultStatus(res) == PGRES_SINGLE_TUPLE;
}

/*
 * Read what follows the query's last result, and leave pipeline mode.  False
 * if the connection broke.
 */
static bool
finish_query(px_stream *stream, instr_time *wait)
{
	PGconn	   *pg = stream->connection->pg;

	for (;;)
	{
		PGresult   *res;
		bool		synced;

		wait_for_result(stream, wait);
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

/* ---------------------------------------------------------------------
 * Spooling
 * --------------------------------------------------------------------- */

/* A tuple of the spool is a frame. */
static TupleDesc
spool_desc(void)
{
	TupleDesc	tupdesc = CreateTemplateTupleDesc(1);

	TupleDescInitEntry(tupdesc, 1, "frame", BYTEAOID, -1, 0);
	return tupdesc;
}

static void
begin_spool(px_stream *stream)
{
	MemoryContext oldcontext = MemoryContextSwitchTo(stream->context);
	ResourceOwner oldowner = CurrentResourceOwner;

	/* The file must live as long as the stream's query, not as ours. */
	CurrentResourceOwner = stream->resowner;
	stream->spool = tuplestore_begin_heap(false, false, work_mem);
	CurrentResourceOwner = oldowner;

	if (stream->spool_slot == NULL)
		stream->spool_slot = MakeSingleTupleTableSlot(spool_desc(), &TTSOpsMinimalTuple);
	MemoryContextSwitchTo(oldcontext);
}

/* libpq holds it already; nothing that it calls for has been allocated. */
static void
check_frame_nbytes(const px_stream *stream, size_t nbytes)
{
	if (nbytes > (size_t) px_max_frame_bytes)
		ereport(ERROR,
				(errcode(ERRCODE_PROTOCOL_VIOLATION),
				 errmsg("invalid response from server \"%s\"", stream->servername),
				 errdetail("Expected a frame of at most %d bytes, got %zu.",
						   px_max_frame_bytes, nbytes),
				 errhint("A row of that size takes a higher \"pg_exchange.max_frame_bytes\".")));
}

static void
spool_frame(px_stream *stream, const PGresult *res)
{
	size_t		nbytes = PQgetlength(res, 0, 0);
	bytea	   *frame;
	Datum		value;
	bool		isnull = false;

	check_frame_nbytes(stream, nbytes);
	stream->connection->nbytes += nbytes;
	frame = palloc(VARHDRSZ + nbytes);
	value = PointerGetDatum(frame);
	SET_VARSIZE(frame, VARHDRSZ + nbytes);
	memcpy(VARDATA(frame), PQgetvalue(res, 0, 0), nbytes);
	tuplestore_putvalues(stream->spool, stream->spool_slot->tts_tupleDescriptor,
						 &value, &isnull);
	pfree(frame);
}

/*
 * Read all that is still to come, and give up the connection.  An error of
 * the remote is its owner's to raise, when it has read so far.
 */
static void
spool_rest(px_stream *stream)
{
	PGconn	   *pg = stream->connection->pg;
	instr_time	wait;

	INSTR_TIME_SET_ZERO(wait);
	if (stream->progress)
		stream->progress->remote_pid = 0;
	if (stream->spool == NULL)
		begin_spool(stream);	/* else an error interrupted us last time */
	for (;;)
	{
		PGresult   *res;

		CHECK_FOR_INTERRUPTS();
		wait_for_result(stream, &wait);
		res = PQgetResult(pg);
		if (!is_frame(res))
		{
			stream->spooled_error = res;
			break;
		}
		PG_TRY();
		{
			spool_frame(stream, res);
		}
		PG_FINALLY();
		{
			PQclear(res);
		}
		PG_END_TRY();
	}

	if (PQresultStatus(stream->spooled_error) == PGRES_TUPLES_OK &&
		finish_query(stream, &wait))
	{
		PQclear(stream->spooled_error);
		stream->spooled_error = NULL;
		px_connection_release(stream->connection);
	}
	else
		px_connection_abandon(stream->connection);
}

/* The next frame of the spool; false at its end. */
static bool
read_spool(px_stream *stream, const uint8_t **frame, size_t *nbytes)
{
	bytea	   *value;
	bool		isnull;

	if (stream->spooled_frame)
		pfree(stream->spooled_frame);
	stream->spooled_frame = NULL;
	if (!tuplestore_gettupleslot(stream->spool, true, false, stream->spool_slot))
		return false;

	/* Its place in the tuple is aligned for a varlena only. */
	value = (bytea *) DatumGetPointer(slot_getattr(stream->spool_slot, 1, &isnull));
	*nbytes = VARSIZE_ANY_EXHDR(value);
	stream->spooled_frame = MemoryContextAllocHuge(stream->context, *nbytes);
	memcpy(stream->spooled_frame, VARDATA_ANY(value), *nbytes);
	*frame = stream->spooled_frame;
	stream->has_frames = true;
	return true;
}

/*
 * Make a stream do without its connection.  One that was only begun will have
 * to begin again.
 */
static void
give_up_connection(px_stream *stream)
{
	switch (stream->phase)
	{
		case PX_STREAM_CLOSED:
			px_connection_release(stream->connection);
			break;
		case PX_STREAM_BEGUN:
			px_connection_abandon(stream->connection);
			stream->phase = PX_STREAM_CLOSED;
			break;
		case PX_STREAM_RUNNING:
			spool_rest(stream);
			break;
		case PX_STREAM_LOST:
			break;
	}
}

/*
 * The stream of the peer that can best do without its connection: one that
 * only keeps it for its next run, else the one that got it first.
 */
static px_stream *
choose_victim(px_peer *peer)
{
	px_stream  *victim = NULL;
	dlist_iter	iter;

	dlist_foreach(iter, &peer->connections)
	{
		px_stream  *stream = dlist_container(px_connection, node, iter.cur)->stream;

		if (stream == NULL)
			continue;
		if (stream->phase == PX_STREAM_CLOSED)
			return stream;
		if (victim == NULL)
			victim = stream;
	}
	return victim;
}

bool
px_stream_connect(px_stream *stream, px_peer *peer, UserMapping *user,
				  bool may_take, const char **reason)
{
	px_stream  *victim;

	while (!px_connection_acquire(peer, user, stream, reason))
	{
		if (*reason || !may_take || (victim = choose_victim(peer)) == NULL)
			return false;
		give_up_connection(victim);
	}
	return true;
}

void
px_streams_settle(void)
{
	px_connection *connection;

	while ((connection = px_connection_in_use()) != NULL)
		give_up_connection(connection->stream);
}

/* ---------------------------------------------------------------------
 * Beginning
 * --------------------------------------------------------------------- */

/* The stream will not be: give its connection back. */
static px_stream_status
refuse(px_stream *stream, px_stream_status status)
{
	if (status == PX_STREAM_BROKEN)
		px_connection_discard(stream->connection);
	else
		px_connection_abandon(stream->connection);
	finish_run(stream);
	return status;
}

/* Because something failed, at the remote or on the way. */
static px_stream_status
fail_beginning(px_stream *stream, const char *text, const char **reason)
{
	PGconn	   *pg = stream->connection->pg;
	const char *message = pchomp(PQerrorMessage(pg));

	if (message[0] == '\0')
	{
		*reason = psprintf("%s: session does not answer within %d ms",
						   text, PX_SETUP_TIMEOUT_MS);
		px_peer_avoid(stream->connection->peer);
		return refuse(stream, PX_STREAM_BROKEN);
	}
	*reason = psprintf("%s: %s", text, message);
	return refuse(stream, PQstatus(pg) == CONNECTION_OK ?
				  PX_STREAM_REFUSED : PX_STREAM_BROKEN);
}

/*
 * Take the result of the next command of the pipeline's beginning, into
 * stream->result, and step behind it.
 */
static bool
take_result(px_stream *stream, ExecStatusType expected)
{
	PGconn	   *pg = stream->connection->pg;
	TimestampTz deadline = TimestampTzPlusMilliseconds(GetCurrentTimestamp(),
													   PX_SETUP_TIMEOUT_MS);

	if (!px_wait_for_result(pg, deadline))
		return false;
	PQclear(stream->result);
	stream->result = PQgetResult(pg);
	if (PQresultStatus(stream->result) != expected)
		return false;

	/* The NULL that ends a command's results; it is there at once. */
	return PQgetResult(pg) == NULL;
}

void
px_stream_begin(px_stream *stream)
{
	PGconn	   *pg = stream->connection->pg;
	const px_peer *peer = stream->connection->peer;
	char	   *import;
	char	   *question;

	/* The snapshot id comes from the remote: quote it like any string. */
	import = psprintf("SET TRANSACTION SNAPSHOT %s", quote_literal_cstr(peer->snapshot));

	/*
	 * When the user mapping changes, postgres_fdw's session goes on with the
	 * old user to the end of the transaction: no row, if ours is another.
	 */
	question = psprintf("SELECT backend_xid FROM pg_catalog.pg_stat_get_activity(%d) "
						"WHERE pg_catalog.pg_get_userbyid(usesysid) OPERATOR(pg_catalog.=) session_user",
						peer->admission.pid);

	/*
	 * Parameter types are in the query's text: "$1::type", as postgres_fdw
	 * does.  If something fails here, so does reading the answers.
	 */
	stream->has_frames = false;
	stream->phase = PX_STREAM_BEGUN;
	(void) (PQenterPipelineMode(pg) &&
			PQsendQueryParams(pg, "START TRANSACTION ISOLATION LEVEL REPEATABLE READ",
							  0, NULL, NULL, NULL, NULL, 0) &&
			PQsendQueryParams(pg, import, 0, NULL, NULL, NULL, NULL, 0) &&
			PQsendQueryParams(pg, question, 0, NULL, NULL, NULL, NULL, 0) &&
			PQsendFlushRequest(pg) &&
			PQsendQueryParams(pg, stream->sql, stream->nparams, NULL, stream->values,
							  NULL, NULL, FRAME_FORMAT) &&
			PQpipelineSync(pg));
	pfree(import);
	pfree(question);
}

px_stream_status
px_stream_confirm(px_stream *stream, const char **reason)
{
	PGconn	   *pg = stream->connection->pg;

	if (!take_result(stream, PGRES_COMMAND_OK))
		return fail_beginning(stream, "transaction cannot be started", reason);
	if (!take_result(stream, PGRES_COMMAND_OK))
		return fail_beginning(stream, "snapshot cannot be imported", reason);
	if (!take_result(stream, PGRES_TUPLES_OK))
		return fail_beginning(stream, "session of postgres_fdw cannot be seen", reason);

	if (PQntuples(stream->result) != 1)
	{
		*reason = "session of postgres_fdw cannot be seen";
		return refuse(stream, PX_STREAM_REFUSED);
	}
	if (!PQgetisnull(stream->result, 0, 0))
	{
		*reason = "the transaction has written to the server";
		return refuse(stream, PX_STREAM_WRITTEN);
	}
	if (!PQsetSingleRowMode(pg))
		return fail_beginning(stream, "query cannot be sent", reason);
	stream->phase = PX_STREAM_RUNNING;
	px_progress_blocked(stream->progress, PX_BLOCKED_QUERY);
	return PX_STREAM_OK;
}

void
px_stream_again(px_stream *stream)
{
	PGconn	   *pg = stream->connection->pg;

	/* The query is still the session's unnamed prepared statement. */
	stream->has_frames = false;
	stream->phase = PX_STREAM_RUNNING;
	if (!PQsendQueryPrepared(pg, "", stream->nparams, stream->values,
							 NULL, NULL, FRAME_FORMAT) ||
		!PQsetSingleRowMode(pg))
		px_report_remote_error(ERROR, NULL, pg, stream->servername, stream->remote_sql);
}

void
px_stream_go_on(px_stream *stream)
{
	PGconn	   *pg = stream->connection->pg;

	stream->has_frames = false;
	stream->phase = PX_STREAM_RUNNING;
	if (!PQsendQueryParams(pg, stream->sql, stream->nparams, NULL, stream->values,
						   NULL, NULL, FRAME_FORMAT) ||
		!PQsetSingleRowMode(pg))
		px_report_remote_error(ERROR, NULL, pg, stream->servername, stream->remote_sql);
}

/* ---------------------------------------------------------------------
 * Reading
 * --------------------------------------------------------------------- */

/* Nothing of the run is left: neither frames nor the memory they took. */
static void
finish_run(px_stream *stream)
{
	PQclear(stream->result);
	PQclear(stream->spooled_error);
	stream->result = stream->spooled_error = NULL;
	if (stream->spool)
		tuplestore_end(stream->spool);
	stream->spool = NULL;
	stream->phase = PX_STREAM_CLOSED;
	px_progress_end(stream->progress);
	stream->progress = NULL;
}

/*
 * Does the error say that the marker was not recognised, is not there, or may
 * not be called?  The extension may be dropped there after the hello, or a
 * right revoked.  If it is another function that is missing, or a right to
 * something else, postgres_fdw will say so.
 */
static bool
is_marker_missing(const PGresult *res)
{
	int			sqlstate = px_result_sqlstate(res);

	return sqlstate == PX_ERRCODE_NOT_PLANNED ||
		sqlstate == ERRCODE_UNDEFINED_FUNCTION ||
		sqlstate == ERRCODE_UNDEFINED_SCHEMA ||
		sqlstate == ERRCODE_INSUFFICIENT_PRIVILEGE;
}

/*
 * The query ended with an error, res, which this frees, or the connection
 * broke (NULL).  Raise that, unless it is about the marker, or the remote
 * declined.
 */
static px_stream_status
fail_query(px_stream *stream, PGresult *res)
{
	PGconn	   *pg = stream->connection ? stream->connection->pg : NULL;

	/* After the first frame rows may have been used: there is no way back. */
	if (res == NULL || stream->has_frames)
		px_report_remote_error(ERROR, res, pg, stream->servername, stream->remote_sql);
	if (px_result_sqlstate(res) == PX_ERRCODE_DECLINED)
	{
		const char *message = PQresultErrorField(res, PG_DIAG_MESSAGE_PRIMARY);

		strlcpy(stream->declined, message ? message : "declined", PX_DECLINED_NBYTES);
		PQclear(res);
		return PX_STREAM_DECLINED;
	}
	if (!is_marker_missing(res))
		px_report_remote_error(ERROR, res, pg, stream->servername, stream->remote_sql);
	PQclear(res);
	return PX_STREAM_NOT_PLANNED;
}

px_stream_status
px_stream_next(px_stream *stream, const uint8_t **frame, size_t *nbytes,
			   instr_time *wait)
{
	PGconn	   *pg;
	PGresult   *res;

	PQclear(stream->result);
	stream->result = NULL;

	if (stream->phase == PX_STREAM_LOST)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_CURSOR_STATE),
				 errmsg("stream from server \"%s\" is gone", stream->servername),
				 errdetail("It began in a subtransaction that was rolled back.")));
	if (stream->spool)
	{
		if (read_spool(stream, frame, nbytes))
			return PX_STREAM_OK;
		tuplestore_end(stream->spool);
		stream->spool = NULL;
	}
	if (stream->connection == NULL)
	{
		res = stream->spooled_error;
		stream->spooled_error = NULL;
		if (res)
			return fail_query(stream, res);
		finish_run(stream);
		return PX_STREAM_END;
	}

	pg = stream->connection->pg;
	wait_for_result(stream, wait);
	stream->result = res = PQgetResult(pg);
	if (is_frame(res))
	{
		if (PQnfields(res) != 1 || PQgetisnull(res, 0, 0))
			ereport(ERROR,
					(errcode(ERRCODE_PROTOCOL_VIOLATION),
					 errmsg("invalid response from server \"%s\"", stream->servername),
					 PQnfields(res) == 1 ?
					 errdetail("Expected one column with a frame, got null.") :
					 errdetail("Expected one column with a frame, got %d columns.",
							   PQnfields(res))));
		*frame = (const uint8_t *) PQgetvalue(res, 0, 0);
		*nbytes = PQgetlength(res, 0, 0);
		check_frame_nbytes(stream, *nbytes);
		stream->connection->nbytes += *nbytes;
		stream->has_frames = true;
		return PX_STREAM_OK;
	}

	if (PQresultStatus(res) == PGRES_TUPLES_OK)
	{
		if (!finish_query(stream, wait))
			px_report_remote_error(ERROR, NULL, pg, stream->servername, stream->remote_sql);
		finish_run(stream);
		return PX_STREAM_END;
	}

	/* An idle connection need not be cancelled by whoever cleans up. */
	if (res)
		(void) finish_query(stream, wait);
	stream->result = NULL;
	return fail_query(stream, res);
}

bool
px_stream_is_ready(px_stream *stream)
{
	PGconn	   *pg;

	/* Without a connection all is at hand, be it an error. */
	if (stream->connection == NULL || stream->phase == PX_STREAM_CLOSED)
		return true;
	pg = stream->connection->pg;
	return !PQisBusy(pg) || !PQconsumeInput(pg) || !PQisBusy(pg);
}

static void
show_blocked(px_stream *const *streams, int n, px_blocked blocked)
{
	for (int i = 0; i < n; i++)
		px_progress_blocked(streams[i]->progress, blocked);
}

void
px_stream_wait_any(px_stream *const *streams, int n, long timeout_ms,
				   instr_time *wait)
{
	WaitEventSet *set = px_create_wait_event_set(n + 2);
	WaitEvent	event;
	int			nevents;
	instr_time	begin;
	instr_time	end;

	AddWaitEventToSet(set, WL_EXIT_ON_PM_DEATH, PGINVALID_SOCKET, NULL, NULL);
	AddWaitEventToSet(set, WL_LATCH_SET, PGINVALID_SOCKET, MyLatch, NULL);
	for (int i = 0; i < n; i++)
		AddWaitEventToSet(set, WL_SOCKET_READABLE, PQsocket(streams[i]->connection->pg),
						  NULL, NULL);
	show_blocked(streams, n, PX_BLOCKED_SERVER);
	INSTR_TIME_SET_CURRENT(begin);
	nevents = WaitEventSetWait(set, timeout_ms, &event, 1, px_wait_event(PX_WAIT_RECEIVE));
	INSTR_TIME_SET_CURRENT(end);
	INSTR_TIME_ACCUM_DIFF(*wait, end, begin);
	for (int i = 0; i < n; i++)
		INSTR_TIME_ACCUM_DIFF(streams[i]->counters->receive_wait, end, begin);
	show_blocked(streams, n, PX_BLOCKED_QUERY);
	FreeWaitEventSet(set);

	if (nevents > 0 && (event.events & WL_LATCH_SET))
	{
		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
	}
}
