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
#include "miscadmin.h"

#include "admit/session.h"
#include "compat.h"
#include "exec/distinct_ints.h"
#include "node/inbox.h"
#include "node/row_function.h"
#include "transport/inbox.h"
#include "transport/inbox_reader.h"
#include "tuple/policy.h"

PG_FUNCTION_INFO_V1(px_sql_inbox);

/*
 * The bitmap of a watched column has up to so many words for each row: as many
 * bytes as the buckets of a hash table of these rows.
 */
#define WATCH_WORDS_PER_ROW	1
#define WATCH_WORDS_MIN		1024

static const CustomExecMethods inbox_exec_methods;

typedef struct px_inbox_state
{
	px_row_function base;		/* must be first */

	px_inbox_reader *reader;	/* NULL before the first row */
	int			number;			/* of the inbox; valid if opened or known */
	bool		opened;			/* the reader has the inbox */
	bool		known;			/* the number was computed */

	AttrNumber	watched;		/* column; 0 if there is none */
	Oid			watched_type;
	bool	   *distinct;		/* what px_inbox_watch was given */
	px_distinct_ints ints;		/* of the watched column, up to now */
} px_inbox_state;

static void
watch_begin(px_inbox_state *state)
{
	int64		nwords_max = (int64) (px_inbox_rows(state->number) *
									  WATCH_WORDS_PER_ROW);

	nwords_max = Max(nwords_max, WATCH_WORDS_MIN);
	nwords_max = Min(nwords_max, work_mem * INT64CONST(1024) /
					 (int64) sizeof(uint64));
	*state->distinct = false;
	px_distinct_ints_begin(&state->ints,
						   state->base.css.ss.ps.state->es_query_cxt,
						   nwords_max);
}

static void
watch_add(px_inbox_state *state, Datum value)
{
	px_distinct_ints_add(&state->ints,
						 px_integer_of_value(state->watched_type, value));
}

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
	if (state->watched > 0)
		watch_begin(state);
	return true;
}

static bool
inbox_next(px_row_function *base, Datum *values, bool *isnull)
{
	px_inbox_state *state = (px_inbox_state *) base;

	if (!state->opened && !open_inbox(state))
		return false;
	if (!px_inbox_reader_next(state->reader, values, isnull))
	{
		if (state->watched > 0)
			*state->distinct = px_distinct_ints_end(&state->ints);
		return false;
	}
	if (state->watched > 0 && !isnull[state->watched - 1])
		watch_add(state, values[state->watched - 1]);
	return true;
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
	if (state->watched > 0)
		*state->distinct = false;
	if (node->ss.ps.chgParam != NULL)
		state->known = false;
}

static void
inbox_explain(CustomScanState *node, List *ancestors, ExplainState *es)
{
	const px_inbox_state *state = (const px_inbox_state *) node;
	const CustomScan *scan = castNode(CustomScan, node->ss.ps.plan);
	const FuncExpr *call = linitial_node(FuncExpr, scan->custom_exprs);
	const Const *number = linitial(call->args);

	if (IsA(number, Const) && !number->constisnull)
		ExplainPropertyInteger("Inbox", NULL,
							   DatumGetInt32(number->constvalue), es);
	if (es->analyze && state->watched > 0)
		ExplainPropertyBool("Unique Key", *state->distinct, es);
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

bool
px_inbox_is_scan(const PlanState *node)
{
	return IsA(node, CustomScanState) &&
		((const CustomScanState *) node)->methods == &inbox_exec_methods;
}

void
px_inbox_watch(PlanState *node, AttrNumber column, bool *distinct)
{
	px_inbox_state *state = (px_inbox_state *) node;

	Assert(px_inbox_is_scan(node) && !state->opened);
	state->watched = column;
	state->watched_type = TupleDescAttr(state->base.tupdesc,
										column - 1)->atttypid;
	state->distinct = distinct;
}

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
