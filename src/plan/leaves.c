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

/* Is leaf the join of partitions of the very tables that rel joins? */
static bool
joins_partitions_of(PlannerInfo *root, const RelOptInfo *leaf,
					const RelOptInfo *rel)
{
	Relids		parents = NULL;
	int			relid = -1;

	while ((relid = bms_next_member(leaf->relids, relid)) >= 0)
	{
		const AppendRelInfo *info = root->append_rel_array[relid];

		/* From 16 on, outer joins have numbers, too. */
		if (info == NULL && root->simple_rel_array[relid])
			return false;
		parents = bms_add_member(parents, info ? (int) info->parent_relid :
								 relid);
	}
	return bms_equal(parents, rel->relids);
}

bool
px_leaves_of_join(PlannerInfo *root, RelOptInfo *rel, List **leaves)
{
	int			i = -1;

	*leaves = NIL;
	if (!IS_PARTITIONED_REL(rel))
	{
		*leaves = list_make1(rel);
		return true;
	}
	while ((i = bms_next_member(rel->live_parts, i)) >= 0)
	{
		RelOptInfo *part = rel->part_rels[i];

		if (part == NULL || !joins_partitions_of(root, part, rel))
			return false;
		if (!IS_DUMMY_REL(part))
			*leaves = lappend(*leaves, part);
	}
	return *leaves != NIL;
}

Node *
px_leaf_translate(PlannerInfo *root, Node *expr, RelOptInfo *rel,
				  RelOptInfo *leaf)
{
	AppendRelInfo *info;
	RelOptInfo *parent;

	if (leaf == rel)
		return expr;
	if (IS_JOIN_REL(leaf))
	{
		int			ninfos;
		AppendRelInfo **infos = find_appinfos_by_relids(root, leaf->relids,
														&ninfos);

		return adjust_appendrel_attrs(root, expr, ninfos, infos);
	}
	info = root->append_rel_array[leaf->relid];
	parent = root->simple_rel_array[info->parent_relid];
	return adjust_appendrel_attrs(
		root, px_leaf_translate(root, expr, rel, parent), 1, &info);
}
