/*-------------------------------------------------------------------------
 *
 * receive.c
 *		ExchangeReceive: the scan node that reads a stream of frames.
 *
 * The node starts when its first row is asked for (exec/start.c).  Then it
 * either reads frames, checks and decodes them, and yields their rows; or it
 * passes on the scan tuples of its child, the ForeignScan that postgres_fdw
 * planned.  Quals and projection are evaluated here in both cases, so that the
 * child need not be planned twice.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/parallel.h"
#include "executor/executor.h"
#include "foreign/fdwapi.h"
#include "foreign/foreign.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "compat.h"
#include "exec/ask_session.h"
#include "exec/ask_types.h"
#include "exec/child_keys.h"
#include "exec/explain.h"
#include "exec/known_cost.h"
#include "exec/parallel.h"
#include "exec/partial.h"
#include "exec/plan_walk.h"
#include "exec/read_slices.h"
#include "exec/request.h"
#include "exec/run.h"
#include "exec/scan_filter.h"
#include "exec/scan_keys.h"
#include "exec/scan_tuple.h"
#include "exec/shared.h"
#include "exec/start.h"
#include "exec/trim.h"
#include "exec/writer.h"
#include "library.h"
#include "node/receive.h"
#include "transport/fdw_scan.h"
#include "transport/question.h"
#include "tuple/decode.h"

static Node *create_state(CustomScan *scan);
static void begin_receive(CustomScanState *css, EState *estate, int eflags);
static TupleTableSlot *exec_receive(CustomScanState *css);
static void end_receive(CustomScanState *css);
static void rescan_receive(CustomScanState *css);
static void shutdown_receive(CustomScanState *css);

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
	.EstimateDSMCustomScan = px_parallel_estimate_dsm,
	.InitializeDSMCustomScan = px_parallel_initialize_dsm,
	.ReInitializeDSMCustomScan = px_parallel_reinitialize_dsm,
	.InitializeWorkerCustomScan = px_parallel_initialize_worker,
	.ShutdownCustomScan = shutdown_receive,
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

	px_library_check();
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

/* Is it a parameter that has another value at each rescan? */
static bool
is_changing_param(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Param) && ((Param *) node)->paramkind == PARAM_EXEC)
		return true;
	return expression_tree_walker(node, is_changing_param, context);
}

/* Prepare to evaluate the remote query's parameters, as text. */
static void
begin_params(px_receive_state *state, const CustomScan *scan)
{
	List	   *exprs = state->params;
	int			nparams = list_length(exprs);
	ListCell   *lc;
	int			i = 0;

	if (nparams == 0)
		return;

	/* An ExchangeLookup sets its keys once for many outer rows. */
	state->params_change = !px_receive_get(scan, PX_RECEIVE_PRIVATE_KEYS) &&
		!px_receive_get(scan, PX_RECEIVE_PRIVATE_CONSTANT) &&
		is_changing_param((Node *) exprs, NULL);
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

/* A String of the plan; NULL for NIL. */
static const char *
private_string(const CustomScan *scan, px_receive_private item)
{
	Node	   *value = list_nth(scan->custom_private, item);

	return value ? strVal(value) : NULL;
}

/* Set up what may run on postgres_fdw's connection. */
static void
begin_session(px_receive_state *state, const CustomScan *scan, int eflags)
{
	EState	   *estate = state->css.ss.ps.state;
	const ForeignScan *foreign = state->foreign;
	List	   *types = list_nth(scan->custom_private,
								 PX_RECEIVE_PRIVATE_TYPES);

	px_trim_count_scan();
	state->child = (PlanState *) px_fdw_scan_init(
		px_scan_tuple_plan(foreign, px_receive_table(state)), estate, eflags);
	state->has_local_plan = types != NIL && outerPlanState(state->child);
	state->fallback = state->has_local_plan ?
		outerPlanState(state->child) : state->child;
	px_child_keys_begin(state, eflags);
	px_ask_types_begin(state, types);
	state->question = px_fdw_cursor_new(estate, foreign->fs_server,
										state->rtindex, state->userid,
										NIL, state->remote_sql,
										px_question_nbytes(state->remote_sql,
														   state->types_sql));
	state->session_cursor =
		px_fdw_cursor_new(estate, foreign->fs_server, state->rtindex,
						  state->userid, state->params,
						  state->remote_sql,
						  px_request_for_session_nbytes(state) +
						  px_scan_filter_nbytes(state));
}

/* Whom to connect as, and to which server. */
static void
begin_server(px_receive_state *state, const CustomScan *scan, EState *estate,
			 int eflags)
{
	const ForeignScan *foreign = state->foreign;
	RangeTblEntry *rte;

	state->servername = GetForeignServer(foreign->fs_server)->servername;
	state->mode = px_mode_for_server(state->servername);
	state->rtindex = scan->scan.scanrelid;
	if (state->rtindex == 0)	/* join or upper: any member will do */
		state->rtindex = bms_next_member(px_foreignscan_relids(foreign), -1);
	rte = exec_rt_fetch(state->rtindex, estate);
	state->userid = px_foreignscan_user(foreign, rte);
	if (!OidIsValid(state->userid))
		state->userid = GetUserId();
	if (!(eflags & EXEC_FLAG_EXPLAIN_ONLY) || px_explain_remote)
		state->user = GetUserMapping(state->userid, foreign->fs_server);
}

/* How many slices to ask for, at most. */
static void
begin_slices(px_receive_state *state, const CustomScan *scan)
{
	/*
	 * Sorted rows must come by one stream; so do those of a nested loop, and
	 * those that depend on what the session got.
	 */
	state->nslices_max = 1;
	if (state->params == NIL &&
		!px_receive_get(scan, PX_RECEIVE_PRIVATE_KEYS) &&
		px_receive_get(scan, PX_RECEIVE_PRIVATE_SORTED) == 0)
		state->nslices_max = px_slices_setting;
	state->slices = &state->local_slices;
	px_slices_init(&state->local_slices, state->nslices_max);
	state->waiting = palloc(state->nslices_max * sizeof(px_stream *));
}

/* Set up what turns rows of the remote into scan tuples, if they differ. */
static void
begin_remote_rows(px_receive_state *state, const CustomScan *scan,
				  EState *estate)
{
	List	   *columns = list_nth(scan->custom_private,
								   PX_RECEIVE_PRIVATE_PARTIAL);

	state->remote_slot = state->css.ss.ss_ScanTupleSlot;
	state->has_ctid = px_scan_tuple_has_ctid(state->foreign);
	if (columns != NIL)
	{
		state->partial = px_partial_new(scan, columns, state->servername);
		state->remote_slot = px_partial_remote_slot(estate, state->foreign);
	}
	else if (state->has_ctid)
		state->remote_slot = px_scan_tuple_ctid_slot(estate,
													 state->remote_slot);
}

static void
begin_receive(CustomScanState *css, EState *estate, int eflags)
{
	px_receive_state *state = (px_receive_state *) css;
	const CustomScan *scan = (const CustomScan *) css->ss.ps.plan;

	state->foreign = linitial_node(ForeignScan, scan->custom_plans);
	state->remote_sql = strVal(linitial(state->foreign->fdw_private));
	state->plain_sql = private_string(scan, PX_RECEIVE_PRIVATE_PLAIN);
	state->params = state->foreign->fdw_exprs;
	px_scan_keys_begin(state, list_nth(scan->custom_private,
									   PX_RECEIVE_PRIVATE_LOOKUP));
	state->fetch_size = intVal(lthird(state->foreign->fdw_private));
	begin_server(state, scan, estate, eflags);

	state->ntargets = 1;
	state->nstreams = px_receive_get(scan, PX_RECEIVE_PRIVATE_STREAMS);
	state->smallness = px_receive_get(scan, PX_RECEIVE_PRIVATE_SMALL);
	state->input_rows = px_receive_get(scan, PX_RECEIVE_PRIVATE_INPUT);
	state->cheap_cost = PX_CHEAP_COST;
	state->known_cost = -1;
	if (state->user && (state->smallness & PX_IS_SMALL_IF_CHEAP) != 0)
		state->known_cost = px_known_cost(state->user->umid, state->remote_sql,
										  state->input_rows);
	state->locks_rows = px_receive_get(scan, PX_RECEIVE_PRIVATE_LOCKS) != 0;
	state->finds_targets = state->locks_rows &&
		state->foreign->scan.scanrelid > 0 &&
		(estate->es_plannedstmt->commandType == CMD_UPDATE ||
		 estate->es_plannedstmt->commandType == CMD_DELETE);
	state->user_code = px_run_has_early_triggers(estate) ||
		px_receive_get(scan, PX_RECEIVE_PRIVATE_USER_CODE) != 0;
	state->limited = px_receive_get(scan, PX_RECEIVE_PRIVATE_LIMITED) != 0;
	state->missed = px_receive_get(scan, PX_RECEIVE_PRIVATE_MISSED);
	state->few_rows = px_receive_get(scan, PX_RECEIVE_PRIVATE_FEW_ROWS) != 0;

	if (state->keys != NIL)
		state->scan_kinds |= PX_SCAN_BIT(PX_SCAN_LOOKUP);
	if (px_receive_get(scan, PX_RECEIVE_PRIVATE_SEMI_JOIN) != 0)
		state->scan_kinds |= PX_SCAN_BIT(PX_SCAN_SEMI_JOIN);

	/* Workers share a scan only if it is parallel_aware. */
	state->nested_in_worker = IsParallelWorker() &&
		!scan->scan.plan.parallel_aware;
	begin_slices(state, scan);
	begin_remote_rows(state, scan, estate);
	px_scan_filter_begin(state, list_nth(scan->custom_private,
										 PX_RECEIVE_PRIVATE_FILTERS));

	if (eflags & EXEC_FLAG_EXPLAIN_ONLY)
		return;

	/* The leader has postgres_fdw's session; workers have none. */
	if (!IsParallelWorker() || state->nested_in_worker)
		begin_session(state, scan, eflags);
	begin_params(state, scan);
	state->recheck_quals = ExecInitQual(state->foreign->fdw_recheck_quals,
										&css->ss.ps);
}

/* ---------------------------------------------------------------------
 * Yielding rows
 * --------------------------------------------------------------------- */

/* Rows that were written here may have to be seen by the next portion. */
static void
before_portion(px_receive_state *state)
{
	px_writer_before_portion(state->css.ss.ps.state, state->foreign->fs_server,
							 state->finds_targets);
}

/* Pass on a row of the child in our slot, without copying its values. */
static TupleTableSlot *
next_child_row(px_receive_state *state, TupleTableSlot *slot)
{
	TupleTableSlot *child_slot;
	int			natts = slot->tts_tupleDescriptor->natts;

	if (state->child_rows == 0)
		px_writer_before_scan(state->css.ss.ps.state,
							  state->foreign->fs_server);
	else if (state->child_rows % state->fetch_size == 0)
		before_portion(state);
	state->child_rows++;
	child_slot = px_child_keys_next(state);
	if (TupIsNull(child_slot))
		return NULL;

	ExecClearTuple(slot);
	slot_getallattrs(child_slot);
	memcpy(slot->tts_values, child_slot->tts_values, natts * sizeof(Datum));
	memcpy(slot->tts_isnull, child_slot->tts_isnull, natts * sizeof(bool));
	slot->tts_tid = child_slot->tts_tid;
	return ExecStoreVirtualTuple(slot);
}

/* The scan tuple of partial aggregates, from a row of the remote. */
static TupleTableSlot *
make_partial_row(px_receive_state *state, const TupleTableSlot *remote)
{
	TupleTableSlot *slot = ExecClearTuple(state->css.ss.ss_ScanTupleSlot);
	ExprContext *econtext = state->css.ss.ps.ps_ExprContext;
	MemoryContext oldcontext =
		MemoryContextSwitchTo(econtext->ecxt_per_tuple_memory);

	px_partial_make_row(state->partial, remote, slot);
	MemoryContextSwitchTo(oldcontext);
	return slot;
}

/*
 * Read from one of the node's streams, or from the session.  False if nothing
 * is there, which is possible without wait only.  Else the state of the node
 * has changed.
 */
static bool
advance_reader(px_receive_state *state, px_stream_reader *reader, bool wait)
{
	px_stream_status status;

	if (reader->session_active && px_session_needs_portion(reader->session))
		before_portion(state);
	reader->stream->may_fail = px_start_may_fail(state);
	status = px_stream_reader_next(reader, wait);
	if (!reader->has_begun &&
		(status == PX_STREAM_OK || status == PX_STREAM_END))
	{
		reader->has_begun = true;
		px_slices_accept(state->slices, reader->slice);
	}

	/* The first frame says what the slices are. */
	if (!state->spread && state->slices->announced && !reader->session_active)
		px_read_other_slices(state);

	switch (status)
	{
		case PX_STREAM_OK:
			state->reader = reader;
			if (reader->session_active)
				px_ask_note_contact(state);
			return true;
		case PX_STREAM_PENDING:
			return false;
		case PX_STREAM_END:
			px_read_next_slice(state, reader);
			return true;
		default:
			px_start_declined(state, reader, status);
			return true;
	}
}

void
px_receive_ask_session(px_receive_state *state)
{
	px_stream_reader *reader = state->reader;

	if (state->phase != PX_RECEIVE_FRAMES || state->finished ||
		!reader->session_active || px_receive_has_rows(state))
		return;
	if (px_session_needs_portion(reader->session))
		before_portion(state);
	px_session_ask(reader->session);
}

/* Read from whichever stream has something; false if none has. */
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
	if (any)
		return false;
	state->finished = !px_read_left_slice(state);
	if (state->finished)
		px_scan_filter_count(state);
	return true;
}

int
px_receive_waiting(px_receive_state *state, px_stream **streams)
{
	int			n = 0;

	for (int i = 0; i < state->nreaders; i++)
	{
		px_stream  *stream = state->readers[i]->stream;

		if (stream->holder.connection && stream->phase != PX_STREAM_CLOSED)
			streams[n++] = stream;
		else if (stream->phase != PX_STREAM_CLOSED)
			return 0;			/* it was spooled, and need not wait */
	}
	return n;
}

void
px_receive_spool(px_receive_state *state)
{
	if (state->phase != PX_RECEIVE_FRAMES)
		return;
	for (int i = 0; i < state->nreaders; i++)
		px_stream_spool(state->readers[i]->stream);
}

/* Wait until one of the node's streams has something, or for some time. */
static void
wait_for_streams(px_receive_state *state)
{
	int			n = px_receive_waiting(state, state->waiting);

	if (n > 0)
		(void) px_stream_wait_any(state->waiting, n, px_ask_keep_awake(state),
								  &state->stats.receive_wait);
}

/*
 * May the node wait in the only reader that it has?  That takes fewer system
 * calls than to look at the socket, wait and look again.  While a stream is
 * read, the session may have to be kept awake meanwhile.
 */
static bool
may_block_in_reader(const px_receive_state *state)
{
	return state->nreaders == 1 && state->reader->active &&
		(state->asked.idle_ms == 0 || state->reader->session_active);
}

/*
 * Was a slice claimed of which no frame has come?  Other participants may wait
 * for it: so it is not left alone.
 */
static bool
has_unsure_slice(const px_receive_state *state)
{
	return px_receive_has_participants(state) && state->reader->active &&
		!state->reader->has_begun;
}

bool
px_receive_advance(px_receive_state *state, bool wait)
{
	for (;;)
	{
		if (px_start_is_given_up(state) &&
			(state->phase == PX_RECEIVE_BEGUN ||
			 (state->phase == PX_RECEIVE_FRAMES && !state->finished)))
			px_start_give_up(state, NULL);
		switch (state->phase)
		{
			case PX_RECEIVE_CHILD:
				return true;

			case PX_RECEIVE_NEW:
				if (!wait)
					return false;
				px_start_confirm(state);
				break;

			case PX_RECEIVE_BEGUN:
				if (state->reader->stream->phase == PX_STREAM_CLOSED)
					px_start_anew(state);	/* its connection was taken */
				else if (wait || px_stream_is_ready(state->reader->stream))
					px_start_confirm(state);
				else
					return false;
				break;

			case PX_RECEIVE_FRAMES:
				if (px_receive_has_rows(state))
					return true;
				wait |= has_unsure_slice(state);
				if (wait && may_block_in_reader(state))
					(void) advance_reader(state, state->reader, true);
				else if (!advance_streams(state))
				{
					if (!wait)
						return false;
					wait_for_streams(state);
				}
				break;
		}
	}
}

/* Rows are to be returned again: are they what the filters let through? */
static void
check_filters(px_receive_state *state)
{
	state->filters_rewound = false;
	if (px_scan_filter_has_changed(state))
		px_start_rescan(state);
}

/* ExecScan's access method. */
static TupleTableSlot *
receive_next(ScanState *node)
{
	px_receive_state *state = (px_receive_state *) node;
	TupleTableSlot *slot = ExecClearTuple(state->remote_slot);
	px_stream_reader *reader;

	if (state->asked.idle_ms > 0 && state->phase == PX_RECEIVE_FRAMES)
		(void) px_ask_keep_awake(state);
	if (state->filters_rewound)
		check_filters(state);
	if (!px_receive_has_rows(state) &&
		!px_receive_advance(state, !state->yields ||
							px_receive_uses_session(state)))
		return NULL;
	if (state->phase == PX_RECEIVE_CHILD)
		slot = next_child_row(state, state->has_ctid ||
							  state->fallback != state->child ?
							  node->ss_ScanTupleSlot : slot);
	else
	{
		reader = state->reader;
		if (reader->next_row >= reader->batch_rows)
			return NULL;
		px_decoder_row(reader->decoder, reader->next_row++,
					   slot->tts_values, slot->tts_isnull);
		ExecStoreVirtualTuple(slot);
		if (state->has_ctid)
			slot = px_scan_tuple_take_ctid(slot, node->ss_ScanTupleSlot);
	}
	if (slot && slot != node->ss_ScanTupleSlot && state->partial)
		slot = make_partial_row(state, slot);
	if (slot && node->ss_currentRelation)
		slot->tts_tableOid = RelationGetRelid(node->ss_currentRelation);
	return slot;
}

/*
 * A locked row has changed meanwhile: would the remote still return it?  For a
 * join, postgres_fdw puts the new row into slot.
 */
static bool
receive_recheck(ScanState *node, TupleTableSlot *slot)
{
	px_receive_state *state = (px_receive_state *) node;
	ExprContext *econtext = node->ps.ps_ExprContext;

	econtext->ecxt_scantuple = slot;
	ResetExprContext(econtext);
	if (state->foreign->scan.scanrelid == 0)
	{
		ForeignScanState *child = castNode(ForeignScanState, state->child);

		return child->fdwroutine->RecheckForeignScan(child, slot);
	}
	return ExecQual(state->recheck_quals, econtext);
}

static TupleTableSlot *
exec_receive(CustomScanState *css)
{
	return ExecScan(&css->ss, receive_next, receive_recheck);
}

/*
 * Does the decoder have all rows that have come, and would they be the same?
 */
static bool
is_rewindable(const px_receive_state *state)
{
	return state->phase == PX_RECEIVE_FRAMES && state->shared == NULL &&
		state->nreaders == 1 && state->slices->slice.slices <= 1 &&
		state->reader->keeps_first && state->reader->nbatches <= 1 &&
		px_decoder_can_rewind(state->reader->decoder);
}

static void
rescan_receive(CustomScanState *css)
{
	px_receive_state *state = (px_receive_state *) css;
	Bitmapset  *changed = css->ss.ps.chgParam;

	ExecScanReScan(&css->ss);

	if (changed && state->child && state->child_keys == NULL)
	{
		UpdateChangedParamSet(state->child, changed);
		if (state->fallback != state->child)
			UpdateChangedParamSet(state->fallback, changed);
	}
	if (state->foreign->scan.scanrelid == 0 &&
		css->ss.ps.state->es_epq_active)
	{
		/* Only rechecks come here, which use the local plan of the child. */
		ExecReScan(state->child);
		return;
	}
	if (state->phase == PX_RECEIVE_CHILD)
	{
		state->child_rows = 0;
		if (!px_child_keys_rescan(state, changed) &&
			state->fallback->chgParam == NULL)
			ExecReScan(state->fallback);
		return;
	}

	/* What it has claimed would be lost. */
	if (state->shared && state->claimed)
		elog(ERROR, "parallel scan on server \"%s\" has begun before its rescan",
			 state->servername);

	/* Like postgres_fdw, return the same rows again if they are all here. */
	if (changed == NULL && is_rewindable(state))
	{
		state->reader->next_row = 0;
		state->filters_rewound = state->nfilters > 0;
	}
	else
		px_start_rescan(state);
}

/* The executor does not know the child: see px_receive_explain. */
static void
shutdown_receive(CustomScanState *css)
{
	px_receive_state *state = (px_receive_state *) css;

	if (state->phase == PX_RECEIVE_CHILD)
		(void) ExecShutdownNode(state->fallback);
	px_parallel_shutdown(css);
}

static void
end_receive(CustomScanState *css)
{
	px_receive_state *state = (px_receive_state *) css;

	px_parallel_abandon(state);
	for (int i = 0; i < state->nreaders; i++)
		px_stream_close(state->readers[i]->stream);
	if (state->nreaders > 0)
		px_counters_flush();
	if (state->child)
		ExecEndNode(state->child);
	px_child_keys_end(state);
	if (state->session_cursor)
		px_fdw_cursor_end(state->session_cursor);
	if (state->question)
		px_question_end(state->question, px_receive_peer(state));
	if (state->types_question)
		px_fdw_cursor_end(state->types_question);
}
