/*-------------------------------------------------------------------------
 *
 * broadcast.c
 *		Joins that run on the shards, to which the small side is sent.
 *
 * For aggregates over an inner join of a foreign table, or of a table with
 * foreign partitions, we add paths in which each partition's server joins its
 * rows with those of the other tables, and aggregates them.  So we do where
 * servers can join several tables, partition by partition.  The other tables
 * fall into sides: tables that are joined to each other without the big table
 * are one side, which is joined here.  The rows of a side are sent to each
 * server as frames, in a parameter of its query (plan/fragment.h).  A side of
 * foreign tables may be cut by its key instead (plan/redistribute.h).
 *
 * What the servers return is partial aggregates, as those of partitions are
 * (plan/partial_agg.c).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "catalog/pg_type_d.h"
#include "foreign/fdwapi.h"
#include "nodes/extensible.h"
#include "nodes/makefuncs.h"
#include "optimizer/cost.h"
#include "optimizer/joininfo.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/planner.h"
#include "optimizer/prep.h"
#include "optimizer/restrictinfo.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"
#include "utils/selfuncs.h"

#include "compat.h"
#include "exec/broadcast_side.h"
#include "guc.h"
#include "node/broadcast.h"
#include "plan/broadcast.h"
#include "plan/eligible.h"
#include "plan/final_agg.h"
#include "plan/fragment_join.h"
#include "plan/leaves.h"
#include "plan/partial_agg.h"
#include "plan/paths.h"
#include "plan/redistribute.h"
#include "plan/shippable.h"

/* More sides, or ways to choose the big one, are not worth their planning. */
#define SIDES_MAX			16
#define CANDIDATES_MAX		32

static create_upper_paths_hook_type prev_create_upper_paths_hook = NULL;

/* ---------------------------------------------------------------------
 * The big table
 * --------------------------------------------------------------------- */

/* Are all of these columns of their tables, and no system columns? */
static bool
are_plain_columns(List *exprs)
{
	ListCell   *lc;

	foreach(lc, exprs)
	{
		const Var  *var = lfirst(lc);

		if (!IsA(var, Var) || var->varattno <= 0)
			return false;
	}
	return true;
}

/* May fragments read the table, or join?  Then set the leaves. */
static bool
is_big(px_fragment_join *join, RelOptInfo *rel)
{
	PlannerInfo *root = join->root;
	List	   *servers = NIL;
	ListCell   *lc;

	join->leaves = are_plain_columns(rel->reltarget->exprs) ?
		px_foreign_leaves(root, rel) : NIL;
	foreach(lc, join->leaves)
		servers = list_append_unique_oid(
			servers, ((const RelOptInfo *) lfirst(lc))->serverid);
	join->fragment.big = rel;
	join->nservers = list_length(servers);
	return join->leaves != NIL;
}

/*
 * What may be the big side: the largest table, if it has foreign leaves, and
 * joins of such tables that servers can do.
 */
static List *
find_candidates(PlannerInfo *root, const RelOptInfo *input_rel)
{
	List	   *candidates = NIL;
	RelOptInfo *largest = NULL;
	int			relid = -1;
	ListCell   *lc;

	while ((relid = bms_next_member(input_rel->relids, relid)) >= 0)
	{
		RelOptInfo *rel = find_base_rel(root, relid);
		List	   *leaves = NIL;

		if ((largest == NULL || rel->rows * rel->reltarget->width >
			 largest->rows * largest->reltarget->width) &&
			planner_rt_fetch(relid, root)->rtekind == RTE_RELATION &&
			px_leaves_collect(root, rel, &leaves) && leaves != NIL &&
			px_paths_have_plain(linitial(leaves)))
			largest = rel;
	}
	if (largest == NULL)
		return NIL;
	candidates = list_make1(largest);
	foreach(lc, root->join_rel_list)
	{
		RelOptInfo *rel = lfirst(lc);

		if (list_length(candidates) < CANDIDATES_MAX &&
			rel->reloptkind == RELOPT_JOINREL &&
			bms_is_member(largest->relid, rel->relids) &&
			bms_is_subset(rel->relids, input_rel->relids) &&
			!bms_equal(rel->relids, input_rel->relids))
			candidates = lappend(candidates, rel);
	}
	return candidates;
}

/* ---------------------------------------------------------------------
 * The sides
 * --------------------------------------------------------------------- */

/* The tables of rest that are joined to table first without the big table. */
static Relids
connected(PlannerInfo *root, Relids rest, int first)
{
	Relids		found = bms_make_singleton(first);
	bool		grown = true;

	while (grown)
	{
		int			i = -1;

		grown = false;
		while ((i = bms_next_member(rest, i)) >= 0)
		{
			int			j = -1;

			if (bms_is_member(i, found))
				continue;
			while ((j = bms_next_member(found, j)) >= 0)
			{
				if (!have_relevant_joinclause(root, find_base_rel(root, i),
											  find_base_rel(root, j)))
					continue;
				found = bms_add_member(found, i);
				grown = true;
				break;
			}
		}
	}
	return found;
}

static RelOptInfo *
find_rel(PlannerInfo *root, Relids relids)
{
	return bms_membership(relids) == BMS_SINGLETON ?
		find_base_rel(root, bms_singleton_member(relids)) :
		find_join_rel(root, relids);
}

/* The clauses by which side is joined to the tables before it. */
static List *
find_clauses(PlannerInfo *root, Relids before, RelOptInfo *side)
{
	Relids		both = bms_union(before, side->relids);
	List	   *clauses = NIL;
	int			relid = -1;
	ListCell   *lc;

	while ((relid = bms_next_member(side->relids, relid)) >= 0)
	{
		foreach(lc, find_base_rel(root, relid)->joininfo)
		{
			RestrictInfo *rinfo = lfirst_node(RestrictInfo, lc);

			if (bms_is_subset(rinfo->required_relids, both) &&
				!bms_is_subset(rinfo->required_relids, side->relids))
				clauses = list_append_unique_ptr(clauses, rinfo);
		}
	}
	return list_concat(clauses,
					   px_join_implied_equalities(root, both, before, side));
}

/* Is it an equality of the side with the tables before it? */
static bool
is_key(const RestrictInfo *rinfo, Relids before, Relids side)
{
	return rinfo->can_join && OidIsValid(rinfo->hashjoinoperator) &&
		((bms_is_subset(rinfo->left_relids, before) &&
		  bms_is_subset(rinfo->right_relids, side)) ||
		 (bms_is_subset(rinfo->left_relids, side) &&
		  bms_is_subset(rinfo->right_relids, before)));
}

static bool
are_columns_shippable(List *columns)
{
	ListCell   *lc;

	foreach(lc, columns)
	{
		if (!px_type_is_shippable(((Var *) lfirst(lc))->vartype))
			return false;
	}
	return columns != NIL;
}

/* Add a side that has these tables.  False if it cannot be one. */
static bool
add_side(px_fragment_join *join, Relids relids, Relids before)
{
	px_fragment_side *side = palloc0(sizeof(px_fragment_side));
	RelOptInfo *rel = find_rel(join->root, relids);
	bool		has_key = false;
	ListCell   *lc;

	if (rel == NULL || rel->cheapest_total_path == NULL ||
		rel->cheapest_total_path->param_info != NULL ||
		!are_plain_columns(rel->reltarget->exprs) ||
		!are_columns_shippable(rel->reltarget->exprs))
		return false;
	side->rel = rel;
	side->columns = rel->reltarget->exprs;
	side->clauses = find_clauses(join->root, before, rel);
	foreach(lc, side->clauses)
	{
		const RestrictInfo *rinfo = lfirst_node(RestrictInfo, lc);

		if (!px_is_shippable((Node *) rinfo->clause,
							 join->fragment.big->relids))
			return false;
		has_key = has_key || is_key(rinfo, before, relids);
	}
	join->nclauses += list_length(side->clauses);
	join->fragment.sides = lappend(join->fragment.sides, side);
	return has_key;
}

/* Divide the tables beside the big one into sides. */
static bool
find_sides(px_fragment_join *join)
{
	Relids		before = bms_copy(join->fragment.big->relids);
	Relids		rest = bms_difference(join->input_rel->relids, before);
	int			relid;

	while ((relid = bms_next_member(rest, -1)) >= 0)
	{
		Relids		side = connected(join->root, rest, relid);

		if (list_length(join->fragment.sides) >= SIDES_MAX ||
			!add_side(join, side, before))
			return false;
		before = bms_add_members(before, side);
		rest = bms_del_members(rest, side);
	}
	return true;
}

/* ---------------------------------------------------------------------
 * Paths
 * --------------------------------------------------------------------- */

static bool
are_targets_shippable(const px_fragment_join *join)
{
	ListCell   *lc;

	foreach(lc, join->fragment.target->exprs)
	{
		if (!px_is_shippable(lfirst(lc), join->fragment.big->relids))
			return false;
	}
	return join->fragment.target->exprs != NIL;
}

/* Does the query's plan have InitPlans for its min() and max()? */
static bool
has_minmax_path(PlannerInfo *root)
{
	const RelOptInfo *grouped = fetch_upper_rel(root, UPPERREL_GROUP_AGG,
												NULL);
	ListCell   *lc;

	foreach(lc, grouped->pathlist)
	{
		if (IsA(lfirst(lc), MinMaxAggPath))
			return true;
	}
	return false;
}

/*
 * Can all subqueries of the join be planned twice: as sides, and for the local
 * plan?  set_plan_references changes the AppendRelInfos of a subquery where
 * they are, so it may not come across them again.  InitPlans are made with the
 * plan, and have one parameter.  And subqueries within subqueries would be
 * planned twice again for each level.
 */
static bool
can_repeat_subqueries(PlannerInfo *root, const RelOptInfo *joinrel)
{
	int			relid = -1;

	while ((relid = bms_next_member(joinrel->relids, relid)) >= 0)
	{
		const RelOptInfo *rel = root->simple_rel_array[relid];
		PlannerInfo *subroot = rel ? rel->subroot : NULL;

		if (subroot == NULL)
			continue;
		if (subroot->append_rel_list != NIL || has_minmax_path(subroot))
			return false;
		for (int i = 1; i < subroot->simple_rel_array_size; i++)
		{
			if (subroot->simple_rel_array[i] &&
				subroot->simple_rel_array[i]->subroot)
				return false;
		}
	}
	return true;
}

/*
 * May the join's rows be aggregated in two steps, and read in any order and
 * more than once?  Both plans below an ExchangeBroadcast read the sides: so
 * they may have no subplans, which are run by one node each.
 */
static bool
is_candidate(PlannerInfo *root, RelOptInfo *input_rel,
			 const GroupPathExtraData *extra)
{
	return px_enabled &&
		px_join_exchange_setting != PX_JOIN_EXCHANGE_OFF &&
		px_partial_aggregates_setting != PX_PARTIAL_OFF &&
		input_rel->reloptkind == RELOPT_JOINREL &&
		input_rel->cheapest_total_path != NULL &&
		(extra->flags & GROUPING_CAN_PARTIAL_AGG) != 0 &&
		(root->parse->groupClause == NIL ||
		 (px_group_clause(root) != NIL &&
		  (extra->flags & GROUPING_CAN_USE_HASH) != 0)) &&
		root->parse->groupingSets == NIL && !root->parse->hasTargetSRFs &&
		root->join_info_list == NIL && root->placeholder_list == NIL &&
		!root->hasLateralRTEs && !root->hasPseudoConstantQuals &&
		!root->hasRecursion && root->qual_security_level == 0 &&
		root->glob->subplans == NIL &&
		can_repeat_subqueries(root, input_rel) &&
		px_rel_is_eligible(root, input_rel) &&
		!contain_volatile_functions((Node *) root->parse);
}

/* Are all sides that each server is sent expected to be small enough? */
static bool
are_pieces_small(const px_fragment_join *join)
{
	double		nbytes = 0;
	ListCell   *lc;

	foreach(lc, join->fragment.sides)
	{
		const px_fragment_side *side = lfirst(lc);

		if (side->inbox == 0)
			nbytes += side->rel->rows * side->rel->reltarget->width;
	}
	return nbytes <= PX_BROADCAST_RAW_NBYTES_MAX;
}

/* A copy whose sides may be changed. */
static px_fragment_join *
copy_join(const px_fragment_join *join)
{
	px_fragment_join *copy = palloc(sizeof(px_fragment_join));
	ListCell   *lc;

	*copy = *join;
	copy->fragment.sides = NIL;
	foreach(lc, join->fragment.sides)
	{
		px_fragment_side *side = palloc(sizeof(px_fragment_side));

		*side = *(const px_fragment_side *) lfirst(lc);
		copy->fragment.sides = lappend(copy->fragment.sides, side);
	}
	return copy;
}

/* Add paths in which rows get together by their keys. */
static void
add_hash_partition_paths(const px_fragment_join *join)
{
	px_fragment_join *by_bounds = copy_join(join);
	px_fragment_join *by_hash = copy_join(join);
	int			side;

	if (!px_redistribute_find(join, &side))
		return;
	if (px_redistribute_by_bounds(by_bounds, side) &&
		are_pieces_small(by_bounds))
		px_fragment_path_add(by_bounds);
	if (px_redistribute_by_hash(by_hash, side) && are_pieces_small(by_hash))
		px_fragment_path_add(by_hash);
}

/* Add paths in which the rows of big are joined and grouped on servers. */
static void
add_paths(px_fragment_join *join, RelOptInfo *big)
{
	PlannerInfo *root = join->root;

	if (!is_big(join, big) || !find_sides(join))
		return;
	join->partial = px_final_agg_input(root, join->grouped_rel->reltarget,
									   join->extra->havingQual);
	join->fragment.target = px_partial_agg_plain(root, join->partial,
												 join->extra->targetList);
	if (join->fragment.target == NULL || !are_targets_shippable(join) ||
		!px_are_remote_alone(root, join->leaves))
		return;
	if (px_join_exchange_setting != PX_JOIN_EXCHANGE_HASH_PARTITION &&
		are_pieces_small(join))
		px_fragment_path_add(join);
	if (px_join_exchange_setting != PX_JOIN_EXCHANGE_BROADCAST)
		add_hash_partition_paths(join);
}

static void
add_upper_paths(PlannerInfo *root, UpperRelationKind stage,
				RelOptInfo *input_rel, RelOptInfo *output_rel, void *extra)
{
	ListCell   *lc;

	if (prev_create_upper_paths_hook)
		prev_create_upper_paths_hook(root, stage, input_rel, output_rel,
									 extra);
	if (stage != UPPERREL_GROUP_AGG || extra == NULL ||
		!is_candidate(root, input_rel, extra))
		return;

	foreach(lc, find_candidates(root, input_rel))
	{
		px_fragment_join *join = palloc0(sizeof(px_fragment_join));

		join->root = root;
		join->input_rel = input_rel;
		join->grouped_rel = output_rel;
		join->extra = extra;
		add_paths(join, lfirst(lc));
	}
}

void
px_broadcast_plan_init(void)
{
	prev_create_upper_paths_hook = create_upper_paths_hook;
	create_upper_paths_hook = add_upper_paths;
}
