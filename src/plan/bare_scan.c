/*-------------------------------------------------------------------------
 *
 * bare_scan.c
 *		Scans below an ExchangeSend that need not project.
 *
 * A query for some columns of a table has a scan that takes each tuple apart
 * and puts these columns into another slot.  ExchangeSend reads tuples where
 * they lie (tuple/fill.c), and knows which columns it wants.  So the scan is
 * given the target list that core calls physical: that of the table itself,
 * for which the executor makes no projection.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "catalog/pg_type_d.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "parser/parsetree.h"
#include "utils/rel.h"

#include "compat.h"
#include "exec/plan_walk.h"
#include "node/key_scan.h"
#include "plan/bare_scan.h"

static bool
can_be_bare(const Plan *plan)
{
	return px_plan_is_table_scan(plan) ||
		(IsA(plan, CustomScan) &&
		 ((const CustomScan *) plan)->methods == &px_key_scan_methods);
}

/*
 * Var nodes of all columns, as a target list; NIL where the executor would
 * project all the same (tlist_matches_tupdesc).
 */
static List *
physical_tlist(const PlannedStmt *stmt, Index scanrelid)
{
	Oid			relid = rt_fetch(scanrelid, stmt->rtable)->relid;
	Relation	relation = table_open(relid, NoLock);
	TupleDesc	desc = RelationGetDescr(relation);
	List	   *tlist = NIL;

	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute attribute = TupleDescAttr(desc, i);
		Var		   *var;

		if (attribute->attisdropped || attribute->atthasmissing)
		{
			tlist = NIL;
			break;
		}
		var = makeVar((int) scanrelid, (AttrNumber) (i + 1),
					  attribute->atttypid, attribute->atttypmod,
					  attribute->attcollation, 0);
		tlist = lappend(tlist, makeTargetEntry((Expr *) var,
											   (AttrNumber) (i + 1), NULL,
											   false));
	}
	table_close(relation, NoLock);
	return tlist;
}

/* Is it a column of the scanned table? */
static bool
is_column(const Node *node, Index scanrelid)
{
	const Var  *var = (const Var *) node;

	return IsA(var, Var) && var->varno == (int) scanrelid && var->varattno > 0;
}

/* Does an expression need more than columns of the scanned table? */
static bool
needs_more(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Var))
		return !is_column(node, *(const Index *) context);
	if (IsA(node, Param))
		return ((const Param *) node)->paramkind != PARAM_EXTERN;
	if (IsA(node, SubPlan) || IsA(node, AlternativeSubPlan))
		return true;
	return expression_tree_walker(node, needs_more, context);
}

/* The same expression for a node above the scan. */
static Node *
lift(Node *node, void *context)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, Var))
	{
		Var		   *var = copyObject((Var *) node);

		var->varno = OUTER_VAR;
		return (Node *) var;
	}
	return expression_tree_mutator(node, lift, context);
}

List *
px_bare_scan(const PlannedStmt *stmt, Plan *plan, const List *columns,
			 Expr **target)
{
	Index		scanrelid;
	Node	   *lifted = NULL;
	List	   *bare = NIL;
	List	   *tlist;
	ListCell   *lc;

	if (columns == NIL || !can_be_bare(plan))
		return NIL;
	scanrelid = ((const Scan *) plan)->scanrelid;
	foreach(lc, columns)
	{
		const TargetEntry *entry = list_nth_node(TargetEntry, plan->targetlist,
												 lfirst_int(lc) - 1);
		Node	   *expr = (Node *) entry->expr;

		if (is_column(expr, scanrelid))
			bare = lappend_int(bare, ((const Var *) expr)->varattno);
		else if (target && lnext(columns, lc) == NULL &&
				 exprType(expr) == INT4OID && !needs_more(expr, &scanrelid))
		{
			lifted = lift(expr, NULL);
			bare = lappend_int(bare, 0);
		}
		else
			return NIL;
	}
	tlist = physical_tlist(stmt, scanrelid);
	if (tlist == NIL)
		return NIL;
	plan->targetlist = tlist;
	if (lifted)
		*target = (Expr *) lifted;
	return bare;
}
