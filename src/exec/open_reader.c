/*-------------------------------------------------------------------------
 *
 * open_reader.c
 *		Have one reader of an ExchangeReceive read a slice: by a stream, or by
 *		postgres_fdw's session.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/parallel.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "conn/remote_text.h"
#include "exec/ask_session.h"
#include "exec/open_reader.h"
#include "exec/request.h"
#include "exec/run.h"
#include "exec/scan_tuple.h"
#include "exec/shared.h"
#include "tuple/decode.h"

const char *
px_open_keep_reason(const px_receive_state *state, const char *reason)
{
	return MemoryContextStrdup(state->css.ss.ps.state->es_query_cxt,
							   px_remote_text(reason));
}

/* ---------------------------------------------------------------------
 * Readers
 * --------------------------------------------------------------------- */

/* A stream in the current memory context, which has yet to be connected. */
static px_stream *
make_stream(const px_receive_state *state)
{
	px_stream  *stream = px_stream_new();

	stream->holder.servername = state->servername;
	stream->remote_sql = state->remote_sql;
	stream->counters = px_counters_get(state->foreign->fs_server,
									   state->userid, state->servername);
	return stream;
}

static px_decoder *
make_decoder(const px_receive_state *state)
{
	const ForeignScan *foreign = state->foreign;
	EState	   *estate = state->css.ss.ps.state;
	TupleDesc	tupdesc = px_scan_tuple_desc(foreign, estate,
											 state->remote_slot);

	return px_decoder_new(state->servername, tupdesc,
						  px_scan_tuple_retrieved(foreign, tupdesc->natts),
						  px_scan_tuple_contexts(foreign, estate,
												 tupdesc->natts),
						  state->fetch_size);
}

px_stream_reader *
px_open_add_reader(px_receive_state *state)
{
	MemoryContext query_context = state->css.ss.ps.state->es_query_cxt;
	MemoryContext oldcontext = MemoryContextSwitchTo(query_context);
	px_stream  *stream = make_stream(state);
	px_stream_reader *reader = px_stream_reader_new(stream,
													make_decoder(state),
													&state->stats);

	if (state->readers == NULL)
	{
		state->readers = palloc(state->nslices_max *
								sizeof(px_stream_reader *));
		state->stream_context = AllocSetContextCreate(query_context,
													  "pg_exchange stream",
													  ALLOCSET_SMALL_SIZES);
	}
	reader->keeps_first = state->nreaders == 0 && !state->params_change &&
		!state->forgets;
	state->readers[state->nreaders++] = reader;
	MemoryContextSwitchTo(oldcontext);
	return reader;
}

px_stream_reader *
px_open_first_reader(px_receive_state *state)
{
	return state->readers ? state->readers[0] : px_open_add_reader(state);
}

/* What the session can, and its locality means under the settings. */
static void
note_session(px_receive_state *state, px_stream_reader *reader,
				px_locality locality, uint16 version)
{
	state->mode = px_mode_for_server(state->servername);
	state->version = reader->version = version;
	state->locality = locality;
	state->local = px_locality_is_local(locality);
	reader->same_host = locality != PX_REMOTE;
}

/* The same for a connection that a stream has, or is going to get. */
static void
note_connection(px_receive_state *state, px_stream_reader *reader,
				const px_connection *connection)
{
	note_session(state, reader, connection->locality, connection->version);
	reader->peer_version = connection->hello.server_version;
}

/* Frames are about to come: show reader in pg_stat_progress_exchange. */
static void
show_progress(px_receive_state *state, px_stream_reader *reader,
			  int remote_pid)
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
	progress->direction = PX_DIRECTION_READ;
	px_progress_show(progress, state->servername, state->remote_sql);
}

/* ---------------------------------------------------------------------
 * By a stream
 * --------------------------------------------------------------------- */

px_outcome
px_open_connect(px_receive_state *state, px_stream_reader *reader)
{
	px_stream  *stream = reader->stream;
	px_peer    *peer = px_receive_peer(state);
	px_outcome	outcome = px_stream_connect(stream, peer, state->user);

	if (!px_is_ok(outcome))
		return outcome;
	if (IsParallelWorker())
		px_shared_join_peer(state->shared, peer);
	note_connection(state, reader, stream->holder.connection);
	return outcome;
}

/* Fill in the query for reader's slice, which is about to be sent. */
static void
prepare_query(px_receive_state *state, px_stream_reader *reader)
{
	if (!reader->stream->ahead.sent)
		px_request_for_stream(state, reader,
							  reader->stream->holder.connection);
	show_progress(state, reader,
				  PQbackendPID(reader->stream->holder.connection->pg));
}

void
px_open_send_query(px_receive_state *state, px_stream_reader *reader)
{
	prepare_query(state, reader);
	px_stream_begin(reader->stream);
}

void
px_open_send_ahead(px_receive_state *state, px_receive_state *from)
{
	px_stream  *stream = from->readers[0]->stream;
	px_stream_reader *reader = px_open_first_reader(state);

	px_slices_init(&state->local_slices, 1);
	reader->slice = 0;
	note_connection(state, reader, stream->holder.connection);
	px_request_for_stream(state, reader, stream->holder.connection);
	px_stream_send_ahead(stream, reader->stream);
}

px_outcome
px_open_stream(px_receive_state *state, px_stream_reader *reader)
{
	px_outcome	outcome = px_open_connect(state, reader);

	if (px_is_ok(outcome))
		px_open_send_query(state, reader);
	return outcome;
}

void
px_open_next_query(px_receive_state *state, px_stream_reader *reader)
{
	prepare_query(state, reader);
	px_stream_go_on(reader->stream);
	px_open_accept(state, reader);
}

void
px_open_accept(px_receive_state *state, px_stream_reader *reader)
{
	px_stream_reader_reset(reader);
	reader->slices = state->slices;
	reader->active = true;
	state->stats.streams++;
}

/* ---------------------------------------------------------------------
 * By postgres_fdw's session
 * --------------------------------------------------------------------- */

/*
 * Must the session evaluate as many rows at a time as postgres_fdw would?
 * Larger batches are evaluated before it is known whether all of their rows
 * are wanted.  That would be seen if rows get locked; or if a row cannot be
 * computed, and only the rows before it are wanted.  (Functions that may have
 * effects are the sender's care.)
 */
static bool
wants_exact_portions(const px_receive_state *state)
{
	if (state->locks_rows)
		return true;

	/* Smaller ones would be evaluated after others' rows are written. */
	if (state->fetch_size > px_batch_rows_max &&
		(state->user_code ||
		 px_run_writes_foreign(state->css.ss.ps.state->es_plannedstmt)))
		return true;
	return state->few_rows || !px_run_is_complete(state->css.ss.ps.state);
}

/* If nobody else reads the scan, reader takes all of it, not a slice. */
static void
claim_whole_scan(px_receive_state *state, px_stream_reader *reader)
{
	if (state->slices->announced || px_receive_has_participants(state))
		return;
	px_slices_init(state->slices, 1);
	reader->slice = px_slices_claim(state->slices, false);
}

/* Send the query for reader's slice. */
static void
begin_session_read(px_receive_state *state, px_stream_reader *reader)
{
	uint32		portion_rows = state->fetch_size <= px_batch_rows_max ?
		state->fetch_size : px_batch_rows_max - 1;
	char	   *sql = px_request_for_session(state, reader);

	if (reader->session == NULL)
	{
		MemoryContext oldcontext =
			MemoryContextSwitchTo(state->css.ss.ps.state->es_query_cxt);

		reader->session = px_session_new(state->session_cursor,
										 state->servername);
		MemoryContextSwitchTo(oldcontext);
	}
	px_session_begin(reader->session, sql, !state->exact_portions,
					 portion_rows);
	px_ask_note_contact(state);
	pfree(sql);
}

px_outcome
px_open_session(px_receive_state *state, px_stream_reader *reader,
				const char *reason)
{
	px_peer    *peer = px_receive_peer(state);
	px_outcome	outcome = px_ok();

	if (peer->refusal)
		outcome = px_refused(pstrdup(peer->refusal));
	else if (!peer->admitted)
		outcome = px_ask_peer(state);
	if (!px_is_ok(outcome))
		return outcome;

	if (px_ask_conflicts(state))
		px_streams_spool_all(state->foreign->fs_server);
	note_session(state, reader, peer->session_locality,
				 peer->session_version);
	reader->peer_version = peer->admission.hello.server_version;

	claim_whole_scan(state, reader);
	state->exact_portions = wants_exact_portions(state);
	peer->session_reads++;
	begin_session_read(state, reader);
	show_progress(state, reader, peer->admission.pid);

	px_stream_reader_reset(reader);
	reader->slices = state->slices;
	reader->active = reader->session_active = true;
	px_slices_accept(state->slices, reader->slice);
	if (state->session_reason == NULL)
		state->session_reason = px_open_keep_reason(state, reason);
	state->stats.sessions++;
	reader->stream->counters->sessions++;
	return outcome;
}
