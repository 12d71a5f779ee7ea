/*-------------------------------------------------------------------------
 *
 * final_agg.c
 *		Aggregates in two steps whose first step is not the planner's own.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/planner.h"
#include "optimizer/prep.h"
#include "optimizer/tlist.h"
#include "utils/selfuncs.h"

#include "compat.h"
#include "plan/final_agg.h"

/* Is it a key that the planner groups by? */
static bool
is_key(PlannerInfo *root, Index sortgroupref)
{
	return sortgroupref != 0 &&
		get_sortgroupref_clause_noerr(sortgroupref,
									  px_group_clause(root)) != NULL;
}

PathTarget *
px_final_agg_input(PlannerInfo *root, PathTarget *target, Node *having)
{
	PathTarget *partial = create_empty_pathtarget();
	List	   *others = list_make1(having);
	ListCell   *lc;

	foreach(lc, target->exprs)
	{
		int			i = foreach_current_index(lc);
		Index		ref = get_pathtarget_sortgroupref(target, i);

		if (is_key(root, ref))
			add_column_to_pathtarget(partial, lfirst(lc), ref);
		else
			others = lappend(others, lfirst(lc));
	}
	add_new_columns_to_pathtarget(
		partial, pull_var_clause((Node *) others,
								 PVC_INCLUDE_AGGREGATES |
								 PVC_RECURSE_WINDOWFUNCS |
								 PVC_INCLUDE_PLACEHOLDERS));

	foreach(lc, partial->exprs)
	{
		if (IsA(lfirst(lc), Aggref))
		{
			/* Others have pointers to the aggregate itself. */
			Aggref	   *aggref = copyObject(lfirst_node(Aggref, lc));

			mark_partial_aggref(aggref, AGGSPLIT_INITIAL_SERIAL);
			lfirst(lc) = aggref;
		}
	}
	return set_pathtarget_cost_width(root, partial);
}

RelOptInfo *
px_final_agg_input_rel(const RelOptInfo *grouped_rel, const RelOptInfo *rel,
					   PathTarget *target)
{
	RelOptInfo *partial = makeNode(RelOptInfo);

	*partial = *grouped_rel;
	partial->relids = rel->relids;
	partial->reltarget = target;
	partial->pathlist = partial->partial_pathlist = partial->ppilist = NIL;
	partial->cheapest_startup_path = partial->cheapest_total_path = NULL;
	partial->serverid = rel->serverid;
	partial->userid = rel->userid;
	partial->useridiscurrent = rel->useridiscurrent;
	partial->fdwroutine = rel->fdwroutine;
	partial->fdw_private = NULL;
	return partial;
}

static void
add_final_path(PlannerInfo *root, RelOptInfo *grouped_rel,
			   const GroupPathExtraData *extra, Path *path,
			   AggStrategy strategy, const AggClauseCosts *costs,
			   double ngroups)
{
	add_path(grouped_rel, (Path *)
			 create_agg_path(root, grouped_rel, path, grouped_rel->reltarget,
							 strategy, AGGSPLIT_FINAL_DESERIAL,
							 px_group_clause(root),
							 (List *) extra->havingQual, costs, ngroups));
}

void
px_final_agg_add(PlannerInfo *root, const RelOptInfo *input_rel,
				 RelOptInfo *grouped_rel, const GroupPathExtraData *extra,
				 Path *path)
{
	List	   *clauses = px_group_clause(root);
	AggClauseCosts costs = {0};
	double		ngroups;

	get_agg_clause_costs(root, AGGSPLIT_FINAL_DESERIAL, &costs);
	if (clauses == NIL)
	{
		add_final_path(root, grouped_rel, extra, path, AGG_PLAIN, &costs, 1.0);
		return;
	}
	ngroups = estimate_num_groups(
		root, get_sortgrouplist_exprs(clauses, extra->targetList),
		input_rel->rows, NULL, NULL);
	ngroups = Min(ngroups, path->rows);
	if (extra->flags & GROUPING_CAN_USE_HASH)
		add_final_path(root, grouped_rel, extra, path, AGG_HASHED, &costs,
					   ngroups);
	if ((extra->flags & GROUPING_CAN_USE_SORT) != 0 && root->parse->hasAggs)
	{
		/* There are no pathkeys if WHERE leaves one value of each key. */
		if (root->group_pathkeys != NIL)
			path = (Path *) create_sort_path(root, grouped_rel, path,
											 root->group_pathkeys, -1.0);
		add_final_path(root, grouped_rel, extra, path, AGG_SORTED, &costs,
					   ngroups);
	}
}
