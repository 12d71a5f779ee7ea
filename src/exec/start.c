/*-------------------------------------------------------------------------
 *
 * start.c
 *		How an ExchangeReceive starts: by a stream, by postgres_fdw's session,
 *		or with its child.
 *
 * A stream is the fastest, and another session than the one that postgres_fdw
 * has on the server.  So there is one only if nobody can tell: if nothing that
 * is known here speaks against it, and postgres_fdw's session, asked about the
 * query, knows nothing either.  In all other cases frames come by that session
 * itself; and rows as text, by the child, only where the remote cannot make
 * frames.
 *
 * Whatever goes wrong with a stream before its first row is a reason to take
 * the session.  Once rows were returned there is no way back, and errors are
 * errors.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/parallel.h"
#include "access/xact.h"
#include "executor/executor.h"
#include "foreign/foreign.h"
#include "miscadmin.h"
#include "optimizer/optimizer.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "conn/answer.h"
#include "conn/remote_text.h"
#include "exec/parallel.h"
#include "exec/read_slices.h"
#include "exec/request.h"
#include "exec/run.h"
#include "exec/scan_tuple.h"
#include "exec/start.h"
#include "transport/question.h"
#include "transport/session.h"
#include "tuple/decode.h"

/*
 * How long the answer to a question may take once a stream was begun.  The
 * stream may have a lock that a third session waits for, and the question
 * waits for that one in turn, which nobody but us would ever notice.
 */
#define ANSWER_TIMEOUT_MS	1000

px_peer *
px_receive_peer(const px_receive_state *state)
{
	return px_peer_get(state->user);
}

/* A reason that lives as long as the query.  Parts of it may be a remote's words. */
static const char *
keep(const px_receive_state *state, const char *reason)
{
	return MemoryContextStrdup(state->css.ss.ps.state->es_query_cxt, px_remote_text(reason));
}

/* ---------------------------------------------------------------------
 * The child
 * --------------------------------------------------------------------- */

/* Let the child run in our place, from now on and for good. */
static void
start_child(px_receive_state *state, const char *reason)
{
	EState	   *estate = state->css.ss.ps.state;
	MemoryContext oldcontext;

	/* It would read what others have read. */
	if (state->shared && state->shared->participants > 1)
		ereport(ERROR,
				(errcode(ERRCODE_FDW_UNABLE_TO_CREATE_EXECUTION),
				 errmsg("could not go on with a parallel scan on server \"%s\"",
						state->servername),
				 errdetail_internal("%s", reason)));

	if (px_connection_in_use(state->foreign->fs_server))
		px_streams_settle(state->foreign->fs_server);
	ereport(DEBUG1,
			(errmsg_internal("scan on server \"%s\" is left to postgres_fdw: %s",
							 state->servername, reason)));
	state->fallback_reason = keep(state, reason);
	state->phase = PX_RECEIVE_CHILD;
	px_slices_accept(state->slices, state->readers[0]->slice);
	state->reader->stream->counters->fallbacks[state->fallback]++;

	/* EXPLAIN shows it, too. */
	oldcontext = MemoryContextSwitchTo(estate->es_query_cxt);
	state->css.custom_ps = list_make1(state->child);
	MemoryContextSwitchTo(oldcontext);
}

/* ---------------------------------------------------------------------
 * Streams
 * --------------------------------------------------------------------- */

/* What the locality of the connection means under the settings. */
static void
note_locality(px_receive_state *state, px_stream_reader *reader, px_locality locality)
{
	state->mode = px_mode_for_server(state->servername);
	state->locality = locality;
	state->local = (locality == PX_SAME_INSTANCE && px_local_scope_setting >= PX_SCOPE_INSTANCE) ||
		(locality == PX_SAME_HOST && px_local_scope_setting >= PX_SCOPE_HOST);
	reader->same_host = locality != PX_REMOTE;
}

px_stream_reader *
px_start_add_reader(px_receive_state *state)
{
	EState	   *estate = state->css.ss.ps.state;
	MemoryContext oldcontext = MemoryContextSwitchTo(estate->es_query_cxt);
	TupleDesc	tupdesc = px_scan_tuple_desc(state->foreign, estate,
											 state->css.ss.ss_ScanTupleSlot);
	px_stream  *stream = px_stream_new();
	px_decoder *decoder;

	stream->holder.servername = state->servername;
	stream->remote_sql = state->remote_sql;
	stream->counters = px_counters_get(state->foreign->fs_server, state->userid,
									   state->servername);
	decoder = px_decoder_new(state->servername, tupdesc,
							 lsecond(state->foreign->fdw_private),
							 px_scan_tuple_contexts(state->foreign, estate,
													tupdesc->natts),
							 intVal(lthird(state->foreign->fdw_private)));
	if (state->readers == NULL)
	{
		state->readers = palloc(state->nslices_max * sizeof(px_stream_reader *));
		state->stream_context = AllocSetContextCreate(estate->es_query_cxt,
													  "pg_exchange stream",
													  ALLOCSET_SMALL_SIZES);
	}
	state->readers[state->nreaders] = px_stream_reader_new(stream, decoder, &state->stats);
	state->readers[state->nreaders]->keeps_first = state->nreaders == 0 && !state->params_change;
	MemoryContextSwitchTo(oldcontext);
	return state->readers[state->nreaders++];
}

/* Show reader's frames, which are about to be sent, among the running streams. */
static void
show_stream(px_receive_state *state, px_stream_reader *reader, int remote_pid)
{
	px_stream  *stream = reader->stream;
	px_progress *progress;

	px_progress_end(stream->progress);
	stream->progress = progress = px_progress_begin();
	if (progress == NULL)
		return;
	progress->userid = GetSessionUserId();
	progress->serverid = state->foreign->fs_server;
	progress->remote_pid = remote_pid;
	progress->slice = reader->slice;
	progress->estimated_rows = state->foreign->scan.plan.plan_rows /
		Max(state->slices->slice.slices, 1);
	px_progress_show(progress, state->servername, state->remote_sql);
}

bool
px_start_connect(px_receive_state *state, px_stream_reader *reader, const char **reason)
{
	px_stream  *stream = reader->stream;
	px_peer    *peer = px_receive_peer(state);

	if (!px_stream_connect(stream, peer, state->user, reason))
		return false;
	if (IsParallelWorker())
		px_parallel_join_peer(state, peer);
	note_locality(state, reader, stream->holder.connection->locality);
	reader->version = stream->holder.connection->version;
	reader->peer_version = stream->holder.connection->hello.server_version;
	return true;
}

/* Send the query of the stream, which has a connection. */
static void
send_query(px_receive_state *state, px_stream_reader *reader)
{
	px_request_for_stream(state, reader);
	show_stream(state, reader, PQbackendPID(reader->stream->holder.connection->pg));
	px_stream_begin(reader->stream);
}

bool
px_start_stream(px_receive_state *state, px_stream_reader *reader, const char **reason)
{
	if (!px_start_connect(state, reader, reason))
		return false;
	send_query(state, reader);
	return true;
}

void
px_start_next_query(px_receive_state *state, px_stream_reader *reader)
{
	px_request_for_stream(state, reader);
	show_stream(state, reader, PQbackendPID(reader->stream->holder.connection->pg));
	px_stream_go_on(reader->stream);
	px_start_accept(state, reader);
}

void
px_start_accept(px_receive_state *state, px_stream_reader *reader)
{
	px_stream_reader_reset(reader);
	reader->slices = state->slices;
	reader->active = true;
	state->stats.streams++;
}

/* The node's way is that of its first reader. */
static void
accept_first(px_receive_state *state)
{
	TupleTableSlot *slot = state->css.ss.ss_ScanTupleSlot;

	/* In a parallel plan the leader has counted it. */
	state->readers[0]->begins_scan = state->shared == NULL || state->shared->participants <= 1;

	/* Columns that are not retrieved are null in all rows. */
	memset(slot->tts_isnull, true, slot->tts_tupleDescriptor->natts * sizeof(bool));
	state->phase = PX_RECEIVE_FRAMES;
	state->idle_ms = px_receive_peer(state)->admission.idle_ms;
}

/* ---------------------------------------------------------------------
 * The session of postgres_fdw
 * --------------------------------------------------------------------- */

/*
 * Ask about the query, or about the peer alone, and wait for the answer.
 * Returns NULL, or why the peer cannot be used at all.  The snapshot is wanted
 * in any case: in a subtransaction that may begin it could not be had.
 */
static const char *
ask_and_wait(px_receive_state *state, px_peer *peer, const char *query)
{
	px_fdw_cursor_rescan(state->question);
	px_question_ask(state->question, peer, query,
					px_transport_setting != PX_TRANSPORT_SESSION);
	state->contact_at = GetCurrentTimestamp();
	return px_question_answer(state->question, peer, state->servername, -1, NULL);
}

/* Why a peer cannot be used is what counts in statistics. */
static void
note_refusal(px_receive_state *state, const px_peer *peer)
{
	state->fallback = peer->lacks_extension ? PX_FALLBACK_NO_EXTENSION : PX_FALLBACK_INCOMPATIBLE;
}

/*
 * What runs in the session may want locks that conflict with those of a stream
 * from there, which must not have to wait for us.  Ask about the query, if that
 * was not done.
 */
static bool
may_be_in_the_way(px_receive_state *state, px_peer *peer)
{
	if (!px_connection_in_use(state->foreign->fs_server) || state->judged)
		return false;
	if (!state->verdict_known)
	{
		if (ask_and_wait(state, peer, state->remote_sql) != NULL)
			return true;
		state->verdict_known = true;
	}
	return peer->admission.against[0] != '\0';
}

/*
 * Larger batches than postgres_fdw's are evaluated before anybody knows whether
 * all of their rows are wanted.  That must not matter: not where rows get
 * locked; nor where the rows before one that cannot be computed may be all that
 * is wanted.  (Where functions may have effects, the sender sees to it.)
 */
static bool
wants_exact_portions(const px_receive_state *state)
{
	if (state->locks_rows)
		return true;
	if (state->fetch_size > PX_FRAME_ROWS_MAX)
		return false;
	return state->few_rows || !px_run_is_complete(state->css.ss.ps.state);
}

const char *
px_start_session(px_receive_state *state, px_stream_reader *reader, const char *reason)
{
	px_peer    *peer = px_receive_peer(state);
	const char *refusal = peer->refusal;
	char	   *sql;

	if (refusal == NULL && !peer->admitted)
		refusal = ask_and_wait(state, peer, NULL);
	if (refusal)
	{
		note_refusal(state, peer);
		return refusal;
	}

	if (may_be_in_the_way(state, peer))
		px_streams_settle(state->foreign->fs_server);
	note_locality(state, reader, peer->session_locality);
	reader->version = peer->session_version;
	reader->peer_version = peer->admission.hello.server_version;

	/* The first and only reader need not be content with a slice. */
	if (!state->slices->announced && (state->shared == NULL || state->shared->participants <= 1))
	{
		px_slices_init(state->slices, 1);
		reader->slice = px_slices_claim(state->slices, false);
	}
	state->exact_portions = wants_exact_portions(state);
	sql = px_request_for_session(state, reader);
	if (reader->session == NULL)
	{
		MemoryContext oldcontext = MemoryContextSwitchTo(state->css.ss.ps.state->es_query_cxt);

		reader->session = px_session_new(state->session_cursor, state->servername);
		MemoryContextSwitchTo(oldcontext);
	}
	px_session_begin(reader->session, sql, !state->exact_portions,
					 state->fetch_size <= px_batch_rows_max ? state->fetch_size :
					 px_batch_rows_max - 1);
	state->contact_at = GetCurrentTimestamp();
	pfree(sql);
	show_stream(state, reader, peer->admission.pid);

	px_stream_reader_reset(reader);
	reader->slices = state->slices;
	reader->active = reader->session_active = true;
	px_slices_accept(state->slices, reader->slice);
	if (state->session_reason == NULL)
		state->session_reason = keep(state, reason);
	state->stats.sessions++;
	reader->stream->counters->sessions++;
	return NULL;
}

/* A stream will not do: the session, or else the child. */
static void
start_session_or_child(px_receive_state *state, const char *reason)
{
	const char *refusal;

	px_stream_close(state->readers[0]->stream);
	if (IsParallelWorker() && !state->nested_in_worker)
	{
		/* Neither is here: another participant will read it. */
		px_slices_return(state->slices, state->readers[0]->slice);
		state->phase = PX_RECEIVE_FRAMES;
		state->finished = true;
		return;
	}
	state->fallback = PX_FALLBACK_DECLINED;
	if (px_transport_setting == PX_TRANSPORT_STREAM)
		refusal = reason;
	else if (state->locks_rows && state->fetch_size > PX_FRAME_ROWS_MAX)
		refusal = "fetch_size is too large";
	else
		refusal = px_start_session(state, state->readers[0], reason);
	if (refusal)
		start_child(state, refusal);
	else
		accept_first(state);
}

/*
 * While we read a stream, nothing may be said to postgres_fdw's session, and
 * while we use up a large batch of its own, not often enough: the remote may
 * take it to be idle.  It is not as long as rows are wanted: postgres_fdw would
 * fetch some now and then.
 */
long
px_start_keep_session_awake(px_receive_state *state)
{
	TimestampTz now;

	/* While it runs something for us it is not idle. */
	if (state->idle_ms == 0 || state->question == NULL ||
		(state->reader->session_active && state->exact_portions))
		return -1;
	now = GetCurrentTimestamp();
	if (TimestampDifferenceExceeds(state->contact_at, now, (int) (state->idle_ms / 2)))
	{
		px_fdw_cursor_rescan(state->question);
		px_fdw_cursor_set_sql(state->question, "SELECT NULL::pg_catalog.text");
		(void) px_fdw_cursor_fetch(state->question, -1, NULL);
		state->contact_at = now;
	}
	return Max((long) state->idle_ms / 4, 1);
}

/* ---------------------------------------------------------------------
 * Which way
 * --------------------------------------------------------------------- */

/* What speaks against a stream that is known here; NULL if nothing does. */
static const char *
reason_against_stream(const px_receive_state *state)
{
	const EState *estate = state->css.ss.ps.state;

	if (px_transport_setting == PX_TRANSPORT_SESSION)
		return "transport is session";
	if (state->nested_in_worker)
		return "function of a parallel worker";
	if (state->locks_rows)
		return "rows are locked";
	if (IsolationIsSerializable())
		return "transaction is serializable";
	if (state->params_change)
		return "parameters change";
	if (px_run_writes_foreign(estate->es_plannedstmt))
		return "query writes to foreign tables";
	if (!IsParallelWorker() && !px_run_is_complete(estate))
		return "rows are fetched in portions";
	if (state->user_code)
		return "functions may run queries meanwhile";
	if (state->few_rows)
		return "few rows are wanted";
	if (state->small)
		return "little is expected";
	return NULL;
}

/* What the session has said, as a reason; NULL if it allows a stream. */
static const char *
verdict(const px_peer *peer)
{
	if (peer->admission.against[0] != '\0')
		return px_remote_text(peer->admission.against);
	if (peer->snapshot[0] == '\0')
		return GetCurrentTransactionNestLevel() > 1 ?
			"first use of the server is in a subtransaction" : "snapshot cannot be shared";
	return NULL;
}

/*
 * Ask postgres_fdw's session about the query, and wait for the answer unless
 * wait is false.  Returns why there can be no stream, as far as that is known.
 */
static const char *
ask_about_query(px_receive_state *state, bool wait)
{
	px_peer    *peer = px_receive_peer(state);
	const char *refusal;

	state->command = GetCurrentCommandId(false);
	state->verdict_known = true;
	if (!wait)
	{
		px_fdw_cursor_rescan(state->question);
		px_question_ask(state->question, peer, state->remote_sql, true);
		state->contact_at = GetCurrentTimestamp();
		state->asked = true;
		return NULL;
	}
	refusal = ask_and_wait(state, peer, state->remote_sql);
	if (refusal == NULL)
		refusal = verdict(peer);
	state->judged = refusal == NULL;
	return refusal;
}

/*
 * Begin the first stream of the node.  Returns why there can be none; *busy is
 * set if all connections are in use.  In a transaction, the first question's
 * answer is waited for, as it has the snapshot; others travel while the stream
 * begins.
 */
static const char *
begin_stream(px_receive_state *state, bool *busy)
{
	px_stream_reader *reader = state->readers[0];
	px_peer    *peer = px_receive_peer(state);
	const char *reason = reason_against_stream(state);

	state->asked = false;
	if (reason == NULL && (!state->judged || state->command != GetCurrentCommandId(false)))
		state->judged = state->shared && state->shared->participants > 1;	/* the leader asked */
	if (reason == NULL)
		reason = peer->refusal;
	if (reason == NULL && !state->judged && peer->snapshot[0] == '\0')
		reason = ask_about_query(state, true);
	if (reason)
		return reason;

	if (!px_start_connect(state, reader, &reason))
	{
		*busy = reason == NULL;
		return *busy ? "no connection is free" : reason;
	}
	px_request_evaluate_params(state);
	if (!state->judged)
		(void) ask_about_query(state, false);
	send_query(state, reader);
	return NULL;
}

/* Take the slice that is read first; false if others have it all. */
static bool
claim_first_slice(px_receive_state *state)
{
	int			slice;

	if (state->shared == NULL)
		px_slices_init(&state->local_slices, state->nslices_max);
	slice = px_slices_claim(state->slices, false);
	if (slice >= 0)
		state->readers[0]->slice = slice;
	return slice >= 0;
}

/* Begin, unless that is not to be by the session.  False if it is not. */
static bool
begin_reading(px_receive_state *state, bool may_use_session)
{
	const char *reason = state->session_next;
	bool		busy = false;

	if (!px_enabled)
	{
		state->fallback = PX_FALLBACK_DISABLED;
		start_child(state, "pg_exchange.enabled is off");
		return true;
	}
	if (!claim_first_slice(state))
	{
		state->phase = PX_RECEIVE_FRAMES;
		state->finished = state->shared == NULL || !px_receive_take_left_slice(state);
		return true;
	}

	if (reason == NULL)
		reason = begin_stream(state, &busy);
	if (reason && !may_use_session)
	{
		px_slices_return(state->slices, state->readers[0]->slice);
		if (!busy && state->session_next == NULL)
			state->session_next = keep(state, reason);
		return false;
	}
	if (reason)
		start_session_or_child(state, reason);
	else
		state->phase = PX_RECEIVE_BEGUN;
	return true;
}

bool
px_receive_begin(px_receive_state *state, bool may_use_session)
{
	MemoryContext oldcontext;
	bool		begun;

	Assert(state->phase == PX_RECEIVE_NEW);
	state->reader = state->readers ? state->readers[0] : px_start_add_reader(state);
	state->reader->batch_rows = state->reader->next_row = 0;
	state->finished = false;
	state->spread = state->shared && state->shared->participants > 1;
	MemoryContextReset(state->stream_context);
	oldcontext = MemoryContextSwitchTo(state->stream_context);
	begun = begin_reading(state, may_use_session);
	MemoryContextSwitchTo(oldcontext);
	return begun;
}

/*
 * The answer to the question that travelled with the stream; NULL if the
 * stream may go on.
 */
static const char *
collect_answer(px_receive_state *state)
{
	px_peer    *peer = px_receive_peer(state);
	const char *reason;
	bool		timed_out;

	if (!state->asked)
		return NULL;
	state->asked = false;
	reason = px_question_answer(state->question, peer, state->servername,
								ANSWER_TIMEOUT_MS, &timed_out);
	if (timed_out)
	{
		px_stream_close(state->readers[0]->stream);
		reason = px_question_answer(state->question, peer, state->servername, -1, NULL);
		return reason ? reason : "a lock was waited for";
	}
	if (reason == NULL)
		reason = verdict(peer);
	state->judged = reason == NULL;
	return reason;
}

/* Wait until it is clear what becomes of the stream that was begun. */
static void
confirm_stream(px_receive_state *state)
{
	px_stream  *stream = state->readers[0]->stream;
	const char *reason = collect_answer(state);
	bool		reused;

	if (reason)
	{
		start_session_or_child(state, reason);
		return;
	}
	reused = stream->holder.connection->reused;
	switch (px_stream_confirm(stream, &reason))
	{
		case PX_STREAM_OK:
			px_start_accept(state, state->readers[0]);
			accept_first(state);
			break;
		case PX_STREAM_BROKEN:
			/* A kept connection may have died since its last use. */
			if (reused)
			{
				px_receive_begin_anew(state);
				break;
			}
			pg_fallthrough;
		default:
			start_session_or_child(state, reason);
			break;
	}
}

void
px_receive_begin_anew(px_receive_state *state)
{
	px_slices_return(state->slices, state->readers[0]->slice);
	state->phase = PX_RECEIVE_NEW;
}

void
px_receive_confirm(px_receive_state *state)
{
	while (state->phase == PX_RECEIVE_NEW || state->phase == PX_RECEIVE_BEGUN)
	{
		MemoryContext oldcontext;

		/* The end of a subtransaction may have taken the connection. */
		if (state->phase == PX_RECEIVE_BEGUN &&
			state->readers[0]->stream->phase == PX_STREAM_CLOSED)
			px_receive_begin_anew(state);
		if (state->phase == PX_RECEIVE_NEW)
		{
			(void) px_receive_begin(state, true);
			continue;
		}
		oldcontext = MemoryContextSwitchTo(state->stream_context);
		confirm_stream(state);
		MemoryContextSwitchTo(oldcontext);
	}
}

bool
px_receive_ask_for_workers(px_receive_state *state)
{
	state->reader = state->readers ? state->readers[0] : px_start_add_reader(state);
	return px_enabled && parallel_leader_participation &&
		reason_against_stream(state) == NULL && px_receive_peer(state)->refusal == NULL &&
		ask_about_query(state, true) == NULL;
}

void
px_receive_declined(px_receive_state *state, px_stream_reader *reader,
					px_stream_status status)
{
	px_stream  *stream = reader->stream;
	const char *reason = "remote backend has not loaded pg_exchange";

	if (status == PX_STREAM_DECLINED)
		reason = pstrdup(stream->declined);
	else if (status == PX_STREAM_LOCKED)
		reason = "a lock was waited for";
	else if (stream->holder.connection)
	{
		/* Not to be used again: its next backend may be as ignorant. */
		stream->holder.connection->invalidated = true;
	}
	px_stream_close(stream);
	reader->active = false;
	state->stats.streams--;		/* nothing has come by it */

	if (state->spread || reader != state->readers[0])
		px_slices_return(state->slices, reader->slice);
	else if (status == PX_STREAM_NOT_PLANNED && !reader->retried)
	{
		reader->retried = true;
		px_receive_begin_anew(state);
	}
	else
		start_session_or_child(state, reason);
}
