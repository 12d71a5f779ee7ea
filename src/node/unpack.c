/*-------------------------------------------------------------------------
 *
 * unpack.c
 *		Executing ExchangeUnpack: a piece in, rows out.
 *
 * The rows are decoded one batch at a time, and nothing is stored.  If the
 * statement is that of exchange.apply, the piece is read by its reader, which
 * outlives the statement: there may be one statement for some of the rows, and
 * another for the next ones.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/xact.h"
#include "catalog/objectaccess.h"
#include "executor/executor.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "admit/session.h"
#include "compat.h"
#include "conn/sqlstate.h"
#include "exec/apply_state.h"
#include "exec/timeout.h"
#include "node/fit.h"
#include "node/unpack.h"
#include "tuple/piece_reader.h"

/*
 * How many rows are converted at a time.  Nobody can tell, but for the memory
 * that their values take.
 */
#define WINDOW_ROWS	100

PG_FUNCTION_INFO_V1(px_sql_unpack);

static const CustomExecMethods unpack_exec_methods;

typedef struct px_unpack_state
{
	CustomScanState css;		/* must be first */

	int			ncolumns;		/* of the function */
	TupleDesc	tupdesc;		/* of these */
	int			rti;			/* of the function, in the range table */
	TupleTableSlot *row_slot;	/* for rechecks */
	ExprState  *piece;			/* the argument of the function */
	px_apply   *apply;			/* whose statement this is; NULL: nobody's */
	px_piece_reader *reader;	/* NULL before the first row */
	bool		opened;			/* the reader has the piece */
	uint64		rows_begin;		/* apply: the first row of the statement */
	px_fit	   *fit;			/* computes the target list; or NULL */
} px_unpack_state;

/* The number of the function's columns in the scan tuple. */
static int
count_columns(const CustomScan *scan)
{
	const TargetEntry *last = llast_node(TargetEntry, scan->custom_scan_tlist);
	const Var  *var = (const Var *) last->expr;

	return list_length(scan->custom_scan_tlist) -
		(IsA(var, Var) && var->varattno == 0 ? 1 : 0);
}

static void
check_permission(Oid function)
{
	AclResult	result = px_function_aclcheck(function, GetUserId());

	if (result != ACLCHECK_OK)
		aclcheck_error(result, OBJECT_FUNCTION, get_func_name(function));
	InvokeFunctionExecuteHook(function);
}

/*
 * The exchange.apply whose piece this is.  A rule, view or policy of a user
 * may call exchange.unpack in the same statement, with a piece of its own and
 * other columns.  But only the call that exchange.apply has made has the
 * statement's parameter: stored queries have no parameters.
 */
static px_apply *
find_apply(const FuncExpr *call, ParamListInfo params)
{
	const Param *piece = linitial(call->args);

	if (!IsA(piece, Param) || piece->paramkind != PARAM_EXTERN)
		return NULL;
	return px_apply_find(params);
}

/* Begin to read the piece; false if it is null. */
static bool
open_piece(px_unpack_state *state)
{
	ExprContext *econtext = state->css.ss.ps.ps_ExprContext;
	MemoryContext oldcontext;
	Datum		value;
	bool		isnull;

	if (state->apply)
	{
		state->reader = state->apply->reader;
		state->rows_begin = px_piece_reader_position(state->reader);
		state->opened = true;
		return true;
	}

	ResetExprContext(econtext);
	value = ExecEvalExprSwitchContext(state->piece, econtext, &isnull);
	if (isnull)
		return false;
	oldcontext = MemoryContextSwitchTo(state->css.ss.ps.state->es_query_cxt);
	if (state->reader == NULL)
		state->reader = px_piece_reader_new(state->tupdesc, WINDOW_ROWS,
											false);
	px_piece_reader_open(state->reader, DatumGetTextPP(value));
	MemoryContextSwitchTo(oldcontext);
	state->opened = true;
	return true;
}

/*
 * Set the whole row, which follows the columns in the slot.  In the statement
 * of exchange.apply, only rechecks want it: it is an UPDATE or DELETE.  Where
 * a concurrent change is an error, there is no recheck, and no time is spent
 * on the row.
 */
static void
set_whole_row(px_unpack_state *state, TupleTableSlot *slot)
{
	ExprContext *econtext = state->css.ss.ps.ps_ExprContext;
	MemoryContext oldcontext;
	HeapTuple	tuple;

	slot->tts_values[state->ncolumns] = (Datum) 0;
	slot->tts_isnull[state->ncolumns] = true;
	if (state->apply && IsolationUsesXactSnapshot())
		return;

	oldcontext = MemoryContextSwitchTo(econtext->ecxt_per_tuple_memory);
	tuple = heap_form_tuple(state->tupdesc, slot->tts_values,
							slot->tts_isnull);
	slot->tts_values[state->ncolumns] = HeapTupleGetDatum(tuple);
	slot->tts_isnull[state->ncolumns] = false;
	MemoryContextSwitchTo(oldcontext);
}

/*
 * Another row of exchange.apply: maybe of another statement of postgres_fdw.
 */
static void
begin_row(px_apply *apply)
{
	apply->row = px_piece_reader_position(apply->reader);
	if (apply->timed && apply->row % apply->batch_size == 0)
		px_timeout_next_statement();
}

static TupleTableSlot *
unpack_next(ScanState *node)
{
	px_unpack_state *state = (px_unpack_state *) node;
	TupleTableSlot *slot = ExecClearTuple(node->ss_ScanTupleSlot);

	if (!state->opened && !open_piece(state))
		return slot;
	if (state->apply &&
		px_piece_reader_position(state->reader) >= state->apply->rows_end)
		return slot;
	if (state->apply)
		begin_row(state->apply);
	if (!px_piece_reader_next(state->reader, slot->tts_values,
							  slot->tts_isnull))
		return slot;
	if (slot->tts_tupleDescriptor->natts > state->ncolumns)
		set_whole_row(state, slot);
	return ExecStoreVirtualTuple(slot);
}

/*
 * The row that was joined to one that another transaction has changed: put it
 * into the slot again.  The plan keeps it as the whole row.
 */
static bool
unpack_recheck(ScanState *node, TupleTableSlot *slot)
{
	px_unpack_state *state = (px_unpack_state *) node;
	EPQState   *epq = node->ps.state->es_epq_active;
	int			rti = state->rti;

	ExecClearTuple(slot);
	if (epq->relsubs_done[rti - 1] || epq->relsubs_rowmark[rti - 1] == NULL)
		return false;
	epq->relsubs_done[rti - 1] = true;
	if (!EvalPlanQualFetchRowMark(epq, rti, state->row_slot))
		return false;
	slot_getallattrs(state->row_slot);
	memcpy(slot->tts_values, state->row_slot->tts_values,
		   state->ncolumns * sizeof(Datum));
	memcpy(slot->tts_isnull, state->row_slot->tts_isnull,
		   state->ncolumns * sizeof(bool));
	if (slot->tts_tupleDescriptor->natts > state->ncolumns)
		set_whole_row(state, slot);
	ExecStoreVirtualTuple(slot);
	return true;
}

/* What ExecScan does if there is nothing to recheck and no qual. */
static TupleTableSlot *
fitting_row(px_unpack_state *state)
{
	ScanState  *node = &state->css.ss;
	ExprContext *econtext = node->ps.ps_ExprContext;
	MemoryContext oldcontext;
	TupleTableSlot *slot;

	CHECK_FOR_INTERRUPTS();
	ResetExprContext(econtext);
	slot = unpack_next(node);
	if (TupIsNull(slot))
		return ExecClearTuple(node->ps.ps_ResultTupleSlot);
	oldcontext = MemoryContextSwitchTo(econtext->ecxt_per_tuple_memory);
	slot = px_fit_row(state->fit, slot, node->ps.ps_ResultTupleSlot);
	MemoryContextSwitchTo(oldcontext);
	return slot;
}

static TupleTableSlot *
unpack_exec(CustomScanState *node)
{
	px_unpack_state *state = (px_unpack_state *) node;

	if (state->fit && node->ss.ps.state->es_epq_active == NULL)
		return fitting_row(state);
	return ExecScan(&node->ss, unpack_next, unpack_recheck);
}

static Node *
unpack_create_state(CustomScan *scan)
{
	px_unpack_state *state = palloc0(sizeof(px_unpack_state));

	NodeSetTag(state, T_CustomScanState);
	state->css.methods = &unpack_exec_methods;
	return (Node *) state;
}

static void
unpack_begin(CustomScanState *node, EState *estate, int eflags)
{
	px_unpack_state *state = (px_unpack_state *) node;
	CustomScan *scan = castNode(CustomScan, node->ss.ps.plan);
	const FuncExpr *call = linitial_node(FuncExpr, scan->custom_exprs);
	TupleDesc	scan_desc = node->ss.ss_ScanTupleSlot->tts_tupleDescriptor;

	check_permission(call->funcid);
	state->ncolumns = count_columns(scan);
	state->tupdesc = CreateTemplateTupleDesc(state->ncolumns);
	for (int i = 1; i <= state->ncolumns; i++)
		TupleDescCopyEntry(state->tupdesc, (AttrNumber) i, scan_desc,
						   (AttrNumber) i);
	TupleDescFinalize(state->tupdesc);
	state->tupdesc = BlessTupleDesc(state->tupdesc);
	state->rti = bms_singleton_member(scan->custom_relids);
	state->row_slot = ExecInitExtraTupleSlot(estate, state->tupdesc,
											 &TTSOpsHeapTuple);
	state->piece = ExecInitExpr(linitial(call->args), &node->ss.ps);
	state->apply = find_apply(call, estate->es_param_list_info);
	if (node->ss.ps.qual == NULL && node->ss.ps.ps_ProjInfo != NULL)
		state->fit = px_fit_new(scan->scan.plan.targetlist);
}

static void
unpack_end(CustomScanState *node)
{
}

static void
unpack_rescan(CustomScanState *node)
{
	px_unpack_state *state = (px_unpack_state *) node;

	ExecScanReScan(&node->ss);
	if (!state->opened)
		return;
	if (state->apply)
		px_piece_reader_seek(state->reader, state->rows_begin);
	else if (node->ss.ps.chgParam != NULL)
		state->opened = false;
	else
		px_piece_reader_seek(state->reader, 0);
}

const CustomScanMethods px_unpack_scan_methods = {
	.CustomName = "ExchangeUnpack",
	.CreateCustomScanState = unpack_create_state,
};

static const CustomExecMethods unpack_exec_methods = {
	.CustomName = "ExchangeUnpack",
	.BeginCustomScan = unpack_begin,
	.ExecCustomScan = unpack_exec,
	.EndCustomScan = unpack_end,
	.ReScanCustomScan = unpack_rescan,
};

void
px_unpack_node_init(void)
{
	RegisterCustomScanMethods(&px_unpack_scan_methods);
	px_session_set_unpack(px_sql_unpack);
}

/* exchange.unpack(piece text) returns setof record */
Datum
px_sql_unpack(PG_FUNCTION_ARGS)
{
	ereport(ERROR,
			(errcode(PX_ERRCODE_NOT_PLANNED),
			 errmsg("exchange.unpack was not recognized by the planner"),
			 errdetail("The library was not loaded when the query was planned, or the query does not have the form SELECT ... FROM exchange.unpack(...) AS t(column type, ...)."),
			 errhint("Run the query again if it has that form: the library is loaded now.")));
	PG_RETURN_NULL();			/* keep compilers quiet */
}
