/*-------------------------------------------------------------------------
 *
 * write_statement.c
 *		postgres_fdw's statement for the rows of a target.
 *
 * For rows that are routed to a foreign table, or copied into it,
 * postgres_fdw's BeginForeignInsert makes a statement that it keeps to itself.
 * Its planning function makes the same.  That takes longer than a row does, so
 * it waits until there are rows enough for frames.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "nodes/makefuncs.h"
#include "nodes/pathnodes.h"
#include "utils/rel.h"

#include "exec/write_statement.h"

/* The columns of postgres_fdw's list that have a parameter. */
static List *
sent_attrs(List *attrs, TupleDesc tupdesc)
{
	List	   *result = NIL;
	ListCell   *lc;

	foreach(lc, attrs)
	{
		if (TupleDescAttr(tupdesc, lfirst_int(lc) - 1)->attgenerated == '\0')
			result = lappend_int(result, lfirst_int(lc));
	}
	return result;
}

void
px_write_statement_set(px_write_plan *plan, List *private)
{
	plan->sql = strVal(linitial(private));
	plan->attrs = sent_attrs(lsecond(private),
							 RelationGetDescr(plan->relinfo->ri_RelationDesc));
}

void
px_write_statement_make(px_write_plan *plan)
{
	RangeTblEntry *rte;
	RangeTblEntry *rtes[2];
	PlannerInfo *root;
	ModifyTable *modify;

	if (plan->sql)
		return;
	rte = makeNode(RangeTblEntry);
	rte->rtekind = RTE_RELATION;
	rte->relid = RelationGetRelid(plan->relinfo->ri_RelationDesc);
	rte->relkind = RELKIND_FOREIGN_TABLE;
	rtes[0] = NULL;
	rtes[1] = rte;
	root = makeNode(PlannerInfo);
	root->simple_rel_array_size = 2;
	root->simple_rte_array = rtes;
	modify = makeNode(ModifyTable);
	modify->operation = CMD_INSERT;
	modify->onConflictAction =
		plan->do_nothing ? ONCONFLICT_NOTHING : ONCONFLICT_NONE;
	px_write_statement_set(plan, plan->fdw->PlanForeignModify(root, modify, 1,
															  0));
}

const char *
px_write_statement_reason(const px_write_plan *plan)
{
	if (plan->sql && plan->attrs == NIL && plan->operation == CMD_INSERT)
		return "no columns";
	return NULL;
}
