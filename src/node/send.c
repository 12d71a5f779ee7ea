/*-------------------------------------------------------------------------
 *
 * send.c
 *		Executing ExchangeSend: rows in, frames out.
 *
 * Each call returns one frame: a slice frame if a slice was requested, the
 * schema, batches, and the end frame with the totals.  Each participant of a
 * parallel plan sends such a sequence, under its own sender number.
 *
 * A batch ends at the request's batch_rows or batch_bytes.  The first batches
 * are small, and they grow: so the receiver gets its first rows early, and a
 * LIMIT there does not cost a full batch here.
 *
 * If the request has targets, each row goes to one of them, and each target
 * has such a sequence of its own (tuple/cut.h).  Nobody shows these rows to
 * anyone early, so the batches have their full size from the beginning.
 *
 * If the frames become text, they are read by a cursor, and the receiver waits
 * for each FETCH.  So a batch then also ends after some time.  If the query
 * locks rows, other sessions can see how far it has come.  It must be as far
 * as it would be with the FETCHes of postgres_fdw: the request says fixed=1,
 * and batches end where these would end.
 *
 * This node does not use the connection.  A frame is the bytea value of an
 * ordinary result row.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/parallel.h"
#include "catalog/objectaccess.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "portability/instr_time.h"
#include "storage/proc.h"
#include "tcop/tcopprot.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "adapt/choice.h"
#include "compat.h"
#include "exec/auto.h"
#include "exec/fragment_memory.h"
#include "exec/send_offer.h"
#include "exec/timeout.h"
#include "library.h"
#include "node/inbox_join.h"
#include "node/send.h"
#include "node/send_explain.h"
#include "node/send_parallel.h"
#include "node/send_state.h"

#ifdef WORDS_BIGENDIAN
#define SENDER_LITTLE_ENDIAN	false
#else
#define SENDER_LITTLE_ENDIAN	true
#endif

/*
 * Rows of the first batch, and how many times more the next one may have.  By
 * a cursor, postgres_fdw would have fetch_size rows evaluated at first, and
 * each batch there costs a FETCH: so these are as many, but not too many to
 * wait for.  100 is postgres_fdw's default.
 */
#define FIRST_BATCH_ROWS	64
#define FIRST_TEXT_BATCH_ROWS	100
#define FIRST_TEXT_BATCH_ROWS_MAX	1000
#define BATCH_ROWS_GROWTH	4

/*
 * A batch that becomes text ends after this time.  The clock is read once in
 * so many rows.
 */
#define TEXT_BATCH_MS		200
#define CLOCK_ROWS			8

/* Once batches have their full size, frames are flushed at this interval. */
#define FLUSH_INTERVAL_MS	10

/* ---------------------------------------------------------------------
 * Frames
 * --------------------------------------------------------------------- */

static TupleTableSlot *
store_frame(px_send_state *state, bytea *frame)
{
	TupleTableSlot *slot = ExecClearTuple(state->css.ss.ss_ScanTupleSlot);

	slot->tts_values[0] = PointerGetDatum(frame);
	slot->tts_isnull[0] = false;
	return ExecStoreVirtualTuple(slot);
}

/* Do the frames of the target stay on its host? */
static bool
is_plain(const px_send_state *state)
{
	const px_request *request = &state->request;

	return request->links > 0 &&
		(request->plain >> (state->target % request->links) & 1) != 0;
}

/* Set how the next batch is encoded. */
static void
set_choice(px_send_state *state, px_choice choice)
{
	if (is_plain(state))
		choice = PX_CHOICE_PLAIN;
	state->choice = choice;
	px_choice_options(&state->request, choice, &state->maker->options);
}

static void
select_target(px_send_state *state, uint32 target)
{
	state->target = target;
	state->fill = state->cut->fills[target];
	state->maker = state->cut->makers[target];
}

/* Go on to the next target, or after the last one to the next phase. */
static void
next_target(px_send_state *state, px_send_phase next_phase)
{
	if (state->target + 1 < state->cut->targets)
		select_target(state, state->target + 1);
	else
	{
		select_target(state, 0);
		state->phase = next_phase;
	}
}

static bytea *
make_end(px_send_state *state)
{
	px_end	   *totals = &state->maker->totals;

	totals->send_wait_us = INSTR_TIME_GET_MICROSEC(state->send_wait_time);
	INSTR_TIME_SET_ZERO(state->send_wait_time);
	if (state->adaptive)
		totals->link_rate = px_auto_link_rate(state->adaptive);
	return px_frame_maker_end(state->maker);
}

/* Make a frame of the rows that have been filled in. */
static bytea *
make_batch(px_send_state *state)
{
	px_frame_maker *maker = state->maker;
	bool		adaptive = state->adaptive && !is_plain(state);
	size_t		raw_nbytes;
	bytea	   *frame;
	instr_time	begin;
	instr_time	end;

	INSTR_TIME_SET_CURRENT(begin);
	raw_nbytes = px_frame_maker_raw_nbytes(maker);
	if (adaptive)
		set_choice(state, px_auto_filled(state->adaptive, raw_nbytes));
	frame = px_frame_maker_batch(maker, raw_nbytes, state->choice);
	if (adaptive)
		px_auto_encoded(state->adaptive, raw_nbytes,
						PX_FRAME_OF_BYTEA_NBYTES(frame), maker->columns,
						state->fill->ncolumns);
	INSTR_TIME_SET_CURRENT(end);
	INSTR_TIME_ACCUM_DIFF(maker->encode_time, end, begin);
	return frame;
}

/* ---------------------------------------------------------------------
 * The stream
 * --------------------------------------------------------------------- */

/* Allocate buffers, at the first call: EXPLAIN alone does not need them. */
static void
send_start(px_send_state *state)
{
	MemoryContext old_context = MemoryContextSwitchTo(state->context);

	px_cut_begin(state->cut);
	state->started = true;
	MemoryContextSwitchTo(old_context);
}

/* The number of rows that the first batch may have. */
static uint32
first_batch_rows(const px_send_state *state)
{
	const px_request *request = &state->request;
	uint32		rows = !state->text ? FIRST_BATCH_ROWS :
		request->fetch_rows > 0 ? FIRST_TEXT_BATCH_ROWS_MAX :
		FIRST_TEXT_BATCH_ROWS;

	if (request->targets > 1)
		return request->batch_rows;
	if (request->fetch_rows > 0)
		rows = Min(rows, request->fetch_rows);
	return Min(rows, request->batch_rows);
}

/* Begin a new stream: its frames and totals count from zero. */
static void
send_restart(px_send_state *state)
{
	state->phase = state->request.slices > 1 ? PX_SEND_SLICE : PX_SEND_SCHEMA;
	state->exhausted = false;
	state->batch_rows = first_batch_rows(state);
	state->fetched_rows = 0;
	state->worker_frames = 0;
	px_page_rows_restart(&state->rows);
	px_cut_restart(state->cut);
	select_target(state, 0);
	if (state->adaptive)
		px_auto_restart(state->adaptive);
	INSTR_TIME_SET_ZERO(state->send_wait_time);
	INSTR_TIME_SET_ZERO(state->returned_at);
}

/* The number of rows that the next batch may have. */
static uint32
rows_of_batch(const px_send_state *state)
{
	const px_request *request = &state->request;

	if (request->fixed)
		return Min(request->batch_rows,
				   request->fetch_rows - state->fetched_rows);
	return state->batch_rows;
}

/*
 * Count a row.  If it is the last one of a FETCH of postgres_fdw, the
 * statement_timeout begins anew.
 */
static void
count_fetched(px_send_state *state)
{
	if (++state->fetched_rows < state->request.fetch_rows)
		return;
	state->fetched_rows = 0;
	if (!state->below_gather)
		px_timeout_restart(&state->css);
}

/*
 * Must a batch, which was begun at that time, end with this row because it has
 * taken too long?
 */
static bool
is_late(const px_send_state *state, instr_time begin)
{
	uint32		rows = state->fill->rows;
	instr_time	now;

	/*
	 * Not if there is a time-out: a FETCH must take as long as one of
	 * postgres_fdw, which might exceed it.
	 */
	if (!state->text || state->request.fixed || StatementTimeout > 0 ||
		(rows > CLOCK_ROWS && rows % CLOCK_ROWS != 0))
		return false;
	INSTR_TIME_SET_CURRENT(now);
	INSTR_TIME_SUBTRACT(now, begin);
	return INSTR_TIME_GET_MILLISEC(now) >= TEXT_BATCH_MS;
}

/* Begin a batch of the target. */
static void
begin_batch(px_send_state *state)
{
	/*
	 * Values that TOAST has compressed are sent as they are, which saves time.
	 * But zstd compresses the original values better.
	 */
	state->fill->toasted =
		px_encodings_have(state->request.encodings,
						  PX_ENCODING_BIT(PX_ENC_TOASTED)) &&
		state->maker->options.codec != PX_CODEC_ZSTD;
	px_fill_reset(state->fill);
}

/* Fill a batch from the child.  Returns false if there are no rows left. */
static bool
fill_batch(px_send_state *state)
{
	px_fill    *fill = state->fill;
	uint32		rows = rows_of_batch(state);
	bool		late = false;
	instr_time	begin;

	if (state->adaptive)
		set_choice(state, px_auto_choose(state->adaptive));
	begin_batch(state);
	INSTR_TIME_SET_CURRENT(begin);
	while (
		!state->exhausted && !late && fill->rows < rows &&
		(fill->rows == 0 || px_fill_nbytes(fill) < state->request.batch_bytes))
	{
		TupleTableSlot *slot = px_page_rows_next(&state->rows);

		if (TupIsNull(slot))
		{
			state->exhausted = true;
			break;
		}
		px_fill_row(fill, slot);
		if (state->request.fetch_rows > 0)
			count_fetched(state);
		late = is_late(state, begin);
	}
	px_fill_finish(fill);
	state->batch_rows = Min(state->batch_rows * BATCH_ROWS_GROWTH,
							state->request.batch_rows);
	return fill->rows > 0;
}

/* Must a target's batch be sent before another row is added? */
static inline bool
is_full(const px_cut *cut, const px_fill *fill)
{
	return fill->rows > 0 &&
		(fill->rows >= cut->request.batch_rows ||
		 px_fill_nbytes(fill) >= cut->request.batch_bytes);
}

/*
 * Add the row that is for all targets to the batches of those that do not have
 * it yet, until one of these is full.  Returns that target, or -1.
 *
 * So a huge row is in one batch at a time, and not in as many as there are
 * targets.
 */
static int
fill_all(px_cut *cut)
{
	while (cut->reached < cut->targets)
	{
		uint32		target = cut->reached++;

		px_fill_row(cut->fills[target], cut->row_for_all);
		if (is_full(cut, cut->fills[target]))
			return (int) target;
	}
	cut->row_for_all = NULL;
	return -1;
}

/* The value that says which target a row of the child has. */
static inline Datum
target_value(px_send_state *state, TupleTableSlot *slot, bool *isnull)
{
	ExprContext *econtext = state->css.ss.ps.ps_ExprContext;

	if (state->computed_target == NULL)
		return slot_getattr(slot, state->cut->attribute, isnull);
	ResetExprContext(econtext);
	econtext->ecxt_outertuple = slot;
	return ExecEvalExprSwitchContext(state->computed_target, econtext, isnull);
}

/*
 * Read rows into the batches of their targets until one of these is full.
 * Returns that target; or any target that has rows, if the child has no more
 * of them; or -1 if all has been sent.
 */
static int
fill_targets(px_send_state *state)
{
	px_cut	   *cut = state->cut;
	int			full = cut->row_for_all ? fill_all(cut) : -1;

	while (full < 0 && !state->exhausted)
	{
		TupleTableSlot *slot = px_page_rows_next(&state->rows);
		Datum		value;
		bool		isnull;
		int32		target;

		if (TupIsNull(slot))
		{
			state->exhausted = true;
			break;
		}
		if (state->request.fetch_rows > 0)
			count_fetched(state);
		value = target_value(state, slot, &isnull);
		if (isnull)
			continue;
		target = px_cut_target(cut, value);
		if (target == PX_TARGET_ALL)
		{
			cut->row_for_all = slot;
			cut->reached = 0;
			full = fill_all(cut);
			continue;
		}
		px_fill_row(cut->fills[target], slot);
		if (is_full(cut, cut->fills[target]))
			return target;
	}
	if (full >= 0)
		return full;
	for (uint32 i = 0; i < cut->targets; i++)
	{
		if (cut->fills[i]->rows > 0)
			return (int) i;
	}
	return -1;
}

/*
 * The same as fill_batch, for rows with targets.  The current target is the
 * one whose batch has been sent.
 */
static bool
fill_cut_batch(px_send_state *state)
{
	int			target;

	if (state->adaptive)
		set_choice(state, px_auto_choose(state->adaptive));
	px_frame_maker_trim(state->maker);
	begin_batch(state);
	target = fill_targets(state);
	if (target < 0)
		return false;
	select_target(state, (uint32) target);
	px_fill_finish(state->fill);
	return true;
}

static TupleTableSlot *
next_frame(px_send_state *state)
{
	bytea	   *frame;

	switch (state->phase)
	{
		case PX_SEND_SLICE:
			frame = px_frame_maker_slice(state->maker, &state->slice);
			next_target(state, PX_SEND_SCHEMA);
			return store_frame(state, frame);
		case PX_SEND_SCHEMA:
			if (state->cut->targets > 1)
				begin_batch(state);
			frame = px_frame_maker_schema(state->maker);
			next_target(state, PX_SEND_BATCHES);
			return store_frame(state, frame);
		case PX_SEND_BATCHES:
			if (state->cut->targets > 1 ? fill_cut_batch(state)
										: fill_batch(state))
				return store_frame(state, make_batch(state));
			select_target(state, 0);
			state->phase = PX_SEND_END;
			return next_frame(state);
		case PX_SEND_END:
			frame = make_end(state);
			next_target(state, PX_SEND_DONE);
			return store_frame(state, frame);
		case PX_SEND_DONE:
			break;
	}
	return ExecClearTuple(state->css.ss.ss_ScanTupleSlot);
}

/*
 * Flush the connection's buffer before more rows are fetched.  It holds 8 kB,
 * which may be hundreds of thousands of rows.  The receiver may need only a
 * few, or its other slices may wait for the slice frame.
 */
static void
flush_frames(px_send_state *state)
{
	instr_time	now;
	instr_time	since;

	if (whereToSendOutput != DestRemote || IsParallelWorker() || state->text ||
		INSTR_TIME_IS_ZERO(state->returned_at))
		return;

	/* The receiver can do nothing with a schema alone. */
	if (state->phase == PX_SEND_BATCHES && state->cut->targets == 1 &&
		state->maker->totals.batches == 0)
		return;
	INSTR_TIME_SET_CURRENT(now);
	since = now;
	INSTR_TIME_SUBTRACT(since, state->flushed_at);
	if (state->batch_rows < state->request.batch_rows ||
		INSTR_TIME_GET_MILLISEC(since) >= FLUSH_INTERVAL_MS)
	{
		(void) pq_flush_if_writable();
		state->flushed_at = now;
	}
}

/* The node was called again: count the time outside of it. */
static void
count_send_wait(px_send_state *state)
{
	instr_time	now;

	if (INSTR_TIME_IS_ZERO(state->returned_at))
		return;
	INSTR_TIME_SET_CURRENT(now);
	INSTR_TIME_ACCUM_DIFF(state->send_wait_time, now, state->returned_at);
}

/* ---------------------------------------------------------------------
 * Frames of workers
 * --------------------------------------------------------------------- */

/* A frame that a worker has put into its queue; an empty slot if none has. */
static TupleTableSlot *
take_frame(px_send_state *state, bool wait)
{
	bytea	   *frame = px_send_take(state, wait);

	if (frame == NULL)
		return ExecClearTuple(state->css.ss.ss_ScanTupleSlot);
	return store_frame(state, frame);
}

/*
 * The next frame of any participant.  Those of workers come first, because
 * they can go on only when there is room in their queues.  If there are enough
 * workers to keep the leader busy with these, it makes none itself.
 */
static TupleTableSlot *
next_frame_of_any(px_send_state *state)
{
	TupleTableSlot *slot = take_frame(state, false);

	if (!TupIsNull(slot))
		return slot;
	if (state->phase != PX_SEND_DONE && state->adaptive)
		px_auto_called(state->adaptive);
	flush_frames(state);
	slot = next_frame(state);
	return TupIsNull(slot) ? take_frame(state, true) : slot;
}

static TupleTableSlot *
send_exec(CustomScanState *node)
{
	px_send_state *state = (px_send_state *) node;
	int			nestlevel;
	TupleTableSlot *slot;

	if (!state->started)
		send_start(state);
	if (!state->below_gather)
		px_timeout_restart(node);

	nestlevel = px_fragment_memory_begin();
	do
	{
		count_send_wait(state);
		slot = next_frame_of_any(state);
		INSTR_TIME_SET_CURRENT(state->returned_at);
	} while ((state->queue && px_send_put(state, slot)) ||
			 (!state->below_gather &&
			  px_send_offer(node, &state->offer, &state->request, slot)));
	px_fragment_memory_end(nestlevel);

	/* With a cursor, the end of the FETCH statement stops the time-out. */
	if (!TupIsNull(slot) && !state->below_gather && !state->text)
		px_timeout_stop(node);
	return slot;
}

/* ---------------------------------------------------------------------
 * The node
 * --------------------------------------------------------------------- */

static const CustomExecMethods send_exec_methods;

static Node *
send_create_state(CustomScan *scan)
{
	px_send_state *state = palloc0(sizeof(px_send_state));

	px_library_check();
	NodeSetTag(state, T_CustomScanState);
	state->css.methods = &send_exec_methods;
	return (Node *) state;
}

/*
 * Check the privilege to execute the marker function, as the executor does
 * when it initializes a function call.
 */
static void
check_permission(Oid function)
{
	AclResult	result = px_function_aclcheck(function, GetUserId());

	if (result != ACLCHECK_OK)
		aclcheck_error(result, OBJECT_FUNCTION, get_func_name(function));
	InvokeFunctionExecuteHook(function);
}

px_request_column *
px_send_read_request(const FuncExpr *marker, int ncolumns, px_request *request)
{
	const Const *argument = linitial_node(Const, marker->args);
	char	   *line = TextDatumGetCString(argument->constvalue);
	px_request_column *columns;
	px_fault	fault = {0};
	char		detail[PX_FAULT_NBYTES_MAX];
	int			expected;

	columns = palloc(PX_FRAME_COLUMNS_MAX * sizeof(px_request_column));
	if (px_request_read(line, request, columns, &fault) != PX_OK)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid exchange request: %s",
						px_status_text(fault.status)),
				 errdetail_internal("%s", px_fault_text(&fault, detail))));
	expected = request->ncolumns + (request->targets > 1 ? 1 : 0);
	if (expected != ncolumns)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("exchange request does not fit the query"),
				 errdetail("The request is for %d columns, the query has %d.",
						   expected, ncolumns)));
	pfree(line);
	return columns;
}

static void
send_begin(CustomScanState *node, EState *estate, int eflags)
{
	px_send_state *state = (px_send_state *) node;
	CustomScan *scan = castNode(CustomScan, node->ss.ps.plan);
	TargetEntry *output = linitial_node(TargetEntry, scan->custom_scan_tlist);
	FuncExpr   *marker = castNode(FuncExpr, output->expr);
	List *columns = list_nth(scan->custom_private, PX_SEND_PRIVATE_COLUMNS);
	List	   *slice;
	px_request_column *column_requests;
	MemoryContext old_context;
	PlanState  *child;
	int			nestlevel;

	Assert((eflags & (EXEC_FLAG_BACKWARD | EXEC_FLAG_MARK)) == 0);
	if (!SENDER_LITTLE_ENDIAN)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("exchange streams need a little-endian machine")));
	check_permission(marker->funcid);

	nestlevel = px_fragment_memory_begin();
	child = ExecInitNode(linitial(scan->custom_plans), estate, eflags);
	px_fragment_memory_end(nestlevel);
	px_inbox_join_watch(child);
	node->custom_ps = list_make1(child);
	px_page_rows_init(&state->rows, child);

	if (scan->custom_exprs != NIL)
		state->computed_target = ExecInitExpr(linitial(scan->custom_exprs),
											  &node->ss.ps);
	state->below_gather = intVal(list_nth(scan->custom_private,
										  PX_SEND_PRIVATE_BELOW_GATHER)) != 0;
	state->single_copy = intVal(list_nth(scan->custom_private,
										 PX_SEND_PRIVATE_SINGLE_COPY)) != 0;
	state->text = intVal(list_nth(scan->custom_private,
								  PX_SEND_PRIVATE_TEXT)) != 0;
	slice = list_nth(scan->custom_private, PX_SEND_PRIVATE_SLICE);
	state->slice.slices = (uint32) linitial_int(slice);
	state->slice.blocks = (uint32) lsecond_int(slice);
	state->slice.file = (uint32) lthird_int(slice);
	state->slice.reason = (uint32) lfourth_int(slice);
	state->context = AllocSetContextCreate(estate->es_query_cxt,
										   "ExchangeSend",
										   ALLOCSET_DEFAULT_SIZES);
	old_context = MemoryContextSwitchTo(state->context);
	column_requests = px_send_read_request(marker, list_length(columns),
										   &state->request);
	state->cut = px_cut_new(ExecGetResultType(child), columns,
							&state->request, column_requests,
							px_fill_client_encoding(),
							(uint32) (ParallelWorkerNumber + 1));
	pfree(column_requests);
	for (uint32 i = 0; i < state->cut->targets; i++)
	{
		select_target(state, i);
		set_choice(state, (px_choice) pg_rightmost_one_pos32(
			px_choices_asked(&state->request)));
	}
	if (state->request.adaptive)
		state->adaptive = px_auto_new(&state->request);
	MemoryContextSwitchTo(old_context);

	send_restart(state);

	/*
	 * The coordinator sets a short lock_timeout for the locks of the plan.
	 * These have been taken now.  The time-out must not apply to locks that
	 * the query takes later.
	 */
	if (state->request.has_session && !state->text && !IsParallelWorker() &&
		(eflags & EXEC_FLAG_EXPLAIN_ONLY) == 0)
		px_timeout_reset_lock();
}

static void
send_end_node(CustomScanState *node)
{
	px_send_state *state = (px_send_state *) node;

	ExecClearTuple(node->ss.ss_ScanTupleSlot);
	px_offer_leave(&state->offer);

	/* Gather has yet to wait for its workers, who may wait for room. */
	px_send_leave_queues(state);
	ExecEndNode(linitial(node->custom_ps));

	/* This frees the buffers, and a callback closes the codec. */
	MemoryContextDelete(state->context);
}

void
px_send_rescan_child(CustomScanState *node)
{
	PlanState  *child = linitial(node->custom_ps);

	/* The executor does not pass changed parameters to custom_ps. */
	if (node->ss.ps.chgParam != NULL)
		UpdateChangedParamSet(child, node->ss.ps.chgParam);
	if (child->chgParam == NULL)
		ExecReScan(child);
}

static void
send_rescan(CustomScanState *node)
{
	ExecClearTuple(node->ss.ss_ScanTupleSlot);
	px_offer_leave(&((px_send_state *) node)->offer);
	send_restart((px_send_state *) node);
	px_send_rescan_child(node);
}

const CustomScanMethods px_send_scan_methods = {
	.CustomName = "ExchangeSend",
	.CreateCustomScanState = send_create_state,
};

static const CustomExecMethods send_exec_methods = {
	.CustomName = "ExchangeSend",
	.BeginCustomScan = send_begin,
	.ExecCustomScan = send_exec,
	.EndCustomScan = send_end_node,
	.ReScanCustomScan = send_rescan,
	.EstimateDSMCustomScan = px_send_estimate_dsm,
	.InitializeDSMCustomScan = px_send_initialize_dsm,
	.ReInitializeDSMCustomScan = px_send_reinitialize_dsm,
	.InitializeWorkerCustomScan = px_send_initialize_worker,
	.ShutdownCustomScan = px_send_shutdown,
	.ExplainCustomScan = px_send_explain,
};

px_auto *
px_send_adaptive(PlanState *send)
{
	Assert(castNode(CustomScanState, send)->methods == &send_exec_methods);
	return ((px_send_state *) send)->adaptive;
}

PlanState *
px_send_below(PlanState *top)
{
	while (castNode(CustomScanState, top)->methods != &send_exec_methods)
		top = linitial(castNode(CustomScanState, top)->custom_ps);
	return top;
}

const px_request *
px_send_request(PlanState *send)
{
	Assert(castNode(CustomScanState, send)->methods == &send_exec_methods);
	return &((px_send_state *) send)->request;
}

bool
px_send_is_exhausted(PlanState *send)
{
	Assert(castNode(CustomScanState, send)->methods == &send_exec_methods);
	return ((px_send_state *) send)->exhausted;
}

void
px_send_close_queues(PlanState *send)
{
	px_send_state *state = (px_send_state *) send;

	Assert(castNode(CustomScanState, send)->methods == &send_exec_methods);
	px_send_leave_queues(state);
}

void
px_send_init(void)
{
	RegisterCustomScanMethods(&px_send_scan_methods);
}
