/*-------------------------------------------------------------------------
 *
 * ask_session.c
 *		What an ExchangeReceive asks postgres_fdw's session.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "utils/timestamp.h"

#include "conn/remote_text.h"
#include "exec/ask_session.h"
#include "exec/ask_types.h"
#include "exec/known_cost.h"
#include "exec/shared.h"
#include "transport/question.h"
#include "transport/stream.h"

/*
 * How long the answer to a question may take once a stream was begun.  The
 * stream may hold a lock that a third session waits for, and the question may
 * then be queued after that session.  The remote does not know that the stream
 * waits for us, and we for the question: so it finds no deadlock.
 */
#define ANSWER_TIMEOUT_MS	1000

/* Has any scan of this session been told of an idle time-out? */
static bool has_idle_timeouts = false;

void
px_ask_forget(px_receive_state *state)
{
	state->asked.answered = state->asked.harmless = false;
	state->asked.deferred = false;
}

void
px_ask_renew(px_receive_state *state)
{
	px_ask_forget(state);
	state->asked.allows_stream = false;
	state->asked.trial = 0;
}

void
px_ask_defer(px_receive_state *state)
{
	px_ask_renew(state);
	state->asked.deferred = true;
}

bool
px_ask_is_known(px_receive_state *state)
{
	px_receive_asked *asked = &state->asked;

	asked->pending = false;
	if (asked->command != GetCurrentCommandId(false) ||
		asked->session_reads != px_receive_peer(state)->session_reads)
		asked->allows_stream = false;
	asked->allows_stream |= px_receive_has_participants(state);
	return asked->allows_stream;
}

void
px_ask_note_contact(px_receive_state *state)
{
	px_receive_peer(state)->contact_at = GetCurrentTimestamp();
}

void
px_ask_note_idle_timeout(px_receive_state *state)
{
	state->asked.idle_ms = px_receive_peer(state)->admission.idle_ms;
	has_idle_timeouts |= state->asked.idle_ms > 0;
}

bool
px_ask_has_idle_timeouts(void)
{
	return has_idle_timeouts;
}

void
px_ask_note_asked(px_receive_state *state, bool types, uint32 trial)
{
	state->asked.command = GetCurrentCommandId(false);
	state->asked.session_reads = px_receive_peer(state)->session_reads;
	state->asked.answered = true;
	state->asked.types = types;
	state->asked.trial = trial;
	px_ask_note_contact(state);
}

/*
 * Ask about the query, or with NULL about the peer alone; and about types, if
 * that is due.
 */
static void
send_question(px_receive_state *state, const char *query, bool wants_snapshot)
{
	px_question_item item = {.query = query};

	item.types = px_ask_types_along(state);
	state->asked.types = item.types != NULL;
	px_fdw_cursor_rescan(state->question);
	px_question_ask(state->question, px_receive_peer(state), &item, 1,
					wants_snapshot);
	px_ask_note_contact(state);
}

/*
 * Ask about the query.  The snapshot is wanted in any case: it cannot be had
 * later if a subtransaction begins first.
 */
static void
send_question_of_query(px_receive_state *state)
{
	send_question(state, state->remote_sql,
				  px_transport_setting != PX_TRANSPORT_SESSION);
}

/* Wait for the answer for timeout_ms, or for ever with -1. */
static px_outcome
wait_for_answer(px_receive_state *state, long timeout_ms)
{
	px_question_item item = {0};
	px_outcome	outcome = px_question_answer(state->question,
											 px_receive_peer(state),
											 state->servername, timeout_ms,
											 &item, 1);

	if (px_is_ok(outcome) && state->asked.types)
		px_ask_types_note(state, item.same_types);
	return outcome;
}

/* Would the query do in another session what it does in postgres_fdw's? */
static bool
is_harmless(const px_receive_state *state)
{
	return px_receive_peer(state)->admission.against[0] == '\0';
}

bool
px_ask_whether_cheap(const px_receive_state *state)
{
	return (state->smallness & PX_IS_SMALL_IF_CHEAP) != 0 &&
		!state->session_limited;
}

bool
px_ask_is_cheap(const px_receive_state *state)
{
	return state->known_cost >= 0 && state->known_cost <= state->cheap_cost &&
		px_ask_whether_cheap(state);
}

/* Keep what the server has said it costs.  Early ones say nothing. */
static void
note_cost(px_receive_state *state)
{
	uint32		cost = px_receive_peer(state)->admission.cost;

	if (!state->asked.harmless || !px_ask_whether_cheap(state) || cost == 0)
		return;
	px_known_cost_note(state->user->umid, state->remote_sql, state->input_rows,
					   cost);
	state->known_cost = cost;
}

/* Does the answer allow a stream?  outcome is whether the peer can be used. */
static px_outcome
judge_answer(px_receive_state *state, px_outcome outcome)
{
	const px_peer *peer = px_receive_peer(state);

	if (px_is_ok(outcome))
	{
		state->asked.harmless = is_harmless(state);
		note_cost(state);
		if (!state->asked.harmless)
			outcome = px_refused(px_remote_text(peer->admission.against));
		else if (px_ask_is_cheap(state))
			outcome = px_refused(PX_LITTLE_WORK);
		else if (peer->snapshot[0] == '\0')
			outcome = px_refused(GetCurrentTransactionNestLevel() > 1 ?
								 "first use of the server is in a subtransaction" :
								 "snapshot cannot be shared");
		if (state->types_differ)
			outcome = px_refused(PX_OTHER_TYPES);
	}
	state->asked.allows_stream = px_is_ok(outcome);
	return outcome;
}

px_outcome
px_ask_note_answer(px_receive_state *state, px_outcome outcome,
				   const px_question_item *item)
{
	px_peer    *peer = px_receive_peer(state);

	if (px_is_ok(outcome))
	{
		strlcpy(peer->admission.against, item->against,
				sizeof(peer->admission.against));
		peer->admission.cost = item->cost;
		if (state->asked.types)
			px_ask_types_note(state, item->same_types);
	}
	else
		px_ask_renew(state);	/* it was not judged, and has no locks */
	return judge_answer(state, outcome);
}

/*
 * The snapshot is exported if a stream may want it later.  In a transaction of
 * one statement, a stream that does can have it then: to export it makes a
 * file over there, which takes as long as many a small query.
 */
px_outcome
px_ask_peer(px_receive_state *state)
{
	bool		wants_snapshot = IsTransactionBlock() &&
		px_transport_setting != PX_TRANSPORT_SESSION;
	const char *types = px_ask_types_along(state);
	bool		same_types;

	if (!wants_snapshot)
	{
		px_fdw_cursor_rescan(state->question);
		px_ask_note_contact(state);
		if (px_question_is_answered(state->question, px_receive_peer(state),
									types, &same_types))
		{
			if (types)
				px_ask_types_note(state, same_types);
			return px_ok();
		}
	}
	send_question(state, NULL, wants_snapshot);
	return wait_for_answer(state, -1);
}

void
px_ask_let_answer(px_fdw_cursor *question, Oid serverid)
{
	if (px_connection_in_use(serverid) &&
		!px_fdw_cursor_wait(question, ANSWER_TIMEOUT_MS))
		px_streams_spool_all(serverid);
}

px_outcome
px_ask_query(px_receive_state *state)
{
	px_ask_note_asked(state, false, 0);
	send_question_of_query(state);
	px_ask_let_answer(state->question, state->foreign->fs_server);
	return judge_answer(state, wait_for_answer(state, -1));
}

void
px_ask_query_ahead(px_receive_state *state)
{
	px_ask_note_asked(state, false, 0);
	send_question_of_query(state);
	state->asked.pending = true;
}

px_outcome
px_ask_collect(px_receive_state *state)
{
	px_outcome	outcome;

	if (!state->asked.pending)
		return px_ok();
	state->asked.pending = false;
	outcome = wait_for_answer(state, ANSWER_TIMEOUT_MS);
	if (outcome.kind == PX_OUTCOME_SILENT)
	{
		px_outcome	late;

		/* Give up the locks of the stream: then there will be an answer. */
		px_stream_close(state->readers[0]->stream);
		late = wait_for_answer(state, -1);
		return px_is_ok(late) ? outcome : late;
	}
	return judge_answer(state, outcome);
}

bool
px_ask_conflicts(px_receive_state *state)
{
	if (px_connection_in_use(state->foreign->fs_server) == NULL ||
		state->asked.allows_stream)
		return false;
	if (!state->asked.answered)
	{
		send_question_of_query(state);
		if (!px_is_ok(wait_for_answer(state, -1)))
			return true;
		state->asked.answered = true;
		state->asked.harmless = is_harmless(state);
	}
	return !state->asked.harmless;
}

/*
 * While we read a stream, nothing may be asked of postgres_fdw's session; and
 * while we use up a large batch that came by it, too little.  The remote may
 * then end it as idle in a transaction.  Without pg_exchange it would not be:
 * postgres_fdw would fetch some rows now and then.
 */
long
px_ask_keep_awake(px_receive_state *state)
{
	long		idle_ms = (long) state->asked.idle_ms;
	TimestampTz now;

	/* While it runs something for us it is not idle. */
	if (idle_ms == 0 || state->question == NULL ||
		(state->reader->session_active && state->exact_portions))
		return -1;
	now = GetCurrentTimestamp();
	if (TimestampDifferenceExceeds(px_receive_peer(state)->contact_at, now,
								   (int) (idle_ms / 2)))
	{
		px_fdw_cursor_rescan(state->question);
		px_fdw_cursor_set_sql(state->question,
							  "SELECT NULL::pg_catalog.text");
		(void) px_fdw_cursor_fetch(state->question);
		px_receive_peer(state)->contact_at = now;
	}
	return Max(idle_ms / 4, 1);
}
