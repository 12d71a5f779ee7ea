/*-------------------------------------------------------------------------
 *
 * append_agg.c
 *		Partial aggregates of the children of UNION ALL and of inheritance.
 *
 * The planner itself aggregates child by child only if the parent is a
 * partitioned table.  We do the same for other parents that have a foreign
 * table of postgres_fdw among their children: a UNION ALL that was flattened,
 * and a table that others inherit from.  Children that a server cannot
 * aggregate are aggregated here, one by one, so that there is a single kind of
 * rows for the final step.
 *
 * A member of UNION ALL with a WHERE or a join of its own stays a subquery,
 * which is planned before we are called.  It is such a child.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/nodeFuncs.h"
#include "optimizer/appendinfo.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/planner.h"
#include "optimizer/prep.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"
#include "utils/selfuncs.h"

#include "compat.h"
#include "guc.h"
#include "plan/append_agg.h"
#include "plan/final_agg.h"
#include "plan/partial_agg.h"
#include "plan/partitionwise.h"
#include "plan/paths.h"

static create_upper_paths_hook_type prev_create_upper_paths_hook = NULL;

/* The aggregation of a parent's children. */
typedef struct append_agg
{
	PlannerInfo *root;
	RelOptInfo *input_rel;		/* the parent */
	RelOptInfo *grouped_rel;	/* its groups */
	GroupPathExtraData *extra;
	PathTarget *partial_target; /* what the first step returns */
	AggClauseCosts partial_costs;
	List	   *paths;			/* of the first step: one for each child */
	int			nremote;		/* how many of them a server computes */
	bool		failed;			/* there is a child for which none was found */
} append_agg;

/* A node about the parent, in terms of a child: parents has the way there. */
static Node *
translate(PlannerInfo *root, Node *node, List *parents)
{
	ListCell   *lc;

	foreach(lc, parents)
	{
		AppendRelInfo *info = lfirst_node(AppendRelInfo, lc);

		node = adjust_appendrel_attrs(root, node, 1, &info);
	}
	return node;
}

/*
 * The columns of a member of UNION ALL are PlaceHolderVars where they are
 * expressions: so they are not mixed up with others once they are computed.
 * The remote is sent the expressions.
 */
static Node *
strip_placeholders(Node *node, void *context)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, PlaceHolderVar) && ((PlaceHolderVar *) node)->phlevelsup == 0)
		return strip_placeholders((Node *) ((PlaceHolderVar *) node)->phexpr,
								  context);
	return expression_tree_mutator(node, strip_placeholders, context);
}

static PathTarget *
translate_target(PlannerInfo *root, PathTarget *target, List *parents)
{
	PathTarget *translated = copy_pathtarget(target);

	translated->exprs = (List *) translate(root, (Node *) target->exprs,
										   parents);
	return translated;
}

/* ---------------------------------------------------------------------
 * The first step
 * --------------------------------------------------------------------- */

/* Have a server aggregate the child.  NULL if that is not possible. */
static Path *
remote_path(const append_agg *agg, RelOptInfo *child, List *parents)
{
	PathTarget *target;
	GroupPathExtraData extra = *agg->extra;
	RelOptInfo *partial;

	if (px_original_routine(child) == NULL)
		return NULL;
	target = translate_target(agg->root, agg->partial_target, parents);
	target->exprs = (List *) strip_placeholders((Node *) target->exprs, NULL);
	extra.targetList = (List *) strip_placeholders(
		translate(agg->root, (Node *) extra.targetList, parents), NULL);
	partial = px_final_agg_input_rel(agg->grouped_rel, child, target);
	partial->reloptkind = RELOPT_OTHER_UPPER_REL;
	return (Path *) px_partial_agg_path(agg->root, child, partial, &extra);
}

/* Aggregate the child's rows here.  NULL if that takes sorting. */
static Path *
local_path(append_agg *agg, RelOptInfo *child, List *parents)
{
	PlannerInfo *root = agg->root;
	Path	   *path = child->cheapest_total_path;
	List	   *clauses = px_group_clause(root);
	List	   *targetlist = (List *) translate(
		root, (Node *) agg->extra->targetList, parents);
	RelOptInfo *partial = px_final_agg_input_rel(
		agg->grouped_rel, child,
		translate_target(root, agg->partial_target, parents));

	if (path == NULL || PATH_REQ_OUTER(path) != NULL ||
		(clauses && (agg->extra->flags & GROUPING_CAN_USE_HASH) == 0))
		return NULL;

	/* The keys must be columns of their own. */
	path = (Path *) create_projection_path(
		root, child, path,
		translate_target(root, agg->input_rel->reltarget, parents));
	partial->reloptkind = RELOPT_OTHER_UPPER_REL;
	return (Path *) create_agg_path(
		root, partial, path, partial->reltarget,
		clauses ? AGG_HASHED : AGG_PLAIN, AGGSPLIT_INITIAL_SERIAL, clauses,
		NIL, &agg->partial_costs,
		clauses == NIL ? 1.0 :
		estimate_num_groups(root,
							get_sortgrouplist_exprs(clauses, targetlist),
							path->rows, NULL, NULL));
}

static bool
is_cheaper(const Path *a, const Path *b)
{
	if (px_path_disabled(a) != px_path_disabled(b))
		return px_path_disabled(a) < px_path_disabled(b);
	return a->total_cost <= b->total_cost;
}

/* The cheapest path for a child's partial groups. */
static void
add_child(append_agg *agg, RelOptInfo *child, List *parents)
{
	Path	   *remote = remote_path(agg, child, parents);
	Path	   *local = local_path(agg, child, parents);

	if (remote && (local == NULL || is_cheaper(remote, local)))
	{
		agg->nremote++;
		local = remote;
	}
	if (local)
		agg->paths = lappend(agg->paths, local);
	else
		agg->failed = true;
}

/* Add the children of rel, and those of children that have some. */
static void
add_children(append_agg *agg, const RelOptInfo *rel, List *parents)
{
	PlannerInfo *root = agg->root;
	ListCell   *lc;

	foreach(lc, root->append_rel_list)
	{
		AppendRelInfo *info = lfirst_node(AppendRelInfo, lc);
		RelOptInfo *child = root->simple_rel_array[info->child_relid];
		List	   *way;

		if (info->parent_relid != rel->relid || child == NULL ||
			IS_DUMMY_REL(child))
			continue;
		way = lappend(list_copy(parents), info);
		if (planner_rt_fetch(child->relid, root)->inh)
			add_children(agg, child, way);
		else
			add_child(agg, child, way);
	}
}

/* ---------------------------------------------------------------------
 * The second step
 * --------------------------------------------------------------------- */

static void
add_final_paths(append_agg *agg)
{
	RelOptInfo *partial = px_final_agg_input_rel(
		agg->grouped_rel, agg->input_rel, agg->partial_target);

	px_final_agg_add(agg->root, agg->input_rel, agg->grouped_rel, agg->extra,
					 px_append_path(agg->root, partial, agg->paths));
}

/* May the parent's rows be aggregated child by child? */
static bool
is_candidate(PlannerInfo *root, RelOptInfo *input_rel,
			 const GroupPathExtraData *extra)
{
	return px_enabled && px_partial_aggregates_setting != PX_PARTIAL_OFF &&
		input_rel->reloptkind == RELOPT_BASEREL &&
		planner_rt_fetch(input_rel->relid, root)->inh &&
		!IS_PARTITIONED_REL(input_rel) &&
		bms_is_empty(input_rel->lateral_relids) &&
		(extra->flags & GROUPING_CAN_PARTIAL_AGG) != 0 &&
		!px_aggregates_at_once(root) &&
		(root->parse->groupClause == NIL || px_group_clause(root) != NIL);
}

static void
add_upper_paths(PlannerInfo *root, UpperRelationKind stage,
				RelOptInfo *input_rel, RelOptInfo *output_rel, void *extra)
{
	append_agg	agg = {0};

	if (prev_create_upper_paths_hook)
		prev_create_upper_paths_hook(root, stage, input_rel, output_rel,
									 extra);
	if (stage != UPPERREL_GROUP_AGG || extra == NULL ||
		!is_candidate(root, input_rel, extra))
		return;

	agg.root = root;
	agg.input_rel = input_rel;
	agg.grouped_rel = output_rel;
	agg.extra = extra;
	agg.partial_target = px_final_agg_input(root, output_rel->reltarget,
											agg.extra->havingQual);
	get_agg_clause_costs(root, AGGSPLIT_INITIAL_SERIAL, &agg.partial_costs);
	add_children(&agg, input_rel, NIL);
	if (agg.nremote > 0 && !agg.failed)
		add_final_paths(&agg);
}

void
px_append_agg_init(void)
{
	prev_create_upper_paths_hook = create_upper_paths_hook;
	create_upper_paths_hook = add_upper_paths;
}
