/*-------------------------------------------------------------------------
 *
 * whole_agg.c
 *		Groups that servers compute for us, but not for postgres_fdw.
 *
 * postgres_fdw has paths for GROUP BY.  The planner asks for them in two cases
 * only because of us:
 *
 * - The query was SELECT DISTINCT (distinct.c).
 * - A partition is aggregated by itself, and the user has not turned that on
 *	 (partitionwise.c).
 *
 * The server groups by its own types.  So ExchangeReceive asks before whether
 * these are the types that are declared here, and else groups the rows as
 * postgres_fdw reads them (local_agg.c).
 *
 * postgres_fdw also has paths that sort the groups, or return some of them.
 * They have a local plan that does the same.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type_d.h"
#include "foreign/fdwapi.h"
#include "nodes/extensible.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/planmain.h"
#include "optimizer/planner.h"

#include "compat.h"
#include "exec/plan_walk.h"
#include "plan/distinct.h"
#include "plan/eligible.h"
#include "plan/harmless.h"
#include "plan/local_agg.h"
#include "plan/partitionwise.h"
#include "plan/paths.h"
#include "plan/whole_agg.h"

static build_simple_rel_hook_type prev_build_simple_rel_hook = NULL;

/* The function that get_upper_paths stands for: that of partial_agg.c. */
static GetForeignUpperPaths_function next_get_upper_paths = NULL;

static Plan *plan_whole_agg(PlannerInfo *root, RelOptInfo *rel,
							CustomPath *best_path, List *tlist, List *clauses,
							List *custom_plans);

static const CustomPathMethods whole_path_methods = {
	.CustomName = PX_RECEIVE_NAME,
	.PlanCustomPath = plan_whole_agg,
};

/* ---------------------------------------------------------------------
 * What is done here instead
 * --------------------------------------------------------------------- */

/* That of the groups, if a path for them was worth keeping. */
static Path *
local_groups(PlannerInfo *root)
{
	ListCell   *lc;

	foreach(lc, fetch_upper_rel(root, UPPERREL_GROUP_AGG, NULL)->pathlist)
	{
		const CustomPath *path = lfirst(lc);

		if (IsA(path, CustomPath) && path->methods == &whole_path_methods)
			return lsecond(path->custom_paths);
	}
	return NULL;
}

/* The path that does the same as postgres_fdw's; NULL if there is none. */
static Path *
make_local(PlannerInfo *root, UpperRelationKind stage, RelOptInfo *input_rel,
		   RelOptInfo *output_rel, const void *extra)
{
	const FinalPathExtraData *final = extra;
	Path	   *path;

	if (stage == UPPERREL_GROUP_AGG)
		return px_local_agg_whole_path(root, input_rel, output_rel, extra);
	path = local_groups(root);
	if (path && root->sort_pathkeys != NIL)
		path = (Path *) create_sort_path(root, output_rel, path,
										 root->sort_pathkeys, -1.0);
	if (path && stage == UPPERREL_FINAL && final->limit_needed)
		path = (Path *) create_limit_path(root, output_rel, path,
										  root->parse->limitOffset,
										  root->parse->limitCount,
										  root->parse->limitOption,
										  final->offset_est,
										  final->count_est);
	return path;
}

/* ---------------------------------------------------------------------
 * HAVING
 * --------------------------------------------------------------------- */

/* Where a COALESCE of ours stands in the query, to tell it from a user's. */
#define WRAPPED_LOCATION	(-2)

/*
 * The conditions of HAVING, in a form that postgres_fdw evaluates here: it does
 * not send COALESCE, which is its argument if it has but one.
 */
static List *
wrap_having(const List *having)
{
	List	   *wrapped = NIL;
	ListCell   *lc;

	foreach(lc, having)
	{
		CoalesceExpr *wrap = makeNode(CoalesceExpr);

		wrap->coalescetype = BOOLOID;
		wrap->args = list_make1(lfirst(lc));
		wrap->location = WRAPPED_LOCATION;
		wrapped = lappend(wrapped, wrap);
	}
	return wrapped;
}

/*
 * What wrap_having was given, if the plan has that.  The local plan has it in
 * the order in which core evaluates it.
 */
static List *
unwrap_having(List *qual, const Plan *local)
{
	if (qual == NIL || !IsA(linitial(qual), CoalesceExpr) ||
		linitial_node(CoalesceExpr, qual)->location != WRAPPED_LOCATION)
		return qual;
	return copyObject(px_local_agg_groups(local)->qual);
}

/* ---------------------------------------------------------------------
 * Paths and plans
 * --------------------------------------------------------------------- */

/* Would the planner not have asked for them without us? */
static bool
is_ours(PlannerInfo *root, UpperRelationKind stage,
		const RelOptInfo *output_rel)
{
	switch (stage)
	{
		case UPPERREL_GROUP_AGG:
			if (output_rel->reloptkind == RELOPT_OTHER_UPPER_REL)
				return !px_partitionwise_aggregates_by_core() ||
					px_groups_were_distinct(root->parse);
			pg_fallthrough;
		case UPPERREL_ORDERED:
		case UPPERREL_FINAL:
			return px_groups_were_distinct(root->parse);
		default:
			return false;
	}
}

/*
 * Where HAVING is wrapped, postgres_fdw does not know how many groups have it.
 * And px_receive_path does not know that the others are transferred, too.
 */
static void
correct_rows(PlannerInfo *root, Path *path, const Path *local,
			 const List *wrapped)
{
	RelOptInfo *rel = path->parent;
	double		removed = path->rows / clauselist_selectivity(
		root, unconstify(List *, wrapped), 0, JOIN_INNER, NULL) - path->rows;

	path->total_cost -= removed * px_paths_tuple_cost(rel) -
		px_paths_transfer_cost(rel, removed, path->pathtarget->width);
	path->total_cost = Max(path->total_cost, path->startup_cost);
	path->rows = local->rows;
}

/*
 * Give the path of a remote query what is done here instead.  Others do not
 * have that: so even a small result is an exchange.
 */
static Path *
add_local(PlannerInfo *root, Path *path, Path *local, const List *wrapped)
{
	CustomPath *receive = IsA(path, ForeignPath) ?
		px_receive_path(root, (ForeignPath *) path) : (CustomPath *) path;

	receive->custom_paths = lappend(list_copy(receive->custom_paths), local);
	receive->methods = &whole_path_methods;
	if (wrapped != NIL)
		correct_rows(root, &receive->path, local, wrapped);
	return &receive->path;
}

/* GetForeignUpperPaths of all relations of postgres_fdw. */
static void
get_upper_paths(PlannerInfo *root, UpperRelationKind stage,
				RelOptInfo *input_rel, RelOptInfo *output_rel, void *extra)
{
	List	   *others = output_rel->pathlist;
	void	   *remote_extra = extra;
	GroupPathExtraData kept_having;
	List	   *wrapped = NIL;
	List	   *remote;
	Path	   *local;
	ListCell   *lc;

	if (!is_ours(root, stage, output_rel))
	{
		next_get_upper_paths(root, stage, input_rel, output_rel, extra);
		return;
	}

	if (px_has_init_param(root, (Node *) output_rel->reltarget->exprs))
		return;
	if (stage == UPPERREL_GROUP_AGG)
	{
		/* All or none: a condition may fail where another one is not true. */
		kept_having = *(GroupPathExtraData *) extra;
		if (px_has_init_param(root, kept_having.havingQual) ||
			!px_having_has_no_order((List *) kept_having.havingQual))
		{
			wrapped = wrap_having((List *) kept_having.havingQual);
			kept_having.havingQual = (Node *) wrapped;
			remote_extra = &kept_having;
		}
	}

	/* A path that is not going to be used must not replace others. */
	output_rel->pathlist = NIL;
	next_get_upper_paths(root, stage, input_rel, output_rel, remote_extra);
	remote = output_rel->pathlist;
	output_rel->pathlist = others;
	if (remote == NIL || !px_rel_is_eligible(root, output_rel))
		return;
	local = make_local(root, stage, input_rel, output_rel, extra);
	if (local == NULL)
		return;
	foreach(lc, remote)
		add_path(output_rel, add_local(root, lfirst(lc), local, wrapped));
}

static Plan *
plan_whole_agg(PlannerInfo *root, RelOptInfo *rel, CustomPath *best_path,
			   List *tlist, List *clauses, List *custom_plans)
{
	Plan	   *receive = px_receive_plan(root, rel, best_path, tlist, clauses,
										  custom_plans);
	ForeignScan *foreign = linitial_node(
		ForeignScan, castNode(CustomScan, receive)->custom_plans);
	Plan	   *local = lsecond(custom_plans);
	List	   *types = px_local_agg_whole_types(root, local);

	receive->qual = unwrap_having(receive->qual, local);
	outerPlan(foreign) = change_plan_targetlist(
		local, copyObject(foreign->fdw_scan_tlist), false);
	return px_paths_set_types(receive, types);
}

/* ---------------------------------------------------------------------
 * Hooks
 * --------------------------------------------------------------------- */

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
px_whole_agg_init(void)
{
	prev_build_simple_rel_hook = build_simple_rel_hook;
	build_simple_rel_hook = replace_function;
}
