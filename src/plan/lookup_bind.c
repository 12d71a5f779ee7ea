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

#include "catalog/pg_type_d.h"
#include "nodes/extensible.h"
#include "nodes/nodeFuncs.h"
#include "utils/lsyscache.h"

#include "compat.h"
#include "exec/plan_walk.h"
#include "exec/scan_keys.h"
#include "node/broadcast.h"
#include "node/lookup.h"
#include "node/receive.h"
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
	PlannedStmt *stmt;
	int			first;
	Bitmapset  *all;
	Bitmapset  *constant;		/* others that are set once */
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

/* Has it a parameter that is not one of these, or a marker? */
static bool
has_changing_param(Node *node, void *constant)
{
	if (node == NULL)
		return false;
	if (IsA(node, Param) && ((Param *) node)->paramkind == PARAM_EXEC &&
		!bms_is_member(((Param *) node)->paramid, constant))
		return true;
	return expression_tree_walker(node, has_changing_param, constant);
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
		const Plan *init_plan = exec_subplan_get_plan(binding->stmt, init);
		ListCell   *lc_param;

		if (!bms_is_empty(init_plan->extParam))
			continue;
		foreach(lc_param, init->setParam)
			binding->constant = bms_add_member(binding->constant,
											   lfirst_int(lc_param));
	}
	return false;
}

/*
 * Bind the keys of an ExchangeReceive.  Each gets a parameter of the scan's own
 * beside that of the ExchangeLookup.
 */
static void
bind_keys(CustomScan *receive, const key_params *params)
{
	ListCell   *lc;

	foreach(lc, (List *) list_nth(receive->custom_private,
								  PX_RECEIVE_PRIVATE_LOOKUP))
	{
		const List *key = lfirst_node(List, lc);
		Param	   *shared = list_nth_node(Param, key, PX_SCAN_KEY_SHARED);
		Param	   *own = list_nth_node(Param, key, PX_SCAN_KEY_OWN);

		shared->paramkind = own->paramkind = PARAM_EXEC;
		shared->paramid += params->first - PX_LOOKUP_MARKER_FIRST;
		own->paramid = list_length(params->stmt->paramExecTypes);
		params->stmt->paramExecTypes =
			lappend_oid(params->stmt->paramExecTypes, own->paramtype);
	}
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
	if ((has_marker((Node *) foreign->fdw_exprs, NULL) ||
		 list_nth(receive->custom_private,
				  PX_RECEIVE_PRIVATE_LOOKUP) != NIL) &&
		params->stable &&
		!has_changing_param((Node *) foreign->fdw_exprs, params->constant))
		px_receive_set(receive->custom_private, PX_RECEIVE_PRIVATE_KEYS, 1);
	bind_keys(receive, params);
	add_params(&foreign->scan.plan, params);
	plan->qual = replace_list(plan->qual, params);
	foreign->fdw_exprs = replace_list(foreign->fdw_exprs, params);
	foreign->fdw_recheck_quals =
		replace_list(foreign->fdw_recheck_quals, params);
	return false;
}

/*
 * Make PARAM_EXECs of these types of the markers in the nodes below.  They are
 * set by scan, which gets the number of the first one as its private item.
 */
static void
bind_params(const lookup_binding *binding, CustomScan *scan, int item,
			List *types, Plan *below)
{
	PlannedStmt *stmt = binding->stmt;
	key_params	params = {.stmt = stmt,
						  .first = list_length(stmt->paramExecTypes),
						  .constant = binding->constant};
	ListCell   *lc;

	foreach(lc, types)
	{
		params.all = bms_add_member(params.all,
									list_length(stmt->paramExecTypes));
		stmt->paramExecTypes = lappend_oid(stmt->paramExecTypes,
										   lfirst_oid(lc));
	}
	lfirst(list_nth_cell(scan->custom_private, item)) =
		makeInteger(params.first);
	params.stable = bms_is_subset(scan->scan.plan.extParam, binding->constant);
	(void) px_plan_walk(below, bind_receive, &params);
}

/* The keys of an ExchangeLookup are arrays. */
static void
bind_lookup(const lookup_binding *binding, CustomScan *scan)
{
	List	   *types = NIL;
	ListCell   *lc;

	foreach(lc, (List *) list_nth(scan->custom_private,
								  PX_LOOKUP_PRIVATE_TYPE))
		types = lappend_oid(types, get_array_type(lfirst_oid(lc)));
	bind_params(binding, scan, PX_LOOKUP_PRIVATE_PARAM, types,
				lsecond(scan->custom_plans));
}

static bool
count_receive(Plan *plan, void *arg)
{
	if (px_plan_is_receive(plan))
		(*(int *) arg)++;
	return false;
}

/* Each fragment of an ExchangeBroadcast has a piece of each side: text. */
static void
bind_broadcast(const lookup_binding *binding, CustomScan *scan)
{
	Plan	   *fragments = list_nth(scan->custom_plans,
									 PX_BROADCAST_PLAN_FRAGMENTS);
	int			nsides = list_length(scan->custom_plans) -
		PX_BROADCAST_PLAN_SIDES -
		list_length(list_nth(scan->custom_private,
							 PX_BROADCAST_PRIVATE_INBOXES));
	int			nfragments = 0;
	List	   *types = NIL;

	(void) px_plan_walk(fragments, count_receive, &nfragments);
	for (int i = 0; i < nfragments * nsides; i++)
		types = lappend_oid(types, TEXTOID);
	bind_params(binding, scan, PX_BROADCAST_PRIVATE_PARAM, types, fragments);
}

/* One whose parameters are all set once need not wait for the session. */
static void
mark_constant(const lookup_binding *binding, CustomScan *receive)
{
	List	   *exprs = linitial_node(ForeignScan,
									  receive->custom_plans)->fdw_exprs;

	if (list_nth(receive->custom_private, PX_RECEIVE_PRIVATE_LOOKUP) == NIL &&
		!has_marker((Node *) exprs, NULL) &&
		!has_changing_param((Node *) exprs, binding->constant))
		px_receive_set(receive->custom_private, PX_RECEIVE_PRIVATE_CONSTANT,
					   1);
}

static bool
bind_node(Plan *plan, void *arg)
{
	CustomScan *scan = (CustomScan *) plan;

	if (!IsA(plan, CustomScan))
		return false;
	if (scan->methods == &px_lookup_scan_methods)
		bind_lookup(arg, scan);
	else if (px_is_broadcast(plan))
		bind_broadcast(arg, scan);
	else if (px_plan_is_receive(plan))
		mark_constant(arg, scan);
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

	(void) px_plan_walk_all(stmt, bind_node, &binding);
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
