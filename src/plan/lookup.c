/*-------------------------------------------------------------------------
 *
 * lookup.c
 *		Joins that ask a foreign table for the keys of the other side.
 *
 * For a join with a foreign table, or with an append relation of such, we add
 * an ExchangeLookup path: it reads the outer side, and asks the remote tables
 * only for rows with the keys that were found (node/lookup.c).  Without
 * use_remote_estimate, postgres_fdw makes no parameterized paths, and where it
 * makes them, they ask once for each outer row.
 *
 * The array of keys is a parameter of the remote query.  It can't be a
 * PARAM_EXEC while the planner works: SS_finalize_plan accepts only those that
 * it knows who sets.  So it is a PARAM_EXTERN with a number that no client
 * uses, and px_lookup_bind makes a PARAM_EXEC of it in the finished plan.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "nodes/extensible.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/restrictinfo.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"

#include "compat.h"
#include "compat_query.h"
#include "exec/outer_batch.h"
#include "exec/plan_walk.h"
#include "guc.h"
#include "node/lookup.h"
#include "plan/eligible.h"
#include "plan/harmless.h"
#include "plan/join_key.h"
#include "plan/leaves.h"
#include "plan/lookup.h"
#include "plan/lookup_bind.h"
#include "plan/paths.h"

#define KEYS_PER_JOIN_MAX	16

/*
 * If more of the inner rows than this are expected to have one of the keys, a
 * hash join does as well, and begins to read both sides at once.
 */
#define FRACTION_MAX		0.5

/* The memory that an outer row takes in a batch, beside its columns. */
#define OUTER_ROW_OVERHEAD	64

static set_join_pathlist_hook_type prev_set_join_pathlist_hook = NULL;

/* A join that may become a lookup. */
typedef struct lookup_join
{
	PlannerInfo *root;
	RelOptInfo *joinrel;
	RelOptInfo *outerrel;
	RelOptInfo *innerrel;
	JoinType	jointype;
	List	   *restrictlist;
	SpecialJoinInfo *sjinfo;
	Path	   *outer_path;

	/* The keys: parallel lists. */
	List	   *rinfos;			/* RestrictInfos of the equalities */
	List	   *outer_exprs;
	List	   *inner_exprs;
	List	   *operators;		/* OIDs of inner = outer */
	double		nkeys;			/* distinct values of all keys, together */
	double		fraction;		/* of the inner rows that have them */

	List	   *leaves;			/* RelOptInfos of the inner side */
	int			nservers;		/* that have them */
} lookup_join;

/* What stands in CustomPath.custom_private of our paths. */
typedef enum lookup_path_private
{
	LOOKUP_PATH_JOINTYPE,
	LOOKUP_PATH_RINFOS,
	LOOKUP_PATH_OUTER_EXPRS,
	LOOKUP_PATH_INNER_EXPRS,
	LOOKUP_PATH_OPERATORS,
	LOOKUP_PATH_RESTRICTLIST,
	LOOKUP_PATH_OJRELID			/* of a join that makes nulls, else 0 */
} lookup_path_private;

static Plan *plan_lookup(PlannerInfo *root, RelOptInfo *rel,
						 CustomPath *best_path, List *tlist, List *clauses,
						 List *custom_plans);

static const CustomPathMethods lookup_path_methods = {
	.CustomName = PX_LOOKUP_NAME,
	.PlanCustomPath = plan_lookup,
};

/* ---------------------------------------------------------------------
 * Keys
 * --------------------------------------------------------------------- */

/*
 * How many distinct values does an expression of the inner side have?  0 if
 * that is not known.  An append relation has statistics of its own if it is a
 * table.  Else it has as many as one of its members, or more.
 */
static double
distinct_values(const lookup_join *join, Node *expr)
{
	double		ndistinct = px_distinct_values(join->root, expr);
	ListCell   *lc;

	if (ndistinct > 0)
		return ndistinct;
	foreach(lc, join->leaves)
	{
		RelOptInfo *leaf = lfirst(lc);

		if (leaf != join->innerrel)
			ndistinct = Max(ndistinct, px_distinct_values(
								join->root,
								px_leaf_translate(join->root, expr,
												  join->innerrel, leaf)));
	}
	return ndistinct;
}

/* Add the clause to the keys, if it is one that leaves out enough rows. */
static void
add_key(lookup_join *join, RestrictInfo *rinfo, Node *outer, Node *inner,
		Oid operator)
{
	Oid			collation = ((OpExpr *) rinfo->clause)->inputcollid;
	double		ndistinct;
	double		nkeys;

	if (list_length(join->rinfos) >= KEYS_PER_JOIN_MAX ||
		!px_is_join_key(operator, collation, inner, outer) ||
		!px_keys_are_hashed(operator))
		return;

	/* Assume that each outer key is found. */
	ndistinct = distinct_values(join, inner);
	nkeys = estimate_num_groups(join->root, list_make1(outer),
								join->outer_path->rows, NULL, NULL);
	if (nkeys > ndistinct * FRACTION_MAX)
		return;
	join->rinfos = lappend(join->rinfos, rinfo);
	join->outer_exprs = lappend(join->outer_exprs, outer);
	join->inner_exprs = lappend(join->inner_exprs, inner);
	join->operators = lappend_oid(join->operators, operator);
	join->nkeys += nkeys;

	/* Keys may depend on each other: so the best one counts alone. */
	join->fraction = Min(join->fraction, nkeys / ndistinct);
}

static void
find_keys(lookup_join *join)
{
	Relids		outer = join->outerrel->relids;
	Relids		inner = join->innerrel->relids;
	ListCell   *lc;

	foreach(lc, join->restrictlist)
	{
		RestrictInfo *rinfo = lfirst_node(RestrictInfo, lc);
		OpExpr	   *clause = (OpExpr *) rinfo->clause;

		if (!rinfo->can_join || !OidIsValid(rinfo->hashjoinoperator) ||
			!IsA(clause, OpExpr) || list_length(clause->args) != 2)
			continue;
		if (IS_OUTER_JOIN(join->jointype) &&
			RINFO_IS_PUSHED_DOWN(rinfo, join->joinrel->relids))
			continue;
		if (bms_is_subset(rinfo->left_relids, outer) &&
			bms_is_subset(rinfo->right_relids, inner))
			add_key(join, rinfo, linitial(clause->args), lsecond(clause->args),
					get_commutator(clause->opno));
		else if (bms_is_subset(rinfo->left_relids, inner) &&
				 bms_is_subset(rinfo->right_relids, outer))
			add_key(join, rinfo, lsecond(clause->args), linitial(clause->args),
					clause->opno);
	}
}

/* ---------------------------------------------------------------------
 * The inner side
 * --------------------------------------------------------------------- */

/* How many servers work for the inner side? */
static int
number_of_servers(const lookup_join *join)
{
	List	   *servers = NIL;
	ListCell   *lc;

	foreach(lc, join->leaves)
	{
		const RelOptInfo *leaf = lfirst(lc);

		if (px_paths_have_plain(leaf))
			servers = list_append_unique_oid(servers, leaf->serverid);
	}
	return list_length(servers);
}

/*
 * The path that reads a table of the inner side: by an exchange that takes
 * arrays of keys, if possible, else all of it.
 */
static Path *
make_leaf_path(lookup_join *join, RelOptInfo *leaf)
{
	List	   *clauses = NIL;
	ListCell   *lc;
	ListCell   *lc_op;
	ListCell   *lc_outer;
	ListCell   *lc_rinfo;
	int			paramid = PX_LOOKUP_MARKER_FIRST;

	if (!px_paths_have_plain(leaf))
		return leaf->cheapest_total_path;
	forfour(lc, join->inner_exprs, lc_op, join->operators, lc_outer,
			join->outer_exprs, lc_rinfo, join->rinfos)
	{
		ScalarArrayOpExpr *clause = makeNode(ScalarArrayOpExpr);
		Param	   *param = makeNode(Param);
		Oid			collation = ((OpExpr *) lfirst_node(
			RestrictInfo, lc_rinfo)->clause)->inputcollid;
		Node	   *inner = px_leaf_translate(join->root, lfirst(lc),
											  join->innerrel, leaf);

		if (!px_is_join_key(lfirst_oid(lc_op), collation, inner,
							lfirst(lc_outer)))
			return leaf->cheapest_total_path;
		param->paramkind = PARAM_EXTERN;
		param->paramid = paramid++;
		param->paramtype = get_array_type(exprType(lfirst(lc_outer)));
		param->paramtypmod = -1;
		param->location = -1;
		clause->opno = lfirst_oid(lc_op);
		clause->opfuncid = get_opcode(clause->opno);
		clause->useOr = true;
		clause->inputcollid = collation;
		clause->args = list_make2(inner, param);
		clause->location = -1;
		clauses = lappend(clauses, make_simple_restrictinfo(
							  join->root, (Expr *) clause));
	}
	return px_paths_make_lookup(join->root, leaf, clauses, join->fraction,
								join->nkeys, join->nservers);
}

static Path *
make_inner_path(lookup_join *join)
{
	List	   *paths = NIL;
	ListCell   *lc;

	foreach(lc, join->leaves)
		paths = lappend(paths, make_leaf_path(join, lfirst(lc)));
	if (join->leaves != NIL && linitial(join->leaves) == join->innerrel)
		return linitial(paths);
	return px_append_path(join->root, join->innerrel, paths);
}

/* ---------------------------------------------------------------------
 * Paths
 * --------------------------------------------------------------------- */

/* In how many batches is the outer side expected to come? */
static double
number_of_batches(const lookup_join *join)
{
	const Path *outer = join->outer_path;
	double		nbytes = outer->rows *
		(outer->pathtarget->width + OUTER_ROW_OVERHEAD);
	double		by_memory = ceil(nbytes / get_hash_memory_limit());
	double		by_keys = ceil(join->nkeys / PX_OUTER_BATCH_KEYS_MAX);

	return Max(Max(by_memory, by_keys), 1);
}

/* What the clauses cost for each tuple. */
static Cost
cost_of_clauses(const lookup_join *join)
{
	QualCost	cost;

	cost_qual_eval(&cost, join->restrictlist, join->root);
	return cost.per_tuple;
}

/* Like final_cost_hashjoin, but the inner side is read for each batch. */
static void
cost_lookup(const lookup_join *join, const Path *inner, Path *path)
{
	const Path *outer = join->outer_path;
	double		nbatches = number_of_batches(join);
	int			nkeys = list_length(join->rinfos);
	double		npairs = outer->rows * inner->rows / join->fraction *
		clauselist_selectivity(join->root, join->rinfos, 0, JOIN_INNER,
							   join->sjinfo);
	Cost		run;

	npairs = clamp_row_est(npairs);
	path->rows = join->joinrel->rows;
	path->startup_cost = outer->total_cost + inner->startup_cost +
		outer->rows * (nkeys * cpu_operator_cost + cpu_tuple_cost) +
		join->joinrel->reltarget->cost.startup;
	run = nbatches * inner->total_cost - inner->startup_cost +
		inner->rows * nkeys * cpu_operator_cost +
		npairs * (cpu_tuple_cost + cost_of_clauses(join)) +
		path->rows * join->joinrel->reltarget->cost.per_tuple;
	path->total_cost = path->startup_cost + run;
	px_path_sum_disabled(path, outer, inner);
}

static Path *
make_lookup_path(lookup_join *join)
{
	CustomPath *path = makeNode(CustomPath);
	Path	   *inner = make_inner_path(join);
	int			ojrelid = IS_OUTER_JOIN(join->jointype) ?
		px_ojrelid(join->sjinfo) : 0;

	path->path.pathtype = T_CustomScan;
	path->path.parent = join->joinrel;
	path->path.pathtarget = join->joinrel->reltarget;
	path->flags = CUSTOMPATH_SUPPORT_PROJECTION;
	path->custom_paths = list_make2(join->outer_path, inner);
	path->custom_private =
		list_make5(makeInteger(join->jointype), join->rinfos,
				   join->outer_exprs, join->inner_exprs, join->operators);
	path->custom_private = lappend(path->custom_private, join->restrictlist);
	path->custom_private = lappend(path->custom_private, makeInteger(ojrelid));
	path->methods = &lookup_path_methods;
	cost_lookup(join, inner, &path->path);
	return &path->path;
}

/*
 * Would a lookup surely be dropped?  This is for planning time: a table may
 * have hundreds of partitions, and is considered in many joins.
 */
static bool
is_hopeless(const lookup_join *join)
{
	Cost		startup_cost = join->outer_path->total_cost;
	Cost		total_cost = startup_cost;
	ListCell   *lc;

	foreach(lc, join->leaves)
	{
		const RelOptInfo *leaf = lfirst(lc);

		total_cost += px_paths_have_plain(leaf) ?
			px_paths_lookup_cost_min(leaf, join->fraction, join->nkeys,
									 join->nservers) :
			leaf->cheapest_total_path->total_cost;
	}
	foreach(lc, join->joinrel->pathlist)
	{
		const Path *path = lfirst(lc);

		if (path->param_info == NULL && path->startup_cost <= startup_cost &&
			path->total_cost <= total_cost &&
			px_path_disabled(path) <= px_path_disabled(join->outer_path))
			return true;
	}
	return false;
}

/* Does a clause do something that may be seen if its order changes? */
static bool
has_side_effects(List *rinfos)
{
	ListCell   *lc;

	foreach(lc, rinfos)
	{
		Node	   *clause = (Node *) lfirst_node(RestrictInfo, lc)->clause;

		if (contain_volatile_functions(clause) || contain_subplans(clause))
			return true;
	}
	return false;
}

/*
 * Is it a join that a lookup may do?  Not if quals have security levels: key
 * values would be compared with rows that the user may not see.
 */
static bool
is_suitable(const lookup_join *join)
{
	PlannerInfo *root = join->root;
	RelOptInfo *inner = join->innerrel;

	switch (join->jointype)
	{
		case JOIN_INNER:
		case JOIN_SEMI:
		case JOIN_UNIQUE_OUTER:
			break;
		case JOIN_LEFT:
		case JOIN_ANTI:
			if (!px_nulls_are_simple(join->sjinfo))
				return false;
			break;
		default:
			return false;
	}

	/*
	 * The joins of pairs of partitions run one after the other, and so would
	 * their lookups.  From 19 on, a relation made unique, or one of partial
	 * groups, looks like the base relation.
	 */
	return px_enabled && px_lookup_joins && IS_SIMPLE_REL(inner) &&
		join->joinrel->reloptkind == RELOPT_JOINREL &&
		root->simple_rel_array[inner->relid] == inner &&
		planner_rt_fetch(inner->relid, root)->rtekind != RTE_CTE &&
		bms_is_empty(join->joinrel->lateral_relids) &&
		bms_is_empty(inner->lateral_relids) &&
		root->qual_security_level == 0 &&
		px_rel_is_eligible(root, join->joinrel) &&
		join->outerrel->cheapest_total_path &&
		join->outerrel->cheapest_total_path->param_info == NULL;
}

/* Does one of the tables take keys? */
static bool
has_exchange(const lookup_join *join)
{
	ListCell   *lc;

	foreach(lc, join->leaves)
	{
		if (px_paths_have_plain(lfirst(lc)))
			return true;
	}
	return false;
}

/* Do effects of the inner side's own quals depend on which rows are read? */
static bool
has_inner_effects(const lookup_join *join)
{
	ListCell   *lc;

	foreach(lc, join->leaves)
	{
		const RelOptInfo *leaf = lfirst(lc);

		if (has_side_effects(leaf->baserestrictinfo) ||
			contain_volatile_functions((Node *) leaf->reltarget->exprs))
			return true;
	}
	return false;
}

static void
add_lookup_path(PlannerInfo *root, RelOptInfo *joinrel, RelOptInfo *outerrel,
				RelOptInfo *innerrel, JoinType jointype,
				JoinPathExtraData *extra)
{
	lookup_join join = {
		.root = root,
		.joinrel = joinrel,
		.outerrel = outerrel,
		.innerrel = innerrel,
		.jointype = jointype,
		.restrictlist = extra->restrictlist,
		.sjinfo = extra->sjinfo,
		.fraction = 1.0
	};

	if (prev_set_join_pathlist_hook)
		prev_set_join_pathlist_hook(root, joinrel, outerrel, innerrel,
									jointype, extra);
	if (!is_suitable(&join) ||
		!px_leaves_collect(root, innerrel, &join.leaves) ||
		!has_exchange(&join))
		return;

	join.outer_path = outerrel->cheapest_total_path;
	if (jointype == JOIN_UNIQUE_OUTER)
	{
		join.outer_path = px_unique_path(root, outerrel, extra->sjinfo);
		join.jointype = JOIN_INNER;
	}
	if (join.outer_path == NULL)
		return;
	find_keys(&join);
	join.nservers = number_of_servers(&join);
	if (join.rinfos == NIL || is_hopeless(&join) ||
		has_side_effects(join.restrictlist) || has_inner_effects(&join))
		return;
	add_path(joinrel, make_lookup_path(&join));
}

/* ---------------------------------------------------------------------
 * Plans
 * --------------------------------------------------------------------- */

/*
 * The columns of both sides.  From 16 on, a Var says which outer joins may
 * have made it null; those of the inner side then get our own join's mark.
 */
static List *
scan_tuple_tlist(const Plan *outer, const Plan *inner, Relids inner_relids,
				 int ojrelid)
{
	List	   *tlist = NIL;
	ListCell   *lc;

	foreach(lc, outer->targetlist)
		tlist = lappend(tlist, copyObject(lfirst(lc)));
	foreach(lc, inner->targetlist)
		tlist = lappend(tlist, px_add_nulling_relid(copyObject(lfirst(lc)),
													inner_relids, ojrelid));
	for (int i = 0; i < list_length(tlist); i++)
	{
		TargetEntry *target = list_nth_node(TargetEntry, tlist, i);

		target->resno = i + 1;
		target->ressortgroupref = 0;
		target->resjunk = false;
	}
	return tlist;
}

static bool
has_harmful(List *conditions)
{
	ListCell   *lc;

	foreach(lc, conditions)
	{
		if (!px_condition_is_harmless(lfirst(lc)))
			return true;
	}
	return false;
}

static bool
returns_harmful(const Plan *plan)
{
	ListCell   *lc;

	foreach(lc, plan->targetlist)
	{
		if (!px_condition_is_harmless(
				(Node *) lfirst_node(TargetEntry, lc)->expr))
			return true;
	}
	return false;
}

/*
 * Might a node of the outer side raise an error for rows that nobody wants?  No
 * local table does, if its conditions do not.
 */
static bool
may_fail(Plan *plan, void *arg)
{
	if (has_harmful(plan->qual) || returns_harmful(plan))
		return true;
	switch (nodeTag(plan))
	{
		case T_SeqScan:
		case T_BitmapIndexScan:
		case T_BitmapAnd:
		case T_BitmapOr:
		case T_Append:
		case T_MergeAppend:
		case T_Material:
		case T_Sort:
		case T_IncrementalSort:
			return false;
		case T_IndexScan:
			return ((IndexScan *) plan)->indexorderby != NIL ||
				has_harmful(((IndexScan *) plan)->indexqualorig);
		case T_IndexOnlyScan:
			return ((IndexOnlyScan *) plan)->indexorderby != NIL ||
				has_harmful(((IndexOnlyScan *) plan)->recheckqual);
		case T_BitmapHeapScan:
			return has_harmful(((BitmapHeapScan *) plan)->bitmapqualorig);
		default:
			return true;
	}
}

/* What the executor must know of the keys. */
static List *
make_private(List *path_private, bool harmless)
{
	List	   *outer_hash = NIL;
	List	   *inner_hash = NIL;
	List	   *collations = NIL;
	List	   *types = NIL;
	List	   *private;
	ListCell   *lc;
	ListCell   *lc_rinfo;
	ListCell   *lc_outer;

	forthree(lc, (List *) list_nth(path_private, LOOKUP_PATH_OPERATORS),
			 lc_rinfo, (List *) list_nth(path_private, LOOKUP_PATH_RINFOS),
			 lc_outer,
			 (List *) list_nth(path_private, LOOKUP_PATH_OUTER_EXPRS))
	{
		OpExpr	   *clause = (OpExpr *) lfirst_node(
			RestrictInfo, lc_rinfo)->clause;
		Oid			left;
		Oid			right;

		if (!get_op_hash_functions(lfirst_oid(lc), &left, &right))
			elog(ERROR, "could not find hash functions of operator %u",
				 lfirst_oid(lc));
		inner_hash = lappend_oid(inner_hash, left);
		outer_hash = lappend_oid(outer_hash, right);
		collations = lappend_oid(collations, clause->inputcollid);
		types = lappend_oid(types, exprType(lfirst(lc_outer)));
	}

	/* See px_lookup_private. */
	private = list_make4(list_nth(path_private, LOOKUP_PATH_JOINTYPE),
						 makeInteger(-1), makeInteger(0),
						 makeInteger(harmless));
	private = lappend(private, outer_hash);
	private = lappend(private, inner_hash);
	private = lappend(private, collations);
	return lappend(private, types);
}

static Plan *
plan_lookup(PlannerInfo *root, RelOptInfo *rel, CustomPath *best_path,
			List *tlist, List *clauses, List *custom_plans)
{
	CustomScan *scan = makeNode(CustomScan);
	List	   *private = best_path->custom_private;
	JoinType	jointype = intVal(list_nth(private, LOOKUP_PATH_JOINTYPE));
	List	   *rinfos = list_nth(private, LOOKUP_PATH_RINFOS);
	List	   *restrictlist = list_nth(private, LOOKUP_PATH_RESTRICTLIST);
	int			ojrelid = intVal(list_nth(private, LOOKUP_PATH_OJRELID));
	Path	   *inner_path = lsecond(best_path->custom_paths);
	Relids		inner_relids = inner_path->parent->relids;
	List	   *joinquals;
	List	   *otherquals = NIL;
	List	   *conds = extract_actual_clauses(rinfos, false);
	List	   *filter;

	if (IS_OUTER_JOIN(jointype))
		extract_actual_join_clauses(restrictlist, rel->relids, &joinquals,
									&otherquals);
	else
		joinquals = extract_actual_clauses(restrictlist, false);
	filter = list_difference_ptr(joinquals, conds);

	scan->scan.plan.targetlist = tlist;
	scan->scan.plan.qual = otherquals;
	scan->flags = best_path->flags;
	scan->custom_plans = custom_plans;
	scan->custom_scan_tlist = scan_tuple_tlist(
		linitial(custom_plans), lsecond(custom_plans), inner_relids, ojrelid);
	scan->custom_exprs = list_make4(
		copyObject((List *) list_nth(private, LOOKUP_PATH_OUTER_EXPRS)),
		px_add_nulling_relid(list_nth(private, LOOKUP_PATH_INNER_EXPRS),
							 inner_relids, ojrelid),
		px_add_nulling_relid(conds, inner_relids, ojrelid),
		px_add_nulling_relid(filter, inner_relids, ojrelid));
	scan->custom_private = make_private(
		private, !has_harmful(otherquals) && !has_harmful(filter) &&
		!px_plan_walk(linitial(custom_plans), may_fail, NULL));
	scan->methods = &px_lookup_scan_methods;
	return &scan->scan.plan;
}

static bool
is_lookup(Plan *plan, void *arg)
{
	return IsA(plan, CustomScan) &&
		((CustomScan *) plan)->methods == &px_lookup_scan_methods;
}

/* Is it a lookup that may fail, or a node that executes one several times? */
static bool
is_unsuitable(Plan *plan, void *arg)
{
	if (IsA(plan, NestLoop))
		return px_plan_walk(plan->righttree, is_lookup, NULL);
	if (IsA(plan, RecursiveUnion))
		return px_plan_walk(plan, is_lookup, NULL);
	return is_lookup(plan, NULL) &&
		(intVal(list_nth(((CustomScan *) plan)->custom_private,
						 PX_LOOKUP_PRIVATE_HARMLESS)) == 0 ||
		 returns_harmful(plan));
}

bool
px_lookup_suits_writes(const PlannedStmt *stmt)
{
	ListCell   *lc;

	foreach(lc, stmt->subplans)
	{
		if (px_plan_walk(lfirst(lc), is_lookup, NULL))
			return false;
	}
	return !px_plan_walk(stmt->planTree, is_unsuitable, NULL);
}

void
px_lookup_plan_init(void)
{
	prev_set_join_pathlist_hook = set_join_pathlist_hook;
	set_join_pathlist_hook = add_lookup_path;
}
