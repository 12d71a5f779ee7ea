/*-------------------------------------------------------------------------
 *
 * scan_tuple.c
 *		What the scan tuples of a ForeignScan of postgres_fdw are made of.
 *
 * For a base relation they are rows of the table, and may have a ctid.  The
 * remote query returns that as its last column.  For a join or an upper
 * relation they are the columns of fdw_scan_tlist, among them whole rows of
 * tables, which the remote sends as anonymous records.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "nodes/makefuncs.h"
#include "utils/lsyscache.h"

#include "exec/scan_tuple.h"

bool
px_scan_tuple_has_ctid(const ForeignScan *foreign)
{
	return foreign->scan.scanrelid > 0 &&
		list_member_int(lsecond(foreign->fdw_private),
						SelfItemPointerAttributeNumber);
}

void
px_scan_tuple_complete(ForeignScan *foreign, TupleDesc table)
{
	List	   *tlist = NIL;

	if (foreign->scan.scanrelid == 0 ||
		foreign->scan.plan.targetlist != NIL)
		return;
	for (int i = 0; i < table->natts; i++)
	{
		Form_pg_attribute attr = TupleDescAttr(table, i);
		Expr	   *expr;

		if (attr->attisdropped)
			expr = (Expr *) makeNullConst(INT4OID, -1, InvalidOid);
		else
			expr = (Expr *) makeVar(foreign->scan.scanrelid, i + 1,
									attr->atttypid, attr->atttypmod,
									attr->attcollation, 0);
		tlist = lappend(tlist, makeTargetEntry(expr, i + 1, NULL, false));
	}
	foreign->scan.plan.targetlist = tlist;
}

ForeignScan *
px_scan_tuple_plan(const ForeignScan *foreign, TupleDesc table)
{
	ForeignScan *plan = makeNode(ForeignScan);

	*plan = *foreign;
	px_scan_tuple_complete(plan, table);
	return plan;
}

TupleTableSlot *
px_scan_tuple_ctid_slot(EState *estate, const TupleTableSlot *scan_slot)
{
	TupleDesc	table = scan_slot->tts_tupleDescriptor;
	TupleDesc	tupdesc = CreateTemplateTupleDesc(table->natts + 1);

	for (int i = 1; i <= table->natts; i++)
		TupleDescCopyEntry(tupdesc, i, table, i);
	TupleDescInitEntry(tupdesc, table->natts + 1, "ctid", TIDOID, -1, 0);
	return ExecInitExtraTupleSlot(estate, tupdesc, &TTSOpsVirtual);
}

TupleTableSlot *
px_scan_tuple_take_ctid(const TupleTableSlot *row, TupleTableSlot *scan_slot)
{
	int			natts = scan_slot->tts_tupleDescriptor->natts;

	ExecClearTuple(scan_slot);
	memcpy(scan_slot->tts_values, row->tts_values, natts * sizeof(Datum));
	memcpy(scan_slot->tts_isnull, row->tts_isnull, natts * sizeof(bool));
	if (row->tts_isnull[natts])
		ItemPointerSetInvalid(&scan_slot->tts_tid);
	else
		scan_slot->tts_tid =
			*(ItemPointer) DatumGetPointer(row->tts_values[natts]);
	return ExecStoreVirtualTuple(scan_slot);
}

List *
px_scan_tuple_retrieved(const ForeignScan *foreign, int natts)
{
	List	   *retrieved = list_copy(lsecond(foreign->fdw_private));
	ListCell   *lc;

	foreach(lc, retrieved)
	{
		if (lfirst_int(lc) == SelfItemPointerAttributeNumber)
			lfirst_int(lc) = natts;
	}
	return retrieved;
}

/* The Var that attribute attno of the scan tuple is, or NULL. */
static const Var *
scan_tuple_var(const ForeignScan *foreign, int attno)
{
	TargetEntry *target =
		list_nth_node(TargetEntry, foreign->fdw_scan_tlist, attno - 1);

	return IsA(target->expr, Var) ? (const Var *) target->expr : NULL;
}

TupleDesc
px_scan_tuple_desc(const ForeignScan *foreign, EState *estate,
				   const TupleTableSlot *slot)
{
	TupleDesc	tupdesc = CreateTupleDescCopy(slot->tts_tupleDescriptor);

	if (foreign->scan.scanrelid > 0)
		return tupdesc;

	for (int i = 0; i < tupdesc->natts; i++)
	{
		Form_pg_attribute attr = TupleDescAttr(tupdesc, i);
		const Var  *var = scan_tuple_var(foreign, i + 1);
		RangeTblEntry *rte;

		if (attr->atttypid != RECORDOID || attr->atttypmod >= 0 ||
			var == NULL || var->varattno != 0)
			continue;
		rte = exec_rt_fetch(var->varno, estate);
		if (rte->rtekind == RTE_RELATION &&
			OidIsValid(get_rel_type_id(rte->relid)))
			attr->atttypid = get_rel_type_id(rte->relid);
	}
	return tupdesc;
}

static const char *
column_context(EState *estate, Index varno, AttrNumber attno)
{
	RangeTblEntry *rte = exec_rt_fetch(varno, estate);
	const char *column;

	if (attno == 0)
		return psprintf("whole-row reference to foreign table \"%s\"",
						rte->eref->aliasname);
	if (attno > 0 && attno <= list_length(rte->eref->colnames))
		column = strVal(list_nth(rte->eref->colnames, attno - 1));
	else if (attno == SelfItemPointerAttributeNumber)
		column = "ctid";
	else
		return NULL;
	return psprintf("column \"%s\" of foreign table \"%s\"", column,
					rte->eref->aliasname);
}

const char **
px_scan_tuple_contexts(const ForeignScan *foreign, EState *estate, int natts)
{
	const char **contexts = palloc0(natts * sizeof(char *));

	for (int attno = 1; attno <= natts; attno++)
	{
		const Var  *var;

		if (foreign->scan.scanrelid > 0)
			contexts[attno - 1] = column_context(
				estate, foreign->scan.scanrelid,
				attno == natts && px_scan_tuple_has_ctid(foreign) ?
				SelfItemPointerAttributeNumber : attno);
		else if ((var = scan_tuple_var(foreign, attno)) != NULL)
			contexts[attno - 1] =
				column_context(estate, var->varno, var->varattno);

		if (contexts[attno - 1] == NULL)
			contexts[attno - 1] =
				psprintf("processing expression at position %d in select list",
						 attno);
	}
	return contexts;
}
