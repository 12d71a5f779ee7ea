/*-------------------------------------------------------------------------
 *
 * request.c
 *		What an ExchangeReceive asks of the remote.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/parallel.h"
#include "executor/executor.h"
#include "executor/instrument.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/memutils.h"

#include "adapt/choice.h"
#include "compat.h"
#include "conn/link.h"
#include "exec/request.h"
#include "exec/scan_filter.h"
#include "exec/scan_keys.h"
#include "transport/transmission.h"
#include "tuple/decode.h"
#include "tuple/pglz.h"
#include "wire/piece.h"
#include "wire/request.h"

/* Room for a request without its columns, and for the wrapping. */
#define REQUEST_NBYTES		1024

/* Room for a column of it: type, typmod, separators. */
#define REQUEST_COLUMN_NBYTES	24

/*
 * The choices to ask for: those of the mode in force, but nothing is
 * compressed that stays on the instance.  Mode auto also gets what the last
 * stream has measured, or those of other sessions.
 */
static void
choose_compression(px_receive_state *state, const px_hello *remote,
				   px_peer *peer, px_request *request)
{
	bool		cut = state->ntargets > 1;

	px_choices_ask(request,
				   px_mode_choices(state->local && !state->compress ?
								   PX_MODE_NONE : state->mode),
				   cut ? remote->codecs & state->target_codecs :
				   remote->codecs);
	request->encodings &= cut ? state->target_encodings : px_encodings_here();
	if (!request->adaptive)
		return;
	request->cpu_limit = (uint32) rint(px_compression_cpu_limit * 1000);
	px_peer_recall_reading(peer, &request->link_rate, &request->idle);
	request->random = px_debug_random_choices;
}

/*
 * What the remote is to measure of its plan: what is measured of ours.  Plans
 * of a worker's streams would not get to EXPLAIN, nor those of frames that are
 * passed on.
 */
static uint32
wanted_plan(const px_receive_state *state)
{
	int			options = state->css.ss.ps.state->es_instrument;

	if (!px_explain_remote || IsParallelWorker() || options == 0 ||
		state->ntargets > 1)
		return 0;
	return PX_EXPLAIN_ROWS |
		((options & INSTRUMENT_TIMER) ? PX_EXPLAIN_TIMING : 0) |
		((options & INSTRUMENT_BUFFERS) ? PX_EXPLAIN_BUFFERS : 0) |
		((options & INSTRUMENT_WAL) ? PX_EXPLAIN_WAL : 0);
}

/*
 * Fill in what both transports ask for; the compression is already chosen.
 * The stream is one of nstreams that share receive_buffer.
 */
static void
fill_request(px_receive_state *state, px_stream_reader *reader, int nstreams,
			 px_request *request)
{
	request->version = reader->version;
	request->batch_rows = reader->batch_rows_max = px_batch_rows_max;
	request->batch_bytes =
		Max(Min(px_batch_bytes_max,
				px_receive_buffer / PX_BUFFER_SHARE_OF_A_BATCH /
					Max(nstreams, 1) / state->nslices_max),
			1);
	request->batch_bytes = Min(request->batch_bytes, px_max_frame_bytes / 2);
	request->server_version = PG_VERSION_NUM;
	request->fetch_rows = state->fetch_size;
	request->slices = state->slices->wanted;
	request->slice = reader->slice;
	request->blocks = reader->slice > 0 ? state->slices->slice.blocks : 0;
	request->targets = state->ntargets;
	request->spread = state->plain_sql != NULL;
	request->links = state->links;
	request->pulled = state->pulled;
	request->plain = state->plain;
	request->explain = reader->explain = wanted_plan(state);
}

/*
 * SELECT exchange.send('request', t.*) FROM (remote SQL) t.  A plain t would
 * be the column of that name, if there is one.  The remote SQL has the runtime
 * filters.
 */
static char *
wrap_query(px_receive_state *state, px_stream_reader *reader,
		   px_request *request, const char *marker)
{
	const px_request_column	*columns =
		px_decoder_columns(reader->decoder, &request->ncolumns);
	size_t		nbytes;
	char	   *text;

	if (request->targets > 1)
	{
		/* The last column names the target.  Inboxes have limits as pieces. */
		request->ncolumns--;
		request->batch_rows = Min(request->batch_rows,
								  PX_PIECE_VALUES_MAX / request->ncolumns);
	}
	nbytes = px_request_write(NULL, 0, request, columns);
	text = palloc(nbytes + 1);
	px_request_write(text, nbytes + 1, request, columns);
	return psprintf("SELECT exchange.%s(%s::pg_catalog.text, t.*) FROM (%s) t",
					marker, quote_literal_cstr(text), state->read_sql);
}

void
px_request_for_stream(px_receive_state *state, px_stream_reader *reader,
					  const px_connection *connection)
{
	px_stream  *stream = reader->stream;
	px_peer    *peer = connection->peer;
	px_request	request = {0};
	char	   *sql;

	choose_compression(state, &connection->hello, peer, &request);
	reader->link_history = request.adaptive ? &peer->link_history : NULL;
	reader->link = px_peer_link(peer);
	px_scan_filter_fit(state, &connection->hello);
	fill_request(state, reader, state->nstreams_at_once > 0 ?
				 state->nstreams_at_once : state->nstreams, &request);
	request.has_session = peer->admitted;	/* not in plain EXPLAIN */
	request.session = peer->admission.session;
	sql = wrap_query(state, reader, &request, "send");
	if (stream->sql)
		pfree(unconstify(char *, stream->sql));
	stream->sql =
		MemoryContextStrdup(state->css.ss.ps.state->es_query_cxt, sql);
}

char *
px_request_for_session(px_receive_state *state, px_stream_reader *reader)
{
	px_peer    *peer = px_receive_peer(state);
	px_request	request = {0};

	choose_compression(state, &peer->admission.hello, peer, &request);

	/* What a session read measures of the link is not what a stream would. */
	reader->link_history = NULL;
	px_scan_filter_fit(state, &peer->admission.hello);
	px_scan_keys_fit(state, peer->admission.hello.encoding);
	fill_request(state, reader, state->nstreams, &request);
	if (state->exact_portions)
	{
		request.fixed = true;
		request.batch_rows = reader->batch_rows_max =
			Min(state->fetch_size, PX_FRAME_ROWS_MAX);
	}
	return wrap_query(state, reader, &request, "send_text");
}

Size
px_request_for_session_nbytes(const px_receive_state *state)
{
	int			ncolumns = list_length(lsecond(state->foreign->fdw_private));

	return strlen(state->remote_sql) + REQUEST_NBYTES +
		(Size) (ncolumns + 1) * REQUEST_COLUMN_NBYTES;
}

void
px_request_run_init_plans(px_receive_state *state)
{
	int			nestlevel;
	ListCell   *lc;

	if (state->param_exprs == NIL)
		return;
	nestlevel = px_transmission_begin();
	foreach(lc, state->param_exprs)
	{
		bool		isnull;

		(void) ExecEvalExprSwitchContext(lfirst(lc),
										 state->css.ss.ps.ps_ExprContext,
										 &isnull);
	}
	AtEOXact_GUC(true, nestlevel);
}

void
px_request_evaluate_params(px_receive_state *state)
{
	ExprContext *econtext = state->css.ss.ps.ps_ExprContext;
	int			nestlevel;
	ListCell   *lc;
	int			i = 0;

	if (state->param_exprs == NIL)
		return;
	px_scan_keys_fit(
		state, state->readers[0]->stream->holder.connection->hello.encoding);

	nestlevel = px_transmission_begin();
	foreach(lc, state->param_exprs)
	{
		bool		isnull;
		Datum		value =
			ExecEvalExpr((ExprState *) lfirst(lc), econtext, &isnull);

		state->param_values[i] = isnull ? NULL :
			OutputFunctionCall(&state->param_output[i], value);
		i++;
	}
	AtEOXact_GUC(true, nestlevel);
	state->readers[0]->stream->nparams = i;
	state->readers[0]->stream->values = state->param_values;
}
