/*-------------------------------------------------------------------------
 *
 * unpack.c
 *		Planning with exchange.unpack(piece): estimates, and the order of
 *		writes.
 *
 * plan/row_function.c plans the scan.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type_d.h"
#include "optimizer/optimizer.h"
#include "optimizer/paths.h"
#include "utils/builtins.h"

#include "exec/apply_state.h"
#include "node/unpack.h"
#include "plan/row_function.h"
#include "plan/unpack.h"

PG_FUNCTION_INFO_V1(px_sql_unpack_support);

static set_rel_pathlist_hook_type prev_set_rel_pathlist_hook = NULL;

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
		px_row_function_methods(llast_node(RangeTblEntry, query->rtable)) !=
			&px_unpack_scan_methods)
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
adjust_paths(PlannerInfo *root, RelOptInfo *rel, Index rti, RangeTblEntry *rte)
{
	if (prev_set_rel_pathlist_hook)
		prev_set_rel_pathlist_hook(root, rel, rti, rte);
	keep_tid_scans(root, rel);
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
	PG_RETURN_POINTER(px_row_function_support((Node *) PG_GETARG_POINTER(0),
											  estimate_rows));
}

void
px_unpack_plan_init(void)
{
	prev_set_rel_pathlist_hook = set_rel_pathlist_hook;
	set_rel_pathlist_hook = adjust_paths;
}
