/*-------------------------------------------------------------------------
 *
 * scan_tuple.c
 *		What the scan tuples of a ForeignScan of postgres_fdw are made of.
 *
 * For a base relation they are rows of the table.  For a join or an upper
 * relation they are the columns of fdw_scan_tlist, among them whole rows of
 * tables, which the remote sends as anonymous records.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "utils/lsyscache.h"

#include "exec/scan_tuple.h"

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
			contexts[attno - 1] =
				column_context(estate, foreign->scan.scanrelid, attno);
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
