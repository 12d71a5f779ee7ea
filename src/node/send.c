/*-------------------------------------------------------------------------
 *
 * send.c
 *		Executing ExchangeSend: rows in, frames out.
 *
 * Each call returns one frame: first the schema, then batches, then the end
 * frame with the totals, then no more.  Every participant of a parallel plan
 * sends such a sequence of its own, under its own sender number.
 *
 * A batch ends at the request's batch_rows or batch_bytes.  The first ones
 * are small and grow, so that the receiver gets its first rows early and a
 * LIMIT there does not cost a full batch here.
 *
 * What becomes text is read by a cursor, whose every FETCH the receiver waits
 * for: there a batch also ends when it has taken some time.  If the query locks
 * rows, which other sessions can see, it must have got exactly as far as it had
 * if its rows were fetched: the request says fixed=1, and batches end there.
 *
 * This node does not speak to the connection: a frame is the bytea value of
 * an ordinary result row, and whatever stands above it passes it on.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/parallel.h"
#include "catalog/objectaccess.h"
#include "commands/explain.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "portability/instr_time.h"
#include "storage/proc.h"
#include "tcop/tcopprot.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "compat.h"
#include "exec/auto.h"
#include "exec/timeout.h"
#include "node/send.h"
#include "tuple/fill.h"
#include "tuple/verify.h"

#ifdef WORDS_BIGENDIAN
#define SENDER_LITTLE_ENDIAN	false
#else
#define SENDER_LITTLE_ENDIAN	true
#endif

/*
 * Rows of the first batch, and how much larger each next one may be.  100 is
 * postgres_fdw's fetch_size, unless it is told another.
 */
#define FIRST_BATCH_ROWS	64
#define FIRST_TEXT_BATCH_ROWS	100
#define BATCH_ROWS_GROWTH	4

/* A batch that becomes text ends after this; so often the clock is asked. */
#define TEXT_BATCH_MS		200
#define CLOCK_ROWS			8

/* From then on, frames leave at least so often, however small. */
#define FLUSH_INTERVAL_MS	10

/*
 * A frame travels as a bytea in a DataRow message and, from a parallel
 * worker, in a tuple; both must stay below 1 GB with their own headers.
 */
#define SEND_FRAME_NBYTES_MAX	((size_t) PX_FRAME_SENT_NBYTES_MAX)

typedef enum send_phase
{
	SEND_SLICE,					/* only if a slice was asked for */
	SEND_SCHEMA,
	SEND_BATCHES,
	SEND_DONE
} send_phase;

typedef struct px_send_state
{
	CustomScanState css;		/* must be first */

	px_request	request;
	px_slice	slice;
	bool		below_gather;
	bool		text;			/* an ExchangeArmour is above */
	px_fill    *fill;
	MemoryContext context;		/* for the node's lifetime */

	/* NULL until the first frame, and always without a codec. */
	px_codec_context *codec;
	MemoryContextCallback close_codec;
	px_encode_options options;
	px_auto    *adaptive;		/* chooses some of options; or NULL */
	px_column_state *columns;	/* [fill->ncolumns], from batch to batch */

	/* The stream; see send_restart. */
	send_phase	phase;
	bool		started;		/* buffers and codec are there */
	bool		exhausted;		/* the child has no more rows */
	uint32		batch_rows;		/* of the next batch, at most */
	uint32		fetched_rows;	/* since a multiple of the request's fetch_rows */
	uint32		sequence;		/* of the next frame */
	px_end		totals;
	instr_time	encode_time;
	instr_time	send_wait_time;
	instr_time	returned_at;	/* valid if sequence > 0 */
	instr_time	flushed_at;		/* zero at first */

	/*
	 * The frame last returned.  It is a varlena whose header begins 4 bytes
	 * into buffer, so that the frame itself is 8-aligned.
	 */
	char	   *buffer;			/* NULL until the first frame */
	size_t		frame_cap;		/* bytes of room for a frame in buffer */
} px_send_state;

#define FRAME_OFFSET	8
#define VARLENA_OFFSET	(FRAME_OFFSET - VARHDRSZ)

/* ---------------------------------------------------------------------
 * Frames
 * --------------------------------------------------------------------- */

/* Make room for a frame, and return a writer that stands at its body. */
static px_writer
begin_frame(px_send_state *state, size_t frame_nbytes)
{
	px_writer	writer;

	/* Nor does a huge frame keep its memory for the rest of the stream. */
	if (state->frame_cap < frame_nbytes ||
		state->frame_cap > Max(frame_nbytes, state->fill->keep_nbytes))
	{
		if (state->buffer)
			pfree(state->buffer);
		state->buffer = NULL;
		state->frame_cap = 0;
		state->buffer = MemoryContextAlloc(state->context,
										   FRAME_OFFSET + frame_nbytes);
		state->frame_cap = frame_nbytes;
	}
	writer.data = (uint8_t *) state->buffer + FRAME_OFFSET;
	writer.cap = frame_nbytes;
	writer.pos = PX_FRAME_HEADER_NBYTES;
	return writer;
}

/* What the batches of a mode are to be called. */
static px_choice
choice_of(const px_encode_options *options)
{
	if ((options->encodings & PX_ENCODINGS_INTS) != PX_ENCODINGS_INTS)
		return PX_CHOICE_PLAIN;
	switch (options->codec)
	{
		case PX_CODEC_ZSTD:
			return PX_CHOICE_ZSTD;
		case PX_CODEC_LZ4:
			return PX_CHOICE_LZ4;
		default:
			return PX_CHOICE_ENCODED;
	}
}

/* The frame whose body ends at the writer's position, in a slot. */
static TupleTableSlot *
finish_frame(px_send_state *state, const px_writer *writer,
			 px_frame_kind kind, uint32 rows, uint64 raw_nbytes)
{
	TupleTableSlot *slot = state->css.ss.ss_ScanTupleSlot;
	px_frame_header header = {0};

	header.version = state->request.version;
	header.kind = kind;
	header.choice = kind == PX_FRAME_BATCH ? choice_of(&state->options) : 0;
	header.sender = (uint32) (ParallelWorkerNumber + 1);
	header.sequence = state->sequence++;
	header.rows = rows;
	header.columns = kind == PX_FRAME_SCHEMA || kind == PX_FRAME_BATCH ?
		state->fill->ncolumns : 0;
	header.raw_nbytes = raw_nbytes;
	header.body_nbytes = (uint32) (writer->pos - PX_FRAME_HEADER_NBYTES);
	px_frame_finish(writer->data, &header);

	if (kind != PX_FRAME_END)
		state->totals.wire_nbytes += writer->pos;
	SET_VARSIZE(state->buffer + VARLENA_OFFSET, VARHDRSZ + writer->pos);

	ExecClearTuple(slot);
	slot->tts_values[0] = PointerGetDatum(state->buffer + VARLENA_OFFSET);
	slot->tts_isnull[0] = false;
	return ExecStoreVirtualTuple(slot);
}

static TupleTableSlot *
send_slice(px_send_state *state)
{
	px_writer	writer = begin_frame(state, PX_FRAME_HEADER_NBYTES + PX_SLICE_NBYTES);

	if (px_slice_write(&writer, &state->slice) != PX_OK)
		elog(ERROR, "exchange slice does not fit its frame");
	return finish_frame(state, &writer, PX_FRAME_SLICE, 0, 0);
}

static TupleTableSlot *
send_schema(px_send_state *state)
{
	const px_fill *fill = state->fill;
	px_writer	writer = begin_frame(state, PX_FRAME_HEADER_NBYTES +
									 (size_t) fill->ncolumns * PX_SCHEMA_COLUMN_NBYTES);

	if (px_schema_write(&writer, fill->schema, fill->ncolumns) != PX_OK)
		elog(ERROR, "exchange schema does not fit its frame");
	return finish_frame(state, &writer, PX_FRAME_SCHEMA, 0, 0);
}

static TupleTableSlot *
send_end(px_send_state *state)
{
	px_writer	writer = begin_frame(state,
									 PX_FRAME_HEADER_NBYTES + PX_END_NBYTES);

	state->totals.encode_us = INSTR_TIME_GET_MICROSEC(state->encode_time);
	state->totals.send_wait_us = INSTR_TIME_GET_MICROSEC(state->send_wait_time);
	if (state->adaptive)
		state->totals.link_rate = px_auto_link_rate(state->adaptive);
	if (px_end_write(&writer, &state->totals) != PX_OK)
		elog(ERROR, "exchange totals do not fit their frame");
	return finish_frame(state, &writer, PX_FRAME_END, 0, 0);
}

/* Encode and frame the rows that have been filled in. */
static TupleTableSlot *
send_batch(px_send_state *state)
{
	const px_fill *fill = state->fill;
	size_t		raw_nbytes = 0;
	px_writer	writer;
	px_status	status;
	TupleTableSlot *slot;
	instr_time	begin;
	instr_time	end;

	INSTR_TIME_SET_CURRENT(begin);
	for (int i = 0; i < fill->ncolumns; i++)
		raw_nbytes += px_column_plain_nbytes(&fill->columns[i]);
	if (PX_FRAME_HEADER_NBYTES + raw_nbytes > SEND_FRAME_NBYTES_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("row is too large for an exchange frame"),
				 errdetail("%u rows need %zu bytes, the limit is %zu.",
						   fill->rows, PX_FRAME_HEADER_NBYTES + raw_nbytes,
						   SEND_FRAME_NBYTES_MAX)));

	writer = begin_frame(state, PX_FRAME_HEADER_NBYTES + raw_nbytes);
	if (state->adaptive)
		px_auto_filled(state->adaptive, raw_nbytes, &state->options);
	status = px_batch_write(&writer, fill->columns, fill->ncolumns,
							&state->options, state->columns);
	if (status != PX_OK)
		elog(ERROR, "could not encode exchange batch: %s",
			 px_status_text(status));

	state->totals.rows += fill->rows;
	state->totals.batches++;
	state->totals.raw_nbytes += raw_nbytes;
	slot = finish_frame(state, &writer, PX_FRAME_BATCH, fill->rows, raw_nbytes);
	if (state->adaptive)
		px_auto_encoded(state->adaptive, raw_nbytes, writer.pos, state->columns,
						fill->ncolumns);

	INSTR_TIME_SET_CURRENT(end);
	INSTR_TIME_ACCUM_DIFF(state->encode_time, end, begin);
	return slot;
}

/* ---------------------------------------------------------------------
 * The stream
 * --------------------------------------------------------------------- */

static void
close_codec(void *arg)
{
	px_send_state *state = arg;

	px_codec_close(state->codec);
	state->codec = NULL;
}

/* Allocate what only a query that really runs needs. */
static void
send_start(px_send_state *state)
{
	px_fill_begin(state->fill);
	state->columns = MemoryContextAllocZero(state->context,
											Max(state->fill->ncolumns, 1) * sizeof(px_column_state));
	if (state->options.encodings != 1 << PX_ENC_PLAIN)
		state->options.scratch = MemoryContextAlloc(state->context,
													px_encode_scratch_nbytes(state->request.batch_rows));
	if (state->adaptive || state->options.codec != PX_CODEC_NONE)
	{
		/* The codec's memory is malloc'd: free it on abort, too. */
		state->close_codec.func = close_codec;
		state->close_codec.arg = state;
		MemoryContextRegisterResetCallback(state->context, &state->close_codec);

		state->codec = px_codec_open();
		if (state->codec == NULL)
			ereport(ERROR,
					(errcode(ERRCODE_OUT_OF_MEMORY),
					 errmsg("out of memory"),
					 errdetail("Failed while creating a compression context.")));
		state->options.context = state->codec;
	}
	state->started = true;
}

/* Begin a new stream: its frames and totals count from zero. */
static void
send_restart(px_send_state *state)
{
	state->phase = state->request.slices > 1 ? SEND_SLICE : SEND_SCHEMA;
	state->exhausted = false;
	state->batch_rows = Min(state->text ? FIRST_TEXT_BATCH_ROWS : FIRST_BATCH_ROWS,
							state->request.batch_rows);
	if (state->request.fetch_rows > 0)
		state->batch_rows = Min(state->batch_rows, state->request.fetch_rows);
	state->fetched_rows = 0;
	state->sequence = 0;
	memset(&state->totals, 0, sizeof(state->totals));
	if (state->adaptive)
		px_auto_restart(state->adaptive);
	INSTR_TIME_SET_ZERO(state->encode_time);
	INSTR_TIME_SET_ZERO(state->send_wait_time);
}

/* How many rows the next batch may have. */
static uint32
rows_of_batch(const px_send_state *state)
{
	const px_request *request = &state->request;

	if (request->fixed)
		return Min(request->batch_rows, request->fetch_rows - state->fetched_rows);
	return state->batch_rows;
}

/* A row was got: is it the last that a FETCH of postgres_fdw would return? */
static void
count_fetched(px_send_state *state)
{
	if (++state->fetched_rows < state->request.fetch_rows)
		return;
	state->fetched_rows = 0;
	if (!state->below_gather)
		px_timeout_restart(&state->css);
}

/* Has a batch, begun at that time, taken so long that it ends with this row? */
static bool
is_late(const px_send_state *state, instr_time begin)
{
	uint32		rows = state->fill->rows;
	instr_time	now;

	/* Under a time-out, a FETCH is to be as long as one of postgres_fdw's. */
	if (!state->text || state->request.fixed || StatementTimeout > 0 ||
		(rows > CLOCK_ROWS && rows % CLOCK_ROWS != 0))
		return false;
	INSTR_TIME_SET_CURRENT(now);
	INSTR_TIME_SUBTRACT(now, begin);
	return INSTR_TIME_GET_MILLISEC(now) >= TEXT_BATCH_MS;
}

/* Fill a batch from the child; false if there are no rows left. */
static bool
fill_batch(px_send_state *state)
{
	PlanState  *child = linitial(state->css.custom_ps);
	px_fill    *fill = state->fill;
	uint32		rows = rows_of_batch(state);
	bool		late = false;
	instr_time	begin;

	if (state->adaptive)
		px_auto_choose(state->adaptive, &state->options);

	/* zstd makes less of values that TOAST has compressed than they are. */
	fill->toasted = (state->request.encodings & (1 << PX_ENC_TOASTED)) != 0 &&
		state->options.codec != PX_CODEC_ZSTD;
	px_fill_reset(fill);
	INSTR_TIME_SET_CURRENT(begin);
	while (!state->exhausted && !late && fill->rows < rows &&
		   (fill->rows == 0 || px_fill_nbytes(fill) < state->request.batch_bytes))
	{
		TupleTableSlot *slot = ExecProcNode(child);

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

static TupleTableSlot *
next_frame(px_send_state *state)
{
	switch (state->phase)
	{
		case SEND_SLICE:
			state->phase = SEND_SCHEMA;
			return send_slice(state);
		case SEND_SCHEMA:
			state->phase = SEND_BATCHES;
			return send_schema(state);
		case SEND_BATCHES:
			if (fill_batch(state))
				return send_batch(state);
			state->phase = SEND_DONE;
			return send_end(state);
		case SEND_DONE:
			break;
	}
	return ExecClearTuple(state->css.ss.ss_ScanTupleSlot);
}

/*
 * See to it that frames are on their way while more rows are fetched.  The
 * connection's buffer keeps 8 kB, which may be hundreds of thousands of rows;
 * the receiver may want a few, or other slices wait for what the first says.
 */
static void
flush_frames(px_send_state *state, instr_time now)
{
	instr_time	since = now;

	if (whereToSendOutput != DestRemote || IsParallelWorker() || state->text)
		return;
	INSTR_TIME_SUBTRACT(since, state->flushed_at);
	if (state->batch_rows < state->request.batch_rows ||
		INSTR_TIME_GET_MILLISEC(since) >= FLUSH_INTERVAL_MS)
	{
		(void) pq_flush_if_writable();
		state->flushed_at = now;
	}
}

static TupleTableSlot *
send_exec(CustomScanState *node)
{
	px_send_state *state = (px_send_state *) node;
	TupleTableSlot *slot;

	if (!state->started)
		send_start(state);
	if (!state->below_gather)
		px_timeout_restart(node);
	if (state->adaptive)
		px_auto_called(state->adaptive);
	if (state->sequence > 0)
	{
		instr_time	now;

		INSTR_TIME_SET_CURRENT(now);
		INSTR_TIME_ACCUM_DIFF(state->send_wait_time, now, state->returned_at);
		flush_frames(state, now);
	}

	slot = next_frame(state);
	Assert(TupIsNull(slot) ||
		   px_send_verify((uint8_t *) state->buffer + FRAME_OFFSET,
						  VARSIZE(state->buffer + VARLENA_OFFSET) - VARHDRSZ,
						  &state->request, state->fill, state->codec));
	INSTR_TIME_SET_CURRENT(state->returned_at);

	/* The end of a FETCH is a statement's: no need to say so. */
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

	NodeSetTag(state, T_CustomScanState);
	state->css.methods = &send_exec_methods;
	return (Node *) state;
}

/* What the executor does for a function when it initialises a call of it. */
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

	columns = palloc(PX_FRAME_COLUMNS_MAX * sizeof(px_request_column));
	if (px_request_read(line, request, columns, &fault) != PX_OK)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid exchange request: %s",
						px_status_text(fault.status)),
				 errdetail_internal("%s", px_fault_text(&fault, detail))));
	if (request->ncolumns != ncolumns)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("exchange request does not fit the query"),
				 errdetail("The request is for %d columns, the query has %d.",
						   request->ncolumns, ncolumns)));
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
	List	   *columns = list_nth(scan->custom_private, PX_SEND_PRIVATE_COLUMNS);
	List	   *slice;
	px_request_column *column_requests;
	MemoryContext old_context;
	PlanState  *child;

	Assert((eflags & (EXEC_FLAG_BACKWARD | EXEC_FLAG_MARK)) == 0);
	if (!SENDER_LITTLE_ENDIAN)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("exchange streams need a little-endian machine")));
	check_permission(marker->funcid);

	child = ExecInitNode(linitial(scan->custom_plans), estate, eflags);
	node->custom_ps = list_make1(child);

	state->below_gather =
		intVal(list_nth(scan->custom_private, PX_SEND_PRIVATE_BELOW_GATHER)) != 0;
	state->text = intVal(list_nth(scan->custom_private, PX_SEND_PRIVATE_TEXT)) != 0;
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
	state->fill = px_fill_new(ExecGetResultType(child), columns,
							  &state->request, column_requests);
	pfree(column_requests);
	if (state->request.adaptive)
		state->adaptive = px_auto_new(&state->request);
	MemoryContextSwitchTo(old_context);

	state->options.encodings = state->request.encodings & PX_ENCODINGS_ALL;
	state->options.codec = state->request.codec;
	state->options.codec_on_ints = state->request.codec == PX_CODEC_ZSTD;
	state->options.level = state->request.level;
	send_restart(state);

	/*
	 * The plan has its locks.  A coordinator that lets a stream wait for them for
	 * a moment only does not mean locks that the query may take later.
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
	ExecEndNode(linitial(node->custom_ps));

	/* frees the buffers, and closes the codec by its callback */
	MemoryContextDelete(state->context);
}

void
px_send_rescan_child(CustomScanState *node)
{
	PlanState  *child = linitial(node->custom_ps);

	/* The executor passes changed parameters to left and right trees only. */
	if (node->ss.ps.chgParam != NULL)
		UpdateChangedParamSet(child, node->ss.ps.chgParam);
	if (child->chgParam == NULL)
		ExecReScan(child);
}

static void
send_rescan(CustomScanState *node)
{
	ExecClearTuple(node->ss.ss_ScanTupleSlot);
	send_restart((px_send_state *) node);
	px_send_rescan_child(node);
}

/* ---------------------------------------------------------------------
 * EXPLAIN
 * --------------------------------------------------------------------- */

static void
explain_columns(const px_send_state *state, ExplainState *es)
{
	int			ncolumns = state->fill->ncolumns;
	int			ntext = px_fill_text_columns(state->fill);

	if (es->format == EXPLAIN_FORMAT_TEXT)
	{
		char	   *text = psprintf("%d (%d raw, %d text)",
									ncolumns, ncolumns - ntext, ntext);

		ExplainPropertyText("Columns", text, es);
		return;
	}
	ExplainPropertyInteger("Columns", NULL, ncolumns, es);
	ExplainPropertyInteger("Raw Columns", NULL, ncolumns - ntext, es);
	ExplainPropertyInteger("Text Columns", NULL, ntext, es);
}

/*
 * What this process sent.  Workers report the same to the receiver, in their
 * end frames, but not to their leader: so below a Gather this says that it is
 * about the leader only.
 */
static void
explain_totals(const px_send_state *state, ExplainState *es)
{
	const px_end *totals = &state->totals;
	double		encode_ms = INSTR_TIME_GET_MILLISEC(state->encode_time);

	if (es->format == EXPLAIN_FORMAT_TEXT)
	{
		StringInfoData line;

		initStringInfo(&line);
		appendStringInfo(&line, "%u, raw " UINT64_FORMAT " kB, wire " UINT64_FORMAT " kB",
						 state->sequence,
						 (totals->raw_nbytes + 1023) / 1024,
						 (totals->wire_nbytes + 1023) / 1024);
		if (es->timing)
			appendStringInfo(&line, ", encode %.3f ms", encode_ms);
		ExplainPropertyText(state->below_gather ? "Leader Frames" : "Frames",
							line.data, es);
		return;
	}
	ExplainPropertyBool("Leader Only", state->below_gather, es);
	ExplainPropertyInteger("Frames", NULL, state->sequence, es);
	ExplainPropertyInteger("Batches", NULL, (int64) totals->batches, es);
	ExplainPropertyInteger("Rows Sent", NULL, (int64) totals->rows, es);
	ExplainPropertyInteger("Raw Bytes", NULL, (int64) totals->raw_nbytes, es);
	ExplainPropertyInteger("Wire Bytes", NULL, (int64) totals->wire_nbytes, es);
	if (es->timing)
		ExplainPropertyFloat("Encode Time", "ms", encode_ms, 3, es);
}

/* How often this process has chosen what. */
static void
explain_choices(const px_send_state *state, ExplainState *es)
{
	StringInfoData line;

	initStringInfo(&line);
	for (int choice = PX_CHOICE_PLAIN; choice < PX_CHOICE_COUNT; choice++)
		appendStringInfo(&line, "%s%s " UINT64_FORMAT, choice > 0 ? ", " : "",
						 px_choice_name((px_choice) choice), state->adaptive->counts[choice]);
	ExplainPropertyText("Choices", line.data, es);
}

static void
send_explain(CustomScanState *node, List *ancestors, ExplainState *es)
{
	px_send_state *state = (px_send_state *) node;

	explain_columns(state, es);
	ExplainPropertyText("Codec", state->adaptive ? "auto" :
						px_codec_by_id(state->request.codec)->name, es);
	if (es->analyze)
	{
		explain_totals(state, es);
		if (state->adaptive)
			explain_choices(state, es);
	}
}

/* ---------------------------------------------------------------------
 * Parallel plans: what senders share
 * --------------------------------------------------------------------- */

static Size
send_estimate_dsm(CustomScanState *node, ParallelContext *pcxt)
{
	return sizeof(px_auto_shared);
}

static void
send_initialize_dsm(CustomScanState *node, ParallelContext *pcxt, void *coordinate)
{
	px_auto_share(((px_send_state *) node)->adaptive, coordinate);
}

static void
send_reinitialize_dsm(CustomScanState *node, ParallelContext *pcxt, void *coordinate)
{
	px_auto    *adaptive = ((px_send_state *) node)->adaptive;

	px_auto_unshare(adaptive);
	px_auto_share(adaptive, coordinate);
}

static void
send_initialize_worker(CustomScanState *node, shm_toc *toc, void *coordinate)
{
	px_auto_join(((px_send_state *) node)->adaptive, coordinate);
}

/* The shared memory goes. */
static void
send_shutdown(CustomScanState *node)
{
	px_send_state *state = (px_send_state *) node;

	if (state->adaptive && !IsParallelWorker())
		px_auto_unshare(state->adaptive);
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
	.EstimateDSMCustomScan = send_estimate_dsm,
	.InitializeDSMCustomScan = send_initialize_dsm,
	.ReInitializeDSMCustomScan = send_reinitialize_dsm,
	.InitializeWorkerCustomScan = send_initialize_worker,
	.ShutdownCustomScan = send_shutdown,
	.ExplainCustomScan = send_explain,
};

px_auto *
px_send_adaptive(PlanState *send)
{
	Assert(castNode(CustomScanState, send)->methods == &send_exec_methods);
	return ((px_send_state *) send)->adaptive;
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
px_send_init(void)
{
	RegisterCustomScanMethods(&px_send_scan_methods);
	RegisterCustomScanMethods(&px_forward_scan_methods);
	RegisterCustomScanMethods(&px_armour_scan_methods);
	px_send_plan_init();
}
