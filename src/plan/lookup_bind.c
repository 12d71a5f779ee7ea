/*-------------------------------------------------------------------------
 *
 * lookup_bind.c
 *		The parameters of the lookups of a finished plan.
 *
 * While the planner works, an array of keys is a marker: see lookup.c.  Here
 * each marker becomes a PARAM_EXEC, which the ExchangeLookup sets.  All nodes
 * between the two get it into extParam and allParam, so that they are
 * rescanned when it changes.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/extensible.h"
#include "nodes/nodeFuncs.h"
#include "utils/lsyscache.h"

#include "compat.h"
#include "exec/plan_walk.h"
#include "node/lookup.h"
#include "plan/lookup_bind.h"
#include "plan/paths.h"

/*
 * A LIMIT that wants less than this fraction of a join's rows makes the first
 * batch a small one.  A second batch costs as much as the first.
 */
#define LIMIT_FRACTION_MAX	0.1

/* Numbers of the arrays of keys of one ExchangeLookup. */
typedef struct key_params
{
	int			first;
	Bitmapset  *all;
	bool		stable;			/* nothing else below it changes */
} key_params;

/* A statement whose lookups are bound. */
typedef struct lookup_binding
{
	PlannedStmt *stmt;
	Bitmapset  *constant;		/* parameters that are set once */
} lookup_binding;

static Node *
replace_markers(Node *node, void *context)
{
	const key_params *params = context;

	if (node == NULL)
		return NULL;
	if (IsA(node, Param) && ((Param *) node)->paramkind == PARAM_EXTERN &&
		((Param *) node)->paramid >= PX_LOOKUP_MARKER_FIRST)
	{
		Param	   *param = copyObject((Param *) node);

		param->paramkind = PARAM_EXEC;
		param->paramid += params->first - PX_LOOKUP_MARKER_FIRST;
		return (Node *) param;
	}
	return expression_tree_mutator(node, replace_markers, context);
}

static bool
has_marker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Param) && ((Param *) node)->paramkind == PARAM_EXTERN &&
		((Param *) node)->paramid >= PX_LOOKUP_MARKER_FIRST)
		return true;
	return expression_tree_walker(node, has_marker, context);
}

static bool
has_exec_param(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Param) && ((Param *) node)->paramkind == PARAM_EXEC)
		return true;
	return expression_tree_walker(node, has_exec_param, context);
}

/* Let a node below an ExchangeLookup be rescanned when keys change. */
static void
add_params(Plan *plan, const key_params *params)
{
	plan->extParam = bms_union(plan->extParam, params->all);
	plan->allParam = bms_union(plan->allParam, params->all);
}

static List *
replace_list(List *exprs, key_params *params)
{
	return (List *) replace_markers((Node *) exprs, params);
}

/* Add the parameters that the plan's init plans set once for the query. */
static bool
add_constant_params(Plan *plan, void *arg)
{
	lookup_binding *binding = arg;
	ListCell   *lc;

	foreach(lc, plan->initPlan)
	{
		const SubPlan *init = lfirst_node(SubPlan, lc);
		const Plan *init_plan = list_nth(binding->stmt->subplans,
										 init->plan_id - 1);
		ListCell   *lc_param;

		if (!bms_is_empty(init_plan->extParam))
			continue;
		foreach(lc_param, init->setParam)
			binding->constant = bms_add_member(binding->constant,
											   lfirst_int(lc_param));
	}
	return false;
}

/* Bind the markers of an ExchangeReceive. */
static bool
bind_receive(Plan *plan, void *arg)
{
	key_params *params = arg;
	CustomScan *receive = (CustomScan *) plan;
	ForeignScan *foreign;

	add_params(plan, params);
	if (!px_plan_is_receive(plan))
		return false;
	foreign = linitial_node(ForeignScan, receive->custom_plans);
	if (has_marker((Node *) foreign->fdw_exprs, NULL) && params->stable &&
		!has_exec_param((Node *) foreign->fdw_exprs, NULL))
		px_paths_set_keys(receive);
	add_params(&foreign->scan.plan, params);
	plan->qual = replace_list(plan->qual, params);
	foreign->fdw_exprs = replace_list(foreign->fdw_exprs, params);
	foreign->fdw_recheck_quals =
		replace_list(foreign->fdw_recheck_quals, params);
	return false;
}

static bool
bind_lookup(Plan *plan, void *arg)
{
	const lookup_binding *binding = arg;
	PlannedStmt *stmt = binding->stmt;
	CustomScan *scan = (CustomScan *) plan;
	key_params	params = {.first = list_length(stmt->paramExecTypes)};
	ListCell   *lc;

	if (!IsA(plan, CustomScan) ||
		scan->methods != &px_lookup_scan_methods)
		return false;

	foreach(lc, (List *) list_nth(scan->custom_private,
								  PX_LOOKUP_PRIVATE_TYPE))
	{
		params.all = bms_add_member(params.all,
									list_length(stmt->paramExecTypes));
		stmt->paramExecTypes = lappend_oid(stmt->paramExecTypes,
										   get_array_type(lfirst_oid(lc)));
	}
	lfirst(list_nth_cell(scan->custom_private, PX_LOOKUP_PRIVATE_PARAM)) =
		makeInteger(params.first);
	params.stable = bms_is_subset(plan->extParam, binding->constant);
	(void) px_plan_walk(lsecond(scan->custom_plans), bind_receive, &params);
	return false;
}

Bitmapset *
px_constant_params(PlannedStmt *stmt)
{
	lookup_binding binding = {.stmt = stmt};

	(void) px_plan_walk_all(stmt, add_constant_params, &binding);
	return binding.constant;
}

void
px_lookup_bind(PlannedStmt *stmt)
{
	lookup_binding binding = {.stmt = stmt,
							  .constant = px_constant_params(stmt)};

	(void) px_plan_walk_all(stmt, bind_lookup, &binding);
}

bool
px_lookup_mark_few_rows(Plan *plan, double rows)
{
	CustomScan *scan = (CustomScan *) plan;

	if (!IsA(plan, CustomScan) || scan->methods != &px_lookup_scan_methods)
		return false;
	if (rows < plan->plan_rows * LIMIT_FRACTION_MAX)
		lfirst(list_nth_cell(scan->custom_private,
							 PX_LOOKUP_PRIVATE_FEW_ROWS)) = makeInteger(1);
	return true;
}
