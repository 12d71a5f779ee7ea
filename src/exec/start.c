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
	const px_hello *remote = &state->connection->hello;
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

	request.version = state->version;
	choose_compression(state, &request);
	request.batch_rows = state->batch_rows_max = px_batch_rows_max;
	request.batch_bytes = Max(Min(px_batch_bytes_max,
								  px_receive_buffer / BUFFER_SHARE_OF_A_BATCH), 1);
	request.server_version = PG_VERSION_NUM;
	columns = px_decoder_columns(state->decoder, &request.ncolumns);

	nbytes = px_request_write(NULL, 0, &request, columns);
	text = palloc(nbytes + 1);
	px_request_write(text, nbytes + 1, &request, columns);
	sql = psprintf("SELECT exchange.send(%s, t.*) FROM (%s) t",
				   quote_literal_cstr(text), state->remote_sql);
	if (state->query.sql)
		pfree(unconstify(char *, state->query.sql));
	state->query.sql = MemoryContextStrdup(estate->es_query_cxt, sql);
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
	state->query.nparams = i;
	state->query.values = state->param_values;
}

bool
px_receive_lost_connection(px_receive_state *state)
{
	if (likely(state->taken_seen == px_connections_taken))
		return false;
	state->taken_seen = px_connections_taken;

	if (state->connection == NULL ||
		px_connection_is_owned(state->connection, state->owner))
		return false;
	state->connection = NULL;
	return true;
}

/* Forget what the last stream left, before the next one. */
static void
reset_stream(px_receive_state *state)
{
	TupleTableSlot *slot = state->css.ss.ss_ScanTupleSlot;

	state->finished = false;
	state->batch_rows = state->next_row = 0;
	state->nsenders = 0;
	px_decoder_reset(state->decoder);

	/* Columns that are not retrieved are null in all rows. */
	memset(slot->tts_isnull, true, slot->tts_tupleDescriptor->natts * sizeof(bool));
}

static void
create_decoder(px_receive_state *state)
{
	EState	   *estate = state->css.ss.ps.state;
	MemoryContext oldcontext = MemoryContextSwitchTo(estate->es_query_cxt);
	TupleDesc	tupdesc = px_scan_tuple_desc(state->foreign, estate,
											 state->css.ss.ss_ScanTupleSlot);

	state->decoder = px_decoder_new(state->servername, tupdesc,
									lsecond(state->foreign->fdw_private),
									px_scan_tuple_contexts(state->foreign, estate,
														   tupdesc->natts));
	MemoryContextSwitchTo(oldcontext);
}

/* Prepare for a stream on a connection that has just been acquired. */
static void
prepare_stream(px_receive_state *state)
{
	state->mode = px_mode_for_server(state->servername);
	state->locality = state->connection->locality;
	state->local = counts_as_local(state->locality);
	state->version = state->connection->version;
	if (state->decoder == NULL)
		create_decoder(state);
	build_query(state);
}

/*
 * Begin a stream on a connection from the pool.  A kept connection may have
 * died since its last use: then another one is tried.  Returns NULL, or the
 * reason why there can be no stream.
 */
static const char *
begin_stream(px_receive_state *state)
{
	EState	   *estate = state->css.ss.ps.state;
	UserMapping *user = GetUserMapping(state->userid, state->foreign->fs_server);
	px_peer    *peer = px_peer_get(user);
	const char *reason;
	px_stream_status status;
	bool		reused;

	do
	{
		state->connection = px_connection_acquire(peer, user, &reason);
		if (state->connection == NULL)
			return reason;
		state->owner = state->connection->owner;
		state->taken_seen = px_connections_taken;

		status = PX_STREAM_REFUSED;
		reason = px_snapshot_get(peer, estate, state->rtindex, state->userid);
		if (reason == NULL)
		{
			prepare_stream(state);
			status = px_stream_begin(state->connection, &state->query, &reason);
			if (status == PX_STREAM_OK)
				return NULL;
		}

		reused = state->connection->reused;
		if (status == PX_STREAM_BROKEN)
			px_connection_discard(state->connection);
		else
			px_connection_abandon(state->connection);
		state->connection = NULL;
	} while (status == PX_STREAM_BROKEN && reused);

	return reason;
}

static const char *
try_stream(px_receive_state *state)
{
	CommandId	command = GetCurrentCommandId(false);
	const char *reason;

	if (!px_enabled)
		return "pg_exchange.enabled is off";
	if (IsolationIsSerializable())
		return "transaction is serializable";

	evaluate_params(state);
	(void) px_receive_lost_connection(state);

	/*
	 * A rescan goes on with its connection.  Unless a command has come in
	 * between, by a function of the query: it may have written.
	 */
	if (state->connection && state->command == command)
		px_stream_again(state->connection, &state->query);
	else
	{
		if (state->connection)
			px_connection_release(state->connection);
		state->connection = NULL;
		reason = begin_stream(state);
		if (reason)
			return reason;
		state->command = command;
	}
	reset_stream(state);
	state->stats.streams++;
	return NULL;
}

void
px_receive_start(px_receive_state *state)
{
	MemoryContext oldcontext;
	const char *reason;

	if (state->stream_context == NULL)
		state->stream_context = AllocSetContextCreate(state->css.ss.ps.state->es_query_cxt,
													  "pg_exchange stream",
													  ALLOCSET_SMALL_SIZES);
	MemoryContextReset(state->stream_context);
	oldcontext = MemoryContextSwitchTo(state->stream_context);

	reason = try_stream(state);
	MemoryContextSwitchTo(oldcontext);
	if (reason)
		start_child(state, reason);
}

void
px_receive_declined(px_receive_state *state, px_stream_status status)
{
	if (status == PX_STREAM_DECLINED)
	{
		px_connection_abandon(state->connection);
		state->connection = NULL;
		start_child(state, psprintf("remote %s", state->query.declined));
		return;
	}

	/* Not to be used again: its next backend may be as ignorant. */
	state->connection->invalidated = true;
	px_connection_abandon(state->connection);
	state->connection = NULL;

	if (state->retried)
		start_child(state, "remote backend has not loaded pg_exchange");
	else
	{
		state->retried = true;
		px_receive_start(state);
	}
}
