/*-------------------------------------------------------------------------
 *
 * start.c
 *		Which way an ExchangeReceive reads its rows.
 *
 * A stream is the fastest way, but its session is not the one that
 * postgres_fdw has on the server.  So there is a stream only if nobody can
 * tell the difference: nothing that is known here speaks against it, and
 * postgres_fdw's session, asked about the query, knows nothing either.  In all
 * other cases frames come by that session itself.  The child, whose rows come
 * as text, runs only where the remote cannot make frames.
 *
 * Whatever goes wrong with a stream before its first row is a reason to let
 * the session read.  Once rows were returned the scan cannot begin anew, and
 * errors are raised.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/parallel.h"
#include "access/xact.h"
#include "executor/executor.h"
#include "executor/tuptable.h"
#include "optimizer/optimizer.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "conn/link.h"
#include "exec/ask_session.h"
#include "exec/ask_types.h"
#include "exec/child_keys.h"
#include "exec/open_reader.h"
#include "exec/read_slices.h"
#include "exec/request.h"
#include "exec/run.h"
#include "exec/scan_filter.h"
#include "exec/shared.h"
#include "exec/start.h"
#include "exec/writer.h"

#define LOCK_WAITED_FOR	"a lock was waited for"

/*
 * So long no other stream of the transaction is begun then: each would wait
 * until its lock_timeout, while postgres_fdw's session may have the lock.
 */
#define LOCKED_MS	1000

/* ---------------------------------------------------------------------
 * Is there to be a stream?
 * --------------------------------------------------------------------- */

static bool
is_small(const px_receive_state *state)
{
	return state->smallness == PX_IS_SMALL ||
		((state->smallness & PX_IS_SMALL_IF_NEAR) != 0 &&
		 px_peer_is_near(px_receive_peer(state)));
}

/* Does anything that is known here speak against a stream? */
static px_outcome
judge_here(const px_receive_state *state)
{
	const EState *estate = state->css.ss.ps.state;

	if (px_transport_setting == PX_TRANSPORT_SESSION)
		return px_refused("transport is session");
	if (state->nested_in_worker)
		return px_refused("function of a parallel worker");
	if (state->locks_rows)
		return px_refused("rows are locked");
	if (IsolationIsSerializable())
		return px_refused("transaction is serializable");
	if (state->params_change)
		return px_refused("parameters change");
	if (px_run_writes_foreign(estate->es_plannedstmt))
		return px_refused("query writes to foreign tables");
	if (!IsParallelWorker() && !px_run_is_complete(estate))
		return px_refused("rows are fetched in portions");
	if (state->user_code)
		return px_refused("functions may run queries meanwhile");
	if (state->few_rows)
		return px_refused("few rows are wanted");
	if (is_small(state) && !state->session_limited)
		return px_refused("little is expected");
	if (px_ask_is_cheap(state))
		return px_refused(PX_LITTLE_WORK);
	return px_ok();
}

/* ---------------------------------------------------------------------
 * Without a stream
 * --------------------------------------------------------------------- */

/* Let the child run instead, from now on and for good. */
static void
leave_to_child(px_receive_state *state, const char *reason)
{
	/* It would return all rows, and others have read some. */
	if (px_receive_has_participants(state))
		ereport(ERROR,
				(errcode(ERRCODE_FDW_UNABLE_TO_CREATE_EXECUTION),
				 errmsg("could not go on with a parallel scan on server \"%s\"",
						state->servername),
				 errdetail_internal("%s", reason)));

	if (px_connection_in_use(state->foreign->fs_server))
		px_streams_spool_all(state->foreign->fs_server);
	ereport(DEBUG1,
			(errmsg_internal("scan on server \"%s\" is left to postgres_fdw: %s",
							 state->servername, reason)));
	state->fallback_reason = px_open_keep_reason(state, reason);
	state->phase = PX_RECEIVE_CHILD;
	px_receive_peer(state)->session_reads++;
	px_slices_accept(state->slices, state->readers[0]->slice);
	(void) px_child_keys_rescan(state, NULL);
}

/* The same, and count that. */
static void
start_child(px_receive_state *state, const char *reason, px_fallback fallback)
{
	leave_to_child(state, reason);
	state->readers[0]->stream->counters->fallbacks[fallback]++;
}

/* The first reader reads: so rows come in frames. */
static void
start_frames(px_receive_state *state)
{
	TupleTableSlot *slot = state->remote_slot;

	/* If workers were to be launched, the leader has counted it. */
	state->readers[0]->begins_scan = state->shared == NULL ||
		state->shared->participants == 1;
	state->readers[0]->scan_kinds = state->scan_kinds;
	if (state->read_sql != state->remote_sql)
		state->readers[0]->scan_kinds |= PX_SCAN_BIT(PX_SCAN_FILTERED);

	/* Columns that are not retrieved are null in all rows. */
	memset(slot->tts_isnull, true,
		   slot->tts_tupleDescriptor->natts * sizeof(bool));
	state->phase = PX_RECEIVE_FRAMES;
	px_ask_note_idle_timeout(state);
}

/*
 * The remote must have the types that we declare: ask it, unless that was done
 * with another question.  If it has not, or if the question cannot be asked,
 * the child runs.
 */
static bool
check_types(px_receive_state *state)
{
	const px_peer *peer = px_receive_peer(state);
	px_outcome	outcome = px_ok();

	if (!px_ask_types_is_due(state))
		return true;
	if (peer->refusal)
		outcome = px_refused(pstrdup(peer->refusal));
	else if (!peer->admitted)
		outcome = px_is_ok(judge_here(state)) ? px_ask_query(state) :
			px_ask_peer(state);
	if (!peer->admitted)
	{
		start_child(state, outcome.reason, peer->lacks_extension ?
					PX_FALLBACK_NO_EXTENSION : PX_FALLBACK_INCOMPATIBLE);
		return false;
	}
	if (!state->types_differ && px_ask_types_is_due(state))
	{
		px_ask_types_request(state);
		(void) px_ask_types_answer(state);
	}
	if (!state->types_differ)
		return true;
	start_child(state, PX_OTHER_TYPES, PX_FALLBACK_DECLINED);
	return false;
}

/*
 * Does the scan look up a few rows for each of several values, or by an index
 * of the server, or is it to return no more of them?  Each time, an exchange
 * takes five times as much CPU time as postgres_fdw.  The planner leaves such
 * scans to it if it can tell, but not those whose rows have to be computed from
 * what it returns: partial aggregates, and other rows of a local plan.
 */
static bool
is_lookup(const px_receive_state *state)
{
	const Plan *plan = state->css.ss.ps.plan;
	bool		reads_few = state->input_rows < PX_LOOKUP_ROWS ||
		(state->partial == NULL && !state->has_local_plan);

	if (plan->plan_rows >= PX_LOOKUP_ROWS ||
		px_plan_nbytes(plan) >= px_min_bytes ||
		px_transport_setting != PX_TRANSPORT_AUTO || state->locks_rows)
		return false;
	if (state->params_change && state->smallness == PX_IS_SMALL)
		return true;
	return reads_few && (state->few_rows || is_small(state) ||
						 px_ask_is_cheap(state));
}

/*
 * There is no stream, because of reason.  Let the session read; or, where that
 * is not allowed or the peer cannot be used at all, the child.
 */
static void
start_session_or_child(px_receive_state *state, const char *reason)
{
	px_stream_reader *reader = state->readers[0];

	px_stream_close(reader->stream);
	if (state->session_limited && px_start_may_give_up(state))
		px_start_give_up(state, reason);
	else if (IsParallelWorker() && !state->nested_in_worker)
	{
		/* A worker has neither: another participant reads the slice. */
		px_slices_return(state->slices, reader->slice);
		state->phase = PX_RECEIVE_FRAMES;
		state->finished = true;
	}
	else if (is_lookup(state))
		leave_to_child(state, "few rows are expected");
	else if (!check_types(state))
		return;
	else if (px_transport_setting == PX_TRANSPORT_STREAM)
		start_child(state, reason, PX_FALLBACK_DECLINED);
	else if (state->locks_rows && state->fetch_size > PX_FRAME_ROWS_MAX)
		start_child(state, "fetch_size is too large", PX_FALLBACK_DECLINED);
	else
	{
		px_outcome	outcome = px_open_session(state, reader, reason);

		if (px_is_ok(outcome))
			start_frames(state);
		else
			start_child(state, outcome.reason,
						px_receive_peer(state)->lacks_extension ?
						PX_FALLBACK_NO_EXTENSION : PX_FALLBACK_INCOMPATIBLE);
	}
}

/* ---------------------------------------------------------------------
 * With a stream
 * --------------------------------------------------------------------- */

/* Can the query be sent before the stream is begun that reads it? */
static bool
can_send_ahead(px_receive_state *state)
{
	return px_enabled && state->phase == PX_RECEIVE_NEW &&
		state->css.ss.ps.chgParam == NULL && state->session_next == NULL &&
		state->nslices_max == 1 && state->param_exprs == NIL &&
		state->nfilters == 0 && !state->types_alone &&
		!state->asked.deferred && px_receive_takes_turns(state) &&
		!px_receive_has_participants(state) && px_is_ok(judge_here(state)) &&
		px_ask_is_known(state) && !px_ask_types_is_due(state) &&
		!px_open_first_reader(state)->stream->ahead.sent;
}

/*
 * The stream has its connection.  Have the queries sent along of the scans
 * that are to follow on it, as far as that can be.
 *
 * In mode auto, the first query tells how fast the link is.
 */
static void
send_followers_ahead(px_receive_state *state)
{
	uint64		link_rate = 1;
	uint32		idle;
	ListCell   *lc;

	if (state->followers == NIL || state->nslices_max > 1 ||
		px_receive_has_participants(state) || !px_receive_takes_turns(state))
		return;
	if (!state->local && state->mode == PX_MODE_AUTO)
		px_peer_recall_reading(px_receive_peer(state), &link_rate, &idle);
	foreach(lc, state->followers)
	{
		px_receive_state *follower = lfirst(lc);

		if (link_rate > 0 && can_send_ahead(follower))
			px_open_send_ahead(follower, state);
	}
}

/* Has a stream of this transaction waited for a lock, a moment ago? */
static bool
waits_for_lock(const px_peer *peer)
{
	return peer->locked_until != 0 &&
		peer->locked_until > GetCurrentTimestamp();
}

/*
 * Begin the first stream of the node.  PX_OUTCOME_BUSY if all connections are
 * in use; any other outcome but PX_OUTCOME_OK: there is going to be none.
 *
 * The answer to the first question of a transaction is waited for, because it
 * has the snapshot, and so is any that may say that a stream is not worth it;
 * other questions, also those about types, are answered while the stream
 * begins.
 */
static px_outcome
begin_stream(px_receive_state *state)
{
	px_stream_reader *reader = state->readers[0];
	const px_peer *peer = px_receive_peer(state);
	px_outcome	outcome = judge_here(state);
	bool		known;

	if (!px_is_ok(outcome))
		return outcome;
	known = px_ask_is_known(state) && !px_ask_types_is_due(state);
	if (peer->refusal)
		return px_refused(pstrdup(peer->refusal));
	if (waits_for_lock(peer) && !reader->stream->ahead.sent)
		return px_refused(LOCK_WAITED_FOR);
	if (!known &&
		(peer->snapshot[0] == '\0' || px_ask_whether_cheap(state)))
	{
		outcome = px_ask_query(state);
		if (!px_is_ok(outcome))
			return outcome;
		known = true;
	}

	outcome = px_open_connect(state, reader);
	if (!px_is_ok(outcome))
		return outcome;
	px_request_evaluate_params(state);
	if (!known)
		px_ask_query_ahead(state);
	reader->stream->held = state->hold == PX_HOLD_WANTED;
	if (!reader->stream->ahead.sent)
		send_followers_ahead(state);
	px_open_send_query(state, reader);
	return outcome;
}

/* The transaction of a stream that was held waits for its query. */
static void
go_on_held(px_receive_state *state)
{
	px_stream_reader *reader = state->readers[0];

	if (reader->stream->holder.connection == NULL)
	{
		px_start_give_up(state, "a connection was lost");
		return;
	}
	px_request_evaluate_params(state);
	px_open_next_query(state, reader);
	start_frames(state);
}

/*
 * Claim the slice that is read first; false if others have claimed them all.
 */
static bool
claim_first_slice(px_receive_state *state)
{
	int			slice;

	if (state->shared == NULL)
		px_slices_init(&state->local_slices, state->nslices_max);
	slice = px_slices_claim(state->slices, false);
	if (slice < 0)
		return false;
	state->readers[0]->slice = slice;
	state->claimed = true;
	return true;
}

/* px_start_begin, in the memory context of the stream. */
static bool
begin_reading(px_receive_state *state, bool may_use_session)
{
	px_outcome	outcome;

	if (!px_enabled)
	{
		start_child(state, "pg_exchange.enabled is off",
					PX_FALLBACK_DISABLED);
		return true;
	}
	if (state->css.ss.ps.state->es_epq_active)
	{
		start_child(state, "a row is checked again", PX_FALLBACK_DECLINED);
		return true;
	}
	if (px_scan_filter_excludes(state))
	{
		state->phase = PX_RECEIVE_FRAMES;
		state->finished = true;
		px_scan_filter_count(state);
		return true;
	}
	if (state->types_alone && !check_types(state))
		return true;
	if (!claim_first_slice(state))
	{
		state->phase = PX_RECEIVE_FRAMES;
		state->finished = state->shared == NULL || !px_read_left_slice(state);
		return true;
	}

	if (state->hold == PX_HOLD_READY)
	{
		go_on_held(state);
		return true;
	}
	px_request_run_init_plans(state);
	outcome = state->session_next ? px_refused(state->session_next) :
		begin_stream(state);
	if (px_is_ok(outcome))
	{
		state->phase = PX_RECEIVE_BEGUN;
		return true;
	}
	if (may_use_session)
	{
		start_session_or_child(state, outcome.reason);
		return true;
	}
	px_slices_return(state->slices, state->readers[0]->slice);
	if (outcome.kind == PX_OUTCOME_BUSY)
		state->busy = px_open_keep_reason(state, outcome.reason);
	else if (state->session_next == NULL)
		state->session_next = px_open_keep_reason(state, outcome.reason);
	return false;
}

void
px_start_meet(px_receive_state *state)
{
	if (state->shared == NULL)
		return;
	if (!IsParallelWorker())
		px_slices_come(state->slices);
	else if (state->missed == PX_MISSED_UNLESS_AWAITED)
		px_slices_await_leader(state->slices);
}

bool
px_start_begin(px_receive_state *state, bool may_use_session)
{
	MemoryContext oldcontext;
	bool		begun;

	Assert(state->phase == PX_RECEIVE_NEW);
	if (px_start_is_given_up(state))
	{
		px_start_give_up(state, NULL);
		return true;
	}
	px_start_meet(state);
	px_scan_filter_take(state);
	px_writer_before_scan(state->css.ss.ps.state, state->foreign->fs_server);
	state->reader = px_open_first_reader(state);
	state->reader->batch_rows = state->reader->next_row = 0;
	state->busy = NULL;
	state->finished = false;
	state->spread = px_receive_has_participants(state);
	MemoryContextReset(state->stream_context);
	oldcontext = MemoryContextSwitchTo(state->stream_context);
	begun = begin_reading(state, may_use_session);
	MemoryContextSwitchTo(oldcontext);
	return begun;
}

bool
px_start_ahead(px_receive_state *state)
{
	/* A rescan with other parameters has to come before it begins. */
	if (state->css.ss.ps.chgParam != NULL)
		ExecReScan(&state->css.ss.ps);
	return state->phase != PX_RECEIVE_NEW ||
		(state->session_next == NULL && px_start_begin(state, false));
}

/* Is it yet to be decided how the scan begins? */
static bool
is_open(const px_receive_state *state)
{
	return px_enabled && state->phase == PX_RECEIVE_NEW &&
		state->hold == PX_HOLD_NONE && state->attempt == NULL;
}

/* Does anything that is known speak against a stream? */
static bool
is_refused(const px_receive_state *state)
{
	const px_peer *peer = px_receive_peer(state);

	return state->session_next != NULL || peer->refusal != NULL ||
		peer->stream_refusal != NULL || !px_is_ok(judge_here(state));
}

bool
px_start_has_question(px_receive_state *state)
{
	return is_open(state) && state->nfilters == 0 && !state->types_alone &&
		!state->asked.deferred && !is_refused(state) &&
		(!px_ask_is_known(state) || px_ask_types_is_due(state));
}

bool
px_start_is_unasked(const px_receive_state *state)
{
	return is_open(state) && !state->asked.answered && is_refused(state);
}

bool
px_start_take_over(px_receive_state *state, px_receive_state *from)
{
	px_stream  *stream = px_open_first_reader(state)->stream;
	px_stream  *ended = from->readers[0]->stream;

	if (!px_stream_pass_on(ended, stream))
		return false;
	if (px_start_begin(state, false))
	{
		/* It may have nothing to read. */
		if (stream->phase == PX_STREAM_CLOSED)
			px_stream_close(stream);
		return true;
	}
	if (stream->holder.connection)
		(void) px_stream_pass_on(stream, ended);
	px_stream_close(stream);
	return false;
}

void
px_start_anew(px_receive_state *state)
{
	px_slices_return(state->slices, state->readers[0]->slice);
	state->phase = PX_RECEIVE_NEW;
}

/*
 * Wait until the stream that was begun has its transaction.  A kept connection
 * may have died since its last use: then the stream begins anew, on another
 * connection: the phase is PX_RECEIVE_NEW.
 */
static px_outcome
confirm_transaction(px_receive_state *state)
{
	px_stream  *stream = state->readers[0]->stream;
	px_outcome	outcome = px_ask_collect(state);

	if (px_is_ok(outcome))
	{
		bool		reused = stream->holder.connection->reused;

		outcome = px_stream_confirm(stream);
		if (outcome.kind == PX_OUTCOME_FAILED && reused)
			px_start_anew(state);
	}
	return outcome;
}

/* Wait until it can be read, or another way is taken. */
static void
confirm_stream(px_receive_state *state)
{
	px_outcome	outcome = confirm_transaction(state);

	if (px_is_ok(outcome))
	{
		px_open_accept(state, state->readers[0]);
		start_frames(state);
	}
	else if (state->phase == PX_RECEIVE_BEGUN)
		start_session_or_child(state, outcome.reason);
}

void
px_start_confirm(px_receive_state *state)
{
	while (state->phase == PX_RECEIVE_NEW || state->phase == PX_RECEIVE_BEGUN)
	{
		MemoryContext oldcontext;

		/* The end of a subtransaction may have taken the connection. */
		if (state->phase == PX_RECEIVE_BEGUN &&
			state->readers[0]->stream->phase == PX_STREAM_CLOSED)
			px_start_anew(state);
		if (state->phase == PX_RECEIVE_NEW)
		{
			(void) px_start_begin(state, true);
			continue;
		}
		oldcontext = MemoryContextSwitchTo(state->stream_context);
		confirm_stream(state);
		MemoryContextSwitchTo(oldcontext);
	}
}

/* ---------------------------------------------------------------------
 * Streams that nothing else can replace
 * --------------------------------------------------------------------- */

/* The stream that was begun has its transaction: NULL; or why not. */
static const char *
confirm_anyhow(px_receive_state *state)
{
	for (;;)
	{
		MemoryContext oldcontext;
		px_outcome	outcome;

		if (state->phase == PX_RECEIVE_BEGUN &&
			state->readers[0]->stream->phase == PX_STREAM_CLOSED)
			px_start_anew(state);
		if (state->phase == PX_RECEIVE_NEW && !px_start_begin(state, false))
			return state->session_next ? state->session_next :
				"no connection is free";
		oldcontext = MemoryContextSwitchTo(state->stream_context);
		outcome = confirm_transaction(state);
		MemoryContextSwitchTo(oldcontext);
		if (px_is_ok(outcome))
			return NULL;
		if (state->phase == PX_RECEIVE_BEGUN)
		{
			px_stream_close(state->readers[0]->stream);
			px_start_anew(state);
			return px_open_keep_reason(state, outcome.reason);
		}
	}
}

const char *
px_start_hold(px_receive_state *state)
{
	if (!px_enabled)
		return "pg_exchange.enabled is off";
	state->hold = PX_HOLD_WANTED;
	if (px_start_begin(state, false))
		return NULL;
	return state->session_next ? state->session_next :
		"no connection is free";
}

const char *
px_start_confirm_hold(px_receive_state *state)
{
	const char *reason = confirm_anyhow(state);

	if (reason)
		return reason;
	px_slices_return(state->slices, state->readers[0]->slice);
	state->phase = PX_RECEIVE_NEW;
	state->hold = PX_HOLD_READY;
	px_ask_note_idle_timeout(state);
	return NULL;
}

const char *
px_start_confirm_stream(px_receive_state *state)
{
	const char *reason = confirm_anyhow(state);

	if (reason)
		return reason;
	px_open_accept(state, state->readers[0]);
	start_frames(state);
	return NULL;
}

bool
px_start_allows_workers(px_receive_state *state)
{
	state->reader = px_open_first_reader(state);
	return px_enabled && parallel_leader_participation &&
		state->missed != PX_MISSED_ALWAYS && !state->asked.deferred &&
		px_is_ok(judge_here(state)) &&
		px_receive_peer(state)->refusal == NULL &&
		px_is_ok(px_ask_query(state)) &&
		px_receive_peer(state)->admission.idle_ms == 0;
}

const char *
px_start_status_reason(const px_stream *stream, px_stream_status status)
{
	if (status == PX_STREAM_DECLINED)
		return pstrdup(stream->declined);
	if (status == PX_STREAM_LIMITED)
		return psprintf("limit of the server: %s", stream->declined);
	if (status == PX_STREAM_LOCKED)
		return LOCK_WAITED_FOR;
	return "remote backend has not loaded pg_exchange";
}

bool
px_start_may_fail(const px_receive_state *state)
{
	if (state->attempt)
		return state->attempt->open;
	return state->has_local_plan && !px_receive_has_participants(state) &&
		!state->readers[0]->has_begun &&
		(!state->slices->announced || state->slices->slice.slices == 1);
}

void
px_start_declined(px_receive_state *state, px_stream_reader *reader,
				  px_stream_status status)
{
	px_stream  *stream = reader->stream;
	const char *reason = px_start_status_reason(stream, status);

	/*
	 * Behind a pooler, the connection's next backend may not know it either.
	 */
	if (status == PX_STREAM_NOT_PLANNED && stream->holder.connection)
		stream->holder.connection->invalidated = true;
	if (status == PX_STREAM_LOCKED)
		px_receive_peer(state)->locked_until =
			TimestampTzPlusMilliseconds(GetCurrentTimestamp(), LOCKED_MS);
	px_stream_close(stream);
	reader->active = false;
	state->stats.streams--;		/* nothing has come by it */

	/* No other session has what this one got, and none is allowed more. */
	if (state->hold == PX_HOLD_READY ||
		(status == PX_STREAM_LIMITED && state->attempt))
		px_start_give_up(state, reason);
	else if (status == PX_STREAM_LIMITED)
		start_child(state, reason, PX_FALLBACK_DECLINED);
	else if (state->spread || reader != state->readers[0])
		px_slices_return(state->slices, reader->slice);
	else if (status == PX_STREAM_NOT_PLANNED && !reader->retried)
	{
		reader->retried = true;
		px_start_anew(state);
	}
	else
		start_session_or_child(state, reason);
}

void
px_start_give_up(px_receive_state *state, const char *reason)
{
	px_receive_attempt *attempt = state->attempt;

	if (reason && !attempt->open)
		ereport(ERROR,
				(errcode(ERRCODE_FDW_UNABLE_TO_CREATE_EXECUTION),
				 errmsg("could not run the fragment of a join on server \"%s\"",
						state->servername),
				 errdetail_internal("%s", reason)));
	if (reason && attempt->given_up == NULL)
		attempt->given_up = px_open_keep_reason(state, reason);
	px_start_rescan(state);
	state->reader = px_open_first_reader(state);
	state->reader->batch_rows = state->reader->next_row = 0;
	state->phase = PX_RECEIVE_FRAMES;
	state->finished = true;
}

void
px_start_rescan(px_receive_state *state)
{
	for (int i = 0; i < state->nreaders; i++)
	{
		px_stream_reader *reader = state->readers[i];

		px_stream_close(reader->stream);
		reader->active = reader->session_active = false;
	}
	if (state->session_cursor)
		px_fdw_cursor_rescan(state->session_cursor);
	px_ask_forget(state);
	state->session_next = NULL;
	state->hold = PX_HOLD_NONE;
	state->phase = PX_RECEIVE_NEW;
}
