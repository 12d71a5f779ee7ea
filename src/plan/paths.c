/*-------------------------------------------------------------------------
 *
 * paths.c
 *		Puts an ExchangeReceive in place of each ForeignPath.
 *
 * postgres_fdw has built its paths when our hooks for base, join and upper
 * relations run.  Each of them becomes the child of a CustomPath.  In the
 * plan, the child is kept as the fallback: it yields whole scan tuples, while
 * quals and projection are ours, so that it makes no difference above the scan
 * which of the two ran.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "catalog/pg_type.h"
#include "foreign/fdwapi.h"
#include "nodes/extensible.h"
#include "nodes/makefuncs.h"
#include "optimizer/cost.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/optimizer.h"
#include "optimizer/plancat.h"
#include "optimizer/planner.h"
#include "parser/parsetree.h"
#include "utils/rel.h"

#include "compat.h"
#include "exec/receive.h"
#include "guc.h"
#include "plan/eligible.h"
#include "plan/paths.h"

static set_rel_pathlist_hook_type prev_set_rel_pathlist_hook = NULL;
static set_join_pathlist_hook_type prev_set_join_pathlist_hook = NULL;
static create_upper_paths_hook_type prev_create_upper_paths_hook = NULL;
static get_relation_info_hook_type prev_get_relation_info_hook = NULL;

static bool is_parallel_safe_scan(PlannerInfo *root, RelOptInfo *rel, RangeTblEntry *rte);
static Plan *plan_receive(PlannerInfo *root, RelOptInfo *rel,
						  CustomPath *best_path, List *tlist,
						  List *clauses, List *custom_plans);

static const CustomPathMethods receive_path_methods = {
	.CustomName = PX_RECEIVE_NAME,
	.PlanCustomPath = plan_receive,
};

/* May a scan run beside its siblings, by the options of server and table? */
static bool
is_async_capable(ForeignPath *foreign)
{
	FdwRoutine *routine = foreign->path.parent->fdwroutine;

	return enable_async_append && routine->IsForeignPathAsyncCapable &&
		routine->IsForeignPathAsyncCapable(foreign);
}

/*
 * An ExchangeReceive in place of foreign, at the same price: what is pushed
 * down, joined where and in which order remains as postgres_fdw had it.
 */
static Path *
make_receive_path(ForeignPath *foreign)
{
	CustomPath *path = makeNode(CustomPath);

	path->path = foreign->path;
	path->path.type = T_CustomPath;
	path->path.pathtype = T_CustomScan;
	path->flags = CUSTOMPATH_SUPPORT_PROJECTION;
	path->custom_paths = list_make1(foreign);
	path->custom_private = list_make3(makeInteger(1),
									  makeInteger(foreign->path.pathkeys != NIL),
									  makeInteger(is_async_capable(foreign)));
	px_custompath_copy_restrictinfo(path, foreign);
	path->methods = &receive_path_methods;
	return &path->path;
}

/*
 * Replace the ForeignPaths of rel.  It is a path's own relation that counts:
 * an upper relation also lists paths of those below it, as they are or with a
 * LIMIT.
 *
 * Not by add_path: between paths that cost nearly the same it decides by the
 * last digits, and an exchange that is cheaper by as little as add_path can
 * tell would win against a pushed-down sort or LIMIT that comes later.
 */
static void
replace_foreign_paths(PlannerInfo *root, RelOptInfo *rel)
{
	ListCell   *lc;

	foreach(lc, rel->pathlist)
	{
		Path	   *path = lfirst(lc);

		if (!IsA(path, ForeignPath))
			continue;

		/*
		 * Only because we said so does the planner take it to be safe.  It
		 * must run in the leader's session.
		 */
		if (path->parent->fdwroutine &&
			path->parent->fdwroutine->IsForeignScanParallelSafe == is_parallel_safe_scan)
			path->parallel_safe = false;

		if (px_expected_nbytes(root, path) >= px_min_bytes &&
			px_rel_is_eligible(root, path->parent))
			lfirst(lc) = make_receive_path((ForeignPath *) path);
	}
}

/*
 * Instead of postgres_fdw's: says whether the planner may consider parallel
 * plans with the table.  postgres_fdw's own paths do not become fit for them
 * by that, see replace_foreign_paths.
 */
static bool
is_parallel_safe_scan(PlannerInfo *root, RelOptInfo *rel, RangeTblEntry *rte)
{
	return px_max_connections_per_server > 1 && px_rel_is_eligible(root, rel);
}

static void
receive_relation_info(PlannerInfo *root, Oid relid, bool inhparent, RelOptInfo *rel)
{
	if (prev_get_relation_info_hook)
		prev_get_relation_info_hook(root, relid, inhparent, rel);

	/* This is the planner's own copy of the routines. */
	if (rel->fdwroutine && rel->fdwroutine->IsForeignScanParallelSafe == NULL)
		rel->fdwroutine->IsForeignScanParallelSafe = is_parallel_safe_scan;
}

/* How many times faster with workers, as the planner has it for all scans. */
static double
parallel_divisor(int nworkers)
{
	double		leader = parallel_leader_participation ? 1.0 - 0.3 * nworkers : 0.0;

	return nworkers + Max(leader, 0.0);
}

/*
 * Offer a scan of a base relation to parallel plans.  A participant claims
 * slices, or the whole of it: with one slice, a second worker has nothing to
 * do here, though it may have with the next partition.
 */
static void
add_partial_path_for_scan(PlannerInfo *root, RelOptInfo *rel)
{
	ForeignPath *foreign = NULL;
	Path	   *path;
	int			nworkers;
	ListCell   *lc;

	if (!rel->consider_parallel || !bms_is_empty(rel->lateral_relids))
		return;
	foreach(lc, rel->pathlist)
	{
		Path	   *candidate = lfirst(lc);

		if (IsA(candidate, ForeignPath) && candidate->parent == rel &&
			candidate->param_info == NULL && candidate->pathkeys == NIL)
			foreign = (ForeignPath *) candidate;
	}
	if (foreign == NULL ||
		px_expected_nbytes(root, &foreign->path) < px_min_bytes ||
		!px_rel_is_eligible(root, rel))
		return;

	nworkers = Min(max_parallel_workers_per_gather,
				   Min(px_slices_setting, px_max_connections_per_server - 1));
	if (nworkers <= 0)
		return;
	path = make_receive_path(foreign);
	path->parallel_aware = true;
	path->parallel_safe = true;
	path->parallel_workers = nworkers;
	path->rows = clamp_row_est(path->rows / parallel_divisor(nworkers));
	path->total_cost = path->startup_cost +
		(path->total_cost - path->startup_cost) / parallel_divisor(nworkers);
	add_partial_path(rel, path);
}

static void
receive_rel_pathlist(PlannerInfo *root, RelOptInfo *rel, Index rti, RangeTblEntry *rte)
{
	if (prev_set_rel_pathlist_hook)
		prev_set_rel_pathlist_hook(root, rel, rti, rte);
	if (rte->rtekind == RTE_RELATION && rte->relkind == RELKIND_FOREIGN_TABLE)
		add_partial_path_for_scan(root, rel);
	replace_foreign_paths(root, rel);
}

static void
receive_join_pathlist(PlannerInfo *root, RelOptInfo *joinrel,
					  RelOptInfo *outerrel, RelOptInfo *innerrel,
					  JoinType jointype, JoinPathExtraData *extra)
{
	if (prev_set_join_pathlist_hook)
		prev_set_join_pathlist_hook(root, joinrel, outerrel, innerrel, jointype, extra);
	replace_foreign_paths(root, joinrel);
}

static void
receive_upper_paths(PlannerInfo *root, UpperRelationKind stage,
					RelOptInfo *input_rel, RelOptInfo *output_rel, void *extra)
{
	if (prev_create_upper_paths_hook)
		prev_create_upper_paths_hook(root, stage, input_rel, output_rel, extra);
	replace_foreign_paths(root, output_rel);
}

/* All columns of a base relation, for a scan that yields whole tuples. */
static List *
whole_tuple_tlist(PlannerInfo *root, Index relid)
{
	RangeTblEntry *rte = planner_rt_fetch(relid, root);
	Relation	relation = table_open(rte->relid, NoLock);	/* planner has a lock */
	TupleDesc	tupdesc = RelationGetDescr(relation);
	List	   *tlist = NIL;

	for (int i = 0; i < tupdesc->natts; i++)
	{
		Form_pg_attribute attr = TupleDescAttr(tupdesc, i);
		Expr	   *expr;

		if (attr->attisdropped)
			expr = (Expr *) makeNullConst(INT4OID, -1, InvalidOid);
		else
			expr = (Expr *) makeVar(relid, i + 1, attr->atttypid,
									attr->atttypmod, attr->attcollation, 0);
		tlist = lappend(tlist, makeTargetEntry(expr, i + 1, NULL, false));
	}
	table_close(relation, NoLock);
	return tlist;
}

static Plan *
plan_receive(PlannerInfo *root, RelOptInfo *rel, CustomPath *best_path,
			 List *tlist, List *clauses, List *custom_plans)
{
	CustomScan *scan = makeNode(CustomScan);
	Plan	   *child = linitial(custom_plans);
	ForeignScan *foreign;

	/*
	 * Pseudoconstant quals put a gating Result on the child.  The same one
	 * will be put on top of us.
	 */
	while (IsA(child, Result))
		child = outerPlan(child);
	foreign = castNode(ForeignScan, child);

	/* postgres_fdw has found out which quals are evaluated here. */
	scan->scan.plan.targetlist = tlist;
	scan->scan.plan.qual = foreign->scan.plan.qual;
	foreign->scan.plan.qual = NIL;
	if (foreign->scan.scanrelid > 0)
		foreign->scan.plan.targetlist = whole_tuple_tlist(root, foreign->scan.scanrelid);
	else
	{
		foreign->scan.plan.targetlist = copyObject(foreign->fdw_scan_tlist);
		scan->custom_scan_tlist = copyObject(foreign->fdw_scan_tlist);
	}

	scan->scan.scanrelid = foreign->scan.scanrelid;
	scan->flags = best_path->flags;
	scan->custom_plans = list_make1(foreign);
	scan->custom_private = copyObject(best_path->custom_private);
	scan->methods = &px_receive_scan_methods;
	return &scan->scan.plan;
}

void
px_plan_init(void)
{
	prev_set_rel_pathlist_hook = set_rel_pathlist_hook;
	set_rel_pathlist_hook = receive_rel_pathlist;
	prev_set_join_pathlist_hook = set_join_pathlist_hook;
	set_join_pathlist_hook = receive_join_pathlist;
	prev_get_relation_info_hook = get_relation_info_hook;
	get_relation_info_hook = receive_relation_info;
	prev_create_upper_paths_hook = create_upper_paths_hook;
	create_upper_paths_hook = receive_upper_paths;
}
