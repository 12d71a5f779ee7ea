/*-------------------------------------------------------------------------
 *
 * stream.c
 *		Streams of frames on a connection of the pool.
 *
 * A frame is the single bytea column of a single row, received in binary in
 * libpq's single-row mode: so at most one frame is held here, and one more
 * may stand in libpq's input buffer.  What is in a frame is not looked at.
 *
 * The beginning is pipelined: transaction, snapshot, preparations and the
 * query go out together; the answers to the former are flushed before the
 * query runs, so that they are there in any case.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type_d.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "conn/answer.h"
#include "conn/pool.h"
#include "conn/seal.h"
#include "conn/sqlstate.h"
#include "guc.h"
#include "transport/prepare.h"
#include "transport/query_error.h"
#include "transport/stream.h"

static void finish_run(px_stream *stream);
static void give_up_connection(px_connection_holder *holder);

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
	if (stream->phase != PX_STREAM_CLOSED && stream->phase != PX_STREAM_LOST)
		stream->counters->errors++;
	px_progress_end(stream->progress);
	stream->progress = NULL;
}

/*
 * The stream's memory is freed.  An error may be the cause, so this must not
 * talk to the remote: the pool cleans up connections without a stream.
 */
static void
forget_stream(void *arg)
{
	px_stream  *stream = arg;

	PQclear(stream->result);
	PQclear(stream->spooled_error);
	px_connection_forget_holder(&stream->holder);
	break_off(stream);
}

/* The end of a (sub)transaction takes the connection: see pool.h. */
static void
lose_connection(px_connection_holder *holder)
{
	px_stream  *stream = (px_stream *) holder;

	break_off(stream);
	px_ahead_forget(&stream->ahead);

	/* A stream that was only begun can begin again. */
	stream->phase = stream->phase == PX_STREAM_RUNNING ?
		PX_STREAM_LOST : PX_STREAM_CLOSED;
}

static const char *
stream_state(const px_connection_holder *holder)
{
	switch (((const px_stream *) holder)->phase)
	{
		case PX_STREAM_CLOSED:
			return "idle in scan";
		case PX_STREAM_BEGUN:
			return "starting";
		case PX_STREAM_CALLING:
			return "filling inboxes";
		case PX_STREAM_RUNNING:
			return "streaming";
		case PX_STREAM_LOST:
			break;
	}
	return "abandoned";
}

px_stream *
px_stream_new(void)
{
	px_stream  *stream = palloc0(sizeof(px_stream));

	stream->holder.lose = lose_connection;
	stream->holder.give_up = give_up_connection;
	stream->holder.state = stream_state;
	stream->context = CurrentMemoryContext;
	stream->resowner = CurrentResourceOwner;
	stream->forget.func = forget_stream;
	stream->forget.arg = stream;
	MemoryContextRegisterResetCallback(CurrentMemoryContext, &stream->forget);
	return stream;
}

void
px_stream_close(px_stream *stream)
{
	if (stream->holder.connection)
	{
		if (stream->phase == PX_STREAM_CLOSED)
			px_ahead_release(&stream->ahead, stream->holder.connection);
		else
			px_connection_abandon(stream->holder.connection);
	}
	px_ahead_forget(&stream->ahead);
	finish_run(stream);
}

/* Wait for the remote as long as it takes, and add the time to *wait. */
static void
wait_for_result(px_stream *stream, instr_time *wait)
{
	PGconn	   *pg = stream->holder.connection->pg;
	instr_time	begin;
	instr_time	end;

	if (!PQisBusy(pg))
	{
		CHECK_FOR_INTERRUPTS();
		return;
	}

	INSTR_TIME_SET_CURRENT(begin);
	px_progress_blocked(stream->progress, PX_BLOCKED_SERVER);
	PG_TRY();
	{
		(void) px_wait_for_result(pg, DT_NOEND);
	}
	PG_FINALLY();
	{
		/* Count a wait that is cancelled, too. */
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
 * The remote has sent what was not asked for, or nothing where an answer is
 * due.  The connection is not to be used again, not even for a ROLLBACK: after
 * a COPY, libpq would return results for ever.
 */
pg_noreturn static void
fail_protocol(px_stream *stream, const char *expected, const char *got)
{
	if (stream->holder.connection)
		px_connection_discard(stream->holder.connection);
	ereport(ERROR,
			(errcode(ERRCODE_PROTOCOL_VIOLATION),
			 errmsg("invalid response from server \"%s\"",
					stream->holder.servername),
			 errdetail("Expected %s, got %s.", expected, got)));
}

/* Raise a remote error, res, which this frees; the connection's with NULL. */
pg_noreturn static void
raise_error(px_stream *stream, PGresult *res)
{
	px_connection *connection = stream->holder.connection;

	px_report_remote_error(ERROR, res, connection ? connection->pg : NULL,
						   stream->holder.servername, stream->remote_sql);
	pg_unreachable();
}

/*
 * Read what follows the query's last result, and leave pipeline mode.  After
 * the query of a stream that was held, this is the answer to another command.
 */
static px_rest
finish_query(px_stream *stream, instr_time *wait)
{
	px_rest_limit limit = stream->restores ? PX_REST_OF_COMMAND :
		PX_REST_OF_QUERY;
	px_rest		rest = PX_REST_MORE;

	while (rest == PX_REST_MORE)
	{
		wait_for_result(stream, wait);
		rest = px_take_rest(stream->holder.connection->pg, &limit);
	}
	return rest;
}

/* ---------------------------------------------------------------------
 * Spooling
 * --------------------------------------------------------------------- */

/*
 * Is the row a frame: one bytea in binary, and not too large?  libpq holds the
 * row already, but nothing was allocated for its contents yet.
 */
static void
check_frame(px_stream *stream, const PGresult *res)
{
	size_t		nbytes = PQgetlength(res, 0, 0);

	if (PQnfields(res) != 1)
		fail_protocol(stream, "one column with a frame",
					  psprintf("%d columns", PQnfields(res)));
	if (PQftype(res, 0) != BYTEAOID || PQfformat(res, 0) != PX_FRAME_FORMAT)
		fail_protocol(stream, "a frame as bytea in binary",
					  psprintf("type %u in format %d", PQftype(res, 0),
							   PQfformat(res, 0)));
	if (PQgetisnull(res, 0, 0))
		fail_protocol(stream, "one column with a frame", "null");
	if (nbytes > (size_t) px_max_frame_bytes)
		ereport(ERROR,
				(errcode(ERRCODE_PROTOCOL_VIOLATION),
				 errmsg("invalid response from server \"%s\"",
						stream->holder.servername),
				 errdetail("Expected a frame of at most %d bytes, got %zu.",
						   px_max_frame_bytes, nbytes),
				 errhint("A row of that size takes a higher \"pg_exchange.max_frame_bytes\".")));
}

static void
spool_frame(px_stream *stream, const PGresult *res)
{
	size_t		nbytes = PQgetlength(res, 0, 0);

	check_frame(stream, res);
	stream->holder.connection->nbytes += nbytes;
	px_spool_put(stream->spool, PQgetvalue(res, 0, 0), nbytes);
}

/*
 * Read all frames that are still to come, and give up the connection.  An
 * error of the remote is raised by px_stream_next, after the frames before it.
 */
static void
spool_rest(px_stream *stream)
{
	PGconn	   *pg = stream->holder.connection->pg;
	instr_time	wait;

	INSTR_TIME_SET_ZERO(wait);
	if (stream->progress)
		stream->progress->remote_pid = 0;

	/* There is a spool if an error has interrupted us the last time. */
	if (stream->spool == NULL)
		stream->spool = px_spool_new(stream->context, stream->resowner);
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
		(stream->ahead.next ||
		 finish_query(stream, &wait) == PX_REST_DONE))
	{
		PQclear(stream->spooled_error);
		stream->spooled_error = NULL;
		px_ahead_release(&stream->ahead, stream->holder.connection);
	}
	else
		px_connection_abandon(stream->holder.connection);
	px_ahead_forget(&stream->ahead);
}

/*
 * A copy of a frame, at an address where the decoder can read integers.  libpq
 * aligns values only as much as the machine's integers need.
 */
static const uint8_t *
copy_frame(px_stream *stream, const void *frame, size_t nbytes)
{
	if (stream->aligned_frame)
		pfree(stream->aligned_frame);
	stream->aligned_frame = NULL;

	/* The size of an aligned address, wherever palloc puts it. */
	stream->aligned_frame = MemoryContextAllocHuge(stream->context,
												   nbytes + sizeof(int64));
	return memcpy((void *) TYPEALIGN(sizeof(int64), stream->aligned_frame),
				  frame, nbytes);
}

/* The next frame of the spool; false at its end. */
static bool
read_spool(px_stream *stream, const uint8_t **frame, size_t *nbytes)
{
	const void *spooled = px_spool_next(stream->spool, nbytes);

	if (spooled == NULL)
		return false;
	*frame = copy_frame(stream, spooled, *nbytes);
	stream->has_frames = true;
	return true;
}

/*
 * Make a stream do without its connection.  One that was only begun will have
 * to begin again.
 */
static void
give_up_connection(px_connection_holder *holder)
{
	px_stream  *stream = (px_stream *) holder;

	switch (stream->phase)
	{
		case PX_STREAM_CLOSED:
			px_ahead_release(&stream->ahead, stream->holder.connection);
			break;
		case PX_STREAM_BEGUN:
		case PX_STREAM_CALLING:
			px_connection_abandon(stream->holder.connection);
			px_ahead_forget(&stream->ahead);
			stream->phase = PX_STREAM_CLOSED;
			break;
		case PX_STREAM_RUNNING:
			spool_rest(stream);
			break;
		case PX_STREAM_LOST:
			break;
	}
}

bool
px_stream_pass_on(px_stream *stream, px_stream *to)
{
	Assert(stream->phase == PX_STREAM_CLOSED &&
		   to->phase == PX_STREAM_CLOSED && to->holder.connection == NULL);
	to->goes_on = px_ahead_is_next(&stream->ahead, &to->ahead) &&
		px_connection_pass_on(stream->holder.connection, &to->holder,
							  to->ahead.sent);
	if (to->goes_on)
		stream->ahead.next = NULL;
	return to->goes_on;
}

px_outcome
px_stream_connect(px_stream *stream, px_peer *peer, UserMapping *user)
{
	/* The end of a subtransaction may have taken it meanwhile. */
	if (stream->goes_on && stream->holder.connection)
		return px_ok();
	stream->goes_on = false;
	px_ahead_forget(&stream->ahead);
	return px_connection_acquire(peer, user, &stream->holder);
}

void
px_stream_spool(px_stream *stream)
{
	if (stream->phase == PX_STREAM_RUNNING && stream->holder.connection)
		spool_rest(stream);
}

/* ---------------------------------------------------------------------
 * Beginning
 * --------------------------------------------------------------------- */

/* The stream cannot begin: give its connection back. */
static px_outcome
leave_beginning(px_stream *stream, px_outcome outcome)
{
	if (outcome.kind == PX_OUTCOME_FAILED)
		px_connection_discard(stream->holder.connection);
	else
		px_connection_abandon(stream->holder.connection);
	finish_run(stream);
	return outcome;
}

static px_preparation
preparation_of(const px_stream *stream)
{
	if (stream->goes_on)
		return PX_PREPARE_NEXT;
	return stream->held ? PX_PREPARE_HELD : PX_PREPARE_FIRST;
}

/* It cannot because of the answer to one of the statements that begin it. */
static px_outcome
fail_beginning(px_stream *stream, const char *text, px_answer answer)
{
	px_connection *connection = stream->holder.connection;
	const char *reason = psprintf("%s: %s", text,
								  px_answer_text(connection->pg, answer,
												 stream->result));

	if (answer == PX_ANSWER_SILENT)
		px_peer_avoid(connection->peer);
	return leave_beginning(stream, answer == PX_ANSWER_ERROR ?
						   px_refused(reason) : px_failed(reason));
}

/* The answer to the next of these statements, into stream->result. */
static px_answer
take_answer(px_stream *stream, bool has_row, TimestampTz deadline)
{
	PQclear(stream->result);
	stream->result = NULL;
	return px_take_answer(stream->holder.connection->pg, has_row, deadline,
						  &stream->result);
}

void
px_stream_begin(px_stream *stream)
{
	PGconn	   *pg = stream->holder.connection->pg;

	/*
	 * Parameter types are in the query's text: "$1::type", as postgres_fdw
	 * does.  If something fails here, so does reading the answers.
	 */
	stream->has_frames = stream->restores = false;
	stream->phase = PX_STREAM_BEGUN;
	stream->begin_deadline = px_setup_deadline();
	if (px_ahead_was_sent(&stream->ahead))
		return;
	(void) (PQenterPipelineMode(pg) &&
			px_prepare_send(pg, preparation_of(stream),
							stream->holder.connection->peer,
							stream->holder.connection->stamp) &&
			(stream->held ||
			 (PQsendFlushRequest(pg) &&
			  PQsendQueryParams(pg, stream->sql, stream->nparams, NULL,
								stream->values, NULL, NULL,
								PX_FRAME_FORMAT))) &&
			px_ahead_send(&stream->ahead, pg) &&
			PQpipelineSync(pg) &&
			PQsetSingleRowMode(pg));
}

/* The transaction of a stream that is held is there. */
static px_outcome
confirm_held(px_stream *stream, TimestampTz deadline)
{
	if (!px_come_to_rest(stream->holder.connection->pg, PX_REST_OF_QUERY,
						 deadline))
		return fail_beginning(stream, "transaction cannot be prepared",
							  PX_ANSWER_BROKEN);
	strlcpy(stream->idle_timeout,
			PQgetvalue(stream->result, 0, PX_PREPARE_IDLE_TIMEOUT),
			PX_IDLE_TIMEOUT_NBYTES);
	PQclear(stream->result);
	stream->result = NULL;
	stream->phase = PX_STREAM_CLOSED;
	return px_ok();
}

px_outcome
px_stream_confirm(px_stream *stream)
{
	TimestampTz deadline = px_setup_deadline();
	int			ncolumns = px_prepare_columns(preparation_of(stream));
	px_answer	answer;

	if (!stream->goes_on)
	{
		answer = take_answer(stream, false, deadline);
		if (answer != PX_ANSWER_OK)
			return fail_beginning(stream, "transaction cannot be started",
								  answer);
		answer = take_answer(stream, false, deadline);
		if (answer != PX_ANSWER_OK)
			return fail_beginning(stream, "snapshot cannot be imported",
								  answer);
	}
	answer = take_answer(stream, ncolumns > 0, deadline);
	if (answer == PX_ANSWER_ERROR &&
		px_result_sqlstate(stream->result) == ERRCODE_DIVISION_BY_ZERO)
	{
		/* A new connection finds out what has become of the extension. */
		px_seal_break(stream->holder.connection->peer);
		return leave_beginning(stream,
							   px_failed(PX_REMOTE_HAS_CHANGED));
	}
	if (answer == PX_ANSWER_OK && PQnfields(stream->result) != ncolumns)
		answer = PX_ANSWER_UNEXPECTED;
	if (answer != PX_ANSWER_OK)
		return fail_beginning(stream, "transaction cannot be prepared",
							  answer);
	if (ncolumns > 0)
		px_stamp_keep(stream->holder.connection->stamp,
					  PQgetvalue(stream->result, 0, PX_PREPARE_STAMP));

	if (stream->held)
		return confirm_held(stream, deadline);
	if (!PQsetSingleRowMode(stream->holder.connection->pg))
		return fail_beginning(stream, "query cannot be sent",
							  PX_ANSWER_BROKEN);
	stream->goes_on = false;
	stream->phase = PX_STREAM_RUNNING;
	px_progress_blocked(stream->progress, PX_BLOCKED_QUERY);
	return px_ok();
}

void
px_stream_call(px_stream *stream, const char *sql, const char *param,
			   size_t nbytes)
{
	PGconn	   *pg = stream->holder.connection->pg;
	int			length = (int) nbytes;
	int			format = PX_FRAME_FORMAT;
	bool		sent;

	stream->phase = PX_STREAM_CALLING;
	if (param)
		sent = PQsendQueryParams(pg, sql, 1, NULL, &param, &length, &format,
								 PX_FRAME_FORMAT);
	else
		sent = PQsendQueryParams(pg, sql, stream->nparams, NULL,
								 stream->values, NULL, NULL, PX_FRAME_FORMAT);

	/* If something fails here, so does reading the answer. */
	(void) (sent && PQsetSingleRowMode(pg));
}

/* The text in a row; NULL if it is none. */
static char *
copy_text(const PGresult *row)
{
	if (PQnfields(row) != 1 || PQgetisnull(row, 0, 0))
		return NULL;
	return pnstrdup(PQgetvalue(row, 0, 0), PQgetlength(row, 0, 0));
}

const char *
px_stream_call_text(px_stream *stream, instr_time *wait, char **text)
{
	PGconn	   *pg = stream->holder.connection->pg;
	PGresult   *res;
	const char *reason = NULL;

	if (text)
		*text = NULL;
	do
	{
		wait_for_result(stream, wait);
		PQclear(stream->result);
		stream->result = res = PQgetResult(pg);
		if (text && is_frame(res))
			*text = copy_text(res);
	} while (is_frame(res));
	if (res == NULL)
		reason = px_answer_text(pg, PX_ANSWER_BROKEN, NULL);
	else if (PQresultStatus(res) == PGRES_FATAL_ERROR)
		reason = px_answer_text(pg, PX_ANSWER_ERROR, res);
	else if (PQresultStatus(res) != PGRES_TUPLES_OK ||
			 finish_query(stream, wait) != PX_REST_DONE)
		reason = px_answer_text(pg, PX_ANSWER_UNEXPECTED, res);
	PQclear(stream->result);
	stream->result = NULL;
	if (reason == NULL)
		stream->phase = PX_STREAM_CLOSED;
	return reason;
}

const char *
px_stream_call_end(px_stream *stream, instr_time *wait)
{
	return px_stream_call_text(stream, wait, NULL);
}

/*
 * After the query, the session may be idle as long as it might before it was
 * held.  This goes with the query, because we may not be there later.
 */
static bool
send_query_and_restore(px_stream *stream)
{
	PGconn	   *pg = stream->holder.connection->pg;

	return PQenterPipelineMode(pg) &&
		PQsendQueryParams(pg, stream->sql, stream->nparams, NULL,
						  stream->values, NULL, NULL, PX_FRAME_FORMAT) &&
		px_prepare_send_restore(pg, stream->idle_timeout) &&
		PQpipelineSync(pg);
}

void
px_stream_go_on(px_stream *stream)
{
	PGconn	   *pg = stream->holder.connection->pg;
	bool		sent;

	stream->has_frames = false;
	stream->restores = stream->held;
	stream->held = false;
	stream->phase = PX_STREAM_RUNNING;
	if (stream->restores)
		sent = send_query_and_restore(stream);
	else
		sent = PQsendQueryParams(pg, stream->sql, stream->nparams, NULL,
								 stream->values, NULL, NULL, PX_FRAME_FORMAT);
	if (!sent || !PQsetSingleRowMode(pg))
		raise_error(stream, NULL);
}

/* ---------------------------------------------------------------------
 * Reading
 * --------------------------------------------------------------------- */

/* Forget the run: its frames, and the memory that they took. */
static void
finish_run(px_stream *stream)
{
	PQclear(stream->result);
	PQclear(stream->spooled_error);
	stream->result = stream->spooled_error = NULL;
	px_spool_free(stream->spool);
	stream->spool = NULL;
	stream->phase = PX_STREAM_CLOSED;
	stream->goes_on = false;
	px_progress_end(stream->progress);
	stream->progress = NULL;
}

/* Keep the remote's words, and free the error. */
static px_stream_status
keep_words(px_stream *stream, PGresult *res, px_stream_status status)
{
	/* The error has a message: so the connection is not needed. */
	char	   *text = px_answer_text(NULL, PX_ANSWER_ERROR, res);
	int			nbytes = pg_mbcliplen(text, strlen(text),
									  PX_DECLINED_NBYTES - 1);

	strlcpy(stream->declined, text, nbytes + 1);
	PQclear(res);
	return status;
}

/*
 * The query has ended with an error, res, which this frees, or the connection
 * broke (NULL).  Raise that, unless the query can still be read in another
 * way.
 */
static px_stream_status
fail_query(px_stream *stream, PGresult *res)
{
	if (res && stream->may_fail && px_error_is_limit(res))
		return keep_words(stream, res, PX_STREAM_LIMITED);

	/* After the first frame, rows may have been returned already. */
	if (res == NULL || stream->has_frames)
		raise_error(stream, res);
	if (px_result_sqlstate(res) == PX_ERRCODE_DECLINED)
		return keep_words(stream, res, PX_STREAM_DECLINED);
	if (px_result_sqlstate(res) == ERRCODE_LOCK_NOT_AVAILABLE)
	{
		PQclear(res);
		return PX_STREAM_LOCKED;
	}
	if (!px_error_is_missing_marker(res))
		raise_error(stream, res);
	PQclear(res);
	return PX_STREAM_NOT_PLANNED;
}

/* There is no connection any more, and no frame in the spool. */
static px_stream_status
end_spooled(px_stream *stream)
{
	PGresult   *error = stream->spooled_error;

	stream->spooled_error = NULL;
	if (error)
		return fail_query(stream, error);
	finish_run(stream);
	return PX_STREAM_END;
}

/* The frame that has arrived, in stream->result. */
static const uint8_t *
take_frame(px_stream *stream, size_t *nbytes)
{
	const uint8_t *frame;

	check_frame(stream, stream->result);
	frame = (const uint8_t *) PQgetvalue(stream->result, 0, 0);
	*nbytes = PQgetlength(stream->result, 0, 0);
	if (!PointerIsAligned(frame, int64))
		frame = copy_frame(stream, frame, *nbytes);
	stream->holder.connection->nbytes += *nbytes;
	stream->has_frames = true;
	return frame;
}

/* The query has ended, as stream->result says. */
static px_stream_status
end_query(px_stream *stream, instr_time *wait)
{
	PGconn	   *pg = stream->holder.connection->pg;
	PGresult   *res = stream->result;

	if (PQresultStatus(res) == PGRES_TUPLES_OK)
	{
		px_rest		rest = stream->ahead.next ? px_ahead_finish_query(pg) :
			finish_query(stream, wait);

		if (rest != PX_REST_DONE)
		{
			if (rest == PX_REST_FAILED && PQstatus(pg) == CONNECTION_OK)
				fail_protocol(stream, "the end of the query",
							  "another result");
			raise_error(stream, NULL);
		}
		finish_run(stream);
		return PX_STREAM_END;
	}
	if (res && PQresultStatus(res) != PGRES_FATAL_ERROR)
		fail_protocol(stream, "frames", PQresStatus(PQresultStatus(res)));

	/* Once it is idle, nobody has to cancel what runs on the connection. */
	if (res)
		(void) finish_query(stream, wait);
	stream->result = NULL;
	return fail_query(stream, res);
}

px_stream_status
px_stream_next(px_stream *stream, const uint8_t **frame, size_t *nbytes,
			   instr_time *wait)
{
	PQclear(stream->result);
	stream->result = NULL;

	if (stream->phase == PX_STREAM_LOST)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_CURSOR_STATE),
				 errmsg("stream from server \"%s\" is gone",
						stream->holder.servername),
				 errdetail("It began in a subtransaction that was rolled back.")));
	if (stream->spool)
	{
		if (read_spool(stream, frame, nbytes))
			return PX_STREAM_OK;
		px_spool_free(stream->spool);
		stream->spool = NULL;
	}
	if (stream->holder.connection == NULL)
		return end_spooled(stream);

	wait_for_result(stream, wait);
	stream->result = PQgetResult(stream->holder.connection->pg);
	if (!is_frame(stream->result))
		return end_query(stream, wait);
	*frame = take_frame(stream, nbytes);
	return PX_STREAM_OK;
}

bool
px_stream_is_ready(px_stream *stream)
{
	PGconn	   *pg;

	/* Without a connection, all there is to read was spooled. */
	if (stream->holder.connection == NULL || stream->phase == PX_STREAM_CLOSED)
		return true;
	pg = stream->holder.connection->pg;

	/* This sends what is still to be sent, too. */
	return !PQisBusy(pg) || !px_consume_input(pg) || !PQisBusy(pg) ||
		px_stream_patience_ms(stream) == 0;
}

long
px_stream_patience_ms(const px_stream *stream)
{
	if (stream->phase != PX_STREAM_BEGUN)
		return -1;
	return TimestampDifferenceMilliseconds(GetCurrentTimestamp(),
										   stream->begin_deadline);
}
