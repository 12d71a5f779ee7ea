/*-------------------------------------------------------------------------
 *
 * receive.c
 *		ExchangeReceive: the scan node that reads a stream of frames.
 *
 * The node starts when its first row is asked for (start.c), and then either
 * reads frames, checks and decodes them, and yields their rows; or passes on
 * the scan tuples of its child, the ForeignScan that postgres_fdw planned.
 * Quals and projection are evaluated here in both cases, so that the child
 * need not be planned twice.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"
#include "foreign/foreign.h"
#include "nodes/nodeFuncs.h"
#include "parser/parsetree.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "compat.h"
#include "exec/receive.h"
#include "exec/receive_state.h"

static Node *create_state(CustomScan *scan);
static void begin_receive(CustomScanState *css, EState *estate, int eflags);
static TupleTableSlot *exec_receive(CustomScanState *css);
static void end_receive(CustomScanState *css);
static void rescan_receive(CustomScanState *css);

const CustomScanMethods px_receive_scan_methods = {
	.CustomName = PX_RECEIVE_NAME,
	.CreateCustomScanState = create_state,
};

static const CustomExecMethods receive_exec_methods = {
	.CustomName = PX_RECEIVE_NAME,
	.BeginCustomScan = begin_receive,
	.ExecCustomScan = exec_receive,
	.EndCustomScan = end_receive,
	.ReScanCustomScan = rescan_receive,
	.ExplainCustomScan = px_receive_explain,
};

void
px_receive_init(void)
{
	RegisterCustomScanMethods(&px_receive_scan_methods);
}

static Node *
create_state(CustomScan *scan)
{
	px_receive_state *state = palloc0(sizeof(px_receive_state));

	NodeSetTag(state, T_CustomScanState);
	state->css.methods = &receive_exec_methods;
	return (Node *) state;
}

/* Prepare to evaluate the remote query's parameters, as text. */
static void
begin_params(px_receive_state *state)
{
	List	   *exprs = state->foreign->fdw_exprs;
	int			nparams = list_length(exprs);
	ListCell   *lc;
	int			i = 0;

	if (nparams == 0)
		return;

	state->param_exprs = ExecInitExprList(exprs, &state->css.ss.ps);
	state->param_output = palloc(nparams * sizeof(FmgrInfo));
	state->param_values = palloc0(nparams * sizeof(char *));
	foreach(lc, exprs)
	{
		Oid			output;
		bool		is_varlena;

		getTypeOutputInfo(exprType(lfirst(lc)), &output, &is_varlena);
		fmgr_info(output, &state->param_output[i++]);
	}
}

static void
begin_receive(CustomScanState *css, EState *estate, int eflags)
{
	px_receive_state *state = (px_receive_state *) css;
	CustomScan *scan = (CustomScan *) css->ss.ps.plan;
	RangeTblEntry *rte;

	state->foreign = linitial_node(ForeignScan, scan->custom_plans);
	state->remote_sql = strVal(linitial(state->foreign->fdw_private));
	state->servername = GetForeignServer(state->foreign->fs_server)->servername;
	state->query.servername = state->servername;
	state->query.remote_sql = state->remote_sql;
	state->mode = px_mode_for_server(state->servername);
	state->rtindex = scan->scan.scanrelid;
	if (state->rtindex == 0)	/* join or upper: any member will do */
		state->rtindex = bms_next_member(px_foreignscan_relids(state->foreign), -1);
	rte = exec_rt_fetch(state->rtindex, estate);
	state->userid = px_foreignscan_user(state->foreign, rte);
	if (!OidIsValid(state->userid))
		state->userid = GetUserId();

	if (!(eflags & EXEC_FLAG_EXPLAIN_ONLY))
	{
		state->child = ExecInitNode((Plan *) state->foreign, estate, eflags);
		begin_params(state);
	}
}

/* ---------------------------------------------------------------------
 * Reading the stream
 * --------------------------------------------------------------------- */

static px_sender_totals *
find_sender(px_receive_state *state, uint32 sender)
{
	px_sender_totals *totals;

	for (int i = 0; i < state->nsenders; i++)
	{
		if (state->senders[i].sender == sender)
			return &state->senders[i];
	}

	if (state->nsenders == state->senders_max)
	{
		int			senders_max = Max(8, state->senders_max * 2);
		Size		nbytes = senders_max * sizeof(px_sender_totals);

		state->senders = state->senders ? repalloc(state->senders, nbytes) :
			MemoryContextAlloc(state->css.ss.ps.state->es_query_cxt, nbytes);
		state->senders_max = senders_max;
	}
	totals = &state->senders[state->nsenders++];
	memset(totals, 0, sizeof(*totals));
	totals->sender = sender;
	return totals;
}

static void
require(px_receive_state *state, const char *what, uint64 expected, uint64 got)
{
	px_fault	fault;

	if (expected == got)
		return;
	px_fail(&fault, PX_BAD_HEADER, what, expected, got);
	px_raise_fault(state->servername, &fault);
}

/* Hold a sender's end frame against what has arrived. */
static void
finish_sender(px_receive_state *state, px_sender_totals *totals,
			  const uint8_t *body, const px_frame_header *header)
{
	px_end		end;
	px_fault	fault;

	if (px_end_read(body, header, &end, &fault) != PX_OK)
		px_raise_fault(state->servername, &fault);
	require(state, "total rows", end.rows, totals->received.rows);
	require(state, "total batches", end.batches, totals->received.batches);
	require(state, "total raw bytes", end.raw_nbytes, totals->received.raw_nbytes);
	require(state, "total wire bytes", end.wire_nbytes, totals->received.wire_nbytes);

	totals->ended = true;
	state->stats.encode_us += end.encode_us;
	state->stats.send_wait_us += end.send_wait_us;
}

/* Take one frame apart; true if it was a batch. */
static bool
take_frame(px_receive_state *state, const uint8_t *frame, size_t nbytes)
{
	px_frame_header header;
	px_sender_totals *totals;
	const uint8_t *body = frame + PX_FRAME_HEADER_NBYTES;
	px_fault	fault;

	if (px_frame_peek(frame, nbytes, &header, &fault) != PX_OK ||
		px_frame_verify(frame, &header, &fault) != PX_OK)
		px_raise_fault(state->servername, &fault);
	require(state, "version", state->version, header.version);

	totals = find_sender(state, header.sender);
	require(state, "frames after the end", 0, totals->ended ? 1 : 0);
	require(state, "sequence number", totals->next_sequence, header.sequence);
	require(state, "schema frame first", header.sequence == 0, header.kind == PX_FRAME_SCHEMA);
	totals->next_sequence++;
	state->stats.wire_nbytes += nbytes;

	switch (header.kind)
	{
		case PX_FRAME_SCHEMA:
			px_decoder_schema(state->decoder, body, &header,
							  state->connection->hello.server_version);
			totals->received.wire_nbytes += nbytes;
			return false;

		case PX_FRAME_BATCH:
			/* What is decoded takes memory by rows, however small the frame. */
			if (header.rows > state->batch_rows_max)
				require(state, "rows of a batch", state->batch_rows_max, header.rows);
			px_decoder_batch(state->decoder, body, &header);
			totals->received.wire_nbytes += nbytes;
			totals->received.raw_nbytes += header.raw_nbytes;
			totals->received.rows += header.rows;
			totals->received.batches++;
			state->stats.raw_nbytes += header.raw_nbytes;
			state->stats.batches++;
			state->batch_rows = header.rows;
			state->next_row = 0;
			return true;

		default:
			finish_sender(state, totals, body, &header);
			return false;
	}
}

/* Give the connection back, if there is one, and leave an unfinished stream. */
static void
release_connection(px_receive_state *state)
{
	if (px_receive_lost_connection(state) || state->connection == NULL)
		return;
	if (state->finished)
		px_connection_release(state->connection);
	else
		px_connection_abandon(state->connection);
	state->connection = NULL;
}

/* The remote query is complete: was every sender? */
static void
finish_stream(px_receive_state *state)
{
	require(state, "end frame", 1, state->nsenders > 0);
	for (int i = 0; i < state->nsenders; i++)
		require(state, "end frame", 1, state->senders[i].ended);
	state->finished = true;
}

/*
 * Read frames up to the next batch.  False at the end of the stream, and if
 * the child has taken over before the first frame.
 */
static bool
next_batch(px_receive_state *state)
{
	while (!state->finished)
	{
		const uint8_t *frame;
		size_t		nbytes;
		instr_time	begin;
		instr_time	end;
		bool		is_batch;
		px_stream_status status;

		status = px_stream_next(state->connection, &state->query,
								&frame, &nbytes, &state->stats.receive_wait);
		if (status == PX_STREAM_NOT_PLANNED || status == PX_STREAM_DECLINED)
		{
			px_receive_declined(state, status);
			if (state->fallback_reason)
				return false;
			continue;
		}
		if (status == PX_STREAM_END)
		{
			finish_stream(state);
			if (state->param_exprs == NIL)
				release_connection(state);
			return false;
		}

		INSTR_TIME_SET_CURRENT(begin);
		is_batch = take_frame(state, frame, nbytes);
		INSTR_TIME_SET_CURRENT(end);
		INSTR_TIME_ACCUM_DIFF(state->stats.decode, end, begin);
		if (is_batch)
			return true;
	}
	return false;
}

/* ---------------------------------------------------------------------
 * Yielding rows
 * --------------------------------------------------------------------- */

/* Pass on a row of the child in our slot, without copying its values. */
static TupleTableSlot *
next_child_row(px_receive_state *state, TupleTableSlot *slot)
{
	TupleTableSlot *child_slot = ExecProcNode(state->child);
	int			natts = slot->tts_tupleDescriptor->natts;

	if (TupIsNull(child_slot))
		return NULL;

	slot_getallattrs(child_slot);
	memcpy(slot->tts_values, child_slot->tts_values, natts * sizeof(Datum));
	memcpy(slot->tts_isnull, child_slot->tts_isnull, natts * sizeof(bool));
	return ExecStoreVirtualTuple(slot);
}

static TupleTableSlot *
next_stream_row(px_receive_state *state, TupleTableSlot *slot)
{
	/* Then the rows that are left of the batch are lost, too. */
	if (px_receive_lost_connection(state) && !state->finished)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_CURSOR_STATE),
				 errmsg("stream from server \"%s\" is gone", state->servername),
				 errdetail("It began in a subtransaction that was rolled back.")));

	if (state->next_row >= state->batch_rows && !next_batch(state))
		return state->fallback_reason ? next_child_row(state, slot) : NULL;

	px_decoder_row(state->decoder, state->next_row++, slot->tts_values, slot->tts_isnull);
	return ExecStoreVirtualTuple(slot);
}

/* ExecScan's access method. */
static TupleTableSlot *
receive_next(ScanState *node)
{
	px_receive_state *state = (px_receive_state *) node;
	TupleTableSlot *slot = ExecClearTuple(node->ss_ScanTupleSlot);

	slot = state->fallback_reason ?
		next_child_row(state, slot) : next_stream_row(state, slot);
	if (slot && node->ss_currentRelation)
		slot->tts_tableOid = RelationGetRelid(node->ss_currentRelation);
	return slot;
}

/* Quals that the remote evaluated need no recheck: rows are never locked. */
static bool
receive_recheck(ScanState *node, TupleTableSlot *slot)
{
	return true;
}

static TupleTableSlot *
exec_receive(CustomScanState *css)
{
	px_receive_state *state = (px_receive_state *) css;

	if (!state->started)
	{
		px_receive_start(state);
		state->started = true;
	}
	return ExecScan(&css->ss, receive_next, receive_recheck);
}


static void
rescan_receive(CustomScanState *css)
{
	px_receive_state *state = (px_receive_state *) css;
	Bitmapset  *changed = css->ss.ps.chgParam;

	ExecScanReScan(&css->ss);

	if (changed)
		UpdateChangedParamSet(state->child, changed);
	if (state->fallback_reason)
	{
		if (state->child->chgParam == NULL)
			ExecReScan(state->child);
		return;
	}

	/* A connection that has finished its stream can take the next one. */
	if (!state->finished)
		release_connection(state);
	state->started = false;
}

static void
end_receive(CustomScanState *css)
{
	px_receive_state *state = (px_receive_state *) css;

	release_connection(state);
	if (state->child)
		ExecEndNode(state->child);
}
