/*-------------------------------------------------------------------------
 *
 * row_function.c
 *		Planning exchange.unpack and exchange.inbox in FROM as custom scans.
 *
 * A function in FROM stores its rows in a tuplestore before the first one is
 * returned.  These nodes do not.  One of them takes the place of the function
 * scan only if the function stands alone, with a list of column definitions:
 * not in ROWS FROM, and without WITH ORDINALITY.
 *
 * The caller may know how many distinct values each column has.  Otherwise the
 * planner assumes 200, and would rather hash a table than a few rows of ours.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "access/sysattr.h"
#include "catalog/pg_type_d.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/supportnodes.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/restrictinfo.h"
#include "parser/parsetree.h"
#include "utils/array.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"

#include "node/inbox.h"
#include "node/unpack.h"
#include "plan/column_stats.h"
#include "plan/row_function.h"

/* The arguments of the functions. */
enum
{
	ARGUMENT_ROWS,
	ARGUMENT_DISTINCT_VALUES,	/* float8[]; may be left out */
	ARGUMENTS_MAX
};

static get_relation_stats_hook_type prev_get_relation_stats_hook = NULL;
static set_rel_pathlist_hook_type prev_set_rel_pathlist_hook = NULL;

/* The scan of the rows of this function; NULL if we have none. */
static const CustomScanMethods *
methods_of(Oid function)
{
	FmgrInfo	finfo;

	fmgr_info(function, &finfo);
	if (finfo.fn_addr == px_sql_unpack)
		return &px_unpack_scan_methods;
	if (finfo.fn_addr == px_sql_inbox)
		return &px_inbox_scan_methods;
	return NULL;
}

/* The distinct values that the caller expects, if that is a constant. */
static const Const *
distinct_values_of(const FuncExpr *call)
{
	const Const *values = list_length(call->args) < ARGUMENTS_MAX ? NULL :
		list_nth(call->args, ARGUMENT_DISTINCT_VALUES);

	return values && IsA(values, Const) && !values->constisnull &&
		values->consttype == FLOAT8ARRAYOID ? values : NULL;
}

const CustomScanMethods *
px_row_function_methods(const RangeTblEntry *rte)
{
	const RangeTblFunction *function;
	const FuncExpr *call;

	if (rte->rtekind != RTE_FUNCTION || list_length(rte->functions) != 1 ||
		rte->funcordinality)
		return NULL;
	function = linitial_node(RangeTblFunction, rte->functions);
	call = (const FuncExpr *) function->funcexpr;
	if (function->funccolnames == NIL || !IsA(call, FuncExpr) ||
		call->funcresulttype != RECORDOID || !call->funcretset ||
		list_length(call->args) > ARGUMENTS_MAX ||
		(list_length(call->args) == ARGUMENTS_MAX &&
		 distinct_values_of(call) == NULL))
		return NULL;
	return methods_of(call->funcid);
}

/* Is the row as a whole wanted, in a list of expressions? */
static bool
wants_whole_row(const RelOptInfo *rel, const List *exprs)
{
	Bitmapset  *columns = NULL;

	pull_varattnos((Node *) exprs, rel->relid, &columns);
	return bms_is_member(0 - FirstLowInvalidHeapAttributeNumber, columns);
}

/* The scan tuple: the columns of the function, and maybe the whole row. */
static List *
make_scan_tlist(const RelOptInfo *rel, const RangeTblEntry *rte,
				bool whole_row)
{
	const RangeTblFunction *function = linitial(rte->functions);
	List	   *tlist = NIL;
	Var		   *var;

	for (int i = 0; i < function->funccolcount; i++)
	{
		var = makeVar(rel->relid, (AttrNumber) (i + 1),
					  list_nth_oid(function->funccoltypes, i),
					  list_nth_int(function->funccoltypmods, i),
					  list_nth_oid(function->funccolcollations, i), 0);
		tlist = lappend(tlist,
						makeTargetEntry((Expr *) var, (AttrNumber) (i + 1),
										strVal(list_nth(rte->eref->colnames,
														i)),
										false));
	}
	if (!whole_row)
		return tlist;
	var = makeVar(rel->relid, 0, RECORDOID, -1, InvalidOid, 0);
	return lappend(tlist,
				   makeTargetEntry((Expr *) var, list_length(tlist) + 1, NULL,
								   false));
}

/*
 * If nothing is joined, the rel's target may have expressions, which the plan
 * gets only later.
 */
static Plan *
plan_row_function(PlannerInfo *root, RelOptInfo *rel, CustomPath *path,
				  List *tlist, List *clauses, List *custom_plans)
{
	CustomScan *scan = makeNode(CustomScan);
	const RangeTblEntry *rte = planner_rt_fetch(rel->relid, root);
	RangeTblFunction *function = linitial(rte->functions);

	scan->scan.plan.targetlist = tlist;
	scan->scan.plan.qual = extract_actual_clauses(clauses, false);
	scan->flags = path->flags;
	scan->custom_exprs = list_make1(copyObject(function->funcexpr));
	scan->custom_scan_tlist = make_scan_tlist(
		rel, rte,
		wants_whole_row(rel, rel->reltarget->exprs) ||
		wants_whole_row(rel, tlist) ||
		wants_whole_row(rel, scan->scan.plan.qual));
	scan->methods = px_row_function_methods(rte);
	return &scan->scan.plan;
}

static const CustomPathMethods path_methods = {
	.CustomName = "ExchangeRows",
	.PlanCustomPath = plan_row_function,
};

static void
replace_function_scan(PlannerInfo *root, RelOptInfo *rel, Index rti,
					  RangeTblEntry *rte)
{
	CustomPath *path;
	Path	   *scan;

	if (prev_set_rel_pathlist_hook)
		prev_set_rel_pathlist_hook(root, rel, rti, rte);
	if (px_row_function_methods(rte) == NULL || rel->pathlist == NIL)
		return;

	/* It costs what the scan of the function costs. */
	scan = linitial(rel->pathlist);
	path = makeNode(CustomPath);
	path->path.pathtype = T_CustomScan;
	path->path.parent = rel;
	path->path.pathtarget = rel->reltarget;
	path->path.param_info = scan->param_info;
	path->path.rows = scan->rows;
	path->path.startup_cost = scan->startup_cost;
	path->path.total_cost = scan->total_cost;
	path->flags = CUSTOMPATH_SUPPORT_PROJECTION;
	path->methods = &path_methods;
	rel->pathlist = list_make1(path);
	rel->partial_pathlist = NIL;
}

Node *
px_row_function_support(Node *request,
						double (*estimate) (PlannerInfo *root,
											const FuncExpr *call))
{
	SupportRequestRows *wanted = (SupportRequestRows *) request;
	double		rows;

	if (!IsA(request, SupportRequestRows) || wanted->root == NULL ||
		!IsA(wanted->node, FuncExpr))
		return NULL;
	rows = estimate(wanted->root, (const FuncExpr *) wanted->node);
	if (rows < 0)
		return NULL;
	wanted->rows = clamp_row_est(rows);
	return request;
}

/* The distinct values of a column; 0 if they are not known. */
static double
distinct_values(const RangeTblEntry *rte, AttrNumber column)
{
	const RangeTblFunction *function = linitial(rte->functions);
	const Const *values = distinct_values_of(
		(const FuncExpr *) function->funcexpr);
	ArrayType  *array = values ? DatumGetArrayTypeP(values->constvalue) : NULL;
	double		n;

	if (array == NULL || ARR_NDIM(array) != 1 || ARR_HASNULL(array) ||
		column < 1 || column > ARR_DIMS(array)[0])
		return 0;
	n = ((const float8 *) ARR_DATA_PTR(array))[column - 1];
	return isfinite(n) && n >= 1 ? n : 0;
}

/* get_relation_stats_hook */
static bool
relation_stats(PlannerInfo *root, RangeTblEntry *rte, AttrNumber attnum,
			   VariableStatData *vardata)
{
	if (px_row_function_methods(rte))
	{
		px_column_type type = {vardata->vartype, exprCollation(vardata->var)};
		px_column_stats stats = {
			.width = get_typavgwidth(vardata->vartype, vardata->atttypmod),
			.n_distinct = distinct_values(rte, attnum)
		};

		if (stats.n_distinct > 0)
		{
			vardata->statsTuple = px_column_stats_tuple(
				InvalidOid, attnum, false, type, &stats);
			vardata->freefunc = heap_freetuple;
			vardata->acl_ok = true;
			return true;
		}
	}
	return prev_get_relation_stats_hook &&
		prev_get_relation_stats_hook(root, rte, attnum, vardata);
}

void
px_row_function_plan_init(void)
{
	prev_get_relation_stats_hook = get_relation_stats_hook;
	get_relation_stats_hook = relation_stats;
	prev_set_rel_pathlist_hook = set_rel_pathlist_hook;
	set_rel_pathlist_hook = replace_function_scan;
}
