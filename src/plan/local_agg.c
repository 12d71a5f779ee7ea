/*-------------------------------------------------------------------------
 *
 * local_agg.c
 *		The aggregates of a remote's rows, computed here.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/prep.h"
#include "optimizer/tlist.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"

#include "compat.h"
#include "exec/ask_types.h"
#include "plan/collation.h"
#include "plan/fragment.h"
#include "plan/local_agg.h"

static List *
columns_of(const List *exprs)
{
	return pull_var_clause((Node *) exprs,
						   PVC_RECURSE_AGGREGATES | PVC_RECURSE_WINDOWFUNCS |
						   PVC_RECURSE_PLACEHOLDERS);
}

bool
px_local_agg_has_columns(const PathTarget *plain)
{
	return columns_of(plain->exprs) != NIL;
}

/* Can the remote be asked about all of them? */
static bool
can_be_asked_about(const List *columns)
{
	ListCell   *lc;

	foreach(lc, columns)
	{
		const Var  *column = lfirst_node(Var, lc);

		if (column->varattno <= 0 ||
			getBaseType(column->vartype) >= FirstGenbkiObjectId ||
			!px_is_deterministic(column->varcollid))
			return false;
	}
	return true;
}

/*
 * Can the rows be aggregated here?  Keys are expressions of a plain scan, which
 * cannot be sets.
 */
static bool
is_suitable(const RelOptInfo *input_rel, const PathTarget *target)
{
	return can_be_asked_about(columns_of(target->exprs)) &&
		!expression_returns_set((Node *) target->exprs) &&
		bms_is_empty(input_rel->lateral_relids);
}

/* The rows that are aggregated: keys, and columns of aggregates. */
static PathTarget *
input_target(PlannerInfo *root, const PathTarget *plain, int nkeys)
{
	PathTarget *target = create_empty_pathtarget();

	for (int i = 0; i < nkeys; i++)
		add_column_to_pathtarget(target, list_nth(plain->exprs, i),
								 get_pathtarget_sortgroupref(plain, i));
	add_new_columns_to_pathtarget(target, columns_of(plain->exprs));
	return set_pathtarget_cost_width(root, target);
}

/* postgres_fdw's scan of all rows. */
static Path *
make_scan(const RelOptInfo *rel, PathTarget *target)
{
	ForeignPath *path = makeNode(ForeignPath);

	path->path.pathtype = T_ForeignScan;
	path->path.parent = unconstify(RelOptInfo *, rel);
	path->path.pathtarget = target;
	path->path.rows = rel->rows;
	path->path.startup_cost = rel->cheapest_total_path->startup_cost;
	path->path.total_cost = rel->cheapest_total_path->total_cost;
	return &path->path;
}

/* Groups of the scan's rows, in any order. */
static Path *
make_groups(PlannerInfo *root, RelOptInfo *rel, Path *scan,
			const GroupPathExtraData *extra, PathTarget *target,
			AggSplit split, List *having)
{
	List	   *clauses = px_group_clause(root);
	bool		hash = clauses != NIL &&
		(extra->flags & GROUPING_CAN_USE_HASH) != 0;
	AggStrategy strategy = AGG_PLAIN;
	AggClauseCosts costs = {0};

	/* All keys may be redundant: then there is one group, or none. */
	if (root->parse->groupClause != NIL)
		strategy = hash ? AGG_HASHED : AGG_SORTED;
	if (strategy != AGG_HASHED && root->group_pathkeys != NIL)
		scan = (Path *) create_sort_path(root, rel, scan,
										 root->group_pathkeys, -1.0);
	get_agg_clause_costs(root, split, &costs);
	return (Path *) create_agg_path(
		root, rel, scan, target, strategy, split, clauses, having, &costs,
		clauses == NIL ? 1.0 :
		estimate_num_groups(root,
							get_sortgrouplist_exprs(clauses,
													extra->targetList),
							scan->rows, NULL, NULL));
}

Path *
px_local_agg_path(PlannerInfo *root, RelOptInfo *input_rel,
				  RelOptInfo *output_rel, const GroupPathExtraData *extra,
				  const PathTarget *plain, int nkeys)
{
	if (!is_suitable(input_rel, plain))
		return NULL;
	return make_groups(root, output_rel,
					   make_scan(input_rel, input_target(root, plain, nkeys)),
					   extra, output_rel->reltarget, AGGSPLIT_INITIAL_SERIAL,
					   NIL);
}

/*
 * The grouping keys, and what else the remote may be asked for, or may be
 * needed to check HAVING: aggregates, and columns that depend on a key.
 */
static PathTarget *
whole_target(PlannerInfo *root, const RelOptInfo *output_rel,
			 const GroupPathExtraData *extra)
{
	PathTarget *target = create_empty_pathtarget();
	ListCell   *lc;

	foreach(lc, root->parse->groupClause)
	{
		const SortGroupClause *clause = lfirst_node(SortGroupClause, lc);

		add_column_to_pathtarget(
			target, get_sortgroupref_tle(clause->tleSortGroupRef,
										 extra->targetList)->expr,
			clause->tleSortGroupRef);
	}
	add_new_columns_to_pathtarget(
		target,
		pull_var_clause((Node *) list_make2(output_rel->reltarget->exprs,
											extra->havingQual),
						PVC_INCLUDE_AGGREGATES | PVC_RECURSE_WINDOWFUNCS |
						PVC_INCLUDE_PLACEHOLDERS));
	return set_pathtarget_cost_width(root, target);
}

Path *
px_local_agg_whole_path(PlannerInfo *root, RelOptInfo *input_rel,
						RelOptInfo *output_rel,
						const GroupPathExtraData *extra)
{
	PathTarget *target = whole_target(root, output_rel, extra);

	/* Part of HAVING may be evaluated twice: see paths.c. */
	if (!is_suitable(input_rel, target) ||
		contain_volatile_functions(extra->havingQual) ||
		contain_subplans(extra->havingQual))
		return NULL;
	return make_groups(root, output_rel,
					   make_scan(input_rel,
								 input_target(root, target,
											  list_length(root->parse->
														  groupClause))),
					   extra, target, AGGSPLIT_SIMPLE,
					   (List *) extra->havingQual);
}

/* ---------------------------------------------------------------------
 * The question
 * --------------------------------------------------------------------- */

/*
 * What to ask about the columns of exprs, of which those of ordered must have
 * the order that they have here.
 */
static List *
make_types(PlannerInfo *root, const Plan *plan, const List *exprs,
		   const List *ordered)
{
	List	   *wanted = columns_of(exprs);
	const ForeignScan *scan;
	List	   *tested = NIL;
	ListCell   *lc;

	while (!IsA(plan, ForeignScan))
		plan = outerPlan(plan);
	scan = (const ForeignScan *) plan;

	/* A scan may return columns that nobody needs. */
	foreach(lc, px_fragment_scan_columns(root, scan))
	{
		Var		   *column = lfirst_node(Var, lc);

		tested = lappend(tested, px_is_column_of(column, wanted) ? column :
						 NULL);
	}
	return px_fragment_types(NULL, strVal(linitial(scan->fdw_private)), tested,
							 ordered, PX_ASK_TYPES_LOCAL_PARAMS);
}

List *
px_local_agg_types(PlannerInfo *root, const Plan *plan, List *plain)
{
	return make_types(root, plan, plain, px_ordered_columns((Node *) plain));
}

const Plan *
px_local_agg_groups(const Plan *plan)
{
	while (!IsA(plan, Agg))
		plan = outerPlan(plan);
	return plan;
}

List *
px_local_agg_whole_types(PlannerInfo *root, const Plan *plan)
{
	const Plan *agg = px_local_agg_groups(plan);
	List	   *exprs;

	exprs = list_concat(get_tlist_exprs(agg->targetlist, true),
						list_copy(agg->qual));

	/* If there is a node above, the groups are sorted, or some of them. */
	return make_types(root, plan, exprs, plan == agg ?
					  px_ordered_columns((Node *) exprs) : columns_of(exprs));
}
