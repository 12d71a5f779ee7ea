/*-------------------------------------------------------------------------
 *
 * fragment_path.c
 *		Paths and plans of joins that run on the shards.
 *
 * The fragments' ExchangeReceives are below an Append, which becomes an
 * ExchangeGather, and that is below the node that brings rows to the servers.
 * A plan that does all of it here is kept as another child of this node, for
 * sides that turn out to be too large and for servers that cannot take frames.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type_d.h"
#include "nodes/extensible.h"
#include "nodes/makefuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/prep.h"
#include "optimizer/tlist.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"

#include "compat.h"
#include "exec/plan_walk.h"
#include "guc.h"
#include "node/broadcast.h"
#include "node/lookup.h"
#include "node/receive.h"
#include "plan/final_agg.h"
#include "plan/fragment.h"
#include "plan/fragment_join.h"
#include "plan/leaves.h"
#include "plan/lookup_bind.h"
#include "plan/partial_agg.h"
#include "plan/paths.h"
#include "plan/redistribute.h"
#include "plan/semi_join.h"

/*
 * What each server does with a row that it is sent: it undoes the armour,
 * decodes it, and puts it into a hash table.  Bytes were measured with TPC-H's
 * customer as a side of orders, all columns or the key alone: a server takes
 * 4 ns longer for each byte.
 */
#define SIDE_ROW_COST		(6.0 * cpu_tuple_cost)
#define SIDE_BYTE_COST		(0.1 * cpu_tuple_cost)

/*
 * The same for a row of an inbox, which has no armour; and what its source
 * does to compute its target.  A million rows of two integers take 93 ms to be
 * read from an inbox, and about 10 ms to be cut.  All columns of TPC-H's
 * lineitem, and those of part with them, took 2.5 us of each row's CPU time
 * more than a join here.
 */
#define INBOX_ROW_COST		(2.0 * cpu_tuple_cost)
#define INBOX_BYTE_COST		(0.1 * cpu_tuple_cost)	/* beyond a short row */
#define SHORT_ROW_NBYTES	32
#define CUT_ROW_COST		(2.0 * cpu_operator_cost)

/*
 * Joined rows repeat the columns of the sides.  What they have beyond the rows
 * of the big table takes a link of 1 Gbit/s 3 ns for each byte, compressed.
 */
#define RESULT_BYTE_COST	(0.03 * cpu_tuple_cost)

/* Makes an exchange cheaper than all else, and keeps the best one so. */
#define FORCED_COST_FACTOR	1e-4

/* The path of a fragment. */
typedef struct fragment_path
{
	CustomPath	path;			/* must be first */
	const px_fragment_join *join;
	RelOptInfo *leaf;			/* on whose server it runs */
	int			first_param;	/* of its sides, from 0 */
} fragment_path;

/* The path of the whole. */
typedef struct join_path
{
	CustomPath	path;			/* must be first */
	const px_fragment_join *join;
} join_path;

static Plan *plan_fragment(PlannerInfo *root, RelOptInfo *rel,
						   CustomPath *best_path, List *tlist, List *clauses,
						   List *custom_plans);
static Plan *plan_join(PlannerInfo *root, RelOptInfo *rel,
					   CustomPath *best_path, List *tlist, List *clauses,
					   List *custom_plans);

static const CustomPathMethods fragment_path_methods = {
	.CustomName = "ExchangeReceive",
	.PlanCustomPath = plan_fragment,
};

static const CustomPathMethods broadcast_path_methods = {
	.CustomName = PX_BROADCAST_NAME,
	.PlanCustomPath = plan_join,
};

static const CustomPathMethods hash_partition_path_methods = {
	.CustomName = PX_HASH_PARTITION_NAME,
	.PlanCustomPath = plan_join,
};

/* Rows that are returned of so many joined ones. */
static double
number_of_results(const px_fragment_join *join, double rows)
{
	PlannerInfo *root = join->root;
	List	   *clauses = px_group_clause(root);

	if (join->grouped_rel == NULL)
		return rows;
	if (clauses == NIL)
		return 1.0;
	return estimate_num_groups(
		root, get_sortgrouplist_exprs(clauses, join->extra->targetList), rows,
		NULL, NULL);
}

/* The servers that fragments run on, each with a leaf that it has. */
static List *
hosts_of(const px_fragment_join *join)
{
	return join->sources ? join->hosts : join->leaves;
}

/*
 * How many times as long as the mean the target takes that gets most of the
 * rows that are cut: the others wait for it.
 */
static double
skew_of(const px_fragment_join *join)
{
	return join->sources ? join->skew : 1.0;
}

/*
 * What all rows cost that a fragment is sent.  Rows that are cut are work for
 * one server each, all at once.
 */
static Cost
cost_of_rows_sent(const px_fragment_join *join)
{
	double		share = skew_of(join) /
		Max(list_length(hosts_of(join)), 1) / join->nservers;
	Cost		cost = join->copies * share * INBOX_ROW_COST;
	ListCell   *lc;

	if (join->fragment.inbox > 0)
		cost += join->fragment.big->rows * share * INBOX_ROW_COST;
	foreach(lc, join->fragment.sides)
	{
		const px_fragment_side *side = lfirst(lc);
		const RelOptInfo *rel = side->rel;

		if (side->inbox > 0)
			cost += rel->rows * share * INBOX_ROW_COST;
		else
			cost += rel->rows *
				(SIDE_ROW_COST + rel->reltarget->width * SIDE_BYTE_COST);
	}
	return cost;
}

/* What a row that is returned costs beyond one of the big table. */
static Cost
cost_of_added_columns(const px_fragment_join *join)
{
	int			width = join->fragment.target->width -
		join->fragment.big->reltarget->width;

	return join->grouped_rel ? 0 : Max(width, 0) * RESULT_BYTE_COST;
}

/*
 * A fragment or a source is asked for, has a stream with a transaction, and a
 * plan of its own.  For few rows that takes at least twice what a cursor of
 * postgres_fdw takes.
 */
static Cost
cost_of_start(const RelOptInfo *leaf)
{
	return 2 * px_paths_foreign(leaf)->path.startup_cost;
}

/*
 * The leaf's server reads its rows, joins and aggregates them.  It does the
 * latter at the same time as the others, and all that is done here otherwise.
 * But each of them reads all rows that it is sent, some into hash tables.
 */
static void
cost_fragment(const px_fragment_join *join, const RelOptInfo *leaf,
			  ForeignPath *path)
{
	bool		moved = join->fragment.inbox > 0;
	double		rows = moved ?
		join->fragment.big->rows / list_length(join->hosts) : leaf->rows;
	double		share = rows / Max(join->fragment.big->rows, 1.0);
	double		joined = join->input_rel->rows * Min(share, 1.0);
	Cost		here = rows * cpu_operator_cost * join->nclauses +
		joined * (cpu_tuple_cost + cpu_operator_cost *
				  list_length(join->fragment.target->exprs));

	path->path.rows = clamp_row_est(number_of_results(join, joined));
	path->path.startup_cost = cost_of_start(leaf) +
		(moved ? 0 : px_paths_cost_at_once(px_paths_scan_cost(leaf),
										   join->nservers)) +
		here * skew_of(join) / join->nservers + cost_of_rows_sent(join);
	path->path.total_cost = path->path.startup_cost +
		path->path.rows * (px_paths_tuple_cost(leaf) + cpu_tuple_cost +
						   cost_of_added_columns(join));
}

/* A relation of what is returned of rel's rows: all of them, or a part. */
static RelOptInfo *
make_result_rel(const px_fragment_join *join, const RelOptInfo *rel,
				RelOptKind kind)
{
	const RelOptInfo *whole = join->grouped_rel ? join->grouped_rel :
		join->input_rel;
	RelOptInfo *result = px_final_agg_input_rel(whole, rel, join->partial);

	result->reloptkind = kind;
	return result;
}

/*
 * The ExchangeReceive of a fragment on the server of leaf.  Its sides have
 * parameters of its own, because they may not be compressed as for another
 * server.
 */
static Path *
make_fragment_path(const px_fragment_join *join, RelOptInfo *leaf, int number)
{
	fragment_path *path = palloc(sizeof(fragment_path));
	RelOptInfo *rel = make_result_rel(join, leaf, RELOPT_OTHER_UPPER_REL);
	ForeignPath foreign = *px_paths_foreign(leaf);

	rel->fdw_private = leaf->fdw_private;	/* says whether it is async */
	foreign.path.parent = rel;
	foreign.path.pathtarget = join->fragment.target;
	cost_fragment(join, leaf, &foreign);

	path->path = *px_receive_path(join->root, &foreign);
	path->path.path.pathtarget = join->partial;
	path->path.path.parallel_safe = false;
	path->path.methods = &fragment_path_methods;
	path->path.custom_paths = list_make1(
		px_semi_join_alone(px_paths_foreign(leaf)));
	path->join = join;
	path->leaf = leaf;
	path->first_param = number * px_fragment_pieces(&join->fragment);
	return &path->path.path;
}

static Path *
make_fragments_path(const px_fragment_join *join, RelOptInfo *rel)
{
	List	   *paths = NIL;
	ListCell   *lc;

	foreach(lc, hosts_of(join))
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
make_local_path(const px_fragment_join *join, RelOptInfo *rel)
{
	PlannerInfo *root = join->root;
	Path	   *path = join->local;
	List	   *clauses = px_group_clause(root);
	AggClauseCosts costs = {0};

	if (join->grouped_rel == NULL)
		return path;
	get_agg_clause_costs(root, AGGSPLIT_INITIAL_SERIAL, &costs);
	return (Path *) create_agg_path(
		root, rel, path, join->partial, clauses ? AGG_HASHED : AGG_PLAIN,
		AGGSPLIT_INITIAL_SERIAL, clauses, NIL, &costs,
		number_of_results(join, path->rows));
}

/* What sending the sides costs, and what making them costs. */
static Cost
cost_of_pieces(const px_fragment_join *join)
{
	Cost		cost = 0;
	ListCell   *lc;

	foreach(lc, join->fragment.sides)
	{
		const px_fragment_side *side = lfirst(lc);
		const RelOptInfo *rel = side->rel;
		ListCell   *lc_leaf;

		if (side->inbox > 0)
			continue;
		cost += rel->cheapest_total_path->total_cost +
			rel->rows * SIDE_ROW_COST;
		foreach(lc_leaf, hosts_of(join))
			cost += px_paths_transfer_cost(lfirst(lc_leaf), rel->rows,
										   rel->reltarget->width);
	}
	return cost;
}

/*
 * What it costs to have rows cut, and to pass them on: all that servers send
 * comes here and goes out again.  Big's scans have the credit that they have
 * where they are joined in place; those of a side have none, as they have none
 * where it is sent as a whole.
 */
static Cost
cost_of_sources(const px_fragment_join *join)
{
	const RelOptInfo *host = linitial(hosts_of(join));
	Cost		cost = 2 * px_paths_transfer_cost(
		host, join->copies, join->fragment.big->reltarget->width);
	ListCell   *lc;

	foreach(lc, join->sources)
	{
		const px_source *source = lfirst(lc);
		const RelOptInfo *leaf = source->leaf;
		int			width = leaf->reltarget->width;
		int			nservers = source->rel == join->fragment.big ?
			join->nservers : 1;

		cost += cost_of_start(leaf) +
			px_paths_cost_at_once(px_paths_scan_cost(leaf), nservers) +
			leaf->rows * CUT_ROW_COST / join->nservers +
			leaf->rows * Max(width - SHORT_ROW_NBYTES, 0) * INBOX_BYTE_COST +
			px_paths_transfer_cost(leaf, leaf->rows, width) +
			px_paths_transfer_cost(host, leaf->rows, width);
	}
	return cost;
}

static bool
is_forced(const px_fragment_join *join)
{
	return px_join_exchange_setting == (join->sources ?
										PX_JOIN_EXCHANGE_HASH_PARTITION :
										PX_JOIN_EXCHANGE_BROADCAST);
}

/* Children of the node: see px_broadcast_plans. */
static List *
make_children(const px_fragment_join *join, Path *fragments, RelOptInfo *rel)
{
	List	   *paths = list_make2(fragments, make_local_path(join, rel));
	ListCell   *lc;

	foreach(lc, join->fragment.sides)
	{
		const px_fragment_side *side = lfirst(lc);

		if (side->inbox == 0)
			paths = lappend(paths, side->rel->cheapest_total_path);
	}
	foreach(lc, join->sources)
		paths = lappend(paths, px_redistribute_source_path(join->root,
														   lfirst(lc)));
	return paths;
}

/*
 * Are the rows of all servers that would be joined there so few that
 * postgres_fdw reads them?  Then they cost less here than what is sent.
 */
static bool
joins_lookups(const px_fragment_join *join)
{
	ListCell   *lc;

	foreach(lc, join->sources ? join->sources : hosts_of(join))
	{
		const RelOptInfo *leaf = join->sources ?
			((const px_source *) lfirst(lc))->leaf : lfirst(lc);

		if (!px_paths_are_lookups(join->root, leaf, px_paths_foreign(leaf)))
			return false;
	}
	return true;
}

void
px_fragment_path_add(const px_fragment_join *join)
{
	join_path  *joined;
	CustomPath *path;
	RelOptInfo *rel;
	Cost		sending;
	Path	   *fragments;

	if (!is_forced(join) && joins_lookups(join))
		return;
	rel = make_result_rel(join, join->input_rel, RELOPT_UPPER_REL);
	sending = cost_of_pieces(join) + cost_of_sources(join);
	fragments = make_fragments_path(join, rel);

	joined = palloc0(sizeof(join_path));
	path = &joined->path;
	NodeSetTag(path, T_CustomPath);
	path->path.pathtype = T_CustomScan;
	path->path.parent = join->grouped_rel ? rel : join->input_rel;
	path->path.pathtarget = path->path.parent->reltarget;
	path->path.rows = join->grouped_rel ? fragments->rows :
		join->input_rel->rows;
	path->custom_paths = make_children(join, fragments, rel);
	path->flags = CUSTOMPATH_SUPPORT_PROJECTION;
	path->methods = join->sources ? &hash_partition_path_methods :
		&broadcast_path_methods;
	joined->join = join;
	path->path.startup_cost = sending + fragments->startup_cost;
	path->path.total_cost = sending + fragments->total_cost;
	if (is_forced(join))
	{
		path->path.startup_cost *= FORCED_COST_FACTOR;
		path->path.total_cost *= FORCED_COST_FACTOR;
	}
	if (join->grouped_rel)
		px_final_agg_add(join->root, join->input_rel, join->grouped_rel,
						 join->extra, &path->path);
	else
		add_path(join->input_rel, &path->path);
}

/* ---------------------------------------------------------------------
 * The join here
 * --------------------------------------------------------------------- */

/* The path of fragments that this is, or whose rows it projects. */
static const join_path *
find_join_path(const Path *path)
{
	if (IsA(path, ProjectionPath))
		path = ((const ProjectionPath *) path)->subpath;
	return IsA(path, CustomPath) &&
		(((const CustomPath *) path)->methods == &broadcast_path_methods ||
		 ((const CustomPath *) path)->methods ==
		 &hash_partition_path_methods) ? (const join_path *) path : NULL;
}

/* Is it a path of an exchange that has nothing beyond a CustomPath? */
static bool
is_plain_custom(const CustomPath *path)
{
	return strcmp(path->methods->CustomName, PX_LOOKUP_NAME) == 0 ||
		strcmp(path->methods->CustomName, PX_RECEIVE_NAME) == 0;
}

/* The bytes of a path; 0 if they are not known. */
static size_t
size_of_path(const Path *path)
{
	switch (nodeTag(path))
	{
		case T_NestPath:
			return sizeof(NestPath);
		case T_MergePath:
			return sizeof(MergePath);
		case T_HashPath:
			return sizeof(HashPath);
		case T_AppendPath:
			return sizeof(AppendPath);
		case T_MergeAppendPath:
			return sizeof(MergeAppendPath);
		case T_ProjectionPath:
			return sizeof(ProjectionPath);
		case T_GatherPath:
			return sizeof(GatherPath);
		case T_GatherMergePath:
			return sizeof(GatherMergePath);
		case T_ForeignPath:
			return sizeof(ForeignPath);
		case T_CustomPath:
			return is_plain_custom((const CustomPath *) path) ?
				sizeof(CustomPath) : 0;
		default:
			return 0;
	}
}

/* The same rows as those of a path of rel, without fragments. */
static const Path *
without_fragments(PlannerInfo *root, RelOptInfo *rel, const Path *path)
{
	const join_path *joined = find_join_path(path);
	Path	   *local;

	if (joined == NULL)
		return path;
	local = joined->join->local;
	return local->pathtarget == path->pathtarget ? local :
		(Path *) create_projection_path(root, rel, local, path->pathtarget);
}

Path *
px_fragment_local_path(PlannerInfo *root, RelOptInfo *rel)
{
	const Path *best = NULL;
	Path	   *copy;
	ListCell   *lc;

	foreach(lc, rel->pathlist)
	{
		const Path *path = without_fragments(root, rel, lfirst(lc));

		if (path->param_info == NULL && size_of_path(path) > 0 &&
			(best == NULL || compare_path_costs(unconstify(Path *, path),
												unconstify(Path *, best),
												TOTAL_COST) < 0))
			best = path;
	}
	if (best == NULL)
		return NULL;
	copy = palloc(size_of_path(best));
	memcpy(copy, best, size_of_path(best));
	return copy;
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

/* Make the scan of a leaf the scan of its fragment. */
static Plan *
plan_fragment(PlannerInfo *root, RelOptInfo *rel, CustomPath *best_path,
			  List *tlist, List *clauses, List *custom_plans)
{
	const fragment_path *path = (const fragment_path *) best_path;
	const px_fragment *fragment = &path->join->fragment;
	ForeignScan *foreign = linitial_node(ForeignScan, custom_plans);
	const char *scan_sql = strVal(linitial(foreign->fdw_private));
	List	   *columns = px_fragment_scan_columns(root, foreign);
	int			nparams = list_length(foreign->fdw_exprs);
	List	   *retrieved = NIL;
	CustomScan *scan;
	char	   *sql;

	sql = px_fragment_sql(root, fragment, path->leaf, scan_sql, columns,
						  nparams);
	if (fragment->inbox > 0)
		foreign->fdw_exprs = NIL;	/* its rows come from elsewhere */
	for (int i = 1; i <= list_length(fragment->target->exprs); i++)
		retrieved = lappend_int(retrieved, i);
	foreign->fdw_private = list_make3(makeString(sql), retrieved,
									  lthird(foreign->fdw_private));
	for (int i = 0; i < px_fragment_pieces(fragment); i++)
		foreign->fdw_exprs = lappend(
			foreign->fdw_exprs, make_piece_param(path->first_param + i));
	foreign->fdw_recheck_quals = NIL;
	foreign->fdw_scan_tlist = make_tlist_from_pathtarget(fragment->target);
	foreign->scan.scanrelid = 0;
	foreign->scan.plan.plan_rows = best_path->path.rows;
	scan = (CustomScan *) (path->join->grouped_rel ?
						   px_partial_agg_plan : px_receive_plan)(
		root, rel, best_path, tlist, clauses, custom_plans);
	if (path->join->sources)
	{
		/* No other session has the inboxes, so there are no slices. */
		px_receive_set(scan->custom_private, PX_RECEIVE_PRIVATE_SMALL, 0);
		if (foreign->fdw_exprs == NIL)
			px_receive_set(scan->custom_private, PX_RECEIVE_PRIVATE_KEYS, 1);
	}

	/* The sources are asked about the types of what inboxes have. */
	return px_paths_set_types(
		&scan->scan.plan, fragment->inbox > 0 ? NIL :
		px_fragment_types(linitial(best_path->custom_paths), scan_sql, columns,
						  px_fragment_ordered(root, fragment, path->leaf),
						  nparams));
}

/* The sides, as numbers of children, without whose rows the join has none. */
static List *
list_decisive_sides(const px_fragment_join *join)
{
	List	   *decisive = NIL;
	int			number = 0;
	ListCell   *lc;

	foreach(lc, join->fragment.sides)
	{
		const px_fragment_side *side = lfirst(lc);

		if (side->inbox > 0)
			continue;
		if (side->jointype == JOIN_INNER || side->jointype == JOIN_SEMI)
			decisive = lappend_int(decisive, number);
		number++;
	}
	return decisive;
}

/* The inbox, the number within it, and the parts, of each source. */
static List *
list_inboxes(const px_fragment_join *join)
{
	List	   *inboxes = NIL;
	ListCell   *lc;

	foreach(lc, join->sources)
	{
		const px_source *source = lfirst(lc);

		inboxes = lappend(inboxes, list_make3_int(source->inbox,
												  source->number,
												  source->parts));
	}
	return inboxes;
}

static Plan *
plan_join(PlannerInfo *root, RelOptInfo *rel, CustomPath *best_path,
		  List *tlist, List *clauses, List *custom_plans)
{
	const px_fragment_join *join = ((const join_path *) best_path)->join;
	CustomScan *scan = makeNode(CustomScan);
	ListCell   *lc;

	scan->scan.plan.targetlist = tlist;
	scan->flags = best_path->flags;
	scan->custom_plans = custom_plans;

	/* By now, rel's target may have become that of what is above the joins. */
	foreach(lc, join->partial->exprs)
		scan->custom_scan_tlist = lappend(
			scan->custom_scan_tlist,
			makeTargetEntry(copyObject(lfirst(lc)),
							(AttrNumber) (foreach_current_index(lc) + 1), NULL,
							false));

	/* See px_broadcast_private. */
	scan->custom_private = list_make5(makeInteger(-1),
									  px_fragment_keys(root, &join->fragment),
									  list_inboxes(join),
									  list_decisive_sides(join),
									  makeInteger(join->grouped_rel ||
												  root->tuple_fraction <= 0));
	scan->custom_private = lappend(scan->custom_private,
								   makeInteger(join->grouped_rel == NULL));
	scan->custom_private = lappend(scan->custom_private,
								   makeInteger(join->nfrequent));
	scan->methods = join->sources ? &px_hash_partition_scan_methods :
		&px_broadcast_scan_methods;
	return &scan->scan.plan;
}
