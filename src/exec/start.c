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

#include "access/xact.h"
#include "codec/codec.h"
#include "column/column.h"
#include "executor/executor.h"
#include "foreign/foreign.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/float.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "compat.h"
#include "conn/snapshot.h"
#include "exec/receive_state.h"
#include "exec/scan_tuple.h"

/*
 * Of receive_buffer, a stream holds a frame, libpq's input buffer with the
 * next one (which doubles as it grows), and a decoded batch.
 */
#define BUFFER_SHARE_OF_A_BATCH		8

/* Let the child run in our place, from now on and for good. */
static void
start_child(px_receive_state *state, const char *reason)
{
	EState	   *estate = state->css.ss.ps.state;
	MemoryContext oldcontext;

	ereport(DEBUG1,
			(errmsg_internal("scan on server \"%s\" is left to postgres_fdw: %s",
							 state->servername, reason)));
	state->fallback_reason = MemoryContextStrdup(estate->es_query_cxt, reason);
	state->phase = PX_RECEIVE_CHILD;

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
 * as the remote knows them.
 */
static void
choose_compression(px_receive_state *state, px_request *request)
{
	const px_hello *remote = &state->stream->connection->hello;
	uint8		codec = PX_CODEC_NONE;

	request->encodings = 1 << PX_ENC_PLAIN;
	request->codec = PX_CODEC_NONE;
	if (state->local || state->mode == PX_MODE_NONE)
		return;

	request->encodings = (1 << PX_ENCODING_COUNT) - 1;
	codec = state->mode == PX_MODE_HIGH_COMPRESSION ? PX_CODEC_ZSTD : PX_CODEC_LZ4;
	if (remote->codecs & (1u << codec))
		request->codec = codec;
}

/*
 * SELECT exchange.send('request', t.*) FROM (remote SQL) t.  A plain t would
 * be the column of that name, if there is one.
 */
static void
build_query(px_receive_state *state)
{
	EState	   *estate = state->css.ss.ps.state;
	px_request	request = {0};
	const px_request_column *columns;
	size_t		nbytes;
	char	   *text;
	char	   *sql;

	request.version = state->reader->version;
	choose_compression(state, &request);
	request.batch_rows = state->reader->batch_rows_max = px_batch_rows_max;
	request.batch_bytes = Max(Min(px_batch_bytes_max,
								  px_receive_buffer / BUFFER_SHARE_OF_A_BATCH /
								  Max(state->nstreams, 1)), 1);
	request.server_version = PG_VERSION_NUM;
	columns = px_decoder_columns(state->reader->decoder, &request.ncolumns);

	nbytes = px_request_write(NULL, 0, &request, columns);
	text = palloc(nbytes + 1);
	px_request_write(text, nbytes + 1, &request, columns);
	sql = psprintf("SELECT exchange.send(%s, t.*) FROM (%s) t",
				   quote_literal_cstr(text), state->remote_sql);
	if (state->stream->sql)
		pfree(unconstify(char *, state->stream->sql));
	state->stream->sql = MemoryContextStrdup(estate->es_query_cxt, sql);
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
	state->stream->nparams = i;
	state->stream->values = state->param_values;
}

/* Once per node: what its streams are read by. */
static void
create_reader(px_receive_state *state)
{
	EState	   *estate = state->css.ss.ps.state;
	MemoryContext oldcontext = MemoryContextSwitchTo(estate->es_query_cxt);
	TupleDesc	tupdesc = px_scan_tuple_desc(state->foreign, estate,
											 state->css.ss.ss_ScanTupleSlot);
	const char **contexts = px_scan_tuple_contexts(state->foreign, estate, tupdesc->natts);

	state->stream = px_stream_new();
	state->stream->servername = state->servername;
	state->stream->remote_sql = state->remote_sql;
	state->reader = px_stream_reader_new(state->stream,
								  px_decoder_new(state->servername, tupdesc,
												 lsecond(state->foreign->fdw_private),
												 contexts),
								  &state->stats);
	state->stream_context = AllocSetContextCreate(estate->es_query_cxt,
												  "pg_exchange stream",
												  ALLOCSET_SMALL_SIZES);
	MemoryContextSwitchTo(oldcontext);
}

/* Prepare for a stream on a connection that has just been acquired. */
static void
prepare_stream(px_receive_state *state)
{
	const px_connection *connection = state->stream->connection;

	state->mode = px_mode_for_server(state->servername);
	state->locality = connection->locality;
	state->local = counts_as_local(state->locality);
	state->reader->version = connection->version;
	state->reader->peer_version = connection->hello.server_version;
	build_query(state);
}

/*
 * Begin a stream.  Returns NULL if that worked, or if all connections are in
 * use (*busy), else the reason why there can be no stream.
 */
static const char *
begin_stream(px_receive_state *state, bool may_take, bool *busy)
{
	px_stream  *stream = state->stream;
	CommandId	command = GetCurrentCommandId(false);
	UserMapping *user;
	px_peer    *peer;
	const char *reason;

	*busy = false;
	if (!px_enabled)
		return "pg_exchange.enabled is off";
	if (IsolationIsSerializable())
		return "transaction is serializable";

	evaluate_params(state);

	/*
	 * A rescan goes on with its connection.  Unless a command has come in
	 * between, by a function of the query: it may have written.
	 */
	if (stream->connection && state->command == command)
	{
		px_stream_again(stream);
		return NULL;
	}
	px_stream_close(stream);

	user = GetUserMapping(state->userid, state->foreign->fs_server);
	peer = px_peer_get(user);
	if (!px_stream_connect(stream, peer, user, may_take, &reason))
	{
		*busy = reason == NULL;
		return reason;
	}
	reason = px_snapshot_get(peer, state->css.ss.ps.state, state->rtindex, state->userid,
							 &state->question);
	if (reason)
	{
		px_stream_close(stream);
		return reason;
	}
	prepare_stream(state);
	px_stream_begin(stream);
	state->command = command;
	return NULL;
}

/* The remote is going to send. */
static void
accept_stream(px_receive_state *state)
{
	TupleTableSlot *slot = state->css.ss.ss_ScanTupleSlot;

	px_stream_reader_reset(state->reader);

	/* Columns that are not retrieved are null in all rows. */
	memset(slot->tts_isnull, true, slot->tts_tupleDescriptor->natts * sizeof(bool));
	state->stats.streams++;
	state->phase = PX_RECEIVE_STREAM;
}

bool
px_receive_begin(px_receive_state *state, bool may_take)
{
	MemoryContext oldcontext;
	const char *reason;
	bool		busy;

	Assert(state->phase == PX_RECEIVE_NEW);
	if (state->stream == NULL)
		create_reader(state);
	MemoryContextReset(state->stream_context);
	oldcontext = MemoryContextSwitchTo(state->stream_context);

	reason = begin_stream(state, may_take, &busy);
	if (reason)
		start_child(state, reason);
	else if (!busy && state->stream->phase == PX_STREAM_RUNNING)
		accept_stream(state);
	else if (!busy)
		state->phase = PX_RECEIVE_BEGUN;

	MemoryContextSwitchTo(oldcontext);
	return !busy;
}

void
px_receive_confirm(px_receive_state *state)
{
	while (state->phase == PX_RECEIVE_NEW || state->phase == PX_RECEIVE_BEGUN)
	{
		MemoryContext oldcontext;
		const char *reason;
		bool		reused;

		if (state->phase == PX_RECEIVE_NEW || state->stream->phase == PX_STREAM_CLOSED)
		{
			/* Not begun, or another stream has taken the connection. */
			state->phase = PX_RECEIVE_NEW;
			(void) px_receive_begin(state, true);
			continue;
		}

		oldcontext = MemoryContextSwitchTo(state->stream_context);
		reused = state->stream->connection->reused;
		switch (px_stream_confirm(state->stream, &reason))
		{
			case PX_STREAM_OK:
				accept_stream(state);
				break;
			case PX_STREAM_BROKEN:
				/* A kept connection may have died since its last use. */
				if (reused)
				{
					state->phase = PX_RECEIVE_NEW;
					break;
				}
				/* FALLTHROUGH */
			default:
				start_child(state, reason);
				break;
		}
		MemoryContextSwitchTo(oldcontext);
	}
}

void
px_receive_declined(px_receive_state *state, px_stream_status status)
{
	px_stream  *stream = state->stream;

	if (status == PX_STREAM_DECLINED)
	{
		px_stream_close(stream);
		start_child(state, psprintf("remote %s", stream->declined));
		return;
	}

	/* Not to be used again: its next backend may be as ignorant. */
	if (stream->connection)
		stream->connection->invalidated = true;
	px_stream_close(stream);

	if (state->retried)
		start_child(state, "remote backend has not loaded pg_exchange");
	else
	{
		state->retried = true;
		state->phase = PX_RECEIVE_NEW;
	}
}
