/*-------------------------------------------------------------------------
 *
 * partitionwise.c
 *		Partition-wise joins and aggregates of tables with foreign partitions.
 *
 * The planner pushes a join or an aggregate down to the servers of a
 * partitioned table only if it considers it partition by partition.  Core's
 * enable_partitionwise_join and enable_partitionwise_aggregate are off by
 * default, because that takes planning time.  We turn them on for each query
 * level that has a table with foreign partitions of postgres_fdw, and only
 * while that level is planned.
 *
 * Two things of core look at enable_partitionwise_join:
 *
 * - set_append_rel_size sets consider_partitionwise_join of a partitioned
 *   table.  There is no hook shortly before it, so we set that flag ourselves
 *   as soon as the table has a foreign partition.  A partition that was pruned
 *   does not count, because it never becomes a relation.
 * - build_joinrel_partition_info wants the setting; since PostgreSQL 19 it
 *   wants a flag that the planner has set by it.  The last call of
 *   set_rel_pathlist_hook before joins and aggregates is for a relation of the
 *   query level that has them, because subqueries are planned before the
 *   relation that they are.
 *
 * The number of joins that are considered for each partition grows by a factor
 * of three with each table.  So we limit how many tables are joined that way:
 * see limit_joins.  A user who turns on core's setting has no limit.
 *
 * If the last join of a query level can be made partition by partition, core
 * forgets its other paths (apply_scanjoin_target_to_paths), though one of them
 * may be cheaper: a lookup for all partitions at once (TPC-H Q4).  Such a query
 * is planned again without partition-wise joins, and the cheaper plan is taken.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/geqo.h"
#include "optimizer/pathnode.h"
#include "optimizer/optimizer.h"
#include "optimizer/paths.h"
#include "optimizer/planner.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"

#include "admit/session.h"
#include "compat.h"
#include "guc.h"
#include "plan/eligible.h"
#include "plan/late_pruning.h"
#include "plan/partial_agg.h"
#include "plan/partition_key.h"
#include "plan/partitionwise.h"
#include "plan/paths.h"
#include "plan/rewrite.h"
#include "tuple/agg_rule.h"
#include "tuple/policy.h"

/*
 * How many joins of two partitions may be considered for the tables of a query
 * that can be joined partition-wise with each other.
 */
#define PARTITION_JOINS_MAX		2048

/*
 * A plan without partition-wise joins must be so much cheaper.  The cost of an
 * Append counts the work of the servers as if they did it one after the other,
 * that of a lookup does not.  TPC-H's Q4 (0.83) is better as a whole, Q12
 * (0.92) partition by partition.
 */
#define AS_WHOLE_COST_RATIO		0.9

/* The settings of core. */
typedef struct partitionwise
{
	bool		join;
	bool		aggregate;
} partitionwise;

/* A table that partition-wise joins are considered for. */
typedef struct joined_table
{
	RelOptInfo *rel;
	int			group;			/* tables of a group can be joined partition
								 * by partition */
	double		nbytes;
} joined_table;

static planner_hook_type prev_planner_hook = NULL;
static build_simple_rel_hook_type prev_build_simple_rel_hook = NULL;
static set_rel_pathlist_hook_type prev_set_rel_pathlist_hook = NULL;
static join_search_hook_type prev_join_search_hook = NULL;

/* Of the innermost call of the planner. */
static bool planning = false;	/* is there one? */
static bool changed = false;	/* core's settings are ours */
static bool resumable = false;	/* is it a cursor, maybe? */
static partitionwise users;		/* settings when it was called */
static bool joins_as_whole = false; /* consider no partition-wise joins */
static bool forgets_paths = false;	/* has a cheaper path been forgotten? */

static partitionwise
get_settings(void)
{
	partitionwise now = {.join = enable_partitionwise_join,
						 .aggregate = enable_partitionwise_aggregate};

	return now;
}

static void
set_settings(partitionwise settings)
{
	enable_partitionwise_join = settings.join;
	enable_partitionwise_aggregate = settings.aggregate;
}

/*
 * May we change how this query level is planned?  Not if it, or a query that
 * contains it, changes or locks rows: the plans for that are left alone.
 */
static bool
is_reading(const PlannerInfo *root)
{
	for (; root; root = root->parent_root)
	{
		if ((root->parse->commandType != CMD_SELECT &&
			 root->parse->commandType != CMD_INSERT) ||
			root->parse->rowMarks != NIL || root->rowMarks != NIL)
			return false;
	}
	return true;
}

bool
px_partitionwise_aggregates_by_core(void)
{
	return planning ? users.aggregate : enable_partitionwise_aggregate;
}

/* ---------------------------------------------------------------------
 * Tables
 * --------------------------------------------------------------------- */

/*
 * Called for each relation, when the planner has read the catalogs.  If it is
 * a foreign partition, do for its table what set_append_rel_size does if
 * enable_partitionwise_join is on: the table must not be wanted as a whole
 * row, which a join of partitions could not return.
 */
static void
note_partition(PX_BUILD_SIMPLE_REL_PARAMETERS)
{
	int			top;
	RelOptInfo *table;

	if (prev_build_simple_rel_hook)
		prev_build_simple_rel_hook(PX_BUILD_SIMPLE_REL_ARGUMENTS);
	if (!planning || !px_partitionwise || !px_rel_is_postgres_fdw(rel) ||
		!bms_get_singleton_member(rel->top_parent_relids, &top) ||
		!is_reading(root))
		return;

	table = root->simple_rel_array[top];
	if (table->part_scheme != NULL && table->reloptkind == RELOPT_BASEREL &&
		table->attr_needed[InvalidAttrNumber - table->min_attr] == NULL)
		table->consider_partitionwise_join = true;
}

/* The number of partitions that are left, at all levels below rel. */
static int
count_partitions(const RelOptInfo *rel)
{
	int			count = 0;
	int			i = -1;

	while ((i = bms_next_member(rel->live_parts, i)) >= 0)
	{
		const RelOptInfo *part = rel->part_rels[i];

		if (part)
			count += part->part_scheme ? count_partitions(part) : 1;
	}
	return count;
}

static bool
has_foreign_partition(const RelOptInfo *rel)
{
	int			i = -1;

	while ((i = bms_next_member(rel->live_parts, i)) >= 0)
	{
		const RelOptInfo *part = rel->part_rels[i];

		if (part && (px_rel_is_postgres_fdw(part) ||
					 (part->part_scheme && has_foreign_partition(part))))
			return true;
	}
	return false;
}

/* ---------------------------------------------------------------------
 * Partition keys
 * --------------------------------------------------------------------- */

/*
 * Is this condition on rel a comparison of a partition key with a value that
 * is not known before the query runs?
 */
static bool
may_prune_later(PlannerInfo *root, const RelOptInfo *rel,
				const RestrictInfo *info)
{
	List	   *args;
	Oid			operator;

	if (IsA(info->clause, OpExpr))
	{
		args = ((const OpExpr *) info->clause)->args;
		operator = ((const OpExpr *) info->clause)->opno;
	}
	else if (IsA(info->clause, ScalarArrayOpExpr) &&
			 ((const ScalarArrayOpExpr *) info->clause)->useOr)
	{
		args = ((const ScalarArrayOpExpr *) info->clause)->args;
		operator = ((const ScalarArrayOpExpr *) info->clause)->opno;
	}
	else
		return false;
	if (list_length(args) != 2)
		return false;

	for (int i = 0; i < rel->part_scheme->partnatts; i++)
	{
		Node	   *value = px_is_partition_key(linitial(args), rel, i) ? lsecond(args) :
			px_is_partition_key(lsecond(args), rel, i) ? linitial(args) : NULL;

		if (value && !IsA(value, Const) &&
			op_in_opfamily(operator, rel->part_scheme->partopfamily[i]) &&
			!contain_var_clause(value) && !contain_volatile_functions(value))
			return true;
	}
	return false;
}

/*
 * If fewer partitions are expected to be left, it is about one.  A key that is
 * equal to a value leaves one, and estimates are for the average value.
 */
#define ABOUT_ONE_PARTITION		1.0
#define ABOUT_ONE_WITH_EQUALITY	1.5

/*
 * Are partitions of rel expected to be pruned when the query runs, all but
 * about one?
 */
static bool
is_pruned_later(PlannerInfo *root, RelOptInfo *rel)
{
	List	   *clauses = NIL;
	double		limit = ABOUT_ONE_PARTITION;
	ListCell   *lc;

	foreach(lc, rel->baserestrictinfo)
	{
		RestrictInfo *info = lfirst_node(RestrictInfo, lc);

		if (!may_prune_later(root, rel, info))
			continue;
		clauses = lappend(clauses, info);
		if (info->mergeopfamilies != NIL)
			limit = ABOUT_ONE_WITH_EQUALITY;
	}
	return clauses != NIL &&
		clauselist_selectivity(root, clauses, rel->relid, JOIN_INNER, NULL) *
		count_partitions(rel) < limit;
}

/* Is there a condition without columns, which decides about all rows? */
static bool
has_gate(const RelOptInfo *rel)
{
	ListCell   *lc;

	foreach(lc, rel->baserestrictinfo)
	{
		if (lfirst_node(RestrictInfo, lc)->pseudoconstant)
			return true;
	}
	return false;
}

/*
 * Are columns of the table wanted whose values are others on other servers?
 * These would compare them, if they joined or aggregated its partitions.
 */
static bool
names_objects(const PlannerInfo *root, const RelOptInfo *table)
{
	Oid			relid = planner_rt_fetch(table->relid, root)->relid;

	for (AttrNumber i = 1; i <= table->max_attr; i++)
	{
		if (!bms_is_empty(table->attr_needed[i - table->min_attr]) &&
			px_type_names_objects(get_atttype(relid, i)))
			return true;
	}
	return false;
}

/*
 * Has a condition that joins the table a parameter that an InitPlan sets?  One
 * of equality is an equivalence class; sources are as the query has them.
 */
static bool
joins_by_init_param(PlannerInfo *root, const RelOptInfo *table)
{
	ListCell   *lc;

	if (root->init_plans == NIL)
		return false;
	foreach(lc, table->joininfo)
	{
		if (px_has_init_param(
				root, (Node *) lfirst_node(RestrictInfo, lc)->clause))
			return true;
	}
	foreach(lc, root->eq_classes)
	{
		const EquivalenceClass *ec = lfirst_node(EquivalenceClass, lc);
		ListCell   *source;

		if (!bms_is_member((int) table->relid, ec->ec_relids))
			continue;
		foreach(source, ec->ec_sources)
		{
			const RestrictInfo *rinfo = lfirst_node(RestrictInfo, source);

			if (bms_membership(rinfo->clause_relids) == BMS_MULTIPLE &&
				px_has_init_param(root, (Node *) rinfo->clause))
				return true;
		}
	}
	return false;
}

/*
 * What may be done partition by partition with table, as far as we decide it.
 * If it is about one that is left, other joins may be cheaper than the planner
 * believes, which counts all; aggregates would not be.  An Append of joins or
 * aggregates does not end before it begins, if a condition without columns is
 * false.
 */
static partitionwise
suits_table(PlannerInfo *root, RelOptInfo *table)
{
	partitionwise suits = {false, false};

	if (has_gate(table) || names_objects(root, table))
		return suits;
	suits.join = !is_pruned_later(root, table) &&
		!joins_by_init_param(root, table);
	suits.aggregate = suits.join ||
		(bms_membership(root->all_baserels) == BMS_SINGLETON &&
		 px_late_pruning_is_possible(root, table));
	return suits;
}

/* ---------------------------------------------------------------------
 * How many joins
 * --------------------------------------------------------------------- */

/* The larger table first. */
static int
compare_tables(const void *a, const void *b)
{
	double		x = ((const joined_table *) a)->nbytes;
	double		y = ((const joined_table *) b)->nbytes;

	return x > y ? -1 : x < y ? 1 : 0;
}

/*
 * The tables of root that partition-wise joins are considered for, largest
 * first, in groups.  The result is palloc'd.
 */
static joined_table *
collect_tables(PlannerInfo *root, int *n)
{
	joined_table *tables =
		palloc(root->simple_rel_array_size * sizeof(joined_table));

	*n = 0;
	for (int i = 1; i < root->simple_rel_array_size; i++)
	{
		RelOptInfo *rel = root->simple_rel_array[i];

		if (rel && rel->reloptkind == RELOPT_BASEREL &&
			rel->consider_partitionwise_join && rel->part_scheme)
		{
			tables[*n].rel = rel;
			tables[*n].group = *n;
			tables[*n].nbytes = rel->rows * rel->reltarget->width;
			(*n)++;
		}
	}
	qsort(tables, *n, sizeof(joined_table), compare_tables);

	for (int i = 0; i < *n; i++)
	{
		tables[i].group = i;
		for (int j = 0; j < i; j++)
		{
			int			joined = tables[j].group;

			if (joined == i ||
				!px_partition_keys_joined(root, tables[i].rel, tables[j].rel))
				continue;
			for (int k = 0; k < i; k++)
			{
				if (tables[k].group == joined)
					tables[k].group = i;
			}
		}
	}
	return tables;
}

/*
 * The number of ways to join two disjoint sets of n tables: that many joins
 * the planner may consider.  Each table is in one of them, in the other, or in
 * none; neither set is empty, and their order does not matter.
 */
static double
count_joins(int n)
{
	return (pow(3, n) - pow(2, n + 1) + 1) / 2;
}

/*
 * Limit the joins of partitions that are considered.  In each group of tables,
 * the smallest ones are joined as a whole, as many as necessary: joining the
 * others partition by partition saves most.
 */
static void
limit_joins(PlannerInfo *root)
{
	int			ntables;
	joined_table *tables = collect_tables(root, &ntables);

	for (int group = 0; group < ntables; group++)
	{
		int			nmembers = 0;
		int			npartitions = 0;

		for (int i = 0; i < ntables; i++)
		{
			RelOptInfo *rel = tables[i].rel;
			int			n;

			if (tables[i].group != group)
				continue;
			n = Max(npartitions, count_partitions(rel));
			if (count_joins(nmembers + 1) * n <= PARTITION_JOINS_MAX)
			{
				nmembers++;
				npartitions = n;
			}
			else
				rel->consider_partitionwise_join = false;
		}
	}
	pfree(tables);
}

/* ---------------------------------------------------------------------
 * Volatile functions
 * --------------------------------------------------------------------- */

/* Are there any in the query, or in subqueries that it calls? */
static bool
is_volatile(const PlannerInfo *root)
{
	ListCell   *lc;

	foreach(lc, root->glob->subroots)
	{
		if (px_session_judge_time(lfirst_node(PlannerInfo, lc)->parse))
			return true;
	}
	return px_session_judge_time(root->parse);
}

/*
 * Are all rows of the query wanted?  They are if it is the statement itself, or
 * what that inserts, and is no cursor and no loop in PL/pgSQL.
 */
static bool
reads_to_end(const PlannerInfo *root)
{
	const PlannerInfo *parent = root->parent_root;

	return !resumable && root->tuple_fraction <= 0 &&
		(parent == NULL || (parent->parent_root == NULL &&
							parent->parse->commandType == CMD_INSERT));
}

bool
px_aggregates_at_once(const PlannerInfo *root)
{
	const Query *parse = root->parse;
	ListCell   *lc;

	foreach(lc, parse->groupClause)
	{
		if (expression_returns_set(get_sortgroupclause_expr(
				lfirst_node(SortGroupClause, lc), parse->targetList)))
			return true;
	}
	return parse->groupClause != NIL && !reads_to_end(root) &&
		is_volatile(root);
}

/* ---------------------------------------------------------------------
 * Settings
 * --------------------------------------------------------------------- */

/*
 * Would aggregates of partitions change digits that partial_aggregates = exact
 * is to keep?  Core itself combines partial aggregates of floats, and groups
 * whose keys are equal and look different.
 */
static bool
must_keep_digits(const PlannerInfo *root)
{
	const Query *parse = root->parse;

	return px_partial_aggregates_setting == PX_PARTIAL_EXACT &&
		(px_aggregates_need_order((Node *) parse->targetList) ||
		 px_aggregates_need_order(parse->havingQual) ||
		 !px_group_is_exact(parse->groupClause, parse->targetList));
}

/*
 * Called when the paths of a relation were made: choose the settings for the
 * joins and aggregates of its query level.
 */
static void
choose_settings(PlannerInfo *root, RelOptInfo *rel, Index rti,
				RangeTblEntry *rte)
{
	partitionwise settings = users;

	if (prev_set_rel_pathlist_hook)
		prev_set_rel_pathlist_hook(root, rel, rti, rte);
	if (!planning || rel->reloptkind != RELOPT_BASEREL)
		return;

	if (px_enabled && px_partitionwise && is_reading(root))
	{
		partitionwise any = {false, false};

		for (int i = 1; i < root->simple_rel_array_size; i++)
		{
			RelOptInfo *table = root->simple_rel_array[i];
			partitionwise suits;

			if (table == NULL || table->reloptkind != RELOPT_BASEREL ||
				table->part_scheme == NULL || !has_foreign_partition(table))
				continue;
			suits = suits_table(root, table);
			any.join |= suits.join;
			any.aggregate |= suits.aggregate;
			if (!suits.join && !users.join)
				table->consider_partitionwise_join = false;
		}
		settings.join |= any.join && !joins_as_whole &&
			(reads_to_end(root) ||
			 !px_session_judge_calls((Node *) root->parse->jointree));
		settings.aggregate |= any.aggregate && !must_keep_digits(root) &&
			!px_aggregates_at_once(root);
		if (settings.join && !users.join)
			limit_joins(root);
	}
	if (settings.join != users.join || settings.aggregate != users.aggregate ||
		changed)
	{
		set_settings(settings);
		px_consider_partitionwise_joins(root, settings.join);
	}
	changed = settings.join != users.join ||
		settings.aggregate != users.aggregate;
}

/* Does the path join or scan rel partition by partition? */
static bool
is_partitionwise(const RelOptInfo *rel, const Path *path)
{
	for (;;)
	{
		if (IsA(path, GatherPath))
			path = ((const GatherPath *) path)->subpath;
		else if (IsA(path, GatherMergePath))
			path = ((const GatherMergePath *) path)->subpath;
		else if (IsA(path, SortPath))
			path = ((const SortPath *) path)->subpath;
		else
			break;
	}
	return path->parent == rel &&
		(IsA(path, AppendPath) || IsA(path, MergeAppendPath));
}

/* Note if core is going to forget the cheapest path of the last join. */
static RelOptInfo *
search_joins(PlannerInfo *root, int levels_needed, List *initial_rels)
{
	RelOptInfo *rel;

	if (prev_join_search_hook)
		rel = prev_join_search_hook(root, levels_needed, initial_rels);
	else if (enable_geqo && levels_needed >= geqo_threshold)
		rel = geqo(root, levels_needed, initial_rels);
	else
		rel = standard_join_search(root, levels_needed, initial_rels);

	if (changed && get_settings().join && IS_PARTITIONED_REL(rel) &&
		rel->cheapest_total_path &&
		!is_partitionwise(rel, rel->cheapest_total_path))
		forgets_paths = true;
	return rel;
}

static PlannedStmt *
plan_query(PX_PLANNER_PARAMETERS)
{
	return prev_planner_hook ?
		prev_planner_hook(PX_PLANNER_ARGUMENTS(parse)) :
		standard_planner(PX_PLANNER_ARGUMENTS(parse));
}

/*
 * Has the query tables that could be joined?  The table that rows are inserted
 * into is not one of them: what INSERT ... SELECT joins is in its subquery.
 */
static bool
has_joins(const Query *query)
{
	const RangeTblEntry *source;

	if (query->hasSubLinks)
		return true;
	if (query->commandType != CMD_INSERT || list_length(query->rtable) != 2)
		return list_length(query->rtable) > 1;
	source = lsecond_node(RangeTblEntry, query->rtable);
	return source->rtekind == RTE_SUBQUERY && has_joins(source->subquery);
}

/*
 * Plan the query with partition-wise joins where they are worth it, and without
 * if that may be cheaper.
 */
static PlannedStmt *
plan_both_ways(PX_PLANNER_PARAMETERS)
{
	bool		may_join = px_enabled && px_partitionwise && !users.join &&
		has_joins(parse);
	/* The planner changes the query. */
	Query	   *again = may_join ? copyObject(parse) : NULL;
	PlannedStmt *stmt = plan_query(PX_PLANNER_ARGUMENTS(parse));
	PlannedStmt *other;

	if (!may_join || !forgets_paths)
		return stmt;
	if (changed)
		set_settings(users);
	changed = false;
	joins_as_whole = true;
	other = plan_query(PX_PLANNER_ARGUMENTS(again));
	return other->planTree->total_cost <
		stmt->planTree->total_cost * AS_WHOLE_COST_RATIO ? other : stmt;
}

/*
 * Keep the user's settings.  The planner may be called while it runs: by a
 * function that is evaluated early.
 */
static PlannedStmt *
partitionwise_planner(PX_PLANNER_PARAMETERS)
{
	PlannedStmt *volatile stmt = NULL;
	bool		outer_planning = planning;
	bool		outer_changed = changed;
	bool		outer_resumable = resumable;
	bool		outer_as_whole = joins_as_whole;
	bool		outer_forgets = forgets_paths;
	partitionwise outer_users = users;
	partitionwise outer_settings = get_settings();

	if (changed)
		set_settings(users);
	users = get_settings();
	planning = true;
	changed = false;
	resumable = px_may_be_resumed(cursor_options);
	joins_as_whole = false;
	forgets_paths = false;
	PG_TRY();
	{
		stmt = plan_both_ways(PX_PLANNER_ARGUMENTS(parse));
	}
	PG_FINALLY();
	{
		if (changed || outer_changed)
			set_settings(outer_settings);
		planning = outer_planning;
		changed = outer_changed;
		resumable = outer_resumable;
		joins_as_whole = outer_as_whole;
		forgets_paths = outer_forgets;
		users = outer_users;
	}
	PG_END_TRY();
	return stmt;
}

void
px_partitionwise_init(void)
{
	prev_planner_hook = planner_hook;
	planner_hook = partitionwise_planner;
	prev_build_simple_rel_hook = build_simple_rel_hook;
	build_simple_rel_hook = note_partition;
	prev_set_rel_pathlist_hook = set_rel_pathlist_hook;
	set_rel_pathlist_hook = choose_settings;
	prev_join_search_hook = join_search_hook;
	join_search_hook = search_joins;
}
