/*-------------------------------------------------------------------------
 *
 * late_pruning.c
 *		Partitions that are pruned when the query runs, below joins and
 *		aggregates of partitions.
 *
 * A condition like day >= now() - interval '1 day', or one with a parameter of
 * a generic plan, says only when the query runs which partitions have rows.
 * Core gives an Append of partitions what it needs to prune them then; but not
 * an Append of joins or aggregates of partitions, which its settings make only
 * for who wants them.  As we make them for everybody, we have to prune there,
 * too: or else servers would be asked that postgres_fdw leaves alone, and
 * those that do not answer would make the query fail.
 *
 * Core's make_partition_pruneinfo makes a PartitionPruneInfo for a list of
 * paths, of which it looks at the relations only, and these must be partitions.
 * It must be called while the plan is made, because later the planner forgets
 * how columns of partitions are numbered.  So it gets a list of all
 * partitions then; and when the plan is finished, it is seen which of them
 * each child of an Append has.  Relations of a query level have consecutive
 * numbers in the finished plan, too: how they differ from those that they had
 * is known from any scan of the level.
 *
 * There is one table in it that decides.  Conditions on another one, which is
 * joined with it by the keys of both, are conditions on its key, too.
 *
 * A child must have no rows if its partitions have none.  So the table must not
 * be on the side of an outer join whose columns may become null, and not on the
 * right of an anti-join.  A partial aggregate without GROUP BY has a row in any
 * case; but the Finalize Aggregate on top does without it.  (An Append of
 * fragments, below an ExchangeBroadcast, has other children.)
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/planner.h"
#include "optimizer/restrictinfo.h"
#include "partitioning/partprune.h"

#include "compat.h"
#include "compat_executor.h"
#include "exec/plan_walk.h"
#include "node/broadcast.h"
#include "plan/late_pruning.h"
#include "plan/partition_key.h"

/* A table whose partitions could be pruned. */
typedef struct prunable_table
{
	int			n;				/* partitions that the planner has left */
	int		   *index;			/* of the partition that each relation of the
								 * level is, or -1 */

	/* For a child for each, in that order; NULL if nothing could be pruned. */
	PartitionPruneInfo *info;	/* by conditions on the table */
	PartitionPruneInfo *joined; /* by those on tables joined with it, too */
} prunable_table;

/* A query level. */
typedef struct planned_level
{
	PlannerInfo *root;
	List	   *tables;			/* of prunable_table */
	bool		finished;		/* is the next known? */
	int			offset;			/* how much higher numbers of relations are in
								 * the finished plan */
} planned_level;

/* A scan of the plan in the making. */
typedef struct noted_scan
{
	const ForeignScan *scan;
	planned_level *level;
	int			relid;			/* its first relation */
} noted_scan;

/* What is known of the query. */
typedef struct planned_query
{
	PlannedStmt *stmt;			/* NULL at first */
	List	   *levels;			/* of planned_level */
	List	   *scans;			/* of noted_scan */
	bool		prunes;			/* has any level tables? */
	List	   *fragments;		/* Appends whose children are not partitions */
} planned_query;

static planner_hook_type prev_planner_hook = NULL;

/* Of the innermost call of the planner; NULL if there is none. */
static planned_query *planning = NULL;

/* ---------------------------------------------------------------------
 * What could be pruned
 * --------------------------------------------------------------------- */

static bool
has_param(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Param))
		return true;
	return expression_tree_walker(node, has_param, context);
}

/* Has the table a condition whose values are not known before it runs? */
static bool
has_later_condition(const RelOptInfo *table)
{
	ListCell   *lc;

	foreach(lc, table->baserestrictinfo)
	{
		Node	   *clause = (Node *) lfirst_node(RestrictInfo, lc)->clause;

		if (has_param(clause, NULL) || contain_mutable_functions(clause))
			return true;
	}
	return false;
}

/* The next partitioned table of the query after *relid; NULL at the end. */
static RelOptInfo *
next_partitioned(const PlannerInfo *root, int *relid)
{
	while ((*relid = bms_next_member(root->all_baserels, *relid)) >= 0)
	{
		RelOptInfo *rel = root->simple_rel_array[*relid];

		if (rel && rel->reloptkind == RELOPT_BASEREL && IS_PARTITIONED_REL(rel))
			return rel;
	}
	return NULL;
}

/* May a join return rows for which table has none? */
static bool
is_optional(const PlannerInfo *root, const RelOptInfo *table)
{
	ListCell   *lc;

	foreach(lc, root->join_info_list)
	{
		const SpecialJoinInfo *join = lfirst_node(SpecialJoinInfo, lc);

		if (join->jointype != JOIN_SEMI &&
			(bms_is_member(table->relid, join->syn_righthand) ||
			 (join->jointype == JOIN_FULL &&
			  bms_is_member(table->relid, join->syn_lefthand))))
			return true;
	}
	return false;
}

bool
px_late_pruning_is_possible(PlannerInfo *root, const RelOptInfo *table)
{
	return enable_partition_pruning && has_later_condition(table) &&
		!is_optional(root, table);
}

/* ---------------------------------------------------------------------
 * Conditions
 * --------------------------------------------------------------------- */

/* Two tables that are joined by their partition keys. */
typedef struct joined_pair
{
	const RelOptInfo *from;
	const RelOptInfo *to;
} joined_pair;

/* An expression with keys of the one table replaced by those of the other. */
static Node *
replace_keys(Node *node, void *arg)
{
	const joined_pair *pair = arg;

	if (node == NULL)
		return NULL;
	for (int i = 0; !IsA(node, RelabelType) &&
		 i < pair->from->part_scheme->partnatts; i++)
	{
		if (px_is_partition_key(node, pair->from, i))
			return copyObject(linitial(pair->to->partexprs[i]));
	}
	return expression_tree_mutator(node, replace_keys, arg);
}

/*
 * Conditions on the keys of a table that is joined with this one by these, as
 * conditions on this one's.
 */
static List *
conditions_of_joined(PlannerInfo *root, const RelOptInfo *joined,
					 const RelOptInfo *table)
{
	joined_pair pair = {joined, table};
	List	   *clauses = NIL;
	ListCell   *lc;

	foreach(lc, extract_actual_clauses(joined->baserestrictinfo, false))
	{
		Node	   *clause = replace_keys(lfirst(lc), &pair);

		if (!bms_is_member(joined->relid, pull_varnos(root, clause)))
			clauses = lappend(clauses, clause);
	}
	return clauses;
}

/* The same for all tables that are joined with this one by the keys. */
static List *
joined_conditions(PlannerInfo *root, const RelOptInfo *table)
{
	List	   *clauses = NIL;
	const RelOptInfo *joined;
	int			relid = -1;

	while ((joined = next_partitioned(root, &relid)))
	{
		if (joined != table && !is_optional(root, joined) &&
			px_partition_keys_equal(root, table, joined))
			clauses = list_concat(clauses,
								  conditions_of_joined(root, joined, table));
	}
	return clauses;
}

/* ---------------------------------------------------------------------
 * Query levels
 * --------------------------------------------------------------------- */

/*
 * Is it a partition of table that has none itself, and has not been pruned by
 * the planner?
 */
static bool
is_partition(const RelOptInfo *rel, const RelOptInfo *table)
{
	return rel && rel->reloptkind == RELOPT_OTHER_MEMBER_REL &&
		rel->part_scheme == NULL &&
		bms_is_member(table->relid, rel->top_parent_relids);
}

static prunable_table *
make_prunable(PlannerInfo *root, RelOptInfo *table)
{
	prunable_table *prunable = palloc0(sizeof(prunable_table));
	List	   *paths = NIL;
	List	   *clauses;
	List	   *joined;

	prunable->index = palloc(root->simple_rel_array_size * sizeof(int));
	for (int i = 1; i < root->simple_rel_array_size; i++)
	{
		RelOptInfo *rel = root->simple_rel_array[i];
		Path	   *path;

		prunable->index[i] = -1;
		if (!is_partition(rel, table))
			continue;
		path = makeNode(Path);
		path->parent = rel;
		paths = lappend(paths, path);
		prunable->index[i] = prunable->n++;
	}
	clauses = extract_actual_clauses(table->baserestrictinfo, false);
	prunable->info = px_make_pruning(root, table, paths, clauses);
	joined = joined_conditions(root, table);
	prunable->joined = joined == NIL ? prunable->info :
		px_make_pruning(root, table, paths, list_concat(clauses, joined));
	return prunable;
}

static planned_level *
make_level(PlannerInfo *root)
{
	planned_level *level = palloc0(sizeof(planned_level));
	RelOptInfo *table;
	int			relid = -1;

	level->root = root;
	while ((table = next_partitioned(root, &relid)))
	{
		prunable_table *prunable;

		if (!px_late_pruning_is_possible(root, table))
			continue;
		prunable = make_prunable(root, table);
		if (prunable->info || prunable->joined)
			level->tables = lappend(level->tables, prunable);
	}
	planning->levels = lappend(planning->levels, level);
	planning->prunes |= level->tables != NIL;
	return level;
}

/* The query level of root. */
static planned_level *
get_level(PlannerInfo *root)
{
	ListCell   *lc;

	foreach(lc, planning->levels)
	{
		planned_level *level = lfirst(lc);

		if (level->root == root)
			return level;
	}
	return make_level(root);
}

/* The first of the relids that is a table, not an outer join; or -1. */
static int
first_table(const PlannerInfo *root, const Bitmapset *relids)
{
	int			relid = -1;

	while ((relid = bms_next_member(relids, relid)) >= 0)
	{
		if (relid < root->simple_rel_array_size &&
			root->simple_rel_array[relid])
			break;
	}
	return Max(relid, -1);
}

/*
 * Have all paths been made, so that a scan is one of the plan?  Before that,
 * scans are made to look at their queries, maybe in memory that GEQO frees.
 */
static bool
has_paths(const PlannerInfo *root)
{
	ListCell   *lc;

	foreach(lc, root->upper_rels[UPPERREL_FINAL])
	{
		if (lfirst_node(RelOptInfo, lc)->cheapest_total_path)
			return true;
	}
	return false;
}

void
px_late_pruning_note(PlannerInfo *root, const RelOptInfo *rel,
					 const ForeignScan *scan)
{
	planned_level *level;
	noted_scan *note;
	int			relid;

	if (planning == NULL || !has_paths(root))
		return;
	level = get_level(root);
	relid = first_table(root, rel->relids);
	if (relid < 0)
		return;
	note = palloc(sizeof(noted_scan));
	note->scan = scan;
	note->level = level;
	note->relid = relid;
	planning->scans = lappend(planning->scans, note);
}

/* ---------------------------------------------------------------------
 * The finished plan
 * --------------------------------------------------------------------- */

/* The query level of a relation of the finished plan; NULL if not known. */
static const planned_level *
find_level(const planned_query *query, int relid)
{
	ListCell   *lc;

	foreach(lc, query->levels)
	{
		const planned_level *level = lfirst(lc);

		if (level->finished && relid > level->offset &&
			relid < level->offset + level->root->simple_rel_array_size)
			return level;
	}
	return NULL;
}

/*
 * If plan is a noted scan of a level that is not known in the finished plan,
 * it is known now.
 */
static bool
finish_level(Plan *plan, void *arg)
{
	planned_query *query = arg;
	const ForeignScan *scan = NULL;
	ListCell   *lc;
	int			relid;

	if (px_plan_is_receive(plan))
		scan = linitial_node(ForeignScan, ((CustomScan *) plan)->custom_plans);
	else if (IsA(plan, ForeignScan))
		scan = (const ForeignScan *) plan;
	else
		return false;

	relid = bms_next_member(px_foreignscan_relids(scan), -1);
	if (relid < 0 || find_level(query, relid))
		return false;
	foreach(lc, query->scans)
	{
		const noted_scan *note = lfirst(lc);

		if (note->scan == scan)
		{
			note->level->finished = true;
			note->level->offset = relid - note->relid;
			break;
		}
	}
	return false;
}

/* Add the relations that plan reads by itself to the set. */
static bool
add_relids(Plan *plan, void *arg)
{
	Bitmapset **relids = arg;

	if (IsA(plan, CustomScan))
		*relids = bms_add_members(*relids, ((CustomScan *) plan)->custom_relids);
	else if (IsA(plan, ForeignScan))
		*relids = bms_add_members(*relids,
								  px_foreignscan_relids((ForeignScan *) plan));
	else if (px_plan_is_table_scan(plan) || IsA(plan, IndexOnlyScan))
		*relids = bms_add_member(*relids, ((Scan *) plan)->scanrelid);
	return false;
}

static Bitmapset *
relids_below(Plan *plan)
{
	Bitmapset  *relids = NULL;

	(void) px_plan_walk(plan, add_relids, &relids);
	return relids;
}

/*
 * The child that has each partition of table; -1 where there is none.  NULL if
 * a child has none, or a partition belongs to several.  Sets *joins if a child
 * has other tables, too.
 */
static int *
find_children(const planned_level *level, const prunable_table *table,
			  const List *relids_of_children, bool *joins)
{
	int		   *children = palloc(table->n * sizeof(int));
	int			child = 0;
	ListCell   *lc;

	for (int i = 0; i < table->n; i++)
		children[i] = -1;
	*joins = false;
	foreach(lc, relids_of_children)
	{
		bool		found = false;
		int			relid = -1;

		while ((relid = bms_next_member(lfirst(lc), relid)) >= 0)
		{
			int			own = relid - level->offset;
			int			index;

			if (own <= 0 || own >= level->root->simple_rel_array_size)
				return NULL;
			index = table->index[own];
			if (index < 0)
			{
				*joins = true;
				continue;
			}
			if (children[index] >= 0)
				return NULL;
			children[index] = child;
			found = true;
		}
		if (!found)
			return NULL;
		child++;
	}
	return children;
}

/*
 * Is there something to prune by, and would the plan be rescanned if a
 * parameter has changed that decides?  It would not if none of its children
 * had the parameter, but a table that is joined above.
 */
static bool
knows_params(const Plan *plan, const PartitionPruneInfo *info)
{
	ListCell   *lc;
	ListCell   *lc2;

	if (info == NULL)
		return false;
	foreach(lc, info->prune_infos)
	{
		foreach(lc2, lfirst_node(List, lc))
		{
			if (!bms_is_subset(lfirst_node(PartitionedRelPruneInfo,
										   lc2)->execparamids,
							   plan->allParam))
				return false;
		}
	}
	return true;
}

/* A PartitionPruneInfo of a table for a plan that has these children. */
static PartitionPruneInfo *
make_info(const planned_level *level, const PartitionPruneInfo *made,
		  const int *children)
{
	PartitionPruneInfo *info = copyObject(
		unconstify(PartitionPruneInfo *, made));
	ListCell   *lc;
	ListCell   *lc2;

	foreach(lc, info->prune_infos)
	{
		foreach(lc2, lfirst_node(List, lc))
		{
			PartitionedRelPruneInfo *rel =
				lfirst_node(PartitionedRelPruneInfo, lc2);

			px_move_pruning(rel, level->offset);
			for (int i = 0; i < rel->nparts; i++)
			{
				if (rel->subplan_map[i] >= 0)
					rel->subplan_map[i] = children[rel->subplan_map[i]];
			}
		}
	}
	return info;
}

static bool
is_append(const Plan *plan)
{
	return IsA(plan, Append) || IsA(plan, MergeAppend);
}

static bool
add_append(Plan *plan, void *arg)
{
	List	  **appends = arg;

	if (is_append(plan))
		*appends = lappend(*appends, plan);
	return false;
}

/* If it is an Append of joins or aggregates of partitions, have it prune. */
static bool
have_pruned(Plan *plan, void *arg)
{
	planned_query *query = arg;
	List	   *relids_of_children = NIL;
	const planned_level *level;
	ListCell   *lc;

	/*
	 * A fragment of a join on the servers is named after a partition that its
	 * server has, but has rows of others, too.
	 */
	if (px_is_broadcast(plan))
		(void) px_plan_walk(linitial(((CustomScan *) plan)->custom_plans),
							add_append, &query->fragments);
	if (!is_append(plan) || px_has_pruning(plan) ||
		*px_plan_list(plan) == NIL || list_member_ptr(query->fragments, plan))
		return false;
	foreach(lc, *px_plan_list(plan))
		relids_of_children = lappend(relids_of_children,
									 relids_below(lfirst(lc)));
	level = find_level(query,
					   bms_next_member(linitial(relids_of_children), -1));
	if (level == NULL)
		return false;

	foreach(lc, level->tables)
	{
		const prunable_table *table = lfirst(lc);
		bool		joins;
		int		   *children = find_children(level, table,
											 relids_of_children, &joins);
		const PartitionPruneInfo *info =
			joins && knows_params(plan, table->joined) ? table->joined :
			table->info;

		if (children && knows_params(plan, info))
		{
			px_set_pruning(query->stmt, plan,
						   make_info(level, info, children));
			break;
		}
	}
	return false;
}

static PlannedStmt *
late_pruning_planner(PX_PLANNER_PARAMETERS)
{
	planned_query *outer = planning;
	planned_query query = {0};

	planning = &query;
	PG_TRY();
	{
		query.stmt = prev_planner_hook ?
			prev_planner_hook(PX_PLANNER_ARGUMENTS(parse)) :
			standard_planner(PX_PLANNER_ARGUMENTS(parse));
	}
	PG_FINALLY();
	{
		planning = outer;
	}
	PG_END_TRY();

	/* What writes or locks rows is left as core has made it. */
	if (query.prunes && query.stmt->rowMarks == NIL &&
		(query.stmt->commandType == CMD_SELECT ||
		 query.stmt->commandType == CMD_INSERT))
	{
		(void) px_plan_walk_all(query.stmt, finish_level, &query);
		(void) px_plan_walk_all(query.stmt, have_pruned, &query);
	}
	return query.stmt;
}

void
px_late_pruning_init(void)
{
	prev_planner_hook = planner_hook;
	planner_hook = late_pruning_planner;
}
