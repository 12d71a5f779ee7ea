/*-------------------------------------------------------------------------
 *
 * key_scan.c
 *		ExchangeKeyScan in place of a scan that filters by many keys.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/sysattr.h"
#include "catalog/pg_am_d.h"
#include "catalog/pg_class.h"
#include "catalog/pg_operator_d.h"
#include "nodes/makefuncs.h"
#include "parser/parsetree.h"
#include "utils/syscache.h"

#include "exec/in_keys.h"
#include "node/key_scan.h"
#include "plan/harmless.h"
#include "plan/key_scan.h"

static bool
is_heap(Oid relid)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	bool		result;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for relation %u", relid);
	result = ((Form_pg_class) GETSTRUCT(tuple))->relam == HEAP_TABLE_AM_OID;
	ReleaseSysCache(tuple);
	return result;
}

/* exchange.in_keys(constant, column)? */
static bool
is_about_column(const Node *condition)
{
	const FuncExpr *call = (const FuncExpr *) condition;
	const Var  *var;

	if (!IsA(call, FuncExpr) || list_length(call->args) != 2)
		return false;
	var = lsecond(call->args);
	return IsA(linitial(call->args), Const) && IsA(var, Var) &&
		var->varattno > 0 && px_in_keys_is(call->funcid);
}

/*
 * The positions of conditions that may be looked at before all others.  Those
 * that stand before them must not fail: else it would be seen that they are
 * not evaluated for each row.
 */
static List *
find_conditions(List *qual)
{
	List	   *found = NIL;
	ListCell   *lc;

	foreach(lc, qual)
	{
		Node	   *condition = lfirst(lc);

		if (is_about_column(condition))
			found = lappend_int(found, foreach_current_index(lc));
		else if (!px_condition_is_harmless(condition))
			break;
	}
	return found;
}

/* ctid >= constant, or ctid < constant? */
static bool
is_bound(const Node *clause)
{
	const OpExpr *op = (const OpExpr *) clause;
	const Var  *var;
	const Const *bound;

	if (!IsA(op, OpExpr) || (op->opno != TIDGreaterEqOperator &&
							 op->opno != TIDLessOperator))
		return false;
	var = linitial(op->args);
	bound = lsecond(op->args);
	return IsA(var, Var) &&
		var->varattno == SelfItemPointerAttributeNumber &&
		IsA(bound, Const) && !bound->constisnull;
}

/* Is it a scan of a table from one end to the other, or of a known range? */
static bool
is_in_order(const Plan *plan)
{
	ListCell   *lc;

	if (IsA(plan, SeqScan))
		return true;
	if (!IsA(plan, TidRangeScan) || plan->parallel_aware)
		return false;
	foreach(lc, ((const TidRangeScan *) plan)->tidrangequals)
		if (!is_bound(lfirst(lc)))
			return false;
	return true;
}

Plan *
px_key_scan_replace(const PlannedStmt *stmt, Plan *plan)
{
	const Scan *old = (const Scan *) plan;
	List	   *conditions;
	CustomScan *scan;

	if (!is_in_order(plan))
		return plan;
	conditions = find_conditions(plan->qual);
	if (conditions == NIL ||
		!is_heap(rt_fetch(old->scanrelid, stmt->rtable)->relid))
		return plan;

	scan = makeNode(CustomScan);
	scan->scan.plan = *plan;
	NodeSetTag(scan, T_CustomScan);
	scan->scan.scanrelid = old->scanrelid;
	scan->custom_relids = bms_make_singleton((int) old->scanrelid);
	if (IsA(plan, TidRangeScan))
		scan->custom_exprs = ((const TidRangeScan *) plan)->tidrangequals;
	scan->custom_private = conditions;
	scan->methods = &px_key_scan_methods;
	return &scan->scan.plan;
}
