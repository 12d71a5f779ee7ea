/*-------------------------------------------------------------------------
 *
 * key_scan.c
 *		Executing ExchangeKeyScan: of a heap's rows, those with certain keys.
 *
 * It does what a SeqScan or TidRangeScan with the same conditions does.  But
 * nearly all rows have other keys, and for each of these core would put the
 * tuple into a slot, take it apart, and run an expression.  Here, the tuples
 * of a page are looked at where they lie.
 *
 * A heap scan prepares a page at a time: it pins the page, and has an array of
 * the tuples that the snapshot sees.  It has that array in its descriptor, and
 * returns one tuple after another.  So we look at those that come next, and
 * have the scan go on after the last one that does not match.  All else is
 * core's: reading, visibility, serializable transactions, parallel scans.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/relscan.h"
#include "access/sysattr.h"
#include "access/tableam.h"
#include "access/tupmacs.h"
#include "catalog/pg_operator_d.h"
#include "commands/explain.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "pgstat.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"
#include "utils/ruleutils.h"

#include "compat.h"
#include "compat_executor.h"
#include "exec/key_table.h"
#include "library.h"
#include "node/key_scan.h"
#include "tuple/policy.h"

/* column = one of the keys */
typedef struct key_condition
{
	AttrNumber	column;
	int			offset;			/* if no column up to it is null; -1: it varies */
	Oid			type;
	ArrayType  *array;			/* of keys */
	const px_key_table *keys;	/* NULL before the first row */
} key_condition;

typedef struct px_key_scan_state
{
	CustomScanState css;		/* must be first */

	key_condition *conditions;
	int			nconditions;

	bool		has_range;		/* only the tuples from first to last */
	ItemPointerData first;
	ItemPointerData last;

	bool		on_page;		/* the scan has returned a tuple of its page */
} px_key_scan_state;

static const CustomExecMethods key_scan_exec_methods;

/* ---------------------------------------------------------------------
 * Tuples
 * --------------------------------------------------------------------- */

/* Has the tuple values in all columns up to this one? */
static inline bool
has_all_until(HeapTupleHeader tuple, AttrNumber column)
{
	int			nbytes = column / BITS_PER_BYTE;
	int			rest = column % BITS_PER_BYTE;

	if (HeapTupleHeaderGetNatts(tuple) < column)
		return false;
	if ((tuple->t_infomask & HEAP_HASNULL) == 0)
		return true;
	for (int i = 0; i < nbytes; i++)
		if (tuple->t_bits[i] != 0xFF)
			return false;
	return rest == 0 ||
		(tuple->t_bits[nbytes] | (uint8) (0xFF << rest)) == 0xFF;
}

/* Has a tuple of nbytes one of the keys? */
static inline bool
tuple_has_key(const key_condition *condition, HeapTupleHeader tuple,
			  uint32 nbytes, TupleDesc desc)
{
	HeapTupleData whole;
	Datum		value;
	bool		isnull;

	if (likely(condition->offset >= 0 &&
			   has_all_until(tuple, condition->column)))
		return px_key_table_has(
			condition->keys,
			px_key_at((const char *) tuple + tuple->t_hoff +
					  condition->offset, condition->type, 0));
	whole.t_len = nbytes;
	whole.t_data = tuple;
	value = heap_getattr(&whole, condition->column, desc, &isnull);
	return !isnull &&
		px_key_table_has(condition->keys,
						 px_integer_of_value(condition->type, value));
}

static inline bool
tuple_matches(const px_key_scan_state *state, HeapTupleHeader tuple,
			  uint32 nbytes, TupleDesc desc)
{
	for (int i = 0; i < state->nconditions; i++)
		if (!tuple_has_key(&state->conditions[i], tuple, nbytes, desc))
			return false;
	return true;
}

/*
 * Have the scan go on before the next tuple of its page that matches, or at
 * the page's end.
 */
static void
skip_tuples(px_key_scan_state *state, HeapScanDesc scan)
{
	Relation	relation = state->css.ss.ss_currentRelation;
	TupleDesc	desc = RelationGetDescr(relation);
	Page		page = BufferGetPage(scan->rs_cbuf);
	int			ntuples = (int) scan->rs_ntuples;
	int			index = (int) scan->rs_cindex;
	int			nskipped;

	while (index + 1 < ntuples)
	{
		ItemId		item = PageGetItemId(page, scan->rs_vistuples[index + 1]);

		if (tuple_matches(state, (HeapTupleHeader) PageGetItem(page, item),
						  ItemIdGetLength(item), desc))
			break;
		index++;
	}
	nskipped = index - (int) scan->rs_cindex;
	scan->rs_cindex = index;
	px_count_tuples_returned(relation, nskipped);
	InstrCountFiltered1(state, nskipped);
}

/* ---------------------------------------------------------------------
 * The scan
 * --------------------------------------------------------------------- */

static void
make_tables(px_key_scan_state *state)
{
	for (int i = 0; i < state->nconditions; i++)
	{
		key_condition *condition = &state->conditions[i];

		condition->keys =
			px_key_table_make(condition->array, condition->type,
							  state->css.ss.ps.state->es_query_cxt);
	}
}

static TableScanDesc
begin_scan(px_key_scan_state *state)
{
	ScanState  *ss = &state->css.ss;
	Snapshot	snapshot = ss->ps.state->es_snapshot;

	if (state->has_range)
		return px_table_beginscan_tidrange(ss->ss_currentRelation, snapshot,
										   &state->first, &state->last);
	return px_table_beginscan(ss->ss_currentRelation, snapshot);
}

static bool
scan_next(px_key_scan_state *state, TableScanDesc scan, TupleTableSlot *slot)
{
	if (state->has_range)
		return table_scan_getnextslot_tidrange(scan, ForwardScanDirection,
											   slot);
	return table_scan_getnextslot(scan, ForwardScanDirection, slot);
}

/* The next row that has the keys: for ExecScan. */
static TupleTableSlot *
next_row(ScanState *ss)
{
	px_key_scan_state *state = (px_key_scan_state *) ss;
	TupleTableSlot *slot = ss->ss_ScanTupleSlot;
	TupleDesc	desc = RelationGetDescr(ss->ss_currentRelation);

	/* A parallel scan has begun, unless there are no workers. */
	if (ss->ss_currentScanDesc == NULL)
		ss->ss_currentScanDesc = begin_scan(state);
	for (;;)
	{
		HeapTuple	tuple;

		CHECK_FOR_INTERRUPTS();
		if (state->on_page)
			skip_tuples(state, (HeapScanDesc) ss->ss_currentScanDesc);
		if (!scan_next(state, ss->ss_currentScanDesc, slot))
		{
			state->on_page = false;
			return NULL;
		}
		state->on_page = (ss->ss_currentScanDesc->rs_flags &
						  SO_ALLOW_PAGEMODE) != 0;
		tuple = ((BufferHeapTupleTableSlot *) slot)->base.tuple;
		if (tuple_matches(state, tuple->t_data, tuple->t_len, desc))
			return slot;
		InstrCountFiltered1(state, 1);
	}
}

/* Is a row that was updated meanwhile one of them?  For ExecScan. */
static bool
recheck(ScanState *ss, TupleTableSlot *slot)
{
	px_key_scan_state *state = (px_key_scan_state *) ss;

	if (state->has_range &&
		(ItemPointerCompare(&slot->tts_tid, &state->first) < 0 ||
		 ItemPointerCompare(&slot->tts_tid, &state->last) > 0))
		return false;
	for (int i = 0; i < state->nconditions; i++)
	{
		const key_condition *condition = &state->conditions[i];
		bool		isnull;
		Datum		value = slot_getattr(slot, condition->column, &isnull);

		if (isnull ||
			!px_key_table_has(condition->keys,
							  px_integer_of_value(condition->type, value)))
			return false;
	}
	return true;
}

static TupleTableSlot *
exec_key_scan(CustomScanState *css)
{
	px_key_scan_state *state = (px_key_scan_state *) css;

	if (state->conditions[0].keys == NULL)
		make_tables(state);
	return ExecScan(&css->ss, next_row, recheck);
}

/* ---------------------------------------------------------------------
 * The node
 * --------------------------------------------------------------------- */

/*
 * Where a column is in tuples of which no column up to it is null; -1 if it is
 * not in the same place in all of them.
 */
static int
offset_of_column(TupleDesc desc, AttrNumber column)
{
	int			offset = 0;

	for (int i = 0; i < column; i++)
	{
		Form_pg_attribute attribute = TupleDescAttr(desc, i);

		if (attribute->attlen < 0)
			return -1;
		offset = att_align_nominal(offset, attribute->attalign);
		if (i + 1 < column)
			offset += attribute->attlen;
	}
	return offset;
}

static void
init_condition(key_condition *condition, const FuncExpr *call, TupleDesc desc)
{
	const Const *keys = linitial_node(Const, call->args);
	const Var  *var = lsecond_node(Var, call->args);

	condition->column = var->varattno;
	condition->offset = offset_of_column(desc, var->varattno);
	condition->type = var->vartype;
	condition->array = DatumGetArrayTypeP(keys->constvalue);
	condition->keys = NULL;
}

/* The conditions on keys; the others become the node's qual. */
static void
init_conditions(px_key_scan_state *state, const CustomScan *scan)
{
	TupleDesc	desc = RelationGetDescr(state->css.ss.ss_currentRelation);
	List	   *others = NIL;
	ListCell   *lc;

	state->conditions = palloc(list_length(scan->custom_private) *
							   sizeof(key_condition));
	foreach(lc, scan->scan.plan.qual)
	{
		if (!list_member_int(scan->custom_private, foreach_current_index(lc)))
			others = lappend(others, lfirst(lc));
		else
			init_condition(&state->conditions[state->nconditions++],
						   lfirst_node(FuncExpr, lc), desc);
	}
	state->css.ss.ps.qual = ExecInitQual(others, &state->css.ss.ps);
}

static void
init_range(px_key_scan_state *state, const CustomScan *scan)
{
	ListCell   *lc;

	state->has_range = scan->custom_exprs != NIL;
	ItemPointerSet(&state->first, 0, 0);
	ItemPointerSet(&state->last, InvalidBlockNumber, PG_UINT16_MAX);
	foreach(lc, scan->custom_exprs)
	{
		const OpExpr *clause = lfirst_node(OpExpr, lc);
		ItemPointer bound = (ItemPointer) DatumGetPointer(
			lsecond_node(Const, clause->args)->constvalue);

		if (clause->opno == TIDGreaterEqOperator)
		{
			if (ItemPointerCompare(bound, &state->first) > 0)
				state->first = *bound;
		}
		else if (ItemPointerCompare(bound, &state->last) <= 0)
		{
			state->last = *bound;
			ItemPointerDec(&state->last);
		}
	}
}

static Node *
create_state(CustomScan *scan)
{
	px_key_scan_state *state = palloc0(sizeof(px_key_scan_state));

	px_library_check();
	NodeSetTag(state, T_CustomScanState);
	state->css.methods = &key_scan_exec_methods;
	return (Node *) state;
}

static void
begin_key_scan(CustomScanState *css, EState *estate, int eflags)
{
	px_key_scan_state *state = (px_key_scan_state *) css;
	const CustomScan *scan = castNode(CustomScan, css->ss.ps.plan);
	Relation	relation = css->ss.ss_currentRelation;

	if (relation->rd_tableam != GetHeapamTableAmRoutine())
		elog(ERROR, "table \"%s\" is not a heap",
			 RelationGetRelationName(relation));

	/* Core has made a slot for values, but rows come in the table's slots. */
	px_init_scan_slot(estate, &css->ss, RelationGetDescr(relation),
					  table_slot_callbacks(relation));
	ExecAssignScanProjectionInfo(&css->ss);
	init_conditions(state, scan);
	init_range(state, scan);
}

static void
end_key_scan(CustomScanState *css)
{
	/* The slot has a pin on the page that the scan does not know of. */
	ExecClearTuple(css->ss.ss_ScanTupleSlot);
	if (css->ss.ss_currentScanDesc)
		table_endscan(css->ss.ss_currentScanDesc);
}

static void
rescan_key_scan(CustomScanState *css)
{
	px_key_scan_state *state = (px_key_scan_state *) css;
	TableScanDesc scan = css->ss.ss_currentScanDesc;

	state->on_page = false;
	if (scan && state->has_range)
		table_rescan_tidrange(scan, &state->first, &state->last);
	else if (scan)
		table_rescan(scan, NULL);
	ExecScanReScan(&css->ss);
}

static void
explain_key_scan(CustomScanState *css, List *ancestors, ExplainState *es)
{
	const CustomScan *scan = castNode(CustomScan, css->ss.ps.plan);
	List	   *context;

	if (scan->custom_exprs == NIL)
		return;
	context = set_deparse_context_plan(es->deparse_cxt, css->ss.ps.plan,
									   ancestors);
	ExplainPropertyText("TID Cond",
						deparse_expression(
							(Node *) make_ands_explicit(scan->custom_exprs),
							context, list_length(es->rtable) > 1, false),
						es);
}

/* ---------------------------------------------------------------------
 * Parallel scans
 * --------------------------------------------------------------------- */

static Size
estimate_dsm(CustomScanState *css, ParallelContext *pcxt)
{
	return table_parallelscan_estimate(css->ss.ss_currentRelation,
									   css->ss.ps.state->es_snapshot);
}

static void
initialize_dsm(CustomScanState *css, ParallelContext *pcxt, void *coordinate)
{
	table_parallelscan_initialize(css->ss.ss_currentRelation, coordinate,
								  css->ss.ps.state->es_snapshot);
	css->ss.ss_currentScanDesc = px_table_beginscan_parallel(
		css->ss.ss_currentRelation, coordinate);
}

static void
reinitialize_dsm(CustomScanState *css, ParallelContext *pcxt,
				 void *coordinate)
{
	table_parallelscan_reinitialize(css->ss.ss_currentRelation, coordinate);
}

static void
initialize_worker(CustomScanState *css, shm_toc *toc, void *coordinate)
{
	css->ss.ss_currentScanDesc = px_table_beginscan_parallel(
		css->ss.ss_currentRelation, coordinate);
}

const CustomScanMethods px_key_scan_methods = {
	.CustomName = "ExchangeKeyScan",
	.CreateCustomScanState = create_state,
};

static const CustomExecMethods key_scan_exec_methods = {
	.CustomName = "ExchangeKeyScan",
	.BeginCustomScan = begin_key_scan,
	.ExecCustomScan = exec_key_scan,
	.EndCustomScan = end_key_scan,
	.ReScanCustomScan = rescan_key_scan,
	.EstimateDSMCustomScan = estimate_dsm,
	.InitializeDSMCustomScan = initialize_dsm,
	.ReInitializeDSMCustomScan = reinitialize_dsm,
	.InitializeWorkerCustomScan = initialize_worker,
	.ExplainCustomScan = explain_key_scan,
};

void
px_key_scan_init(void)
{
	RegisterCustomScanMethods(&px_key_scan_methods);
}
