/*-------------------------------------------------------------------------
 *
 * row_function.c
 *		What scans of exchange.unpack and exchange.inbox have in common.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/objectaccess.h"
#include "executor/executor.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"

#include "compat.h"
#include "conn/sqlstate.h"
#include "library.h"
#include "node/row_function.h"

Node *
px_row_function_create(size_t nbytes, const CustomExecMethods *methods)
{
	px_row_function *state = palloc0(nbytes);

	px_library_check();
	NodeSetTag(state, T_CustomScanState);
	state->css.methods = methods;
	return (Node *) state;
}

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

const FuncExpr *
px_row_function_begin(px_row_function *state, EState *estate)
{
	CustomScanState *node = &state->css;
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
	state->argument = ExecInitExpr(linitial(call->args), &node->ss.ps);
	if (node->ss.ps.qual == NULL && node->ss.ps.ps_ProjInfo != NULL)
		state->fit = px_fit_new(scan->scan.plan.targetlist);
	return call;
}

bool
px_row_function_argument(px_row_function *state, Datum *value)
{
	ExprContext *econtext = state->css.ss.ps.ps_ExprContext;
	bool		isnull;

	ResetExprContext(econtext);
	*value = ExecEvalExprSwitchContext(state->argument, econtext, &isnull);
	return !isnull;
}

/* Set the whole row, which follows the columns in the slot. */
static void
set_whole_row(px_row_function *state, TupleTableSlot *slot)
{
	ExprContext *econtext = state->css.ss.ps.ps_ExprContext;
	MemoryContext oldcontext;
	HeapTuple	tuple;

	slot->tts_values[state->ncolumns] = (Datum) 0;
	slot->tts_isnull[state->ncolumns] = true;
	if (state->lacks_row)
		return;

	oldcontext = MemoryContextSwitchTo(econtext->ecxt_per_tuple_memory);
	tuple = heap_form_tuple(state->tupdesc, slot->tts_values,
							slot->tts_isnull);
	slot->tts_values[state->ncolumns] = HeapTupleGetDatum(tuple);
	slot->tts_isnull[state->ncolumns] = false;
	MemoryContextSwitchTo(oldcontext);
}

static TupleTableSlot *
next_slot(ScanState *node)
{
	px_row_function *state = (px_row_function *) node;
	TupleTableSlot *slot = ExecClearTuple(node->ss_ScanTupleSlot);

	if (!state->next(state, slot->tts_values, slot->tts_isnull))
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
recheck(ScanState *node, TupleTableSlot *slot)
{
	px_row_function *state = (px_row_function *) node;
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
fitting_row(px_row_function *state)
{
	ScanState  *node = &state->css.ss;
	ExprContext *econtext = node->ps.ps_ExprContext;
	MemoryContext oldcontext;
	TupleTableSlot *slot;

	CHECK_FOR_INTERRUPTS();
	ResetExprContext(econtext);
	slot = next_slot(node);
	if (TupIsNull(slot))
		return ExecClearTuple(node->ps.ps_ResultTupleSlot);
	oldcontext = MemoryContextSwitchTo(econtext->ecxt_per_tuple_memory);
	slot = px_fit_row(state->fit, slot, node->ps.ps_ResultTupleSlot);
	MemoryContextSwitchTo(oldcontext);
	return slot;
}

TupleTableSlot *
px_row_function_exec(CustomScanState *node)
{
	px_row_function *state = (px_row_function *) node;

	if (state->fit && node->ss.ps.state->es_epq_active == NULL)
		return fitting_row(state);
	return ExecScan(&node->ss, next_slot, recheck);
}

void
px_row_function_end(CustomScanState *node)
{
}

void
px_row_function_not_planned(const char *function)
{
	ereport(ERROR,
			(errcode(PX_ERRCODE_NOT_PLANNED),
			 errmsg("exchange.%s was not recognized by the planner", function),
			 errdetail("The library was not loaded when the query was planned, or the query does not have the form SELECT ... FROM exchange.%s(...) AS t(column type, ...).",
					   function),
			 errhint("Run the query again if it has that form: the library is loaded now.")));
}
