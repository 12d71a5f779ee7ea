/*-------------------------------------------------------------------------
 *
 * paths.c
 *		Offers the planner an ExchangeReceive beside each ForeignPath.
 *
 * postgres_fdw has built its paths when our hooks for base, join and upper
 * relations run.  Each of them is
 * copied (add_path frees what it finds dominated) and becomes the child of a
 * CustomPath with a cost of its own.  In the plan, the child is kept as the
 * fallback: it yields whole scan tuples, while quals and projection are ours,
 * so that it makes no difference above the scan which of the two ran.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "commands/defrem.h"
#include "foreign/foreign.h"
#include "nodes/extensible.h"
#include "nodes/makefuncs.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/planner.h"
#include "parser/parsetree.h"
#include "utils/rel.h"

#include "compat.h"
#include "exec/receive.h"
#include "guc.h"
#include "plan/eligible.h"
#include "plan/paths.h"

/*
 * What a tuple costs by exchange, as a fraction of what postgres_fdw counts
 * for it (fdw_tuple_cost).  bench/lineitem: none, fast and high_compression
 * take between a fourth and a ninth of postgres_fdw's time.
 */
#define EXCHANGE_TUPLE_COST_FRACTION	0.2

static set_rel_pathlist_hook_type prev_set_rel_pathlist_hook = NULL;
static set_join_pathlist_hook_type prev_set_join_pathlist_hook = NULL;
static create_upper_paths_hook_type prev_create_upper_paths_hook = NULL;

static Plan *plan_receive(PlannerInfo *root, RelOptInfo *rel,
						  CustomPath *best_path, List *tlist,
						  List *clauses, List *custom_plans);

static const CustomPathMethods receive_path_methods = {
	.CustomName = PX_RECEIVE_NAME,
	.PlanCustomPath = plan_receive,
};

/* fdw_tuple_cost of the server, or its default. */
static double
fdw_tuple_cost(Oid serverid)
{
	ListCell   *lc;

	foreach(lc, GetForeignServer(serverid)->options)
	{
		DefElem    *def = lfirst_node(DefElem, lc);

		if (strcmp(def->defname, "fdw_tuple_cost") == 0)
			return strtod(defGetString(def), NULL);
	}
	return PX_DEFAULT_FDW_TUPLE_COST;
}

/*
 * An ExchangeReceive over a copy of foreign.  It starts at the same cost, and
 * each tuple is cheaper: postgres_fdw's price for the remote's work stays.
 */
static CustomPath *
make_receive_path(const ForeignPath *foreign, double tuple_cost)
{
	ForeignPath *child = makeNode(ForeignPath);
	CustomPath *path = makeNode(CustomPath);
	Cost		saved = foreign->path.rows * tuple_cost * (1.0 - EXCHANGE_TUPLE_COST_FRACTION);

	memcpy(child, foreign, sizeof(ForeignPath));

	path->path.pathtype = T_CustomScan;
	path->path.parent = foreign->path.parent;
	path->path.pathtarget = foreign->path.pathtarget;
	path->path.param_info = foreign->path.param_info;
	path->path.pathkeys = foreign->path.pathkeys;
	path->path.rows = foreign->path.rows;
	path->path.startup_cost = foreign->path.startup_cost;
	path->path.total_cost = Max(foreign->path.startup_cost,
								foreign->path.total_cost - saved);
	px_path_copy_disabled(&path->path, &foreign->path);
	path->flags = CUSTOMPATH_SUPPORT_PROJECTION;
	path->custom_paths = list_make1(child);
	path->methods = &receive_path_methods;
	return path;
}

/*
 * Offer an exchange beside each ForeignPath of rel.  That this may be called
 * again for a join relation does no harm: add_path does not take the same
 * path twice.
 */
static void
add_receive_paths(PlannerInfo *root, RelOptInfo *rel)
{
	List	   *receive_paths = NIL;
	double		tuple_cost;
	ListCell   *lc;

	if (!px_rel_is_eligible(root, rel))
		return;

	/*
	 * Collect first: add_path changes, and frees from, the list.  An upper
	 * relation also lists paths of the relations below it, which have been
	 * looked at as such.
	 */
	tuple_cost = fdw_tuple_cost(rel->serverid);
	foreach(lc, rel->pathlist)
	{
		Path	   *path = lfirst(lc);

		if (IsA(path, ForeignPath) && path->parent == rel &&
			px_expected_nbytes(root, path) >= px_min_bytes)
			receive_paths = lappend(receive_paths,
									make_receive_path((ForeignPath *) path, tuple_cost));
	}
	foreach(lc, receive_paths)
		add_path(rel, lfirst(lc));
}

static void
receive_rel_pathlist(PlannerInfo *root, RelOptInfo *rel, Index rti, RangeTblEntry *rte)
{
	if (prev_set_rel_pathlist_hook)
		prev_set_rel_pathlist_hook(root, rel, rti, rte);
	add_receive_paths(root, rel);
}

static void
receive_join_pathlist(PlannerInfo *root, RelOptInfo *joinrel,
					  RelOptInfo *outerrel, RelOptInfo *innerrel,
					  JoinType jointype, JoinPathExtraData *extra)
{
	if (prev_set_join_pathlist_hook)
		prev_set_join_pathlist_hook(root, joinrel, outerrel, innerrel, jointype, extra);
	add_receive_paths(root, joinrel);
}

static void
receive_upper_paths(PlannerInfo *root, UpperRelationKind stage,
					RelOptInfo *input_rel, RelOptInfo *output_rel, void *extra)
{
	if (prev_create_upper_paths_hook)
		prev_create_upper_paths_hook(root, stage, input_rel, output_rel, extra);
	add_receive_paths(root, output_rel);
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
	prev_create_upper_paths_hook = create_upper_paths_hook;
	create_upper_paths_hook = receive_upper_paths;
}
