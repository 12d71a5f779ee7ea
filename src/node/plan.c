/*-------------------------------------------------------------------------
 *
 * plan.c
 *		ExchangePlan: sends the plan of a stream, as EXPLAIN ANALYZE shows it,
 *		in a last frame.
 *
 * The node is the top of the plan, or directly below ExchangeArmour.  So when
 * its child has no more frames, the whole plan has finished, including
 * parallel workers, and can be explained.  The executor must be told to
 * measure the plan before it initializes the nodes, so we need its start hook.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "commands/explain.h"
#include "executor/executor.h"
#include "mb/pg_wchar.h"

#include "compat.h"
#include "library.h"
#include "node/armour.h"
#include "node/plan.h"
#include "node/send.h"
#include "wire/frame.h"

typedef struct px_plan_state
{
	CustomScanState css;		/* must be first */
	uint32		explain;		/* of the request: what to measure */
	uint16		version;		/* of the request */
	QueryDesc  *query;			/* whose plan this is; set after executor
								 * start */
	bool		sent;			/* was the plan frame returned? */
} px_plan_state;

static ExecutorStart_hook_type prev_executor_start = NULL;

static const CustomExecMethods plan_exec_methods;

/* ---------------------------------------------------------------------
 * Measuring
 * --------------------------------------------------------------------- */

static int
instrument_options(uint32 explain)
{
	return ((explain & PX_EXPLAIN_ROWS) ? INSTRUMENT_ROWS : 0) |
		((explain & PX_EXPLAIN_TIMING) ? INSTRUMENT_TIMER : 0) |
		((explain & PX_EXPLAIN_BUFFERS) ? INSTRUMENT_BUFFERS : 0) |
		((explain & PX_EXPLAIN_WAL) ? INSTRUMENT_WAL : 0);
}

static bool
is_custom_node(const Plan *plan, const CustomScanMethods *methods)
{
	return plan && IsA(plan, CustomScan) &&
		((const CustomScan *) plan)->methods == methods;
}

static void
start_executor(QueryDesc *query, int eflags)
{
	const Plan *top = query->plannedstmt->planTree;
	bool		armoured = is_custom_node(top, &px_armour_scan_methods);
	bool		ours;

	if (armoured)
		top = linitial(((const CustomScan *) top)->custom_plans);
	ours = is_custom_node(top, &px_plan_scan_methods);
	if (ours && !(eflags & EXEC_FLAG_EXPLAIN_ONLY))
	{
		const CustomScan *scan = (const CustomScan *) top;

		query->instrument_options |=
			instrument_options((uint32) linitial_int(scan->custom_private));
	}

	if (prev_executor_start)
		prev_executor_start(query, eflags);
	else
		standard_ExecutorStart(query, eflags);

	if (ours)
	{
		CustomScanState *state = castNode(CustomScanState, query->planstate);

		if (armoured)
			state = linitial_node(CustomScanState, state->custom_ps);
		((px_plan_state *) state)->query = query;
	}
}

/* ---------------------------------------------------------------------
 * The frame
 * --------------------------------------------------------------------- */

/* Explain the plan below the node, in the client's encoding. */
static char *
explain_plan(const px_plan_state *state, ExplainFormat format, uint32 *nbytes)
{
	QueryDesc	query = *state->query;
	ExplainState *es = NewExplainState();
	char	   *text;

	query.planstate = linitial(state->css.custom_ps);
	es->analyze = true;
	es->costs = true;
	es->timing = (state->explain & PX_EXPLAIN_TIMING) != 0;
	es->buffers = (state->explain & PX_EXPLAIN_BUFFERS) != 0;
	es->wal = (state->explain & PX_EXPLAIN_WAL) != 0;
	es->format = format;

	ExplainBeginOutput(es);
	if (format == EXPLAIN_FORMAT_JSON)
		ExplainOpenGroup("Query", NULL, true, es);
	ExplainPrintPlan(es, &query);
	if (format == EXPLAIN_FORMAT_JSON)
		ExplainCloseGroup("Query", NULL, true, es);
	ExplainEndOutput(es);

	text = pg_server_to_client(es->str->data, es->str->len);
	*nbytes = (uint32) strlen(text);
	return text;
}

/* The JSON output of EXPLAIN is an array of one object.  Return the object. */
static void
strip_array(const char **json, uint32 *nbytes)
{
	const char *first = strchr(*json, '{');
	const char *last = strrchr(*json, '}');

	if (first == NULL || last == NULL)
		elog(ERROR, "EXPLAIN of a stream is not as expected");
	*nbytes = (uint32) (last + 1 - first);
	*json = first;
}

/* Make the plan frame, and return it in the node's slot. */
static TupleTableSlot *
make_plan_frame(px_plan_state *state)
{
	TupleTableSlot *slot = ExecClearTuple(state->css.ss.ss_ScanTupleSlot);
	px_frame_header header = {.version = state->version,
							  .kind = PX_FRAME_PLAN};
	px_plan		plan;
	const char *text;
	const char *json;
	bytea	   *frame;
	px_writer	writer;

	text = explain_plan(state, EXPLAIN_FORMAT_TEXT, &plan.text_nbytes);
	json = explain_plan(state, EXPLAIN_FORMAT_JSON, &plan.json_nbytes);
	strip_array(&json, &plan.json_nbytes);
	plan.text = (const uint8_t *) text;
	plan.json = (const uint8_t *) json;

	header.body_nbytes = PX_PLAN_HEAD_NBYTES + plan.text_nbytes +
		plan.json_nbytes;
	writer.cap = PX_FRAME_HEADER_NBYTES + header.body_nbytes;
	writer.pos = PX_FRAME_HEADER_NBYTES;
	frame = palloc(VARHDRSZ + writer.cap);
	writer.data = (uint8_t *) VARDATA(frame);
	if (px_plan_write(&writer, &plan) != PX_OK)
		elog(ERROR, "plan does not fit its frame");
	px_frame_finish(writer.data, &header);
	SET_VARSIZE(frame, VARHDRSZ + writer.cap);

	slot->tts_values[0] = PointerGetDatum(frame);
	slot->tts_isnull[0] = false;
	return ExecStoreVirtualTuple(slot);
}

/* ---------------------------------------------------------------------
 * The node
 * --------------------------------------------------------------------- */

static Node *
plan_create_state(CustomScan *scan)
{
	px_plan_state *state = palloc0(sizeof(px_plan_state));

	px_library_check();
	NodeSetTag(state, T_CustomScanState);
	state->css.methods = &plan_exec_methods;
	return (Node *) state;
}

static void
plan_begin(CustomScanState *node, EState *estate, int eflags)
{
	px_plan_state *state = (px_plan_state *) node;
	CustomScan *scan = castNode(CustomScan, node->ss.ps.plan);

	state->explain = (uint32) linitial_int(scan->custom_private);
	state->version = (uint16) lsecond_int(scan->custom_private);
	node->custom_ps = list_make1(
		ExecInitNode(linitial(scan->custom_plans), estate, eflags));
}

static TupleTableSlot *
plan_exec(CustomScanState *node)
{
	px_plan_state *state = (px_plan_state *) node;
	PlanState  *child = linitial(node->custom_ps);
	MemoryContext oldcontext;
	TupleTableSlot *slot;

	if (state->sent)
		return ExecClearTuple(node->ss.ss_ScanTupleSlot);
	slot = ExecProcNode(child);
	if (!TupIsNull(slot))
		return slot;

	/* The leader gets the measurements of workers when these are shut down. */
	(void) ExecShutdownNode(child);
	oldcontext = MemoryContextSwitchTo(node->ss.ps.state->es_query_cxt);
	slot = make_plan_frame(state);
	MemoryContextSwitchTo(oldcontext);
	state->sent = true;
	return slot;
}

static void
plan_end(CustomScanState *node)
{
	ExecEndNode(linitial(node->custom_ps));
}

static void
plan_rescan(CustomScanState *node)
{
	((px_plan_state *) node)->sent = false;
	px_send_rescan_child(node);
}

const CustomScanMethods px_plan_scan_methods = {
	.CustomName = "ExchangePlan",
	.CreateCustomScanState = plan_create_state,
};

static const CustomExecMethods plan_exec_methods = {
	.CustomName = "ExchangePlan",
	.BeginCustomScan = plan_begin,
	.ExecCustomScan = plan_exec,
	.EndCustomScan = plan_end,
	.ReScanCustomScan = plan_rescan,
};

void
px_plan_node_init(void)
{
	RegisterCustomScanMethods(&px_plan_scan_methods);
	prev_executor_start = ExecutorStart_hook;
	ExecutorStart_hook = start_executor;
}
