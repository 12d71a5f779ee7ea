/*-------------------------------------------------------------------------
 *
 * nestloop.c
 *		No joins that rest on a wrong guess.
 *
 * If the planner expects one row of the outer side, a nested loop costs the
 * same as a hash join.  If thousands come, it takes thousands of times as
 * long.  Between local tables such a loop mostly has an index inside, which
 * forgives the mistake.  Over foreign tables it has none: the inner side is
 * compared, row by row, with each outer row.  TPC-H's Q21 shows it: an
 * anti-join is estimated at one row and returns 338,000.
 *
 * So if a join of foreign tables got a nested loop without parameters, the
 * planner is asked for its other ways, and the loop is dropped if one of them
 * costs hardly more.  Queries that want only the first rows keep theirs: a loop
 * has them early, and in the order of its outer side.
 *
 * Hash tables that parallel workers share rest on a guess, too, if frequent
 * keys are not known.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"

#include "compat.h"
#include "guc.h"
#include "plan/eligible.h"
#include "plan/join_key.h"
#include "plan/nestloop.h"
#include "plan/paths.h"

/*
 * Another join may cost so many times what the loop does.  For one outer row,
 * a hash join that must hash the inner side costs up to 1.3 times as much.
 */
#define COST_RATIO_MAX	1.5

/*
 * A loop with no more rows than this on either side is kept: even if one of
 * them has a thousand times as many, it ends within a second.
 */
#define HARMLESS_ROWS	100.0

static set_join_pathlist_hook_type prev_set_join_pathlist_hook = NULL;

/* Is it a nested loop that reads all of the inner side for each outer row? */
static bool
is_blind_loop(const Path *path)
{
	const NestPath *loop = (const NestPath *) path;
	const Path *outer;
	const Path *inner;

	if (!IsA(path, NestPath))
		return false;
	outer = loop->jpath.outerjoinpath;
	inner = loop->jpath.innerjoinpath;
	return Max(outer->rows, inner->rows) > HARMLESS_ROWS &&
		!bms_overlap(PATH_REQ_OUTER(inner), outer->parent->relids);
}

/* Is there a foreign table of postgres_fdw in the relation, or below it? */
static bool
has_foreign_table(PlannerInfo *root, const RelOptInfo *joinrel)
{
	int			relid = -1;
	ListCell   *lc;

	while ((relid = bms_next_member(joinrel->relids, relid)) >= 0)
	{
		const RelOptInfo *rel = root->simple_rel_array[relid];

		if (rel && px_rel_is_postgres_fdw(rel))
			return true;
	}
	foreach(lc, root->append_rel_list)
	{
		const AppendRelInfo *info = lfirst_node(AppendRelInfo, lc);
		const RelOptInfo *child = root->simple_rel_array[info->child_relid];

		if (child && bms_overlap(child->top_parent_relids, joinrel->relids) &&
			px_rel_is_postgres_fdw(child))
			return true;
	}
	return false;
}

/* Move the loops from *paths to the result. */
static List *
take_blind_loops(List **paths)
{
	List	   *loops = NIL;
	List	   *others = NIL;
	ListCell   *lc;

	foreach(lc, *paths)
	{
		if (is_blind_loop(lfirst(lc)))
			loops = lappend(loops, lfirst(lc));
		else
			others = lappend(others, lfirst(lc));
	}
	*paths = others;
	return loops;
}

/*
 * Are the first rows of the query those of the loop, as it returns them sorted?
 * Not if it is the guess that makes the outer side small.
 */
static bool
has_first_rows(const PlannerInfo *root, const Path *loop)
{
	return root->tuple_fraction > 0 && loop->pathkeys != NIL &&
		((const NestPath *) loop)->jpath.outerjoinpath->rows > HARMLESS_ROWS;
}

/* What the rows of the path cost that the query wants at first. */
static Cost
cost_of_first_rows(const PlannerInfo *root, const Path *path)
{
	double		fraction = root->tuple_fraction;

	if (fraction >= 1)
		fraction = Min(fraction / Max(path->rows, 1), 1);
	return path->startup_cost +
		fraction * (path->total_cost - path->startup_cost);
}

/*
 * Does one of the paths do what the loop does, for hardly more?  If it has to
 * be sorted, all of its rows are needed.
 */
static bool
has_substitute(const PlannerInfo *root, List *paths, const Path *loop)
{
	bool		first_rows = has_first_rows(root, loop);
	Cost		loop_cost = first_rows ? cost_of_first_rows(root, loop) :
		loop->total_cost;
	ListCell   *lc;

	foreach(lc, paths)
	{
		const Path *path = lfirst(lc);
		Cost		cost = first_rows &&
			pathkeys_contained_in(loop->pathkeys, path->pathkeys) ?
			cost_of_first_rows(root, path) : path->total_cost;

		if (bms_is_subset(PATH_REQ_OUTER(path), PATH_REQ_OUTER(loop)) &&
			px_path_disabled(path) <= px_path_disabled(loop) &&
			cost <= COST_RATIO_MAX * loop_cost)
			return true;
	}
	return false;
}

static List *
without_substitute(const PlannerInfo *root, List *paths, List *loops)
{
	List	   *kept = NIL;
	ListCell   *lc;

	foreach(lc, loops)
	{
		if (!has_substitute(root, paths, lfirst(lc)))
			kept = lappend(kept, lfirst(lc));
	}
	return kept;
}

/* Does a LIMIT end the join as soon as it has returned some rows, unsorted? */
static bool
wants_first_rows(const PlannerInfo *root)
{
	return root->limit_tuples > 0 && root->parse->sortClause == NIL;
}

/* Does nobody know how many different keys rel, one side of a join, has? */
static bool
has_unknown_keys(PlannerInfo *root, const List *clauses, const RelOptInfo *rel)
{
	ListCell   *lc;

	foreach(lc, clauses)
	{
		const RestrictInfo *rinfo = lfirst_node(RestrictInfo, lc);
		Node	   *key;

		if (!OidIsValid(rinfo->hashjoinoperator))
			continue;
		key = bms_is_subset(rinfo->left_relids, rel->relids) ?
			get_leftop(rinfo->clause) : get_rightop(rinfo->clause);
		if (px_distinct_values(root, key) == 0)
			return true;
	}
	return false;
}

/*
 * Remove joins with a hash table of innerrel that several processes share, if
 * its keys are not known.  Where it does not fit in memory because half of its
 * rows have one key, it is divided into 32,768 batches in vain: 10 s in place
 * of 0.3.  The planner avoids that where it knows frequent keys.
 */
static void
remove_shared_tables(PlannerInfo *root, RelOptInfo *joinrel,
					 const RelOptInfo *innerrel, const List *clauses)
{
	List	   *others = NIL;
	ListCell   *lc;

	foreach(lc, joinrel->partial_pathlist)
	{
		const Path *path = lfirst(lc);

		if (!IsA(path, HashPath) || !path->parallel_aware ||
			((const HashPath *) path)->jpath.innerjoinpath->parent != innerrel)
			others = lappend(others, lfirst(lc));
	}
	if (list_length(others) < list_length(joinrel->partial_pathlist) &&
		has_unknown_keys(root, clauses, innerrel))
		joinrel->partial_pathlist = others;
}

/* Have the planner add its paths for the join, but no nested loops. */
static void
add_other_paths(PlannerInfo *root, RelOptInfo *joinrel, RelOptInfo *outerrel,
				RelOptInfo *innerrel, JoinType jointype,
				JoinPathExtraData *extra)
{
	uint64		before = px_avoid_nestloops(joinrel);

	PG_TRY();
	{
		add_paths_to_joinrel(root, joinrel, outerrel, innerrel, jointype,
							 extra->sjinfo, extra->restrictlist);
	}
	PG_FINALLY();
	{
		px_restore_nestloops(joinrel, before);
	}
	PG_END_TRY();
}

static void
replace_loops(PlannerInfo *root, RelOptInfo *joinrel, RelOptInfo *outerrel,
			  RelOptInfo *innerrel, JoinType jointype,
			  JoinPathExtraData *extra)
{
	List	   *loops;
	List	   *partial_loops;
	ListCell   *lc;

	if (prev_set_join_pathlist_hook)
		prev_set_join_pathlist_hook(root, joinrel, outerrel, innerrel,
									jointype, extra);
	if (!px_enabled || !px_rel_is_eligible(root, joinrel) ||
		!has_foreign_table(root, joinrel))
		return;
	remove_shared_tables(root, joinrel, innerrel, extra->restrictlist);
	if (!px_nestloops_allowed(joinrel) || wants_first_rows(root))
		return;

	loops = take_blind_loops(&joinrel->pathlist);
	partial_loops = take_blind_loops(&joinrel->partial_pathlist);
	if (loops == NIL && partial_loops == NIL)
		return;
	add_other_paths(root, joinrel, outerrel, innerrel, jointype, extra);
	remove_shared_tables(root, joinrel, innerrel, extra->restrictlist);
	(void) take_blind_loops(&joinrel->pathlist);
	(void) take_blind_loops(&joinrel->partial_pathlist);

	/* A loop is no substitute for another one: choose before any is added. */
	loops = without_substitute(root, joinrel->pathlist, loops);
	partial_loops = without_substitute(root, joinrel->partial_pathlist,
									   partial_loops);
	foreach(lc, loops)
		add_path(joinrel, lfirst(lc));
	foreach(lc, partial_loops)
		add_partial_path(joinrel, lfirst(lc));
}

void
px_nestloop_init(void)
{
	prev_set_join_pathlist_hook = set_join_pathlist_hook;
	set_join_pathlist_hook = replace_loops;
}
