/*-------------------------------------------------------------------------
 *
 * filter_cost.c
 *		What runtime filters save, in the planner's comparison of joins.
 *
 * Filters are placed in the finished plan (plan/filter.c).  Without this file
 * the planner would not know that fewer rows travel.  It would prefer a
 * parallel plan, which has no filters, or build the hash table of the large
 * side.  So for each join that may filter, we add a hash join of the cheapest
 * paths of both sides, at the cost that it has with the filter.
 *
 * A scan then costs what it would as the inner side of a lookup join.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/restrictinfo.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"

#include "compat.h"
#include "guc.h"
#include "plan/filter.h"
#include "plan/filter_cost.h"
#include "plan/join_key.h"
#include "plan/paths.h"

static set_join_pathlist_hook_type prev_set_join_pathlist_hook = NULL;

/* See px_filter_cost_set. */
static bool filters_wanted = false;

bool
px_filter_cost_set(bool wanted)
{
	bool		before = filters_wanted;

	filters_wanted = wanted;
	return before;
}

/* What a filter of a column saves. */
typedef struct filter_saving
{
	Index		relid;			/* the table that the column is of; 0: any */
	const Var  *column;
	double		fraction;		/* of the rows that are still sent */
	double		nkeys;
	int			nservers;		/* that work at the same time */
	double		member_rows;	/* of all members of an append relation */
	double		scanned;		/* chance that there is a key for a member */
	Cost		cost;
} filter_saving;

static void add_saving(const Path *path, filter_saving *saving);

/* A scan. */
static void
add_saving_of_scan(const Path *path, filter_saving *saving)
{
	const RelOptInfo *rel = path->parent;

	if (path->pathkeys == NIL && px_paths_are_plain(path) &&
		Max(path->rows, saving->member_rows) * (1 - saving->fraction) >=
		PX_FILTER_ROWS_MIN)
		saving->cost += Max(path->total_cost - saving->scanned *
							px_paths_lookup_cost_min(rel, saving->fraction,
													 saving->nkeys,
													 saving->nservers), 0);
}

/* Is the column one that the bounds of rel's partitions are of? */
static bool
is_partition_column(const RelOptInfo *rel, const Var *column)
{
	return rel->part_scheme && rel->partexprs &&
		(rel->part_scheme->partnatts == 1 ||
		 rel->part_scheme->strategy == PARTITION_STRATEGY_RANGE) &&
		list_member(rel->partexprs[0], column);
}

/*
 * The keys are those of any partition, at random.  Each has its part of them,
 * or none.
 */
static void
expect_keys_of_members(filter_saving *saving, int nmembers)
{
	double		missed = pow(1 - 1.0 / nmembers, saving->nkeys);

	saving->scanned = 1 - missed;
	saving->nkeys = Max(saving->nkeys / nmembers, 1);
}

/*
 * The members of an append relation, which have numbers of their own.  What
 * the Append itself costs is for each row.
 */
static void
add_saving_of_append(const AppendPath *append, filter_saving *saving)
{
	List	   *members = append->subpaths;
	filter_saving of_members = *saving;
	Cost		rows_cost = append->path.total_cost;
	List	   *servers = NIL;
	ListCell   *lc;

	foreach(lc, members)
	{
		const Path *member = lfirst(lc);

		of_members.member_rows += member->rows;
		rows_cost -= member->total_cost;
		if (px_paths_are_plain(member))
			servers = list_append_unique_oid(servers,
											 member->parent->serverid);
	}
	of_members.relid = 0;
	of_members.nservers = Max(list_length(servers), 1);
	if (members != NIL &&
		is_partition_column(append->path.parent, saving->column))
		expect_keys_of_members(&of_members, list_length(members));
	foreach(lc, members)
	{
		if (IsA(lfirst(lc), CustomPath))
			add_saving_of_scan(lfirst(lc), &of_members);
	}
	if (of_members.cost > saving->cost && rows_cost > 0)
		of_members.cost += rows_cost * (1 - saving->fraction);
	saving->cost = of_members.cost;
}

/* The same ways as plan/filter.c takes, but for some that are rare. */
static void
add_saving(const Path *path, filter_saving *saving)
{
	const JoinPath *join = (const JoinPath *) path;
	Relids		relids = path->parent->relids;

	check_stack_depth();
	if (saving->relid > 0 && !bms_is_member(saving->relid, relids))
		return;
	switch (nodeTag(path))
	{
		case T_CustomPath:
			add_saving_of_scan(path, saving);
			break;
		case T_AppendPath:
			add_saving_of_append((const AppendPath *) path, saving);
			break;
		case T_ProjectionPath:
			add_saving(((const ProjectionPath *) path)->subpath, saving);
			break;
		case T_HashPath:
		case T_MergePath:
			if (join->jointype == JOIN_INNER)
			{
				add_saving(join->outerjoinpath, saving);
				add_saving(join->innerjoinpath, saving);
			}
			break;
		default:
			break;
	}
}

/*
 * Set the number of keys that are expected, and the fraction of the outer rows
 * that has one; 1 if that is not known.
 */
static void
expect_keys(PlannerInfo *root, const RelOptInfo *joinrel, JoinType jointype,
			const Path *outer_path, const Path *inner_path, Node *outer,
			Node *inner, bool alone, filter_saving *saving)
{
	double		ninner = Max(inner_path->rows, 1);
	double		nouter = Max(outer_path->rows, 1);
	double		ndistinct = px_distinct_values(root, outer);

	saving->nkeys = estimate_num_groups(root, list_make1(inner), ninner, NULL,
										NULL);
	saving->fraction = jointype == JOIN_SEMI ? joinrel->rows / nouter :
		joinrel->rows / nouter * saving->nkeys / ninner;
	if (ndistinct > 0)
		saving->fraction = alone ?
			Min(saving->fraction, saving->nkeys / ndistinct) :
			saving->nkeys / ndistinct;
	saving->fraction = Min(saving->fraction, 1);
}

/* Say which side of a clause is the outer one; false if none is. */
static bool
set_sides(RestrictInfo *rinfo, const RelOptInfo *outerrel,
		  const RelOptInfo *innerrel)
{
	rinfo->outer_is_left =
		bms_is_subset(rinfo->left_relids, outerrel->relids) &&
		bms_is_subset(rinfo->right_relids, innerrel->relids);
	return rinfo->outer_is_left ||
		(bms_is_subset(rinfo->left_relids, innerrel->relids) &&
		 bms_is_subset(rinfo->right_relids, outerrel->relids));
}

/* The sides of a clause, if it is an equality that can filter. */
static bool
get_key(const RestrictInfo *rinfo, Node **outer, Node **inner)
{
	const OpExpr *clause = (const OpExpr *) rinfo->clause;

	*outer = linitial(clause->args);
	*inner = lsecond(clause->args);
	if (rinfo->outer_is_left)
		return px_is_join_key(clause->opno, clause->inputcollid, *outer,
							  *inner);
	*outer = lsecond(clause->args);
	*inner = linitial(clause->args);
	return px_is_join_key(get_commutator(clause->opno), clause->inputcollid,
						  *outer, *inner);
}

/*
 * The hash clauses of the join, and what the filters of these save: that of
 * the best one alone, because keys may depend on each other.
 */
static List *
find_clauses(PlannerInfo *root, const RelOptInfo *joinrel,
			 const RelOptInfo *outerrel, const RelOptInfo *innerrel,
			 JoinType jointype, List *restrictlist, filter_saving *best)
{
	const Path *outer_path = outerrel->cheapest_total_path;
	const Path *inner_path = innerrel->cheapest_total_path;
	List	   *clauses = NIL;
	ListCell   *lc;

	foreach(lc, restrictlist)
	{
		RestrictInfo *rinfo = lfirst_node(RestrictInfo, lc);
		filter_saving saving = {.nservers = 1, .scanned = 1};
		Node	   *outer;
		Node	   *inner;

		if (!rinfo->can_join || !OidIsValid(rinfo->hashjoinoperator) ||
			!IsA(rinfo->clause, OpExpr) ||
			!set_sides(rinfo, outerrel, innerrel))
			continue;
		clauses = lappend(clauses, rinfo);
		if (!get_key(rinfo, &outer, &inner))
			continue;
		saving.column = px_join_column(outer);
		saving.relid = saving.column->varno;
		expect_keys(root, joinrel, jointype, outer_path, inner_path, outer,
					inner, list_length(restrictlist) == 1, &saving);
		if (saving.fraction > PX_FILTER_FRACTION_MAX ||
			inner_path->total_cost >
			outer_path->total_cost * (1 - saving.fraction))
			continue;
		add_saving(outer_path, &saving);
		if (saving.cost > best->cost)
			*best = saving;
	}
	return clauses;
}

static void
add_filtered_join(PlannerInfo *root, RelOptInfo *joinrel, RelOptInfo *outerrel,
				  RelOptInfo *innerrel, JoinType jointype,
				  JoinPathExtraData *extra)
{
	Path	   *outer_path = outerrel->cheapest_total_path;
	Path	   *inner_path = innerrel->cheapest_total_path;
	JoinCostWorkspace workspace;
	filter_saving saving = {0};
	List	   *clauses;
	Path		filtered;
	HashPath   *path;

	if (prev_set_join_pathlist_hook)
		prev_set_join_pathlist_hook(root, joinrel, outerrel, innerrel,
									jointype, extra);
	if (!filters_wanted || !px_enabled || !enable_hashjoin ||
		(jointype != JOIN_INNER && jointype != JOIN_SEMI) ||
		outer_path == NULL || outer_path->param_info ||
		inner_path == NULL || inner_path->param_info ||
		!bms_is_empty(joinrel->lateral_relids))
		return;
	clauses = find_clauses(root, joinrel, outerrel, innerrel, jointype,
						   extra->restrictlist, &saving);
	if (saving.cost <= 0)
		return;

	/* Costs are those of an outer side of fewer rows. */
	filtered = *outer_path;
	filtered.type = T_Path;
	filtered.rows = clamp_row_est(filtered.rows * saving.fraction);
	filtered.total_cost = Max(filtered.total_cost - saving.cost,
							  filtered.startup_cost);
	initial_cost_hashjoin(root, &workspace, jointype, clauses, &filtered,
						  inner_path, extra, false);
	path = create_hashjoin_path(root, joinrel, jointype, &workspace, extra,
								&filtered, inner_path, false,
								extra->restrictlist, NULL, clauses);
	path->jpath.outerjoinpath = outer_path;
	add_path(joinrel, &path->jpath.path);
}

void
px_filter_cost_init(void)
{
	prev_set_join_pathlist_hook = set_join_pathlist_hook;
	set_join_pathlist_hook = add_filtered_join;
}
