/*-------------------------------------------------------------------------
 *
 * inbox.c
 *		Executing ExchangeInbox: the frames of an inbox in, rows out.
 *
 * The rows are decoded one batch at a time, and nothing is stored.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "commands/explain.h"
#include "executor/executor.h"

#include "admit/session.h"
#include "compat.h"
#include "node/inbox.h"
#include "node/row_function.h"
#include "transport/inbox_reader.h"

PG_FUNCTION_INFO_V1(px_sql_inbox);

static const CustomExecMethods inbox_exec_methods;

typedef struct px_inbox_state
{
	px_row_function base;		/* must be first */

	px_inbox_reader *reader;	/* NULL before the first row */
	int			number;			/* of the inbox; valid if opened or known */
	bool		opened;			/* the reader has the inbox */
	bool		known;			/* the number was computed */
} px_inbox_state;

/* Begin to read the inbox; false if its number is null. */
static bool
open_inbox(px_inbox_state *state)
{
	EState	   *estate = state->base.css.ss.ps.state;
	MemoryContext oldcontext;
	Datum		number;

	if (!state->known)
	{
		if (!px_row_function_argument(&state->base, &number))
			return false;
		state->number = DatumGetInt32(number);
		state->known = true;
	}
	oldcontext = MemoryContextSwitchTo(estate->es_query_cxt);
	if (state->reader == NULL)
		state->reader = px_inbox_reader_new(state->base.tupdesc,
											PX_ROW_FUNCTION_WINDOW_ROWS);
	px_inbox_reader_open(state->reader, state->number);
	MemoryContextSwitchTo(oldcontext);
	state->opened = true;
	return true;
}

static bool
inbox_next(px_row_function *base, Datum *values, bool *isnull)
{
	px_inbox_state *state = (px_inbox_state *) base;

	if (!state->opened && !open_inbox(state))
		return false;
	return px_inbox_reader_next(state->reader, values, isnull);
}

static Node *
inbox_create_state(CustomScan *scan)
{
	return px_row_function_create(sizeof(px_inbox_state),
								  &inbox_exec_methods);
}

static void
inbox_begin(CustomScanState *node, EState *estate, int eflags)
{
	px_inbox_state *state = (px_inbox_state *) node;

	(void) px_row_function_begin(&state->base, estate);
	state->base.next = inbox_next;
}

/* The first rows are not kept: a rescan decodes all of them again. */
static void
inbox_rescan(CustomScanState *node)
{
	px_inbox_state *state = (px_inbox_state *) node;

	ExecScanReScan(&node->ss);
	state->opened = false;
	if (node->ss.ps.chgParam != NULL)
		state->known = false;
}

static void
inbox_explain(CustomScanState *node, List *ancestors, ExplainState *es)
{
	const CustomScan *scan = castNode(CustomScan, node->ss.ps.plan);
	const FuncExpr *call = linitial_node(FuncExpr, scan->custom_exprs);
	const Const *number = linitial(call->args);

	if (IsA(number, Const) && !number->constisnull)
		ExplainPropertyInteger("Inbox", NULL,
							   DatumGetInt32(number->constvalue), es);
}

const CustomScanMethods px_inbox_scan_methods = {
	.CustomName = "ExchangeInbox",
	.CreateCustomScanState = inbox_create_state,
};

static const CustomExecMethods inbox_exec_methods = {
	.CustomName = "ExchangeInbox",
	.BeginCustomScan = inbox_begin,
	.ExecCustomScan = px_row_function_exec,
	.EndCustomScan = px_row_function_end,
	.ReScanCustomScan = inbox_rescan,
	.ExplainCustomScan = inbox_explain,
};

void
px_inbox_node_init(void)
{
	RegisterCustomScanMethods(&px_inbox_scan_methods);
	px_session_set_inbox(px_sql_inbox);
}

/* exchange.inbox(number int4) returns setof record */
Datum
px_sql_inbox(PG_FUNCTION_ARGS)
{
	px_row_function_not_planned("inbox");
	PG_RETURN_NULL();			/* keep compilers quiet */
}
