/*-------------------------------------------------------------------------
 *
 * paths.c
 *		Putting an ExchangeReceive in place of each ForeignPath.
 *
 * The planner asks postgres_fdw for paths of base, join and upper relations.
 * Our functions are called instead.  They have postgres_fdw build its paths,
 * and put those that are worth an exchange below CustomPaths, before any paths
 * are compared.
 *
 * The ForeignScan stays in the plan as the child of ExchangeReceive: it is the
 * fallback.  It returns whole scan tuples, and ExchangeReceive does quals and
 * projection.  So the nodes above get the same rows from both.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "foreign/fdwapi.h"
#include "nodes/extensible.h"
#include "nodes/makefuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/pathnode.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "utils/memutils.h"

#include "compat.h"
#include "exec/plan_walk.h"
#include "guc.h"
#include "node/receive.h"
#include "plan/eligible.h"
#include "plan/estimate.h"
#include "plan/join_cost.h"
#include "plan/late_pruning.h"
#include "plan/lookup_keys.h"
#include "plan/parallel_path.h"
#include "plan/paths.h"
#include "plan/semi_join.h"
#include "plan/server_cost.h"
#include "plan/update.h"

static build_simple_rel_hook_type prev_build_simple_rel_hook = NULL;

/* RelOptInfo.fdwroutine points to this for relations of postgres_fdw. */
typedef struct exchange_routine
{
	FdwRoutine	fdw;			/* must be first */
	const FdwRoutine *original; /* postgres_fdw's */
	double		tuple_cost;		/* the server's fdw_tuple_cost */
	ForeignPath *plain;			/* a copy of the base relation's path without
								 * parameters and order; NULL if it may not be
								 * an exchange */
} exchange_routine;

/*
 * postgres_fdw takes fdw_tuple_cost for the transfer of each row.  An exchange
 * takes it for so many bytes.  From make bench: a row of lineitem, whose width
 * the planner estimates as 117 bytes, takes an eleventh of postgres_fdw's
 * time.
 */
#define BYTES_OF_A_TUPLE_COST	1280.0

/*
 * A remote query of at least this cost, some 10 ms, is worth a stream,
 * whatever it returns.
 */
#define BUSY_REMOTE_COST		1000.0

/*
 * One of at least this cost may run in parallel there: it reads a table of
 * min_parallel_table_scan_size (8 MB), with rows of 60 bytes.
 */
#define PARALLEL_REMOTE_COST	3000.0

/*
 * From a server on this host, a session read takes less CPU time than a stream
 * up to so many times min_bytes: up to 200 kB where min_bytes is 64 kB.  A
 * stream has a transaction, a snapshot and a plan of its own.
 */
#define NEAR_BYTES_FACTOR		3.0

/*
 * If it returns at least so many rows, it is taken to read its tables for
 * them: an index is the way to fewer.
 */
#define SELECTED_ROWS			100.0

/* What postgres_fdw charges for a scan, unless fdw_startup_cost is set. */
#define STARTUP_COST			100.0

/* custom_private of a path that nothing is special about; for all queries. */
static List *plain_private;

static ForeignScan *get_foreign_plan(PlannerInfo *root, RelOptInfo *rel,
									 Oid relid, ForeignPath *best_path,
									 List *tlist, List *scan_clauses,
									 Plan *outer_plan);

static const CustomPathMethods receive_path_methods = {
	.CustomName = PX_RECEIVE_NAME,
	.PlanCustomPath = px_receive_plan,
};

/*
 * May the scan run at the same time as its siblings?  The options of server
 * and table decide, as for postgres_fdw.
 */
static bool
is_async_capable(ForeignPath *foreign)
{
	FdwRoutine *routine = foreign->path.parent->fdwroutine;

	return enable_async_append && routine->IsForeignPathAsyncCapable &&
		routine->IsForeignPathAsyncCapable(foreign);
}

static exchange_routine *
exchange_routine_of(const RelOptInfo *rel)
{
	return (exchange_routine *) rel->fdwroutine;
}

const FdwRoutine *
px_original_routine(const RelOptInfo *rel)
{
	return px_rel_is_postgres_fdw(rel) ?
		exchange_routine_of(rel)->original : NULL;
}

/* What the remote's own work costs, if no index helps it. */
static Cost
remote_cost(const Path *path)
{
	return path->total_cost - STARTUP_COST - path->rows *
		exchange_routine_of(path->parent)->tuple_cost;
}

static bool
is_busy(const Path *path)
{
	return remote_cost(path) > BUSY_REMOTE_COST;
}

/*
 * Does the remote have much to compute for few rows?  Then it should be free
 * to do that in parallel, and at the same time as other servers: by a stream.
 */
static bool
is_much_work(const Path *path)
{
	return IS_UPPER_REL(path->parent) && is_busy(path);
}

/*
 * Is the expected result so small that the session is to read it?  The costs
 * are those without an index, of which only the server knows.
 */
static px_smallness
smallness(PlannerInfo *root, const ForeignPath *foreign)
{
	double		nbytes = px_expected_nbytes(root, &foreign->path);
	px_smallness smallness = PX_IS_NOT_SMALL;

	if (nbytes < px_min_bytes && !is_much_work(&foreign->path) &&
		(foreign->path.rows < SELECTED_ROWS || !is_busy(&foreign->path)))
		return PX_IS_SMALL;
	if (nbytes < px_min_bytes)
		smallness |= PX_IS_SMALL_IF_CHEAP;
	if (nbytes < NEAR_BYTES_FACTOR * px_min_bytes &&
		remote_cost(&foreign->path) < PARALLEL_REMOTE_COST)
		smallness |= PX_IS_SMALL_IF_NEAR;
	return smallness;
}

/*
 * Is this a lookup of so few rows that postgres_fdw is cheaper?  The first
 * exchange of a transaction with a server takes two more round trips.  That is
 * much for an UPDATE or DELETE whose rows do not travel as frames.
 */
static bool
is_lookup(PlannerInfo *root, const Path *path)
{
	double		rows_min = px_query_updates(root) ?
		Max(PX_LOOKUP_ROWS, px_min_write_rows) : PX_LOOKUP_ROWS;

	return path->rows < rows_min &&
		px_expected_nbytes(root, path) < px_min_bytes && !is_much_work(path);
}

bool
px_paths_are_lookups(PlannerInfo *root, const RelOptInfo *rel,
					 const ForeignPath *upper)
{
	const ForeignPath *scan = px_paths_foreign(rel);

	return scan && is_lookup(root, &scan->path) &&
		is_lookup(root, &upper->path);
}

Cost
px_paths_transfer_cost(const RelOptInfo *rel, double rows, int width)
{
	double		share = width / BYTES_OF_A_TUPLE_COST;

	return rows * Min(share, 1.0) * exchange_routine_of(rel)->tuple_cost;
}

/*
 * How many rows does the remote find by the conditions, to make the path's of
 * them?  At a guess: of the table that has most.
 */
static double
input_rows(PlannerInfo *root, const Path *path)
{
	const RelOptInfo *rel = path->parent;
	const Bitmapset *relids = rel->relids ? rel->relids : root->all_baserels;
	double		rows = path->rows;
	int			relid = -1;

	while ((relid = bms_next_member(relids, relid)) >= 0)
	{
		if (root->simple_rel_array[relid])
			rows = Max(rows, root->simple_rel_array[relid]->rows);
	}
	return rows;
}

/* What the transfer of the path's rows costs as an exchange. */
static Cost
transfer_cost(const Path *path)
{
	return px_paths_transfer_cost(path->parent, path->rows,
								  path->pathtarget->width);
}

/* See px_receive_private. */
static List *
make_plain_private(void)
{
	Integer    *zero = makeInteger(0);
	List	   *private = list_make1(makeInteger(1));	/* stream */

	while (list_length(private) < PX_RECEIVE_PRIVATE_PARTIAL)
		private = lappend(private, zero);
	while (list_length(private) < PX_RECEIVE_PRIVATE_ITEMS)
		private = lappend(private, NIL);
	return private;
}

CustomPath *
px_receive_path(PlannerInfo *root, ForeignPath *foreign)
{
	CustomPath *path = makeNode(CustomPath);

	path->path = foreign->path;
	path->path.type = T_CustomPath;

	/*
	 * What postgres_fdw would have the remote update as a whole must not look
	 * more expensive than another plan because of us.
	 */
	if (!px_query_updates(root))
	{
		path->path.total_cost -= foreign->path.rows *
			exchange_routine_of(foreign->path.parent)->tuple_cost;
		path->path.total_cost += transfer_cost(&foreign->path);
		path->path.total_cost = Max(path->path.total_cost,
									path->path.startup_cost);
	}
	path->path.pathtype = T_CustomScan;
	path->flags = CUSTOMPATH_SUPPORT_PROJECTION;
	path->custom_paths = list_make1(foreign);
	path->custom_private = list_copy(plain_private);
	px_receive_set(path->custom_private, PX_RECEIVE_PRIVATE_SORTED,
				   list_length(foreign->path.pathkeys));
	px_receive_set(path->custom_private, PX_RECEIVE_PRIVATE_ASYNC,
				   is_async_capable(foreign));
	px_receive_set(path->custom_private, PX_RECEIVE_PRIVATE_SMALL,
				   smallness(root, foreign));
	px_receive_set(path->custom_private, PX_RECEIVE_PRIVATE_INPUT,
				   (int) Min(input_rows(root, &foreign->path), INT_MAX));
	if (px_rel_is_locked(root, foreign->path.parent))
		px_receive_set(path->custom_private, PX_RECEIVE_PRIVATE_LOCKS,
					   px_query_updates(root) ? 2 : 1);
	px_receive_set(path->custom_private, PX_RECEIVE_PRIVATE_SEMI_JOIN,
				   px_semi_join_is_path(foreign));
	px_custompath_copy_restrictinfo(path, foreign);
	path->methods = &receive_path_methods;
	return path;
}

/*
 * IsForeignScanParallelSafe: may the planner consider parallel plans with the
 * table?  This makes the planner consider postgres_fdw's own paths safe, too;
 * add_paths corrects that.
 */
static bool
is_parallel_safe_scan(PlannerInfo *root, RelOptInfo *rel, RangeTblEntry *rte)
{
	return px_max_connections_per_server > 1 && px_rel_is_eligible(root, rel);
}

/* ---------------------------------------------------------------------
 * Scans that take arrays of keys
 * --------------------------------------------------------------------- */

/*
 * What a key costs on each remote, which looks at all of them when it plans
 * its query, and sorts or hashes them.  On servers of now, 10,000 keys take
 * some 20 ms, in which a sequential scan reads about 1 MB.
 */
#define KEY_COST	(10.0 * cpu_operator_cost)

bool
px_paths_have_plain(const RelOptInfo *rel)
{
	/* Joins share the FdwRoutine of their tables. */
	return IS_SIMPLE_REL(rel) && rel->fdwroutine != NULL &&
		rel->fdwroutine->GetForeignPlan == get_foreign_plan &&
		((const exchange_routine *) rel->fdwroutine)->plain != NULL;
}

bool
px_paths_are_plain(const Path *path)
{
	return IsA(path, CustomPath) && !path->parallel_aware &&
		((const CustomPath *) path)->methods == &receive_path_methods &&
		px_paths_have_plain(path->parent);
}

Cost
px_paths_scan_cost(const RelOptInfo *rel)
{
	const Path *plain = &px_paths_foreign(rel)->path;
	Cost		cost = plain->total_cost - plain->startup_cost -
		plain->rows * (exchange_routine_of(rel)->tuple_cost + cpu_tuple_cost);

	return Max(cost, 0);
}

Cost
px_paths_cost_at_once(Cost cost, int nservers)
{
	int			nworkers = Min(max_parallel_workers_per_gather,
							   nservers - 1);

	return nworkers > 0 ? cost / px_parallel_divisor(nworkers) : cost;
}

/*
 * What a scan that takes keys costs on the remote, beyond its start.  No index
 * may be known here, so assume that the remote compares all rows with the
 * keys.
 */
static Cost
remote_cost_of_keys(const RelOptInfo *rel, double nkeys, int nservers)
{
	return px_paths_cost_at_once(px_paths_scan_cost(rel) +
								 rel->tuples * cpu_operator_cost +
								 nkeys * KEY_COST, nservers);
}

Cost
px_paths_lookup_cost_min(const RelOptInfo *rel, double fraction, double nkeys,
						 int nservers)
{
	const ForeignPath *plain =
		((const exchange_routine *) rel->fdwroutine)->plain;

	return plain->path.startup_cost +
		remote_cost_of_keys(rel, nkeys, nservers) +
		plain->path.rows * fraction * cpu_tuple_cost;
}

Path *
px_paths_make_lookup(PlannerInfo *root, RelOptInfo *rel, List *clauses,
					 double fraction, double nkeys, int nservers)
{
	const exchange_routine *routine = exchange_routine_of(rel);
	ForeignPath *foreign = palloc(sizeof(ForeignPath));
	CustomPath *path;

	*foreign = *routine->plain;
	foreign->path.rows = clamp_row_est(foreign->path.rows * fraction);
	foreign->path.total_cost = foreign->path.startup_cost +
		remote_cost_of_keys(rel, nkeys, nservers) +
		foreign->path.rows * (routine->tuple_cost + cpu_tuple_cost);
	foreign->fdw_private = px_lookup_keys_mark(clauses);
	path = px_receive_path(root, foreign);
	path->path.parallel_safe = false;

	/* The remotes take long, whatever they return: so all work at once. */
	if (routine->plain->path.total_cost >= BUSY_REMOTE_COST)
		px_receive_set(path->custom_private, PX_RECEIVE_PRIVATE_SMALL,
					   PX_IS_NOT_SMALL);
	return &path->path;
}

ForeignPath *
px_paths_foreign(const RelOptInfo *rel)
{
	ListCell   *lc;

	if (!px_rel_is_postgres_fdw(rel))
		return NULL;
	if (IS_SIMPLE_REL(rel))
		return exchange_routine_of(rel)->plain;
	foreach(lc, rel->pathlist)
	{
		Path	   *path = lfirst(lc);

		if (IsA(path, CustomPath) &&
			((CustomPath *) path)->methods == &receive_path_methods)
			path = linitial(((CustomPath *) path)->custom_paths);
		if (IsA(path, ForeignPath) && path->parent == rel &&
			path->param_info == NULL && path->pathkeys == NIL)
			return (ForeignPath *) path;
	}
	return NULL;
}

double
px_paths_tuple_cost(const RelOptInfo *rel)
{
	return exchange_routine_of(rel)->tuple_cost;
}

Plan *
px_paths_set_types(Plan *receive, List *types)
{
	lfirst(list_nth_cell(castNode(CustomScan, receive)->custom_private,
						 PX_RECEIVE_PRIVATE_TYPES)) = types;
	return receive;
}

/* ---------------------------------------------------------------------
 * Functions that replace those of postgres_fdw
 * --------------------------------------------------------------------- */

/*
 * If rel may be scanned by exchanges, move its paths to *others before
 * postgres_fdw adds its own.  Otherwise add_path would compare postgres_fdw's
 * paths with them at postgres_fdw's costs, and might drop a path that is cheap
 * enough as an exchange.
 *
 * postgres_fdw itself looks at other paths only in queries that lock rows, for
 * joins.  These are not hidden from it: see px_join_feeds_update.
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

/* Add the paths of postgres_fdw, as exchanges where that is worth it. */
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
		 * postgres_fdw's own scan must run in the leader, which has the
		 * connection.  The path is marked safe only because of
		 * is_parallel_safe_scan.
		 */
		path->parallel_safe = false;

		/* The path of a pushed-down LIMIT has the input relation as parent. */
		if (IsA(path, ForeignPath) &&
			(!is_lookup(root, path) ||
			 px_semi_join_is_path((ForeignPath *) path)) &&
			(path->parent == rel || px_rel_is_eligible(root, path->parent)))
		{
			if (px_parallel_path_is_allowed(root, rel, path) &&
				smallness(root, (ForeignPath *) path) != PX_IS_SMALL)
				px_parallel_path_add(
					root, rel, px_receive_path(root, (ForeignPath *) path),
					transfer_cost(path));
			path = &px_receive_path(root, (ForeignPath *) path)->path;
		}
		add_path(rel, path);
	}
}

/*
 * Make exchanges of rel's ForeignPaths, which stay where they are among the
 * paths: their costs must not change.
 */
static void
replace_paths(PlannerInfo *root, RelOptInfo *rel)
{
	ListCell   *lc;

	foreach(lc, rel->pathlist)
	{
		Path	   *path = lfirst(lc);

		if (IsA(path, ForeignPath) && !is_lookup(root, path))
			lfirst(lc) = px_receive_path(root, (ForeignPath *) path);
	}
}

/*
 * Keep a copy of the plain scan, because add_path may free it.  If a table has
 * few rows, sorting them hardly costs anything, and a sorted scan has replaced
 * the plain one.  Then keep that one, without its order.
 */
static void
keep_plain_path(RelOptInfo *rel)
{
	const ForeignPath *best = NULL;
	ListCell   *lc;

	foreach(lc, rel->pathlist)
	{
		const ForeignPath *path = lfirst(lc);

		if (IsA(path, ForeignPath) && path->path.param_info == NULL &&
			(best == NULL || path->path.pathkeys == NIL))
			best = path;
	}
	if (best)
	{
		ForeignPath *plain = palloc(sizeof(ForeignPath));

		*plain = *best;
		plain->path.pathkeys = NIL;
		exchange_routine_of(rel)->plain = plain;
	}
}

static void
get_foreign_rel_size(PlannerInfo *root, RelOptInfo *rel, Oid relid)
{
	px_estimate_size(root, rel);
	exchange_routine_of(rel)->original->GetForeignRelSize(root, rel, relid);
}

static void
get_foreign_paths(PlannerInfo *root, RelOptInfo *rel, Oid relid)
{
	List	   *others = NIL;
	bool		hidden = hide_paths(root, rel, &others);

	exchange_routine_of(rel)->original->GetForeignPaths(root, rel, relid);
	if (hidden)
	{
		keep_plain_path(rel);
		add_paths(root, rel, others);
	}
}

/*
 * A path of our own for a join has its scan.  If the path takes keys, its scan
 * knows nothing of them: see px_lookup_keys_items.
 */
static ForeignScan *
get_foreign_plan(PlannerInfo *root, RelOptInfo *rel, Oid relid,
				 ForeignPath *best_path, List *tlist, List *scan_clauses,
				 Plan *outer_plan)
{
	const FdwRoutine *original = exchange_routine_of(rel)->original;
	ForeignPath path = *best_path;
	ForeignScan *scan = px_semi_join_plan(best_path, tlist, outer_plan);

	if (scan == NULL)
	{
		if (px_lookup_keys_marked(path.fdw_private))
		{
			path.fdw_private = NIL;
			best_path = &path;
		}
		scan = original->GetForeignPlan(root, rel, relid, best_path, tlist,
										scan_clauses, outer_plan);
	}
	px_late_pruning_note(root, rel, scan);
	return scan;
}

static void
get_foreign_join_paths(PlannerInfo *root, RelOptInfo *joinrel,
					   RelOptInfo *outerrel, RelOptInfo *innerrel,
					   JoinType jointype, JoinPathExtraData *extra)
{
	List	   *others = NIL;
	bool		hidden = hide_paths(root, joinrel, &others);
	px_join_cost replaced;

	replaced = px_join_cost_begin(root, outerrel, innerrel,
								  extra->restrictlist);
	exchange_routine_of(joinrel)->original->GetForeignJoinPaths(
		root, joinrel, outerrel, innerrel, jointype, extra);
	px_join_cost_end(&replaced);
	if (hidden)
	{
		px_semi_join sides = {
			.outer_path = px_paths_foreign(outerrel),
			.inner_path = px_paths_foreign(innerrel),
			.tuple_cost = px_paths_tuple_cost(joinrel)
		};

		px_semi_join_add_path(root, joinrel, jointype, extra, &sides);
		add_paths(root, joinrel, others);
	}
	else if (px_join_feeds_update(root))
		replace_paths(root, joinrel);
}

/*
 * Is there an aggregate over all rows, but none left in what is returned, as
 * nobody reads it?  postgres_fdw then sends a query without aggregates, which
 * returns more rows than one.  It does so, too, where its costs have it choose
 * that path.
 */
static bool
has_lost_aggregates(const PlannerInfo *root, UpperRelationKind stage,
					const RelOptInfo *output_rel)
{
	const Query *query = root->parse;

	return stage == UPPERREL_GROUP_AGG && query->groupClause == NIL &&
		query->groupingSets == NIL &&
		!contain_agg_clause((Node *) output_rel->reltarget->exprs) &&
		!contain_agg_clause(query->havingQual);
}

static void
get_foreign_upper_paths(PlannerInfo *root, UpperRelationKind stage,
						RelOptInfo *input_rel, RelOptInfo *output_rel,
						void *extra)
{
	List	   *others = NIL;
	bool		hidden;

	if (has_lost_aggregates(root, stage, output_rel))
		return;
	hidden = hide_paths(root, output_rel, &others);
	exchange_routine_of(output_rel)
		->original->GetForeignUpperPaths(root, stage, input_rel, output_rel,
										 extra);
	if (hidden)
		add_paths(root, output_rel, others);
}

static bool
plan_direct_modify(PlannerInfo *root, ModifyTable *plan, Index target,
				   int subplan_index)
{
	const RelOptInfo *rel = root->simple_rel_array[target];

	return px_update_plan_direct(exchange_routine_of(rel)->original, root,
								 plan, target, subplan_index);
}

bool
px_rel_is_postgres_fdw(const RelOptInfo *rel)
{
	return rel->fdwroutine &&
		rel->fdwroutine->GetForeignPaths == get_foreign_paths;
}

/*
 * Replace a table's FdwRoutine by a copy that calls our functions.  The
 * planner uses the table's FdwRoutine for joins and upper relations, too.
 */
static void
replace_fdw_routine(PX_BUILD_SIMPLE_REL_PARAMETERS)
{
	exchange_routine *routine;
	double		tuple_cost;

	if (prev_build_simple_rel_hook)
		prev_build_simple_rel_hook(PX_BUILD_SIMPLE_REL_ARGUMENTS);
	if (!px_enabled || rel->fdwroutine == NULL ||
		!px_server_tuple_cost(rel->serverid, &tuple_cost))
		return;

	routine = palloc(sizeof(exchange_routine));
	routine->fdw = *rel->fdwroutine;
	routine->fdw.IsForeignScanParallelSafe = is_parallel_safe_scan;
	routine->fdw.GetForeignRelSize = get_foreign_rel_size;
	routine->fdw.GetForeignPaths = get_foreign_paths;
	routine->fdw.GetForeignPlan = get_foreign_plan;
	routine->fdw.GetForeignJoinPaths = get_foreign_join_paths;
	routine->fdw.GetForeignUpperPaths = get_foreign_upper_paths;
	routine->fdw.PlanDirectModify = plan_direct_modify;
	routine->original = rel->fdwroutine;
	routine->tuple_cost = tuple_cost;
	routine->plain = NULL;
	rel->fdwroutine = &routine->fdw;
}

Plan *
px_receive_plan(PlannerInfo *root, RelOptInfo *rel, CustomPath *best_path,
				List *tlist, List *clauses, List *custom_plans)
{
	CustomScan *scan = makeNode(CustomScan);
	const ForeignPath *path = linitial(best_path->custom_paths);
	Plan	   *child = linitial(custom_plans);
	ForeignScan *foreign;

	/*
	 * If there are pseudoconstant quals, the planner has put a gating Result
	 * on the child.  It is going to put one on our node, too.
	 */
	while (IsA(child, Result))
		child = outerPlan(child);
	foreign = castNode(ForeignScan, child);

	/* The child's quals are those that postgres_fdw evaluates locally. */
	scan->scan.plan.targetlist = tlist;
	scan->scan.plan.qual = foreign->scan.plan.qual;
	foreign->scan.plan.qual = NIL;
	if (foreign->scan.scanrelid > 0)
		foreign->scan.plan.targetlist = NIL; /* see px_scan_tuple_complete */
	else
	{
		foreign->scan.plan.targetlist = copyObject(foreign->fdw_scan_tlist);
		scan->custom_scan_tlist = copyObject(foreign->fdw_scan_tlist);
	}

	scan->scan.scanrelid = foreign->scan.scanrelid;
	scan->flags = best_path->flags;
	scan->custom_plans = list_make1(foreign);
	scan->custom_private = list_copy(best_path->custom_private);
	if (IsA(path, ForeignPath))
	{
		lfirst(list_nth_cell(scan->custom_private,
							 PX_RECEIVE_PRIVATE_LOOKUP)) =
			px_lookup_keys_items(path->fdw_private, foreign);
		(void) px_paths_set_types(&scan->scan.plan,
								  px_semi_join_types(path));
	}
	scan->methods = &px_receive_scan_methods;
	return &scan->scan.plan;
}

void
px_paths_init(void)
{
	MemoryContext oldcontext = MemoryContextSwitchTo(TopMemoryContext);

	plain_private = make_plain_private();
	MemoryContextSwitchTo(oldcontext);
	prev_build_simple_rel_hook = build_simple_rel_hook;
	build_simple_rel_hook = replace_fdw_routine;
}
