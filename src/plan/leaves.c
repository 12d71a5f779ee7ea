/*-------------------------------------------------------------------------
 *
 * leaves.c
 *		The tables of an append relation.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "optimizer/appendinfo.h"
#include "optimizer/pathnode.h"
#include "parser/parsetree.h"

#include "plan/leaves.h"

bool
px_leaves_collect(PlannerInfo *root, RelOptInfo *rel, List **leaves)
{
	ListCell   *lc;

	if (IS_DUMMY_REL(rel))
		return true;
	if (!planner_rt_fetch(rel->relid, root)->inh)
	{
		*leaves = lappend(*leaves, rel);
		return rel->cheapest_total_path &&
			rel->cheapest_total_path->param_info == NULL;
	}

	foreach(lc, root->append_rel_list)
	{
		const AppendRelInfo *info = lfirst_node(AppendRelInfo, lc);
		RelOptInfo *child;

		if (info->parent_relid != rel->relid)
			continue;
		child = root->simple_rel_array[info->child_relid];
		if (child && !px_leaves_collect(root, child, leaves))
			return false;
	}
	return true;
}

Node *
px_leaf_translate(PlannerInfo *root, Node *expr, RelOptInfo *rel,
				  RelOptInfo *leaf)
{
	AppendRelInfo *info;
	RelOptInfo *parent;

	if (leaf == rel)
		return expr;
	info = root->append_rel_array[leaf->relid];
	parent = root->simple_rel_array[info->parent_relid];
	return adjust_appendrel_attrs(
		root, px_leaf_translate(root, expr, rel, parent), 1, &info);
}
