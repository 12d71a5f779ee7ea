/*-------------------------------------------------------------------------
 *
 * broadcast.c
 *		Joins that run on the shards, to which the small side is sent.
 *
 * For the join of a foreign table, or of a table with foreign partitions, with
 * other tables, we add paths in which each partition's server joins its rows
 * with those of the others.  So we do where servers can join several tables,
 * partition by partition.  The other tables fall into sides: tables that are
 * joined to each other without the big table are one side, which is joined
 * here.  The rows of a side are sent to each server as frames, in a parameter
 * of its query (plan/fragment.h).  A side of foreign tables may be cut by its
 * key instead (plan/redistribute.h).
 *
 * We begin with the big table and join one side after the other, as the
 * planner might (plan/join_record.h): so inner joins are possible, and others
 * that ask for each row of the big table what the side has for it.
 *
 * What the servers return is all rows of the join of the whole query; or
 * partial aggregates, as those of partitions are (plan/partial_agg.c).
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
#include "optimizer/geqo.h"
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
#include "plan/join_record.h"
#include "plan/leaves.h"
#include "plan/partial_agg.h"
#include "plan/paths.h"
#include "plan/redistribute.h"
#include "plan/shippable.h"

/* More sides, or ways to choose the big one, are not worth their planning. */
#define SIDES_MAX			16
#define CANDIDATES_MAX		32

static create_upper_paths_hook_type prev_create_upper_paths_hook = NULL;
static join_search_hook_type prev_join_search_hook = NULL;

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
 * Does a join of another type than inner look for rows of the table, or for
 * rows of a join with it?
 */
static bool
is_looked_for(const PlannerInfo *root, int relid)
{
	ListCell   *lc;

	foreach(lc, root->join_info_list)
	{
		const SpecialJoinInfo *sjinfo = lfirst(lc);

		if (bms_is_member(relid, sjinfo->min_righthand))
			return true;
	}
	return false;
}

/*
 * What may be the big side: the largest table of those whose rows decide what
 * is returned, if it has foreign leaves, and joins of such tables that servers
 * can do.
 */
static List *
find_candidates(PlannerInfo *root, const RelOptInfo *input_rel)
{
	List	   *candidates = NIL;
	RelOptInfo *largest = NULL;
	int			relid = -1;
	ListCell   *lc;

	while ((relid = bms_next_member(root->all_baserels, relid)) >= 0)
	{
		RelOptInfo *rel = find_base_rel(root, relid);
		List	   *leaves = NIL;

		if (!is_looked_for(root, relid) &&
			(largest == NULL || rel->rows * rel->reltarget->width >
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

/*
 * The planner's join of before with a side of these tables, if it has one:
 * a semijoin or antijoin, or one of the others.
 */
static const px_join_step *
find_step_of(PlannerInfo *root, const RelOptInfo *before, Relids side,
			 bool hidden)
{
	ListCell   *lc;

	foreach(lc, px_join_record_find(root)->steps)
	{
		const px_join_step *step = lfirst(lc);

		if (step->outer == before &&
			hidden == (step->jointype == JOIN_SEMI ||
					   step->jointype == JOIN_ANTI) &&
			bms_equal(bms_intersect(step->inner->relids, root->all_baserels),
					  side))
			return step;
	}
	return NULL;
}

/*
 * How one of the tables of rest, or several, can be the next side.  Sides with
 * hidden columns come last: the planner may take a column of theirs for an
 * equal one in clauses of the others.
 */
static const px_join_step *
find_step(PlannerInfo *root, const RelOptInfo *before, Relids rest)
{
	const px_join_step *step = NULL;

	for (int hidden = 0; hidden <= 1; hidden++)
	{
		int			relid = -1;

		while (step == NULL && (relid = bms_next_member(rest, relid)) >= 0)
			step = find_step_of(root, before, connected(root, rest, relid),
								hidden);
		relid = -1;
		while (step == NULL && (relid = bms_next_member(rest, relid)) >= 0)
			step = find_step_of(root, before, bms_make_singleton(relid),
								hidden);
	}
	return step;
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

/*
 * The clauses of a step fall into those by which rows get together, and
 * filters of what an outer join returns.  For semijoins and inner joins there
 * is no difference.
 */
static void
set_clauses(px_fragment_side *side, const px_join_step *step)
{
	ListCell   *lc;

	foreach(lc, step->clauses)
	{
		RestrictInfo *rinfo = lfirst_node(RestrictInfo, lc);

		if (IS_OUTER_JOIN(step->jointype) &&
			RINFO_IS_PUSHED_DOWN(rinfo, step->joinrel->relids))
			side->filters = lappend(side->filters, rinfo);
		else
			side->clauses = lappend(side->clauses, rinfo);
	}
}

/* Has it a column of a side whose columns the joins do not return? */
static bool
has_hidden_columns(const px_fragment_join *join, Node *expr)
{
	Relids		relids = pull_varnos(join->root, expr);
	ListCell   *lc;

	foreach(lc, join->fragment.sides)
	{
		const px_fragment_side *side = lfirst(lc);

		if (px_fragment_is_hidden(side) &&
			bms_overlap(relids, side->rel->relids))
			return true;
	}
	return false;
}

static bool
are_clauses_shippable(List *clauses, Relids foreign)
{
	ListCell   *lc;

	foreach(lc, clauses)
	{
		if (!px_is_shippable((Node *) lfirst_node(RestrictInfo, lc)->clause,
							 foreign))
			return false;
	}
	return true;
}

/* Add the inner relation of a step as a side.  False if it cannot be one. */
static bool
add_side(px_fragment_join *join, const px_join_step *step)
{
	px_fragment_side *side = palloc0(sizeof(px_fragment_side));
	Relids		foreign = join->fragment.big->relids;
	RelOptInfo *rel = step->inner;
	bool		has_key = false;
	ListCell   *lc;

	if (rel->cheapest_total_path == NULL ||
		rel->cheapest_total_path->param_info != NULL ||
		!are_plain_columns(rel->reltarget->exprs) ||
		!px_are_columns_shippable(rel->reltarget->exprs))
		return false;
	side->rel = rel;
	side->columns = rel->reltarget->exprs;
	side->jointype = step->jointype;
	set_clauses(side, step);
	if (!are_clauses_shippable(side->clauses, foreign) ||
		!are_clauses_shippable(side->filters, foreign) ||
		(side->jointype == JOIN_ANTI && side->filters != NIL))
		return false;
	foreach(lc, step->clauses)
	{
		if (has_hidden_columns(join, (Node *) lfirst_node(
								   RestrictInfo, lc)->clause))
			return false;
	}
	foreach(lc, side->clauses)
		has_key = has_key || is_key(lfirst_node(RestrictInfo, lc),
									step->outer->relids, rel->relids);
	join->nclauses += list_length(side->clauses);
	join->fragment.sides = lappend(join->fragment.sides, side);
	return has_key;
}

/* Divide the tables beside the big one into sides. */
static bool
find_sides(px_fragment_join *join)
{
	PlannerInfo *root = join->root;
	RelOptInfo *before = join->fragment.big;
	Relids		rest = bms_difference(root->all_baserels, before->relids);

	while (!bms_is_empty(rest))
	{
		const px_join_step *step = find_step(root, before, rest);

		if (step == NULL || list_length(join->fragment.sides) >= SIDES_MAX ||
			!add_side(join, step))
			return false;
		before = step->joinrel;
		rest = bms_del_members(rest, step->inner->relids);
	}
	return before == join->input_rel;
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
		if (!px_is_shippable(lfirst(lc), join->fragment.big->relids) ||
			has_hidden_columns(join, lfirst(lc)))
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
 * Can a subquery be planned twice: as a side, and for the local plan?
 * set_plan_references changes the AppendRelInfos and PlanRowMarks of a
 * subquery where they are, so it may not come across them again.  InitPlans are
 * made with the plan, and have one parameter.  And subqueries within subqueries
 * would be planned twice again for each level.
 */
static bool
can_repeat_subquery(PlannerInfo *subroot)
{
	if (subroot->append_rel_list != NIL || subroot->rowMarks != NIL ||
		has_minmax_path(subroot))
		return false;
	for (int i = 1; i < subroot->simple_rel_array_size; i++)
	{
		if (subroot->simple_rel_array[i] &&
			subroot->simple_rel_array[i]->subroot)
			return false;
	}
	return true;
}

/* Can all subqueries of the join be planned twice? */
static bool
can_repeat_subqueries(PlannerInfo *root, const RelOptInfo *joinrel)
{
	for (int i = 1; i < root->simple_rel_array_size; i++)
	{
		const RelOptInfo *rel = root->simple_rel_array[i];

		/* Branches of a UNION ALL are subqueries of a member's. */
		if (rel == NULL || rel->subroot == NULL ||
			!bms_is_subset(rel->top_parent_relids ? rel->top_parent_relids :
						   rel->relids, joinrel->relids))
			continue;
		if (!can_repeat_subquery(rel->subroot))
			return false;
	}
	return true;
}

/* Is there a table of postgres_fdw in the query level? */
static bool
has_foreign_table(const PlannerInfo *root)
{
	for (int i = 1; i < root->simple_rel_array_size; i++)
	{
		const RelOptInfo *rel = root->simple_rel_array[i];

		if (rel && px_rel_is_postgres_fdw(rel))
			return true;
	}
	return false;
}

/* Is it a part of WITH RECURSIVE?  One node alone can read a work table. */
static bool
is_recursive(const PlannerInfo *root)
{
	for (; root; root = root->parent_root)
	{
		if (root->hasRecursion)
			return true;
	}
	return false;
}

/*
 * May the rows of joins be read in any order and more than once?  Both plans
 * below an ExchangeBroadcast read the sides: so they may have no subplans,
 * which are run by one node each.
 */
static bool
is_suitable(PlannerInfo *root)
{
	return px_enabled &&
		px_join_exchange_setting != PX_JOIN_EXCHANGE_OFF &&
		root->placeholder_list == NIL && !root->hasLateralRTEs &&
		!root->hasPseudoConstantQuals && !is_recursive(root) &&
		root->qual_security_level == 0 && root->glob->subplans == NIL &&
		has_foreign_table(root) &&
		!contain_volatile_functions((Node *) root->parse);
}

/* May the rows of this join be aggregated in two steps? */
static bool
is_aggregable(PlannerInfo *root, const GroupPathExtraData *extra)
{
	return px_partial_aggregates_setting != PX_PARTIAL_OFF &&
		(extra->flags & GROUPING_CAN_PARTIAL_AGG) != 0 &&
		(root->parse->groupClause == NIL ||
		 (px_group_clause(root) != NIL &&
		  (extra->flags & GROUPING_CAN_USE_HASH) != 0)) &&
		root->parse->groupingSets == NIL && !root->parse->hasTargetSRFs;
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

/*
 * May rows of big go where their key says?  Those whose key is null go
 * nowhere, so they may not be wanted.
 */
static bool
may_move_big(const px_fragment_join *join, int side)
{
	ListCell   *lc;

	foreach(lc, join->fragment.sides)
	{
		const px_fragment_side *this = lfirst(lc);

		if (!are_clauses_shippable(this->filters, NULL) ||
			(foreach_current_index(lc) == side &&
			 IS_OUTER_JOIN(this->jointype)))
			return false;
	}
	return true;
}

/* Add paths in which rows get together by their keys. */
static void
add_hash_partition_paths(const px_fragment_join *join)
{
	px_fragment_join *by_bounds = copy_join(join);
	px_fragment_join *by_hash = copy_join(join);
	int			side = 0;

	if (!px_redistribute_find(join, &side))
		return;
	if (px_redistribute_by_bounds(by_bounds, side) &&
		are_pieces_small(by_bounds))
		px_fragment_path_add(by_bounds);
	if (may_move_big(join, side) && px_redistribute_by_hash(by_hash, side) &&
		are_pieces_small(by_hash))
		px_fragment_path_add(by_hash);
}

/* Add paths in which the rows of big are joined on servers. */
static void
add_paths(px_fragment_join *join)
{
	if (!are_targets_shippable(join))
		return;
	if (px_join_exchange_setting != PX_JOIN_EXCHANGE_HASH_PARTITION &&
		are_pieces_small(join))
		px_fragment_path_add(join);
	if (px_join_exchange_setting != PX_JOIN_EXCHANGE_BROADCAST)
		add_hash_partition_paths(join);
}

/* Add those that return groups. */
static void
add_grouped_paths(const px_fragment_join *found, Path *local,
				  RelOptInfo *grouped_rel, GroupPathExtraData *extra)
{
	px_fragment_join *join = copy_join(found);

	join->local = local;
	join->grouped_rel = grouped_rel;
	join->extra = extra;
	join->partial = px_final_agg_input(join->root, grouped_rel->reltarget,
									   extra->havingQual);
	join->fragment.target = px_partial_agg_plain(join->root, join->partial,
												 extra->targetList);
	if (join->fragment.target)
		add_paths(join);
}

/* Add those that return rows. */
static void
add_row_paths(const px_fragment_join *found, Path *local)
{
	px_fragment_join *join = copy_join(found);

	join->local = local;
	join->partial = copy_pathtarget(join->input_rel->reltarget);
	join->fragment.target = join->partial;
	add_paths(join);
}

/* ---------------------------------------------------------------------
 * Hooks
 * --------------------------------------------------------------------- */

/* The ways in which servers can do the join of a whole query level. */
static List *
find_joins(PlannerInfo *root, RelOptInfo *input_rel)
{
	List	   *found = NIL;
	ListCell   *lc;

	foreach(lc, find_candidates(root, input_rel))
	{
		px_fragment_join *join = palloc0(sizeof(px_fragment_join));

		join->root = root;
		join->input_rel = input_rel;
		if (is_big(join, lfirst(lc)) && find_sides(join) &&
			px_are_remote_alone(root, join->leaves))
			found = lappend(found, join);
	}
	return found;
}

/* The planner has found all ways to do the join. */
static void
finish_search(px_join_record *record, RelOptInfo *rel)
{
	PlannerInfo *root = record->root;
	Path	   *local;
	ListCell   *lc;

	record->recording = false;
	if (!bms_is_subset(root->all_baserels, rel->relids))
		return;					/* others will follow */
	if (rel->reloptkind == RELOPT_JOINREL && !IS_DUMMY_REL(rel) &&
		rel->cheapest_total_path && can_repeat_subqueries(root, rel) &&
		px_rel_is_eligible(root, rel))
		record->found = find_joins(root, rel);
	list_free_deep(record->steps);
	record->steps = NIL;
	if (record->found == NIL)
		return;

	local = px_fragment_local_path(root, rel);
	foreach(lc, local ? record->found : NIL)
		add_row_paths(lfirst(lc), local);
	set_cheapest(rel);
}

static RelOptInfo *
search_joins(PlannerInfo *root, int levels_needed, List *initial_rels)
{
	bool		by_geqo = enable_geqo && levels_needed >= geqo_threshold;
	px_join_record *record = NULL;
	RelOptInfo *rel;

	/* GEQO throws away most of the relations that it makes. */
	if (!by_geqo && is_suitable(root))
	{
		record = px_join_record_get(root);
		record->recording = true;
	}
	if (prev_join_search_hook)
		rel = prev_join_search_hook(root, levels_needed, initial_rels);
	else if (by_geqo)
		rel = geqo(root, levels_needed, initial_rels);
	else
		rel = standard_join_search(root, levels_needed, initial_rels);
	if (record)
		finish_search(record, rel);
	return rel;
}

static void
add_upper_paths(PlannerInfo *root, UpperRelationKind stage,
				RelOptInfo *input_rel, RelOptInfo *output_rel, void *extra)
{
	px_join_record *record;
	Path	   *local;
	ListCell   *lc;

	if (prev_create_upper_paths_hook)
		prev_create_upper_paths_hook(root, stage, input_rel, output_rel,
									 extra);
	if (stage != UPPERREL_GROUP_AGG || extra == NULL ||
		input_rel->reloptkind != RELOPT_JOINREL ||
		!is_aggregable(root, extra))
		return;
	record = px_join_record_find(root);
	local = record && record->found != NIL ?
		px_fragment_local_path(root, input_rel) : NULL;
	if (local == NULL)
		return;
	foreach(lc, record->found)
		add_grouped_paths(lfirst(lc), local, output_rel, extra);
}

void
px_broadcast_plan_init(void)
{
	prev_create_upper_paths_hook = create_upper_paths_hook;
	create_upper_paths_hook = add_upper_paths;
	prev_join_search_hook = join_search_hook;
	join_search_hook = search_joins;
}
