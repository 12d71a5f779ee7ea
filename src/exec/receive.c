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

#include "access/parallel.h"
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
#include "exec/parallel.h"

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
	.EstimateDSMCustomScan = px_receive_estimate_dsm,
	.InitializeDSMCustomScan = px_receive_initialize_dsm,
	.ReInitializeDSMCustomScan = px_receive_reinitialize_dsm,
	.InitializeWorkerCustomScan = px_receive_initialize_worker,
	.ShutdownCustomScan = px_receive_shutdown,
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

px_receive_state *
px_receive_from_node(PlanState *node)
{
	if (IsA(node, CustomScanState) &&
		((CustomScanState *) node)->methods == &receive_exec_methods)
		return (px_receive_state *) node;
	return NULL;
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
	state->mode = px_mode_for_server(state->servername);
	state->rtindex = scan->scan.scanrelid;
	if (state->rtindex == 0)	/* join or upper: any member will do */
		state->rtindex = bms_next_member(px_foreignscan_relids(state->foreign), -1);
	rte = exec_rt_fetch(state->rtindex, estate);
	state->userid = px_foreignscan_user(state->foreign, rte);
	if (!OidIsValid(state->userid))
		state->userid = GetUserId();

	state->nstreams = intVal(list_nth(scan->custom_private, PX_RECEIVE_PRIVATE_STREAMS));

	/* Sorted rows must come by one stream; so do those of a nested loop. */
	state->slices = &state->local_slices;
	state->nslices_max = 1;
	if (state->foreign->fdw_exprs == NIL &&
		intVal(list_nth(scan->custom_private, PX_RECEIVE_PRIVATE_SORTED)) == 0)
		state->nslices_max = px_slices_setting;
	state->waiting = palloc(state->nslices_max * sizeof(px_stream *));

	if (!(eflags & EXEC_FLAG_EXPLAIN_ONLY))
	{
		/* It must run in postgres_fdw's own session, which is the leader's. */
		if (!IsParallelWorker())
			state->child = ExecInitNode((Plan *) state->foreign, estate, eflags);
		begin_params(state);
	}
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

/* A slice has been read: go on with the next one, if there is any. */
static void
end_slice(px_receive_state *state, px_stream_reader *reader)
{
	int			slice = px_slices_claim(state->slices);

	if (slice >= 0)
	{
		px_receive_next_slice(state, reader, slice);
		return;
	}
	reader->active = false;
	px_stream_close(reader->stream);
}

/*
 * Read from a stream of the node.  True if something came of it: then look
 * at the node anew.
 */
static bool
advance_reader(px_receive_state *state, px_stream_reader *reader, bool wait)
{
	px_stream_status status = px_stream_reader_next(reader, wait);

	/* The first thing that is said is what the slices are. */
	if (!state->spread && state->slices->announced)
		px_receive_spread(state);

	switch (status)
	{
		case PX_STREAM_OK:
			state->reader = reader;
			return true;
		case PX_STREAM_PENDING:
			return false;
		case PX_STREAM_END:
			end_slice(state, reader);
			return true;
		default:
			px_receive_declined(state, reader, status);
			return true;
	}
}

/* Read from whichever stream has something; false if that takes waiting. */
static bool
advance_streams(px_receive_state *state)
{
	bool		any = false;

	for (int i = 0; i < state->nreaders; i++)
	{
		px_stream_reader *reader = state->readers[i];

		if (!reader->active)
			continue;
		if (advance_reader(state, reader, false))
			return true;
		any = true;
	}
	state->finished = !any;
	return state->finished;
}

int
px_receive_waiting(px_receive_state *state, px_stream **streams)
{
	int			n = 0;

	for (int i = 0; i < state->nreaders; i++)
	{
		px_stream  *stream = state->readers[i]->stream;

		if (stream->connection && stream->phase != PX_STREAM_CLOSED)
			streams[n++] = stream;
		else if (stream->phase != PX_STREAM_CLOSED)
			return 0;			/* what it has is in its spool */
	}
	return n;
}

bool
px_receive_advance(px_receive_state *state, bool wait)
{
	for (;;)
	{
		switch (state->phase)
		{
			case PX_RECEIVE_CHILD:
				return true;

			case PX_RECEIVE_NEW:
				if (!wait)
					return false;
				px_receive_confirm(state);
				break;

			case PX_RECEIVE_BEGUN:
				if (state->reader->stream->phase == PX_STREAM_CLOSED)
					px_receive_begin_anew(state);	/* its connection was taken */
				else if (wait || px_stream_is_ready(state->reader->stream))
					px_receive_confirm(state);
				else
					return false;
				break;

			case PX_RECEIVE_STREAM:
				if (px_receive_has_rows(state))
					return true;
				if (wait && state->nreaders == 1)
				{
					/* Not one look at the socket too many. */
					if (state->reader->active)
						(void) advance_reader(state, state->reader, true);
					else
						state->finished = true;
				}
				else if (!advance_streams(state))
				{
					int			n;

					if (!wait)
						return false;
					n = px_receive_waiting(state, state->waiting);
					if (n > 0)
						px_stream_wait_any(state->waiting, n, -1, &state->stats.receive_wait);
				}
				break;
		}
	}
}

/* ExecScan's access method. */
static TupleTableSlot *
receive_next(ScanState *node)
{
	px_receive_state *state = (px_receive_state *) node;
	TupleTableSlot *slot = ExecClearTuple(node->ss_ScanTupleSlot);
	px_stream_reader *reader;

	if (!px_receive_has_rows(state) && !px_receive_advance(state, !state->yields))
		return NULL;
	if (state->phase == PX_RECEIVE_CHILD)
		slot = next_child_row(state, slot);
	else
	{
		reader = state->reader;
		if (reader->next_row >= reader->batch_rows)
			return NULL;
		px_decoder_row(reader->decoder, reader->next_row++,
					   slot->tts_values, slot->tts_isnull);
		ExecStoreVirtualTuple(slot);
	}
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
	return ExecScan(&css->ss, receive_next, receive_recheck);
}

static void
rescan_receive(CustomScanState *css)
{
	px_receive_state *state = (px_receive_state *) css;
	Bitmapset  *changed = css->ss.ps.chgParam;

	ExecScanReScan(&css->ss);

	if (changed && state->child)
		UpdateChangedParamSet(state->child, changed);
	if (state->phase == PX_RECEIVE_CHILD)
	{
		if (state->child->chgParam == NULL)
			ExecReScan(state->child);
		return;
	}

	for (int i = 0; i < state->nreaders; i++)
	{
		px_stream_close(state->readers[i]->stream);
		state->readers[i]->active = false;
	}
	state->phase = PX_RECEIVE_NEW;
}

static void
end_receive(CustomScanState *css)
{
	px_receive_state *state = (px_receive_state *) css;

	for (int i = 0; i < state->nreaders; i++)
		px_stream_close(state->readers[i]->stream);
	if (state->nreaders > 0)
		px_counters_flush();
	if (state->child)
		ExecEndNode(state->child);
	if (state->question)
		ExecEndNode(state->question);
}
