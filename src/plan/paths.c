/*-------------------------------------------------------------------------
 *
 * paths.c
 *		Puts an ExchangeReceive in place of each ForeignPath.
 *
 * Where the planner asks postgres_fdw for its paths, for base, join and upper
 * relations, it gets ours: postgres_fdw builds them, and those that are worth
 * it become the children of CustomPaths before any is compared.  In the
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
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "utils/rel.h"

#include "compat.h"
#include "exec/plan_walk.h"
#include "guc.h"
#include "node/receive.h"
#include "plan/eligible.h"
#include "plan/paths.h"

static build_simple_rel_hook_type prev_build_simple_rel_hook = NULL;

/* What RelOptInfo.fdwroutine points to for tables of postgres_fdw. */
typedef struct exchange_routine
{
	FdwRoutine	fdw;			/* must be first */
	const FdwRoutine *original; /* postgres_fdw's */
	double		tuple_cost;		/* the server's fdw_tuple_cost */
} exchange_routine;

/*
 * What the transfer of a row costs by postgres_fdw, a flat fdw_tuple_cost, an
 * exchange takes for so many bytes.  make bench: a row of lineitem, which the
 * planner takes to have 117, takes an eleventh of postgres_fdw's time.
 */
#define BYTES_OF_A_TUPLE_COST	1280.0

/*
 * bench/latency.py: below, postgres_fdw is faster even if the estimate is
 * right.
 */
#define LOOKUP_ROWS				8.0

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

static exchange_routine *
exchange_routine_of(RelOptInfo *rel)
{
	return (exchange_routine *) rel->fdwroutine;
}

/* Is too little expected for a stream?  Then the session will read it. */
static bool
is_small(PlannerInfo *root, const ForeignPath *foreign)
{
	return px_expected_nbytes(root, &foreign->path) < px_min_bytes;
}

/*
 * Is it a lookup of so few rows that they are cheaper as text?  A
 * transaction's first exchange with a server takes two round trips more.
 */
static bool
is_lookup(PlannerInfo *root, const Path *path)
{
	return path->rows < LOOKUP_ROWS &&
		px_expected_nbytes(root, path) < px_min_bytes;
}

/*
 * An ExchangeReceive in place of foreign.  It has that path's costs, but the
 * transfer counts by bytes; never more than there.
 */
static Path *
make_receive_path(PlannerInfo *root, ForeignPath *foreign)
{
	CustomPath *path = makeNode(CustomPath);
	double		saved = 1.0 -
		foreign->path.pathtarget->width / BYTES_OF_A_TUPLE_COST;

	path->path = foreign->path;
	path->path.type = T_CustomPath;
	path->path.total_cost -= foreign->path.rows * Max(saved, 0.0) *
		exchange_routine_of(foreign->path.parent)->tuple_cost;
	path->path.total_cost = Max(path->path.total_cost,
								path->path.startup_cost);
	path->path.pathtype = T_CustomScan;
	path->flags = CUSTOMPATH_SUPPORT_PROJECTION;
	path->custom_paths = list_make1(foreign);
	path->custom_private = list_make5(
		makeInteger(1), makeInteger(foreign->path.pathkeys != NIL),
		makeInteger(is_async_capable(foreign)),
		makeInteger(is_small(root, foreign)),
		makeInteger(px_rel_is_locked(root, foreign->path.parent)));
	path->custom_private = lappend(path->custom_private, makeInteger(0));
	path->custom_private = lappend(path->custom_private, makeInteger(0));
	px_custompath_copy_restrictinfo(path, foreign);
	path->methods = &receive_path_methods;
	return &path->path;
}

/*
 * Instead of postgres_fdw's: says whether the planner may consider parallel
 * plans with the table.  postgres_fdw's own paths do not become fit for them
 * by that, see add_paths.
 */
static bool
is_parallel_safe_scan(PlannerInfo *root, RelOptInfo *rel, RangeTblEntry *rte)
{
	return px_max_connections_per_server > 1 && px_rel_is_eligible(root, rel);
}

/* How many times faster with workers, as the planner has it for all scans. */
static double
parallel_divisor(int nworkers)
{
	double leader = parallel_leader_participation ? 1.0 - 0.3 * nworkers : 0.0;

	return nworkers + Max(leader, 0.0);
}

/*
 * Offer a scan of a base relation to parallel plans.  A participant claims
 * slices, or the whole of it: with one slice, a second worker has nothing to
 * do here, though it may have with the next partition.
 */
static void
add_partial_receive_path(PlannerInfo *root, RelOptInfo *rel,
						 ForeignPath *foreign)
{
	int			nworkers = Min(
		max_parallel_workers_per_gather,
		Min(px_slices_setting, px_max_connections_per_server - 1));
	Path	   *path;

	if (is_small(root, foreign) || px_rel_is_locked(root, rel) ||
		px_transport_setting == PX_TRANSPORT_SESSION ||
		!IS_SIMPLE_REL(rel) || !rel->consider_parallel ||
		!bms_is_empty(rel->lateral_relids) || nworkers <= 0 ||
		foreign->path.param_info != NULL || foreign->path.pathkeys != NIL)
		return;

	path = make_receive_path(root, foreign);
	path->parallel_aware = true;
	path->parallel_safe = true;
	path->parallel_workers = nworkers;
	path->rows = clamp_row_est(path->rows / parallel_divisor(nworkers));
	path->total_cost = path->startup_cost +
		(path->total_cost - path->startup_cost) / parallel_divisor(nworkers);
	add_partial_path(rel, path);
}

/* ---------------------------------------------------------------------
 * In postgres_fdw's stead
 * --------------------------------------------------------------------- */

/*
 * May rel be scanned by exchanges?  Then take *others, its paths before
 * postgres_fdw adds its own, out of its sight, so that these do not lose at a
 * price that they are not going to have.  (It looks at others only for row
 * locks, with which nothing is eligible.)
 */
static bool
hide_paths(PlannerInfo *root, RelOptInfo *rel, List **others)
{
	if (!px_rel_is_eligible(root, rel))
		return false;
	*others = rel->pathlist;
	rel->pathlist = NIL;
	return true;
}

/* Add what postgres_fdw has built, as exchanges where that is worth it. */
static void
add_paths(PlannerInfo *root, RelOptInfo *rel, List *others)
{
	List	   *foreign_paths = rel->pathlist;
	ListCell   *lc;

	rel->pathlist = others;
	foreach(lc, foreign_paths)
	{
		Path	   *path = lfirst(lc);

		/*
		 * Only because we said so does the planner take it to be safe.  It
		 * must run in the leader's session.
		 */
		path->parallel_safe = false;

		/* A pushed-down LIMIT belongs to the relation below. */
		if (IsA(path, ForeignPath) &&
			!is_lookup(root, path) &&
			(path->parent == rel || px_rel_is_eligible(root, path->parent)))
		{
			add_partial_receive_path(root, rel, (ForeignPath *) path);
			path = make_receive_path(root, (ForeignPath *) path);
		}
		add_path(rel, path);
	}
}

static void
get_foreign_paths(PlannerInfo *root, RelOptInfo *rel, Oid relid)
{
	List	   *others = NIL;
	bool		hidden = hide_paths(root, rel, &others);

	exchange_routine_of(rel)->original->GetForeignPaths(root, rel, relid);
	if (hidden)
		add_paths(root, rel, others);
}

static void
get_foreign_join_paths(PlannerInfo *root, RelOptInfo *joinrel,
					   RelOptInfo *outerrel, RelOptInfo *innerrel,
					   JoinType jointype, JoinPathExtraData *extra)
{
	List	   *others = NIL;
	bool		hidden = hide_paths(root, joinrel, &others);

	exchange_routine_of(joinrel)->original->GetForeignJoinPaths(
		root, joinrel, outerrel, innerrel, jointype, extra);
	if (hidden)
		add_paths(root, joinrel, others);
}

static void
get_foreign_upper_paths(PlannerInfo *root, UpperRelationKind stage,
						RelOptInfo *input_rel, RelOptInfo *output_rel,
						void *extra)
{
	List	   *others = NIL;
	bool		hidden = hide_paths(root, output_rel, &others);

	exchange_routine_of(output_rel)
		->original->GetForeignUpperPaths(root, stage, input_rel, output_rel,
										 extra);
	if (hidden)
		add_paths(root, output_rel, others);
}

/*
 * The planner has a copy of postgres_fdw's routines for each table, and uses
 * it for joins and upper relations, too.  Ours knows the original.
 */
static void
receive_simple_rel(PX_BUILD_SIMPLE_REL_PARAMETERS)
{
	exchange_routine *routine;
	ForeignServer *server;

	if (prev_build_simple_rel_hook)
		prev_build_simple_rel_hook(PX_BUILD_SIMPLE_REL_ARGUMENTS);
	if (!px_enabled || rel->fdwroutine == NULL)
		return;
	server = GetForeignServer(rel->serverid);
	if (!px_server_is_postgres_fdw(server))
		return;

	routine = palloc(sizeof(exchange_routine));
	routine->fdw = *rel->fdwroutine;
	routine->fdw.IsForeignScanParallelSafe = is_parallel_safe_scan;
	routine->fdw.GetForeignPaths = get_foreign_paths;
	routine->fdw.GetForeignJoinPaths = get_foreign_join_paths;
	routine->fdw.GetForeignUpperPaths = get_foreign_upper_paths;
	routine->original = rel->fdwroutine;
	routine->tuple_cost = px_fdw_tuple_cost(server);
	rel->fdwroutine = &routine->fdw;
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
		foreign->scan.plan.targetlist = whole_tuple_tlist(
			root, foreign->scan.scanrelid);
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
	prev_build_simple_rel_hook = build_simple_rel_hook;
	build_simple_rel_hook = receive_simple_rel;
}
