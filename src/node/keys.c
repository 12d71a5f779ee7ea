/*-------------------------------------------------------------------------
 *
 * keys.c
 *		ExchangeKeys: collects the keys of a hash join's inner side.
 *
 * The node is the child of a Hash.  It passes on the rows of its own child.
 * When these are all read, the runtime filters are complete, and the scans of
 * the outer side can begin with them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "commands/explain.h"
#include "executor/executor.h"
#include "nodes/nodeFuncs.h"

#include "compat.h"
#include "exec/filter.h"
#include "library.h"
#include "node/keys.h"

typedef struct filter_key
{
	ExprState  *expr;
	Oid			type;
	px_filter  *filter;
	double		keys_max;		/* see PX_KEYS_PRIVATE_KEYS_MAX */
} filter_key;

typedef struct px_keys_state
{
	CustomScanState css;		/* must be first */
	int			nkeys;
	filter_key *keys;
	bool		begun;			/* the filters were begun */
	bool		complete;		/* all rows of this scan have come */
} px_keys_state;

static Node *create_state(CustomScan *scan);
static void begin_keys(CustomScanState *css, EState *estate, int eflags);
static TupleTableSlot *exec_keys(CustomScanState *css);
static void end_keys(CustomScanState *css);
static void rescan_keys(CustomScanState *css);
static void explain_keys(CustomScanState *css, List *ancestors,
						 ExplainState *es);

const CustomScanMethods px_keys_scan_methods = {
	.CustomName = PX_KEYS_NAME,
	.CreateCustomScanState = create_state,
};

static const CustomExecMethods keys_exec_methods = {
	.CustomName = PX_KEYS_NAME,
	.BeginCustomScan = begin_keys,
	.ExecCustomScan = exec_keys,
	.EndCustomScan = end_keys,
	.ReScanCustomScan = rescan_keys,
	.ExplainCustomScan = explain_keys,
};

void
px_keys_init(void)
{
	RegisterCustomScanMethods(&px_keys_scan_methods);
}

static Node *
create_state(CustomScan *scan)
{
	px_keys_state *state = palloc0(sizeof(px_keys_state));

	px_library_check();
	NodeSetTag(state, T_CustomScanState);
	state->css.methods = &keys_exec_methods;
	return (Node *) state;
}

static void
begin_keys(CustomScanState *css, EState *estate, int eflags)
{
	px_keys_state *state = (px_keys_state *) css;
	CustomScan *scan = (CustomScan *) css->ss.ps.plan;
	const List *params = list_nth(scan->custom_private,
								  PX_KEYS_PRIVATE_PARAMS);
	const List *keys_max = list_nth(scan->custom_private,
									PX_KEYS_PRIVATE_KEYS_MAX);
	ListCell   *lc;

	/* Rows are the child's, in whatever slots it has. */
	css->ss.ps.resultopsset = true;
	css->ss.ps.resultopsfixed = false;

	outerPlanState(state) = ExecInitNode(outerPlan(scan), estate, eflags);

	state->keys = palloc0(list_length(params) * sizeof(filter_key));
	foreach(lc, scan->custom_exprs)
	{
		filter_key *key = &state->keys[state->nkeys];

		key->expr = ExecInitExpr(lfirst(lc), &css->ss.ps);
		key->type = exprType(lfirst(lc));
		key->filter = px_filter_get(estate, list_nth_int(params,
														 state->nkeys));
		key->keys_max = floatVal(list_nth(keys_max, state->nkeys));
		state->nkeys++;
	}
}

static void
collect_keys(px_keys_state *state, TupleTableSlot *slot)
{
	ExprContext *econtext = state->css.ss.ps.ps_ExprContext;
	MemoryContext oldcontext;

	ResetExprContext(econtext);
	econtext->ecxt_outertuple = slot;
	oldcontext = MemoryContextSwitchTo(econtext->ecxt_per_tuple_memory);
	for (int i = 0; i < state->nkeys; i++)
	{
		const filter_key *key = &state->keys[i];
		bool		isnull;
		Datum		value = ExecEvalExpr(key->expr, econtext, &isnull);

		/* Null is equal to nothing. */
		if (!isnull)
			px_filter_add(key->filter, value);
	}
	MemoryContextSwitchTo(oldcontext);
}

/* Keys that were collected before are void. */
static void
begin_filters(px_keys_state *state)
{
	for (int i = 0; i < state->nkeys; i++)
		px_filter_begin(state->keys[i].filter, state->keys[i].type);
	state->begun = true;
	state->complete = false;
}

static void
complete_filters(px_keys_state *state)
{
	for (int i = 0; i < state->nkeys; i++)
		px_filter_complete(state->keys[i].filter, state->keys[i].keys_max);
	state->complete = true;
}

static TupleTableSlot *
exec_keys(CustomScanState *css)
{
	px_keys_state *state = (px_keys_state *) css;
	TupleTableSlot *slot;

	if (!state->begun)
		begin_filters(state);
	slot = ExecProcNode(outerPlanState(state));
	if (!TupIsNull(slot))
		collect_keys(state, slot);
	else if (!state->complete)
		complete_filters(state);
	return slot;
}

/* Without other parameters the child may still return other rows. */
static void
rescan_keys(CustomScanState *css)
{
	px_keys_state *state = (px_keys_state *) css;

	if (outerPlanState(state)->chgParam == NULL)
		ExecReScan(outerPlanState(state));
	if (state->begun)
		begin_filters(state);
}

static void
end_keys(CustomScanState *css)
{
	ExecEndNode(outerPlanState(css));
}

static void
explain_keys(CustomScanState *css, List *ancestors, ExplainState *es)
{
	px_keys_state *state = (px_keys_state *) css;

	if (!es->analyze)
		return;
	for (int i = 0; i < state->nkeys; i++)
	{
		const px_filter *filter = state->keys[i].filter;

		ExplainPropertyUInteger("Keys", NULL, filter->keys ?
								px_key_set_count(filter->keys) : 0, es);
	}
}
