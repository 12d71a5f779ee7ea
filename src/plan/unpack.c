/*-------------------------------------------------------------------------
 *
 * unpack.c
 *		Planning exchange.unpack(piece) in FROM as an ExchangeUnpack.
 *
 * A function in FROM stores its rows in a tuplestore before the first one is
 * returned.  ExchangeUnpack does not.  It takes the place of the function scan
 * only if the function stands alone, with a list of column definitions: not
 * in ROWS FROM, and without WITH ORDINALITY.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type_d.h"
#include "nodes/makefuncs.h"
#include "nodes/supportnodes.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/restrictinfo.h"
#include "parser/parsetree.h"
#include "utils/builtins.h"

#include "compat.h"
#include "exec/apply_state.h"
#include "node/unpack.h"
#include "plan/unpack.h"

PG_FUNCTION_INFO_V1(px_sql_unpack_support);

static set_rel_pathlist_hook_type prev_set_rel_pathlist_hook = NULL;

/* The only function of a relation if it is exchange.unpack, else NULL. */
static RangeTblFunction *
find_unpack(const RangeTblEntry *rte)
{
	RangeTblFunction *function;
	const FuncExpr *call;
	FmgrInfo	finfo;

	if (rte->rtekind != RTE_FUNCTION || list_length(rte->functions) != 1 ||
		rte->funcordinality)
		return NULL;
	function = linitial_node(RangeTblFunction, rte->functions);
	call = (const FuncExpr *) function->funcexpr;
	if (function->funccolnames == NIL || !IsA(call, FuncExpr) ||
		call->funcresulttype != RECORDOID || !call->funcretset ||
		list_length(call->args) != 1)
		return NULL;
	fmgr_info(call->funcid, &finfo);
	return finfo.fn_addr == px_sql_unpack ? function : NULL;
}

/* The scan tuple: the columns of the function, and maybe the whole row. */
static List *
make_scan_tlist(const RelOptInfo *rel, const RangeTblEntry *rte)
{
	const RangeTblFunction *function = linitial(rte->functions);
	List	   *tlist = NIL;
	ListCell   *lc;

	for (int i = 0; i < function->funccolcount; i++)
	{
		Var		   *var = makeVar(
			rel->relid, (AttrNumber) (i + 1),
			list_nth_oid(function->funccoltypes, i),
			list_nth_int(function->funccoltypmods, i),
			list_nth_oid(function->funccolcollations, i), 0);

		tlist = lappend(tlist,
						makeTargetEntry((Expr *) var, (AttrNumber) (i + 1),
										strVal(list_nth(rte->eref->colnames,
														i)),
										false));
	}
	foreach(lc, rel->reltarget->exprs)
	{
		Var		   *var = lfirst(lc);

		if (IsA(var, Var) && var->varattno == 0)
			return lappend(tlist,
						   makeTargetEntry(copyObject((Expr *) var),
										   list_length(tlist) + 1, NULL,
										   false));
	}
	return tlist;
}

static Plan *
plan_unpack(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *tlist,
			List *clauses, List *custom_plans)
{
	CustomScan *scan = makeNode(CustomScan);
	const RangeTblEntry *rte = planner_rt_fetch(rel->relid, root);
	RangeTblFunction *function = linitial(rte->functions);

	scan->scan.plan.targetlist = tlist;
	scan->scan.plan.qual = extract_actual_clauses(clauses, false);
	scan->flags = path->flags;
	scan->custom_exprs = list_make1(copyObject(function->funcexpr));
	scan->custom_scan_tlist = make_scan_tlist(rel, rte);
	scan->methods = &px_unpack_scan_methods;
	return &scan->scan.plan;
}

static const CustomPathMethods unpack_path_methods = {
	.CustomName = "ExchangeUnpack",
	.PlanCustomPath = plan_unpack,
};

/*
 * In UPDATE and DELETE, find each row by its ctid, in the order of the piece.
 * Then the first error is that of the first bad row.  A hash join might be a
 * little cheaper, for most of the rows of a table.
 */
static void
keep_tid_scans(PlannerInfo *root, RelOptInfo *rel)
{
	const Query *query = root->parse;
	List	   *scans = NIL;
	ListCell   *lc;

	if (px_apply_current() == NULL ||
		rel->relid != (Index) query->resultRelation ||
		query->commandType == CMD_INSERT ||
		find_unpack(llast_node(RangeTblEntry, query->rtable)) == NULL)
		return;
	foreach(lc, rel->pathlist)
	{
		Path	   *path = lfirst(lc);

		if (IsA(path, TidPath) && path->param_info)
			scans = lappend(scans, path);
	}
	if (scans)
	{
		rel->pathlist = scans;
		rel->partial_pathlist = NIL;
	}
}

static void
replace_function_scan(PlannerInfo *root, RelOptInfo *rel, Index rti,
					  RangeTblEntry *rte)
{
	CustomPath *path;
	Path	   *scan;

	if (prev_set_rel_pathlist_hook)
		prev_set_rel_pathlist_hook(root, rel, rti, rte);
	keep_tid_scans(root, rel);
	if (find_unpack(rte) == NULL || rel->pathlist == NIL)
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
	path->methods = &unpack_path_methods;
	rel->pathlist = list_make1(path);
	rel->partial_pathlist = NIL;
}

/* The rows of a call of exchange.unpack; -1 if they are not known. */
static double
estimate_rows(PlannerInfo *root, const FuncExpr *call)
{
	Node	   *argument = linitial(call->args);
	const Param *param = (const Param *) argument;
	const px_apply *apply = px_apply_current();

	if (apply && IsA(param, Param) && param->paramkind == PARAM_EXTERN &&
		param->paramid == 1)
		return (double) apply->rows_at_once;
	argument = estimate_expression_value(root, argument);
	if (!IsA(argument, Const) || ((Const *) argument)->consttype != TEXTOID)
		return -1;
	if (((Const *) argument)->constisnull)
		return 0;
	return px_piece_estimate_rows(
		DatumGetTextPP(((Const *) argument)->constvalue));
}

/* The planner support function of exchange.unpack. */
Datum
px_sql_unpack_support(PG_FUNCTION_ARGS)
{
	SupportRequestRows *request = (SupportRequestRows *) PG_GETARG_POINTER(0);

	if (IsA(request, SupportRequestRows) && request->root &&
		IsA(request->node, FuncExpr))
	{
		double		rows = estimate_rows(request->root,
										 (FuncExpr *) request->node);

		if (rows >= 0)
		{
			request->rows = clamp_row_est(rows);
			PG_RETURN_POINTER(request);
		}
	}
	PG_RETURN_POINTER(NULL);
}

void
px_unpack_plan_init(void)
{
	prev_set_rel_pathlist_hook = set_rel_pathlist_hook;
	set_rel_pathlist_hook = replace_function_scan;
}
