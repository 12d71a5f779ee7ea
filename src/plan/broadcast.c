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
 * server as frames, in a parameter of its query (plan/fragment.h).
 *
 * What the servers return is partial aggregates, as those of partitions are
 * (plan/partial_agg.c).  A plan that does all of that here is kept as another
 * child of ExchangeBroadcast, for sides that turn out to be too large and for
 * servers that cannot take frames.
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
#include "plan/fragment.h"
#include "plan/leaves.h"
#include "plan/lookup_bind.h"
#include "plan/partial_agg.h"
#include "plan/paths.h"
#include "plan/shippable.h"

/*
 * What each server does with a row of a side: it undoes the armour, decodes
 * it, and puts it into a hash table.
 */
#define SIDE_ROW_COST		(6.0 * cpu_tuple_cost)

/* Makes a broadcast cheaper than all else, and keeps the best one so. */
#define FORCED_COST_FACTOR	1e-4

/* More sides, or ways to choose the big one, are not worth their planning. */
#define SIDES_MAX			16
#define CANDIDATES_MAX		32

static create_upper_paths_hook_type prev_create_upper_paths_hook = NULL;

/* A join that may run on the shards. */
typedef struct broadcast_join
{
	PlannerInfo *root;
	RelOptInfo *input_rel;		/* the join */
	RelOptInfo *grouped_rel;	/* its groups */
	GroupPathExtraData *extra;
	PathTarget *partial;		/* what the first step returns */
	px_fragment fragment;
	List	   *leaves;			/* RelOptInfos of the big table */
	int			nservers;		/* that have them */
	int			nclauses;		/* by which the sides are joined */
} broadcast_join;

/* The path of a leaf's fragment. */
typedef struct fragment_path
{
	CustomPath	path;			/* must be first */
	const broadcast_join *join;
	RelOptInfo *leaf;
	int			first_param;	/* of its sides, from 0 */
} fragment_path;

/* The path of the whole. */
typedef struct broadcast_path
{
	CustomPath	path;			/* must be first */
	const broadcast_join *join;
} broadcast_path;

static Plan *plan_fragment(PlannerInfo *root, RelOptInfo *rel,
						   CustomPath *best_path, List *tlist, List *clauses,
						   List *custom_plans);
static Plan *plan_broadcast(PlannerInfo *root, RelOptInfo *rel,
							CustomPath *best_path, List *tlist, List *clauses,
							List *custom_plans);

static const CustomPathMethods fragment_path_methods = {
	.CustomName = "ExchangeReceive",
	.PlanCustomPath = plan_fragment,
};

static const CustomPathMethods broadcast_path_methods = {
	.CustomName = PX_BROADCAST_NAME,
	.PlanCustomPath = plan_broadcast,
};

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

/* Is the leaf one that an exchange reads? */
static bool
is_foreign(const RelOptInfo *leaf)
{
	return IS_SIMPLE_REL(leaf) ? px_paths_have_plain(leaf) :
		px_paths_foreign(leaf) != NULL;
}

/*
 * Can the servers do all of the leaves' scans or joins?  postgres_fdw plans
 * them to find out, which takes longer than other reasons not to go on.
 */
static bool
are_remote_alone(const broadcast_join *join)
{
	PlannerInfo *root = join->root;
	ListCell   *lc;

	foreach(lc, join->leaves)
	{
		RelOptInfo *leaf = lfirst(lc);
		Oid			relid = IS_SIMPLE_REL(leaf) ?
			planner_rt_fetch(leaf->relid, root)->relid : InvalidOid;
		const ForeignScan *scan = leaf->fdwroutine->GetForeignPlan(
			root, leaf, relid, px_paths_foreign(leaf), NIL,
			leaf->baserestrictinfo, NULL);

		if (scan->scan.plan.qual != NIL)
			return false;
	}
	return true;
}

/* May fragments read the table, or join?  Then set the leaves. */
static bool
is_big(broadcast_join *join, RelOptInfo *rel)
{
	PlannerInfo *root = join->root;
	List	   *servers = NIL;
	ListCell   *lc;

	join->leaves = NIL;
	if (!are_plain_columns(rel->reltarget->exprs))
		return false;
	if (IS_SIMPLE_REL(rel) ?
		planner_rt_fetch(rel->relid, root)->rtekind != RTE_RELATION ||
		!px_leaves_collect(root, rel, &join->leaves) :
		!px_leaves_of_join(root, rel, &join->leaves))
		return false;
	foreach(lc, join->leaves)
	{
		RelOptInfo *leaf = lfirst(lc);

		if (!is_foreign(leaf))
			return false;
		servers = list_append_unique_oid(servers, leaf->serverid);
	}
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
add_side(broadcast_join *join, Relids relids, Relids before)
{
	px_fragment_side *side = palloc0(sizeof(px_fragment_side));
	RelOptInfo *rel = find_rel(join->root, relids);
	bool		has_key = false;
	ListCell   *lc;

	if (rel == NULL || rel->cheapest_total_path == NULL ||
		rel->cheapest_total_path->param_info != NULL ||
		rel->rows * rel->reltarget->width > PX_BROADCAST_RAW_NBYTES_MAX ||
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
find_sides(broadcast_join *join)
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
are_targets_shippable(const broadcast_join *join)
{
	ListCell   *lc;

	foreach(lc, join->fragment.target->exprs)
	{
		if (!px_is_shippable(lfirst(lc), join->fragment.big->relids))
			return false;
	}
	return join->fragment.target->exprs != NIL;
}

/* The groups of so many joined rows. */
static double
number_of_groups(const broadcast_join *join, double rows)
{
	PlannerInfo *root = join->root;
	List	   *clauses = px_group_clause(root);

	if (clauses == NIL)
		return 1.0;
	return estimate_num_groups(
		root, get_sortgrouplist_exprs(clauses, join->extra->targetList), rows,
		NULL, NULL);
}

static double
rows_of_sides(const broadcast_join *join)
{
	double		rows = 0;
	ListCell   *lc;

	foreach(lc, join->fragment.sides)
		rows += ((const px_fragment_side *) lfirst(lc))->rel->rows;
	return rows;
}

/*
 * The leaf's server reads its rows, joins and aggregates them.  It does the
 * latter at the same time as the others, and all that is done here otherwise.
 * But each of them reads all rows of the sides, into hash tables.
 */
static void
cost_fragment(const broadcast_join *join, const RelOptInfo *leaf,
			  ForeignPath *path)
{
	double		share = leaf->rows / Max(join->fragment.big->rows, 1.0);
	double		joined = join->input_rel->rows * Min(share, 1.0);
	Cost		here = leaf->rows * cpu_operator_cost * join->nclauses +
		joined * (cpu_tuple_cost + cpu_operator_cost *
				  list_length(join->fragment.target->exprs));

	path->path.rows = clamp_row_est(number_of_groups(join, joined));
	path->path.startup_cost = px_paths_foreign(leaf)->path.startup_cost +
		px_paths_scan_cost(leaf) + here / join->nservers +
		rows_of_sides(join) * SIDE_ROW_COST;
	path->path.total_cost = path->path.startup_cost +
		path->path.rows * (px_paths_tuple_cost(leaf) + cpu_tuple_cost);
}

/*
 * The ExchangeReceive of a leaf's fragment.  Its sides have parameters of its
 * own, because they may not be compressed as for another server.
 */
static Path *
make_fragment_path(const broadcast_join *join, RelOptInfo *leaf, int number)
{
	fragment_path *path = palloc(sizeof(fragment_path));
	RelOptInfo *rel = px_final_agg_input_rel(join->grouped_rel, leaf,
											 join->partial);
	ForeignPath foreign = *px_paths_foreign(leaf);

	rel->reloptkind = RELOPT_OTHER_UPPER_REL;
	rel->fdw_private = leaf->fdw_private;	/* says whether it is async */
	foreign.path.parent = rel;
	foreign.path.pathtarget = join->fragment.target;
	cost_fragment(join, leaf, &foreign);

	path->path = *px_receive_path(join->root, &foreign);
	path->path.path.pathtarget = join->partial;
	path->path.path.parallel_safe = false;
	path->path.methods = &fragment_path_methods;
	path->path.custom_paths = list_make1(px_paths_foreign(leaf));
	path->join = join;
	path->leaf = leaf;
	path->first_param = number * list_length(join->fragment.sides);
	return &path->path.path;
}

static Path *
make_fragments_path(const broadcast_join *join, RelOptInfo *rel)
{
	List	   *paths = NIL;
	ListCell   *lc;

	foreach(lc, join->leaves)
	{
		int			i = foreach_current_index(lc);

		paths = lappend(paths, make_fragment_path(join, lfirst(lc), i));
	}
	if (list_length(paths) == 1)
		return linitial(paths);
	return px_append_path(join->root, rel, paths);
}

/* The same by a join here. */
static Path *
make_local_path(const broadcast_join *join, RelOptInfo *rel)
{
	PlannerInfo *root = join->root;
	Path	   *path = join->input_rel->cheapest_total_path;
	List	   *clauses = px_group_clause(root);
	AggClauseCosts costs = {0};

	get_agg_clause_costs(root, AGGSPLIT_INITIAL_SERIAL, &costs);
	return (Path *) create_agg_path(
		root, rel, path, join->partial, clauses ? AGG_HASHED : AGG_PLAIN,
		AGGSPLIT_INITIAL_SERIAL, clauses, NIL, &costs,
		number_of_groups(join, path->rows));
}

/* What sending the sides costs, and what making them costs. */
static Cost
cost_of_sides(const broadcast_join *join)
{
	Cost		cost = 0;
	ListCell   *lc;

	foreach(lc, join->fragment.sides)
	{
		const RelOptInfo *rel = ((const px_fragment_side *) lfirst(lc))->rel;
		ListCell   *lc_leaf;

		cost += rel->cheapest_total_path->total_cost +
			rel->rows * SIDE_ROW_COST;
		foreach(lc_leaf, join->leaves)
			cost += px_paths_transfer_cost(lfirst(lc_leaf), rel->rows,
										   rel->reltarget->width);
	}
	return cost;
}

static Path *
make_broadcast_path(const broadcast_join *join)
{
	broadcast_path *broadcast = palloc0(sizeof(broadcast_path));
	CustomPath *path = &broadcast->path;
	RelOptInfo *rel = px_final_agg_input_rel(join->grouped_rel,
											 join->input_rel, join->partial);
	Path	   *fragments;
	ListCell   *lc;

	rel->reloptkind = RELOPT_UPPER_REL;
	fragments = make_fragments_path(join, rel);
	NodeSetTag(path, T_CustomPath);
	path->path.pathtype = T_CustomScan;
	path->path.parent = rel;
	path->path.pathtarget = join->partial;
	path->path.rows = fragments->rows;
	path->custom_paths = list_make2(fragments, make_local_path(join, rel));
	foreach(lc, join->fragment.sides)
		path->custom_paths = lappend(
			path->custom_paths,
			((const px_fragment_side *) lfirst(lc))->rel->cheapest_total_path);
	path->flags = CUSTOMPATH_SUPPORT_PROJECTION;
	path->methods = &broadcast_path_methods;
	broadcast->join = join;
	path->path.startup_cost = cost_of_sides(join) + fragments->startup_cost;
	path->path.total_cost = cost_of_sides(join) + fragments->total_cost;
	if (px_join_exchange_setting == PX_JOIN_EXCHANGE_BROADCAST)
	{
		path->path.startup_cost *= FORCED_COST_FACTOR;
		path->path.total_cost *= FORCED_COST_FACTOR;
	}
	return &path->path;
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

/* Add paths in which the rows of big are joined and grouped where they are. */
static void
add_broadcast_paths(broadcast_join *join, RelOptInfo *big)
{
	PlannerInfo *root = join->root;

	if (!is_big(join, big) || !find_sides(join))
		return;
	join->partial = px_final_agg_input(root, join->grouped_rel->reltarget,
									   join->extra->havingQual);
	join->fragment.target = px_partial_agg_plain(root, join->partial,
												 join->extra->targetList);
	if (join->fragment.target == NULL || !are_targets_shippable(join) ||
		!are_remote_alone(join))
		return;
	px_final_agg_add(root, join->input_rel, join->grouped_rel, join->extra,
					 make_broadcast_path(join));
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
		broadcast_join *join = palloc0(sizeof(broadcast_join));

		join->root = root;
		join->input_rel = input_rel;
		join->grouped_rel = output_rel;
		join->extra = extra;
		add_broadcast_paths(join, lfirst(lc));
	}
}

/* ---------------------------------------------------------------------
 * Plans
 * --------------------------------------------------------------------- */

/* A parameter that has the frames of a side. */
static Param *
make_piece_param(int number)
{
	Param	   *param = makeNode(Param);

	param->paramkind = PARAM_EXTERN;
	param->paramid = PX_LOOKUP_MARKER_FIRST + number;
	param->paramtype = TEXTOID;
	param->paramtypmod = -1;
	param->paramcollid = get_typcollation(TEXTOID);
	param->location = -1;
	return param;
}

/* The columns that a leaf's remote query returns: Vars. */
static List *
columns_of_scan(PlannerInfo *root, const ForeignScan *foreign)
{
	List	   *columns = NIL;
	ListCell   *lc;

	foreach(lc, (List *) lsecond(foreign->fdw_private))
	{
		Oid			type,
					collation;
		int32		typmod;

		if (foreign->scan.scanrelid == 0)
			columns = lappend(columns, list_nth_node(
								  TargetEntry, foreign->fdw_scan_tlist,
								  lfirst_int(lc) - 1)->expr);
		else
		{
			get_atttypetypmodcoll(
				planner_rt_fetch(foreign->scan.scanrelid, root)->relid,
				(AttrNumber) lfirst_int(lc), &type, &typmod, &collation);
			columns = lappend(columns, makeVar(
								  foreign->scan.scanrelid,
								  (AttrNumber) lfirst_int(lc), type, typmod,
								  collation, 0));
		}
	}
	return columns;
}

/* Make the scan of a leaf the scan of its fragment. */
static Plan *
plan_fragment(PlannerInfo *root, RelOptInfo *rel, CustomPath *best_path,
			  List *tlist, List *clauses, List *custom_plans)
{
	const fragment_path *path = (const fragment_path *) best_path;
	const px_fragment *fragment = &path->join->fragment;
	ForeignScan *foreign = linitial(custom_plans);
	const char *scan_sql = strVal(linitial(foreign->fdw_private));
	List	   *columns = columns_of_scan(root, foreign);
	int			nparams = list_length(foreign->fdw_exprs);
	List	   *retrieved = NIL;
	char	   *sql;

	sql = px_fragment_sql(root, fragment, path->leaf, scan_sql, columns,
						  nparams);
	for (int i = 1; i <= list_length(fragment->target->exprs); i++)
		retrieved = lappend_int(retrieved, i);
	foreign->fdw_private = list_make3(makeString(sql), retrieved,
									  lthird(foreign->fdw_private));
	for (int i = 0; i < list_length(fragment->sides); i++)
		foreign->fdw_exprs = lappend(
			foreign->fdw_exprs, make_piece_param(path->first_param + i));
	foreign->fdw_recheck_quals = NIL;
	foreign->fdw_scan_tlist = make_tlist_from_pathtarget(fragment->target);
	foreign->scan.scanrelid = 0;
	foreign->scan.plan.plan_rows = best_path->path.rows;
	return px_paths_set_types(
		px_partial_agg_plan(root, rel, best_path, tlist, clauses,
							custom_plans),
		px_fragment_types(scan_sql, columns, nparams));
}

static Plan *
plan_broadcast(PlannerInfo *root, RelOptInfo *rel, CustomPath *best_path,
			   List *tlist, List *clauses, List *custom_plans)
{
	const broadcast_join *join = ((const broadcast_path *) best_path)->join;
	CustomScan *scan = makeNode(CustomScan);
	ListCell   *lc;

	scan->scan.plan.targetlist = tlist;
	scan->flags = best_path->flags;
	scan->custom_plans = custom_plans;
	foreach(lc, rel->reltarget->exprs)
		scan->custom_scan_tlist = lappend(
			scan->custom_scan_tlist,
			makeTargetEntry(copyObject(lfirst(lc)),
							(AttrNumber) (foreach_current_index(lc) + 1), NULL,
							false));

	/* See px_broadcast_private. */
	scan->custom_private = list_make2(makeInteger(-1),
									  px_fragment_keys(root, &join->fragment));
	scan->methods = &px_broadcast_scan_methods;
	return &scan->scan.plan;
}

void
px_broadcast_plan_init(void)
{
	prev_create_upper_paths_hook = create_upper_paths_hook;
	create_upper_paths_hook = add_upper_paths;
}
