/*-------------------------------------------------------------------------
 *
 * partial_agg.c
 *		Paths that have a remote aggregate its own rows.
 *
 * The planner aggregates partitions in two steps where it can: each partition
 * by itself, which gives transition states, and then the states.  It asks the
 * foreign data wrapper of a partition for a path of the first step
 * (UPPERREL_PARTIAL_GROUP_AGG), but postgres_fdw has none, because SQL has no
 * way to ask a server for transition states.
 *
 * We ask for plain aggregates that tell the state (tuple/agg_state.h).
 * postgres_fdw makes a path for them when it is given a copy of the relation
 * with these aggregates as its target.  The ExchangeReceive above that
 * ForeignPath returns the partial aggregates: it makes the states of the
 * values (exec/partial.h).
 *
 * Aggregates without a rule are never computed in parts.  Nor are any others
 * of the same query then, because all come from the same rows.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "foreign/fdwapi.h"
#include "nodes/extensible.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/tlist.h"

#include "compat.h"
#include "exec/plan_walk.h"
#include "guc.h"
#include "node/receive.h"
#include "plan/eligible.h"
#include "plan/local_agg.h"
#include "plan/parallel_path.h"
#include "plan/partial_agg.h"
#include "plan/paths.h"
#include "tuple/agg_state.h"

static build_simple_rel_hook_type prev_build_simple_rel_hook = NULL;

/* The function that get_upper_paths stands for: always that of paths.c. */
static GetForeignUpperPaths_function next_get_upper_paths = NULL;

static const CustomPathMethods partial_path_methods = {
	.CustomName = PX_RECEIVE_NAME,
	.PlanCustomPath = px_partial_agg_plan,
};

/* ---------------------------------------------------------------------
 * What the remote is asked for
 * --------------------------------------------------------------------- */

/*
 * Add the grouping keys.  The query's target list has all of them; the
 * relation's target may lack those that the planner found redundant.
 */
static bool
add_keys(PlannerInfo *root, List *targetlist, PathTarget *plain)
{
	ListCell   *lc;

	if (px_partial_aggregates_setting == PX_PARTIAL_EXACT &&
		!px_group_is_exact(root->parse->groupClause, targetlist))
		return false;
	foreach(lc, root->parse->groupClause)
	{
		const SortGroupClause *clause = lfirst_node(SortGroupClause, lc);
		Expr	   *key = get_sortgroupref_tle(clause->tleSortGroupRef,
											   targetlist)->expr;

		add_column_to_pathtarget(plain, key, clause->tleSortGroupRef);
	}
	return true;
}

PathTarget *
px_partial_agg_plain(PlannerInfo *root, const PathTarget *partial,
					 List *targetlist)
{
	bool		exact = px_partial_aggregates_setting == PX_PARTIAL_EXACT;
	PathTarget *plain = create_empty_pathtarget();
	List	   *keys;
	ListCell   *lc;

	if (!add_keys(root, targetlist, plain))
		return NULL;
	keys = list_copy(plain->exprs);
	foreach(lc, partial->exprs)
	{
		Aggref	   *aggref = lfirst(lc);
		const px_agg_rule *rule;

		if (!IsA(aggref, Aggref))
		{
			/* A column that depends on a key is not known to be one there. */
			if (!list_member(keys, aggref))
				return NULL;
			continue;
		}
		rule = px_agg_rule_for(aggref, exact);
		if (rule == NULL)
			return NULL;
		add_new_columns_to_pathtarget(plain,
									  px_agg_plain_aggrefs(rule, aggref));
	}
	if (px_has_init_param(root, (Node *) plain->exprs))
		return NULL;
	return set_pathtarget_cost_width(root, plain);
}

/* postgres_fdw's path for the plain target; NULL if it has none. */
static ForeignPath *
ask_postgres_fdw(PlannerInfo *root, RelOptInfo *input_rel,
				 const RelOptInfo *output_rel, PathTarget *plain,
				 const GroupPathExtraData *extra)
{
	RelOptInfo *rel = makeNode(RelOptInfo);
	GroupPathExtraData plain_extra = *extra;
	ForeignPath *foreign;

	*rel = *output_rel;
	rel->reltarget = plain;
	rel->pathlist = rel->partial_pathlist = rel->ppilist = NIL;
	rel->cheapest_startup_path = rel->cheapest_total_path = NULL;
	rel->fdw_private = NULL;

	/* HAVING looks at all rows of a group: it is left to the second step. */
	plain_extra.havingQual = NULL;
	plain_extra.patype = PARTITIONWISE_AGGREGATE_FULL;
	px_original_routine(output_rel)
		->GetForeignUpperPaths(root, UPPERREL_GROUP_AGG, input_rel, rel,
							   &plain_extra);
	if (rel->pathlist == NIL || !IsA(linitial(rel->pathlist), ForeignPath))
		return NULL;
	foreign = linitial_node(ForeignPath, rel->pathlist);
	foreign->path.parallel_safe = false;
	return foreign;
}

static bool
needs_order(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Aggref) && ((Aggref *) node)->aggdistinct == NIL &&
		px_agg_rule_for((Aggref *) node, true) == NULL)
		return true;
	return expression_tree_walker(node, needs_order, context);
}

bool
px_aggregates_need_order(Node *exprs)
{
	return needs_order(exprs, NULL);
}

/* ---------------------------------------------------------------------
 * Paths
 * --------------------------------------------------------------------- */

/*
 * What is gained because the servers aggregate at the same time; less than the
 * path's cost.  The planner thinks so of workers, which would aggregate the
 * rows of the same scans here.  It must not prefer them for that, so we assume
 * as many servers as workers.
 */
static Cost
gain_of_servers(const RelOptInfo *input_rel, const Path *path)
{
	double		divisor = px_parallel_divisor(max_parallel_workers_per_gather);
	Cost		aggregation = path->total_cost -
		input_rel->cheapest_total_path->total_cost;

	if (!path->parent->consider_parallel || aggregation <= 0.0)
		return 0.0;
	return aggregation * (1.0 - 1.0 / divisor);
}

CustomPath *
px_partial_agg_path(PlannerInfo *root, RelOptInfo *input_rel,
					RelOptInfo *output_rel, const GroupPathExtraData *extra)
{
	PathTarget *partial = output_rel->reltarget;
	PathTarget *plain;
	ForeignPath *foreign;
	Path	   *local = NULL;
	CustomPath *path;

	/*
	 * There may be no column, if nobody reads aggregates, or if all keys are
	 * constants.
	 */
	if (px_partial_aggregates_setting == PX_PARTIAL_OFF ||
		partial->exprs == NIL || px_original_routine(output_rel) == NULL ||
		root->parse->groupingSets != NIL ||
		!px_rel_is_eligible(root, output_rel))
		return NULL;
	plain = px_partial_agg_plain(root, partial, extra->targetList);
	if (plain == NULL)
		return NULL;
	foreign = ask_postgres_fdw(root, input_rel, output_rel, plain, extra);
	if (foreign == NULL || px_paths_are_lookups(root, input_rel, foreign))
		return NULL;
	if (px_local_agg_has_columns(plain))
	{
		local = px_local_agg_path(root, input_rel, output_rel, extra, plain,
								  list_length(root->parse->groupClause));
		if (local == NULL)
			return NULL;
	}

	path = px_receive_path(root, foreign);
	if (local)
		path->custom_paths = lappend(path->custom_paths, local);
	path->path.parent = output_rel;
	path->path.pathtarget = partial;
	path->path.total_cost -= gain_of_servers(input_rel, &path->path);
	path->path.total_cost += path->path.rows * cpu_operator_cost *
		list_length(partial->exprs);
	path->path.startup_cost = Min(path->path.startup_cost,
								  path->path.total_cost);
	path->methods = &partial_path_methods;
	return path;
}

/* ---------------------------------------------------------------------
 * Plans
 * --------------------------------------------------------------------- */

/* The column (1-based) of the remote's rows that expr is. */
static int
column_of(const ForeignScan *foreign, Node *expr)
{
	const TargetEntry *target = tlist_member((Expr *) expr,
											 foreign->fdw_scan_tlist);

	if (target == NULL)
		elog(ERROR, "remote query lacks a column for a partial aggregate");
	return target->resno;
}

/* The columns that a column of partial aggregates is made of. */
static List *
columns_of(const ForeignScan *foreign, Node *expr)
{
	List	   *columns = NIL;
	ListCell   *lc;

	/*
	 * A constant key is never taken from a child node's row: setrefs.c leaves
	 * it in place.
	 */
	if (IsA(expr, Const))
		return NIL;
	if (!IsA(expr, Aggref))
		return list_make1_int(column_of(foreign, expr));
	foreach(lc, px_agg_plain_aggrefs(px_agg_rule_for((Aggref *) expr, false),
									 (Aggref *) expr))
		columns = lappend_int(columns, column_of(foreign, lfirst(lc)));
	return columns;
}

/* The local plan runs where columns have other types there. */
static void
set_local_plan(PlannerInfo *root, CustomScan *scan, Plan *local)
{
	ForeignScan *foreign = linitial_node(ForeignScan, scan->custom_plans);
	List	   *plain = get_tlist_exprs(foreign->fdw_scan_tlist, true);

	outerPlan(foreign) = local;
	(void) px_paths_set_types(&scan->scan.plan,
							  px_local_agg_types(root, local, plain));
}

Plan *
px_partial_agg_plan(PlannerInfo *root, RelOptInfo *rel, CustomPath *best_path,
					List *tlist, List *clauses, List *custom_plans)
{
	CustomScan *scan = (CustomScan *) px_receive_plan(root, rel, best_path,
													  tlist, clauses,
													  custom_plans);
	const ForeignScan *foreign = linitial_node(ForeignScan,
											   scan->custom_plans);
	List	   *columns = NIL;
	ListCell   *lc;

	/* The scan tuples: what EXPLAIN shows, and the node above looks for. */
	scan->custom_scan_tlist = NIL;
	foreach(lc, rel->reltarget->exprs)
	{
		scan->custom_scan_tlist = lappend(
			scan->custom_scan_tlist,
			makeTargetEntry(copyObject(lfirst(lc)),
							list_length(scan->custom_scan_tlist) + 1, NULL,
							false));
		columns = lappend(columns, columns_of(foreign, lfirst(lc)));
	}
	lfirst(list_nth_cell(scan->custom_private,
						 PX_RECEIVE_PRIVATE_PARTIAL)) = columns;
	if (list_length(custom_plans) > 1)
		set_local_plan(root, scan, lsecond(custom_plans));
	return &scan->scan.plan;
}

/* ---------------------------------------------------------------------
 * Hooks
 * --------------------------------------------------------------------- */

/*
 * GetForeignUpperPaths of all relations of postgres_fdw: add a path to the
 * partial groups of a partition.
 */
static void
get_upper_paths(PlannerInfo *root, UpperRelationKind stage,
				RelOptInfo *input_rel, RelOptInfo *output_rel, void *extra)
{
	const GroupPathExtraData *grouping = extra;
	CustomPath *path;

	if (stage != UPPERREL_PARTIAL_GROUP_AGG)
	{
		next_get_upper_paths(root, stage, input_rel, output_rel, extra);
		return;
	}

	/* Else the planner wants to aggregate in parallel. */
	if (grouping->patype != PARTITIONWISE_AGGREGATE_PARTIAL)
		return;
	path = px_partial_agg_path(root, input_rel, output_rel, grouping);
	if (path)
		add_path(output_rel, &path->path);
}

/* Have that function called for each relation that paths.c has prepared. */
static void
replace_function(PX_BUILD_SIMPLE_REL_PARAMETERS)
{
	if (prev_build_simple_rel_hook)
		prev_build_simple_rel_hook(PX_BUILD_SIMPLE_REL_ARGUMENTS);
	if (!px_rel_is_postgres_fdw(rel))
		return;
	next_get_upper_paths = rel->fdwroutine->GetForeignUpperPaths;
	rel->fdwroutine->GetForeignUpperPaths = get_upper_paths;
}

void
px_partial_agg_init(void)
{
	prev_build_simple_rel_hook = build_simple_rel_hook;
	build_simple_rel_hook = replace_function;
}
