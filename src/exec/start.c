/*-------------------------------------------------------------------------
 *
 * start.c
 *		How an ExchangeReceive starts: a stream, or its child.
 *
 * Whatever speaks against a stream before its first frame is a reason to run
 * the kept ForeignScan instead, which then gives the right answer, or the
 * error that postgres_fdw's users know.  Once frames have arrived there is no
 * way back, and errors are errors.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/xact.h"
#include "codec/codec.h"
#include "column/column.h"
#include "executor/executor.h"
#include "foreign/foreign.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "storage/latch.h"
#include "utils/builtins.h"
#include "utils/float.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "compat.h"
#include "conn/connect.h"
#include "conn/snapshot.h"
#include "exec/parallel.h"
#include "exec/scan_tuple.h"
#include "stats/wait_event.h"

/*
 * Of receive_buffer, a stream holds a frame, libpq's input buffer with the
 * next one (which doubles as it grows), and a decoded batch.
 */
#define BUFFER_SHARE_OF_A_BATCH		8

/* server_version_num of the first that can EXPLAIN a query with parameters. */
#define GENERIC_PLAN_SINCE	160000

/* How often a worker tries to connect, within PX_SETUP_TIMEOUT_MS. */
#define WORKER_RETRY_MS		100

/* Some rows may have been returned already: there is no way back. */
static void
fail_slice(px_receive_state *state, const px_stream_reader *reader, const char *reason)
{
	ereport(ERROR,
			(errcode(ERRCODE_FDW_UNABLE_TO_CREATE_EXECUTION),
			 errmsg("could not read slice %d of a scan on server \"%s\"",
					reader->slice, state->servername),
			 errdetail_internal("%s", reason),
			 errhint("Fewer parallel workers or slices take fewer connections.")));
}

/*
 * Let the child run in our place, from now on and for good.  Not when other
 * participants may have read some of it: the leader has made sure that this
 * does not happen but by accident.
 */
static void
start_child(px_receive_state *state, const char *reason)
{
	EState	   *estate = state->css.ss.ps.state;
	MemoryContext oldcontext;

	if (state->shared && state->shared->participants > 1)
		fail_slice(state, state->reader, reason);

	ereport(DEBUG1,
			(errmsg_internal("scan on server \"%s\" is left to postgres_fdw: %s",
							 state->servername, reason)));
	state->fallback_reason = MemoryContextStrdup(estate->es_query_cxt, reason);
	state->phase = PX_RECEIVE_CHILD;
	state->reader->stream->counters->fallbacks[state->fallback]++;

	/* EXPLAIN shows it, too. */
	oldcontext = MemoryContextSwitchTo(estate->es_query_cxt);
	state->css.custom_ps = list_make1(state->child);
	MemoryContextSwitchTo(oldcontext);
}

/* What the locality of the connection means under the settings. */
static bool
counts_as_local(px_locality locality)
{
	switch (locality)
	{
		case PX_SAME_INSTANCE:
			return px_local_scope_setting >= PX_SCOPE_INSTANCE;
		case PX_SAME_HOST:
			return px_local_scope_setting >= PX_SCOPE_HOST;
		case PX_REMOTE:
			break;
	}
	return false;
}

/*
 * The encodings and the codec to ask for: those of the mode in force, as far
 * as the remote knows them; with mode auto, all it may choose from, and what
 * the last stream has taught.
 */
static void
choose_compression(px_receive_state *state, const px_hello *remote,
				   const px_lesson *lesson, px_request *request)
{
	uint8		codec = PX_CODEC_NONE;

	request->encodings = 1 << PX_ENC_PLAIN;
	request->codec = PX_CODEC_NONE;
	if (state->local || state->mode == PX_MODE_NONE)
		return;

	request->encodings = (1 << PX_ENCODING_COUNT) - 1;
	if (state->mode == PX_MODE_AUTO)
	{
		request->adaptive = true;
		request->codecs = remote->codecs & ((1 << PX_CODEC_COUNT) - 1);
		request->cpu_limit = (uint32) rint(px_compression_cpu_limit * 1000);
		request->link_rate = lesson->link_rate;
		request->idle = lesson->idle;
		request->random = px_debug_random_choices;
		return;
	}
	codec = state->mode == PX_MODE_HIGH_COMPRESSION ? PX_CODEC_ZSTD : PX_CODEC_LZ4;
	if (remote->codecs & (1u << codec))
		request->codec = codec;
}

/*
 * What the remote is to measure of its plan: what is measured of ours.  Plans
 * of a worker's streams would not get to EXPLAIN.
 */
static uint32
wanted_plan(const px_receive_state *state)
{
	int			options = state->css.ss.ps.state->es_instrument;

	if (!px_explain_remote || IsParallelWorker() || options == 0)
		return 0;
	return PX_EXPLAIN_ROWS |
		((options & INSTRUMENT_TIMER) ? PX_EXPLAIN_TIMING : 0) |
		((options & INSTRUMENT_BUFFERS) ? PX_EXPLAIN_BUFFERS : 0) |
		((options & INSTRUMENT_WAL) ? PX_EXPLAIN_WAL : 0);
}

/*
 * SELECT exchange.send('request', t.*) FROM (remote SQL) t.  A plain t would
 * be the column of that name, if there is one.
 */
static void
build_query(px_receive_state *state, px_stream_reader *reader)
{
	px_stream  *stream = reader->stream;
	px_request	request = {0};
	const px_request_column *columns;
	size_t		nbytes;
	char	   *text;
	char	   *sql;

	request.version = reader->version;
	choose_compression(state, &stream->connection->hello,
					   &stream->connection->peer->lesson, &request);
	reader->lesson = request.adaptive ? &stream->connection->peer->lesson : NULL;
	request.batch_rows = reader->batch_rows_max = px_batch_rows_max;
	request.batch_bytes = Max(Min(px_batch_bytes_max,
								  px_receive_buffer / BUFFER_SHARE_OF_A_BATCH /
								  Max(state->nstreams, 1) / state->nslices_max), 1);
	request.batch_bytes = Min(request.batch_bytes, px_max_frame_bytes / 2);
	request.server_version = PG_VERSION_NUM;
	request.slices = state->slices->wanted;
	request.slice = reader->slice;
	request.blocks = reader->slice > 0 ? state->slices->slice.blocks : 0;
	request.explain = reader->explain = wanted_plan(state);
	columns = px_decoder_columns(reader->decoder, &request.ncolumns);

	nbytes = px_request_write(NULL, 0, &request, columns);
	text = palloc(nbytes + 1);
	px_request_write(text, nbytes + 1, &request, columns);
	sql = psprintf("SELECT exchange.send(%s, t.*) FROM (%s) t",
				   quote_literal_cstr(text), state->remote_sql);
	if (stream->sql)
		pfree(unconstify(char *, stream->sql));
	stream->sql = MemoryContextStrdup(state->css.ss.ps.state->es_query_cxt, sql);
}

/* Evaluate the parameters of the remote query, under postgres_fdw's settings. */
static void
evaluate_params(px_receive_state *state)
{
	ExprContext *econtext = state->css.ss.ps.ps_ExprContext;
	int			nestlevel;
	ListCell   *lc;
	int			i = 0;

	if (state->param_exprs == NIL)
		return;

	nestlevel = NewGUCNestLevel();
	if (DateStyle != USE_ISO_DATES)
		(void) set_config_option("datestyle", "ISO", PGC_USERSET, PGC_S_SESSION,
								 GUC_ACTION_SAVE, true, 0, false);
	if (IntervalStyle != INTSTYLE_POSTGRES)
		(void) set_config_option("intervalstyle", "postgres", PGC_USERSET, PGC_S_SESSION,
								 GUC_ACTION_SAVE, true, 0, false);
	if (extra_float_digits < 3)
		(void) set_config_option("extra_float_digits", "3", PGC_USERSET, PGC_S_SESSION,
								 GUC_ACTION_SAVE, true, 0, false);
	(void) set_config_option("search_path", "pg_catalog", PGC_USERSET, PGC_S_SESSION,
							 GUC_ACTION_SAVE, true, 0, false);

	foreach(lc, state->param_exprs)
	{
		bool		isnull;
		Datum		value = ExecEvalExpr((ExprState *) lfirst(lc), econtext, &isnull);

		state->param_values[i] = isnull ? NULL :
			OutputFunctionCall(&state->param_output[i], value);
		i++;
	}
	AtEOXact_GUC(true, nestlevel);
	state->readers[0]->stream->nparams = i;
	state->readers[0]->stream->values = state->param_values;
}

/* Another stream for the node, and what reads it. */
static px_stream_reader *
add_reader(px_receive_state *state)
{
	EState	   *estate = state->css.ss.ps.state;
	MemoryContext oldcontext = MemoryContextSwitchTo(estate->es_query_cxt);
	TupleDesc	tupdesc = px_scan_tuple_desc(state->foreign, estate,
											 state->css.ss.ss_ScanTupleSlot);
	px_stream  *stream = px_stream_new();
	px_decoder *decoder;

	stream->servername = state->servername;
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
	MemoryContextSwitchTo(oldcontext);
	return state->readers[state->nreaders++];
}

/* What the connection that reader's stream has got means for the query. */
static void
note_connection(px_receive_state *state, px_stream_reader *reader)
{
	const px_connection *connection = reader->stream->connection;

	state->mode = px_mode_for_server(state->servername);
	state->locality = connection->locality;
	state->local = counts_as_local(state->locality);
	reader->same_host = state->locality != PX_REMOTE;
	reader->version = connection->version;
	reader->peer_version = connection->hello.server_version;
}

/*
 * Get a connection for reader's stream, and the snapshot.  False if there is
 * none: all are in use (*busy), or there can be no stream (*reason).
 */
static bool
connect_stream(px_receive_state *state, px_stream_reader *reader, bool may_take,
			   bool *busy, const char **reason)
{
	px_stream  *stream = reader->stream;
	UserMapping *user = GetUserMapping(state->userid, state->foreign->fs_server);
	px_peer    *peer = px_peer_get(user);

	*busy = false;
	if (!px_stream_connect(stream, peer, user, may_take, reason))
	{
		*busy = *reason == NULL;
		state->fallback = peer->refusal == NULL ? PX_FALLBACK_CONNECTION :
			peer->lacks_extension ? PX_FALLBACK_NO_EXTENSION : PX_FALLBACK_INCOMPATIBLE;
		return false;
	}
	if (IsParallelWorker())
	{
		strlcpy(peer->snapshot, state->shared->snapshot, PX_SNAPSHOT_ID_NBYTES);
		peer->owner_pid = state->shared->owner_pid;
		SpinLockAcquire(&state->shared->mutex);
		peer->lesson = state->shared->lesson;
		SpinLockRelease(&state->shared->mutex);
	}
	else
		*reason = px_snapshot_get(peer, state->css.ss.ps.state, state->rtindex,
								  state->userid, &state->question);
	if (*reason)
	{
		state->fallback = PX_FALLBACK_SNAPSHOT;
		px_stream_close(stream);
		return false;
	}

	note_connection(state, reader);
	return true;
}

/* Show reader's stream, which is about to begin, among the running ones. */
static void
show_stream(px_receive_state *state, px_stream_reader *reader)
{
	px_stream  *stream = reader->stream;
	px_progress *progress;

	px_progress_end(stream->progress);
	stream->progress = progress = px_progress_begin();
	if (progress == NULL)
		return;
	progress->userid = GetSessionUserId();
	progress->serverid = state->foreign->fs_server;
	progress->remote_pid = PQbackendPID(stream->connection->pg);
	progress->slice = reader->slice;
	progress->estimated_rows = state->foreign->scan.plan.plan_rows /
		Max(state->slices->slice.slices, 1);
	px_progress_show(progress, state->servername, state->remote_sql);
}

/*
 * Begin the stream of reader's slice.  Returns NULL if that worked, or if all
 * connections are in use (*busy), else the reason why there can be no stream.
 */
static const char *
begin_stream(px_receive_state *state, px_stream_reader *reader, bool may_take, bool *busy)
{
	const char *reason;

	if (!connect_stream(state, reader, may_take, busy, &reason))
		return reason;
	build_query(state, reader);
	show_stream(state, reader);
	px_stream_begin(reader->stream);
	return NULL;
}

/* The remote is going to send. */
static void
accept_stream(px_receive_state *state, px_stream_reader *reader)
{
	px_stream_reader_reset(reader);
	reader->slices = state->slices;
	reader->active = true;
	state->stats.streams++;
}

/* The node's way is that of its first stream. */
static void
accept_first_stream(px_receive_state *state)
{
	TupleTableSlot *slot = state->css.ss.ss_ScanTupleSlot;

	accept_stream(state, state->readers[0]);

	/* In a parallel plan the leader has counted it. */
	state->readers[0]->begins_scan = state->shared == NULL || state->shared->participants <= 1;

	/* Columns that are not retrieved are null in all rows. */
	memset(slot->tts_isnull, true, slot->tts_tupleDescriptor->natts * sizeof(bool));
	state->phase = PX_RECEIVE_STREAM;
}

/* Begin the first stream of the node, or go on with it after a rescan. */
static const char *
begin_first_stream(px_receive_state *state, bool may_take, bool *busy)
{
	px_stream_reader *reader = state->readers[0];
	CommandId	command = GetCurrentCommandId(false);
	const char *reason;
	int			slice;

	*busy = false;
	state->fallback = PX_FALLBACK_DISABLED;
	if (!px_enabled)
		return "pg_exchange.enabled is off";
	state->fallback = PX_FALLBACK_SNAPSHOT;
	if (IsolationIsSerializable())
		return "transaction is serializable";

	evaluate_params(state);

	if (state->shared == NULL)
		px_slices_init(&state->local_slices, state->nslices_max);
	slice = px_slices_claim(state->slices);
	if (slice < 0)
	{
		/* Other participants have it all. */
		state->phase = PX_RECEIVE_STREAM;
		state->finished = true;
		return NULL;
	}
	reader->slice = slice;

	/*
	 * A rescan goes on with its connection.  Unless a command has come in
	 * between, by a function of the query: it may have written.
	 */
	if (reader->stream->connection && state->command == command)
	{
		show_stream(state, reader);
		px_stream_again(reader->stream);
		return NULL;
	}
	px_stream_close(reader->stream);
	reason = begin_stream(state, reader, may_take, busy);
	if (*busy)
		px_slices_return(state->slices, slice);
	state->command = command;
	return reason;
}

/*
 * A worker has no child to fall back to.  The leader could connect, so this
 * may be for want of a connection that another participant will give back.
 */
static const char *
begin_patiently(px_receive_state *state, const char *reason)
{
	bool		busy;

	for (int ms = 0; reason && ms < PX_SETUP_TIMEOUT_MS; ms += WORKER_RETRY_MS)
	{
		px_slices_return(state->slices, state->readers[0]->slice);
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
						 WORKER_RETRY_MS, px_wait_event(PX_WAIT_CONNECT));
		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
		reason = begin_first_stream(state, true, &busy);
	}
	return reason;
}

void
px_receive_begin_anew(px_receive_state *state)
{
	px_slices_return(state->slices, state->readers[0]->slice);
	state->phase = PX_RECEIVE_NEW;
}

bool
px_receive_begin(px_receive_state *state, bool may_take)
{
	MemoryContext oldcontext;
	const char *reason;
	bool		busy;

	Assert(state->phase == PX_RECEIVE_NEW);
	state->reader = state->readers ? state->readers[0] : add_reader(state);
	state->reader->batch_rows = state->reader->next_row = 0;
	state->finished = false;
	state->spread = state->shared && state->shared->participants > 1;
	MemoryContextReset(state->stream_context);
	oldcontext = MemoryContextSwitchTo(state->stream_context);

	reason = begin_first_stream(state, may_take, &busy);
	if (reason && IsParallelWorker())
		reason = begin_patiently(state, reason);
	if (reason)
		start_child(state, reason);
	else if (!busy && state->phase == PX_RECEIVE_NEW && state->reader->stream->phase == PX_STREAM_RUNNING)
		accept_first_stream(state);
	else if (!busy && state->phase == PX_RECEIVE_NEW)
		state->phase = PX_RECEIVE_BEGUN;

	MemoryContextSwitchTo(oldcontext);
	return !busy;
}

void
px_receive_confirm(px_receive_state *state)
{
	while (state->phase == PX_RECEIVE_NEW || state->phase == PX_RECEIVE_BEGUN)
	{
		px_stream  *stream = state->readers ? state->readers[0]->stream : NULL;
		MemoryContext oldcontext;
		const char *reason;
		bool		reused;

		/* Another stream may have taken the connection. */
		if (state->phase == PX_RECEIVE_BEGUN && stream->phase == PX_STREAM_CLOSED)
			px_receive_begin_anew(state);
		if (state->phase == PX_RECEIVE_NEW)
		{
			(void) px_receive_begin(state, true);
			continue;
		}

		oldcontext = MemoryContextSwitchTo(state->stream_context);
		reused = stream->connection->reused;
		switch (px_stream_confirm(stream, &reason))
		{
			case PX_STREAM_OK:
				accept_first_stream(state);
				break;
			case PX_STREAM_BROKEN:
				/* A kept connection may have died since its last use. */
				if (reused)
				{
					px_receive_begin_anew(state);
					break;
				}
				state->fallback = PX_FALLBACK_CONNECTION;
				start_child(state, reason);
				break;
			case PX_STREAM_WRITTEN:
				state->fallback = PX_FALLBACK_OWN_WRITES;
				start_child(state, reason);
				break;
			default:
				state->fallback = PX_FALLBACK_SNAPSHOT;
				start_child(state, reason);
				break;
		}
		MemoryContextSwitchTo(oldcontext);
	}
}

/* ---------------------------------------------------------------------
 * Parallel plans
 * --------------------------------------------------------------------- */

/*
 * Begin the stream, but of an EXPLAIN of its query.  The remote then plans it,
 * and so says all that it would have said against it.
 */
static bool
rehearse_stream(px_receive_state *state)
{
	px_stream_reader *reader = state->readers[0];
	px_stream  *stream = reader->stream;
	const char *reason;
	bool		busy;
	px_stream_status status;

	px_stream_close(stream);
	if (!px_enabled || IsolationIsSerializable() ||
		!connect_stream(state, reader, true, &busy, &reason))
		return false;
	reader->slice = 0;
	build_query(state, reader);
	evaluate_params(state);
	stream->sql = psprintf("EXPLAIN %s", stream->sql);
	px_stream_begin(stream);
	if (px_stream_confirm(stream, &reason) != PX_STREAM_OK)
		return false;

	do
	{
		const uint8_t *line;
		size_t		nbytes;

		status = px_stream_next(stream, &line, &nbytes, &state->stats.receive_wait);
	} while (status == PX_STREAM_OK);
	return status == PX_STREAM_END;
}

bool
px_receive_rehearse(px_receive_state *state, char *snapshot, int *owner_pid)
{
	MemoryContext oldcontext;
	px_stream  *stream;
	bool		possible;

	state->reader = state->readers ? state->readers[0] : add_reader(state);
	stream = state->reader->stream;
	oldcontext = MemoryContextSwitchTo(state->stream_context);

	possible = rehearse_stream(state);
	if (possible)
	{
		strlcpy(snapshot, stream->connection->peer->snapshot, PX_SNAPSHOT_ID_NBYTES);
		*owner_pid = stream->connection->peer->owner_pid;
	}
	px_stream_close(stream);
	stream->sql = NULL;
	MemoryContextSwitchTo(oldcontext);
	return possible;
}

/* ---------------------------------------------------------------------
 * Plain EXPLAIN
 * --------------------------------------------------------------------- */

/* All rows of a result in one string, a line each. */
static char *
join_lines(const PGresult *res)
{
	StringInfoData text;

	initStringInfo(&text);
	for (int i = 0; i < PQntuples(res); i++)
		appendStringInfo(&text, "%s%s", i > 0 ? "\n" : "", PQgetvalue(res, i, 0));
	(void) pg_verifymbstr(text.data, text.len, false);
	return text.data;
}

char *
px_receive_ask_plan(px_receive_state *state, const char *options, const char **reason)
{
	px_stream_reader *reader = state->readers ? state->readers[0] : add_reader(state);
	px_stream  *stream = reader->stream;
	UserMapping *user = GetUserMapping(state->userid, state->foreign->fs_server);
	PGresult   *res;
	char	   *text = NULL;
	const char *generic = "";

	if (!px_stream_connect(stream, px_peer_get(user), user, false, reason))
	{
		if (*reason == NULL)
			*reason = "all connections are in use";
		return NULL;
	}
	note_connection(state, reader);
	if (state->foreign->fdw_exprs != NIL)
	{
		generic = ", GENERIC_PLAN";
		if (reader->peer_version < GENERIC_PLAN_SINCE)
		{
			*reason = "the query has parameters, and the remote server is before PostgreSQL 16";
			px_stream_close(stream);
			return NULL;
		}
	}

	px_slices_init(&state->local_slices, state->nslices_max);
	build_query(state, reader);
	res = px_exec(stream->connection->pg,
				  psprintf("EXPLAIN (%s%s) %s", options, generic, stream->sql));
	PG_TRY();
	{
		if (PQresultStatus(res) == PGRES_TUPLES_OK && PQnfields(res) == 1)
			text = join_lines(res);
		else
		{
			const char *message = PQresultErrorField(res, PG_DIAG_MESSAGE_PRIMARY);

			*reason = message ? pstrdup(message) : "remote does not answer";
			stream->connection->invalidated |= message == NULL;
		}
	}
	PG_FINALLY();
	{
		PQclear(res);
	}
	PG_END_TRY();
	px_stream_close(stream);
	return text;
}

/* ---------------------------------------------------------------------
 * Slices after the first
 * --------------------------------------------------------------------- */

/* Begin the stream of a slice and wait until it runs, whatever it takes. */
static void
start_slice(px_receive_state *state, px_stream_reader *reader)
{
	px_stream_status status;
	const char *reason;
	bool		busy;
	bool		reused;

	do
	{
		reason = begin_stream(state, reader, true, &busy);
		if (reason || busy)
			fail_slice(state, reader, busy ? "no connection is free" : reason);
		reused = reader->stream->connection->reused;
		status = px_stream_confirm(reader->stream, &reason);
	} while (status == PX_STREAM_BROKEN && reused);
	if (status != PX_STREAM_OK)
		fail_slice(state, reader, reason);
	accept_stream(state, reader);
}

void
px_receive_next_slice(px_receive_state *state, px_stream_reader *reader, int slice)
{
	MemoryContext oldcontext = MemoryContextSwitchTo(state->stream_context);

	reader->slice = slice;
	if (reader->stream->connection == NULL)
		start_slice(state, reader);
	else
	{
		build_query(state, reader);
		show_stream(state, reader);
		px_stream_go_on(reader->stream);
		accept_stream(state, reader);
	}
	MemoryContextSwitchTo(oldcontext);
}

void
px_receive_spread(px_receive_state *state)
{
	MemoryContext oldcontext = MemoryContextSwitchTo(state->stream_context);
	int			nbegun = 1;

	/* Begin all before waiting for any. */
	state->spread = true;
	for (;; nbegun++)
	{
		int			slice = px_slices_claim(state->slices);
		px_stream_reader *reader;
		bool		busy;

		if (slice < 0)
			break;
		reader = nbegun < state->nreaders ? state->readers[nbegun] : add_reader(state);
		reader->slice = slice;
		if (begin_stream(state, reader, false, &busy) != NULL || busy)
		{
			/* Then one of the others will have to read it. */
			px_slices_return(state->slices, slice);
			break;
		}
	}

	for (int i = 1; i < nbegun; i++)
	{
		px_stream_reader *reader = state->readers[i];
		const char *reason;

		if (reader->stream->phase == PX_STREAM_BEGUN &&
			px_stream_confirm(reader->stream, &reason) == PX_STREAM_OK)
			accept_stream(state, reader);
		else
			px_slices_return(state->slices, reader->slice);
	}
	MemoryContextSwitchTo(oldcontext);
}

void
px_receive_declined(px_receive_state *state, px_stream_reader *reader,
					px_stream_status status)
{
	px_stream  *stream = reader->stream;
	const char *reason = "remote backend has not loaded pg_exchange";

	state->fallback = status == PX_STREAM_DECLINED ? PX_FALLBACK_DECLINED :
		PX_FALLBACK_NO_EXTENSION;
	if (status == PX_STREAM_DECLINED)
		reason = psprintf("remote %s", stream->declined);
	else if (stream->connection)
	{
		/* Not to be used again: its next backend may be as ignorant. */
		stream->connection->invalidated = true;
	}
	px_stream_close(stream);

	if (state->spread)
	{
		if (status == PX_STREAM_DECLINED || reader->retried)
			fail_slice(state, reader, reason);
		reader->retried = true;
		start_slice(state, reader);
	}
	else if (status == PX_STREAM_DECLINED || reader->retried)
		start_child(state, reason);
	else
	{
		reader->retried = true;
		px_receive_begin_anew(state);
	}
}
