/*-------------------------------------------------------------------------
 *
 * filter_column.c
 *		Where a column of a finished plan comes from.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_class.h"
#include "catalog/pg_statistic.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "parser/parsetree.h"
#include "utils/syscache.h"

#include "compat.h"
#include "exec/plan_walk.h"
#include "node/receive.h"
#include "plan/filter_column.h"
#include "plan/join_key.h"
#include "plan/known_stats.h"

static px_table_column table_column(Plan *plan, AttrNumber resno,
									bool of_member);

const Var *
px_plan_column(const Plan *plan, AttrNumber resno)
{
	if (resno < 1 || resno > list_length(plan->targetlist))
		return NULL;
	return px_join_column(
		(const Node *) list_nth_node(TargetEntry, plan->targetlist,
									 resno - 1)->expr);
}

/* The child whose rows a Var of plan's expressions refers to, or NULL. */
static Plan *
child_of_var(Plan *plan, const Var *var)
{
	if (var->varno == OUTER_VAR)
		return IsA(plan, Append) || IsA(plan, MergeAppend) ? NULL :
			outerPlan(plan);
	if (var->varno == INNER_VAR)
		return innerPlan(plan);
	if (IsA(plan, SubqueryScan))
		return ((SubqueryScan *) plan)->subplan;
	return NULL;
}

static px_table_column
table_column(Plan *plan, AttrNumber resno, bool of_member)
{
	px_table_column none = {0, 0};
	const Var  *var;
	Plan	   *child;

	check_stack_depth();
	if (plan == NULL)
		return none;

	if (px_plan_list(plan) && *px_plan_list(plan) != NIL &&
		!px_plan_is_receive(plan))
	{
		List	   *children = *px_plan_list(plan);

		return list_length(children) == 1 || (of_member && children != NIL) ?
			table_column(linitial(children), resno, of_member) : none;
	}
	var = px_plan_column(plan, resno);
	if (var && var->varno == INDEX_VAR && IsA(plan, CustomScan))
		var = px_join_column((const Node *) list_nth_node(
								 TargetEntry,
								 ((CustomScan *) plan)->custom_scan_tlist,
								 var->varattno - 1)
								 ->expr);
	if (var == NULL)
		return none;
	child = child_of_var(plan, var);
	if (child)
		return table_column(child, var->varattno, of_member);
	if (IS_SPECIAL_VARNO(var->varno))
		return none;
	return (px_table_column) {var->varno, var->varattno};
}

px_table_column
px_table_column_below(Plan *plan, const Node *expr, bool of_member)
{
	const Var  *var = px_join_column(expr);

	if (var == NULL || var->varno != OUTER_VAR)
		return (px_table_column) {0, 0};
	return table_column(plan, var->varattno, of_member);
}

/* The number that a row of pg_statistic has for so many rows of the table. */
static double
ndistinct_of(HeapTuple statistics, double tuples)
{
	double		ndistinct =
		((Form_pg_statistic) GETSTRUCT(statistics))->stadistinct;

	return ndistinct >= 0 ? ndistinct : -ndistinct * Max(tuples, 0);
}

static double
tuples_of(Oid relid)
{
	HeapTuple	class = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	double		tuples = 0;

	if (HeapTupleIsValid(class))
	{
		tuples = ((Form_pg_class) GETSTRUCT(class))->reltuples;
		ReleaseSysCache(class);
	}
	return tuples;
}

double
px_table_column_ndistinct(const PlannedStmt *stmt, px_table_column column)
{
	const RangeTblEntry *rte;
	const px_known_table *known;
	HeapTuple	statistics;
	double		ndistinct = 0;

	if (column.rtindex == 0 ||
		column.rtindex > (Index) list_length(stmt->rtable))
		return 0;
	rte = rt_fetch(column.rtindex, stmt->rtable);
	if (rte->rtekind != RTE_RELATION)
		return 0;
	statistics = SearchSysCache3(STATRELATTINH, ObjectIdGetDatum(rte->relid),
								 Int16GetDatum(column.attnum),
								 BoolGetDatum(rte->relkind ==
											  RELKIND_PARTITIONED_TABLE));
	if (HeapTupleIsValid(statistics))
	{
		ndistinct = ndistinct_of(statistics, tuples_of(rte->relid));
		ReleaseSysCache(statistics);
		return ndistinct;
	}

	/* What its server has told, to the planner. */
	known = px_known_table_any(rte->relid);
	if (known && known->answered && column.attnum <= known->ncolumns &&
		known->columns[column.attnum - 1])
		ndistinct = ndistinct_of(known->columns[column.attnum - 1],
								 known->tuples);
	return ndistinct;
}

/* The number of a column of the remote's scan tuple in the remote query. */
static int
position_of(const ForeignScan *foreign, AttrNumber attnum)
{
	int			position = 0;
	ListCell   *lc;

	foreach(lc, (List *) lsecond(foreign->fdw_private))
	{
		position++;
		if (lfirst_int(lc) == attnum)
			return position;
	}
	return 0;
}

int
px_receive_column_position(const CustomScan *receive, const Node *expr,
						   const Var **column)
{
	const ForeignScan *foreign = linitial_node(ForeignScan,
											   receive->custom_plans);
	const Var  *var = px_join_column(expr);
	const TargetEntry *scanned;
	ListCell   *lc;

	if (var == NULL)
		return 0;
	*column = var;
	if (receive->scan.scanrelid > 0)
		return (Index) var->varno == receive->scan.scanrelid ?
			position_of(foreign, var->varattno) : 0;

	/*
	 * A join, or groups.  Partial aggregates have other scan tuples than the
	 * remote's rows, but the columns to group by are among these.
	 */
	if (var->varno != INDEX_VAR)
		return 0;
	scanned = list_nth_node(TargetEntry, receive->custom_scan_tlist,
							var->varattno - 1);
	if (!IsA(scanned->expr, Var))
		return 0;
	foreach(lc, foreign->fdw_scan_tlist)
	{
		const TargetEntry *remote = lfirst_node(TargetEntry, lc);

		if (equal(remote->expr, scanned->expr))
			return position_of(foreign, remote->resno);
	}
	return 0;
}
