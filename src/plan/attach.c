/*-------------------------------------------------------------------------
 *
 * attach.c
 *		Putting ExchangeSend on top of a finished plan, or below its Gather.
 *
 * The plan has been through set_plan_references, so we must fill in all fields
 * of a new node that the planner would fill in.  Below a Gather, each
 * participant encodes and compresses its own rows, and the leader only
 * forwards frames.  That is possible if the Gather only passes columns
 * through.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>
#include <math.h>

#include "catalog/pg_type_d.h"
#include "nodes/makefuncs.h"
#include "optimizer/optimizer.h"

#include "compat.h"
#include "node/armour.h"
#include "node/forward.h"
#include "node/plan.h"
#include "node/send.h"
#include "plan/attach.h"
#include "plan/bare_scan.h"

/*
 * The plan_node_id of our nodes.  Ids must differ within a plan.  The planner
 * counts from 0, so we count from the other end.  A plan has at most one node
 * of each kind.
 */
#define SEND_PLAN_NODE_ID		PG_INT32_MAX
#define FORWARD_PLAN_NODE_ID	(PG_INT32_MAX - 1)
#define TOP_PLAN_NODE_ID		(PG_INT32_MAX - 2)
#define ARMOUR_PLAN_NODE_ID		(PG_INT32_MAX - 3)

/* The resnos of a plan's columns that are not resjunk. */
static List *
visible_columns(const Plan *plan)
{
	List	   *columns = NIL;
	ListCell   *lc;

	foreach(lc, plan->targetlist)
	{
		const TargetEntry *target = lfirst_node(TargetEntry, lc);

		if (!target->resjunk)
			columns = lappend_int(columns, target->resno);
	}
	return columns;
}

/*
 * If the plan is a Gather that only passes columns through, return the resnos
 * of its child's columns in the order of the Gather's columns, else NIL.
 *
 * Init plans of the Gather do not matter.  The Gather stays where it is, so it
 * evaluates them and passes on their results as before.
 */
static List *
columns_below_gather(const Plan *plan)
{
	List	   *columns = NIL;
	ListCell   *lc;

	if (!IsA(plan, Gather) || plan->qual != NIL)
		return NIL;
	foreach(lc, plan->targetlist)
	{
		const TargetEntry *target = lfirst_node(TargetEntry, lc);
		const Var  *var = (const Var *) target->expr;

		if (!IsA(var, Var) || var->varno != OUTER_VAR || var->varattno <= 0)
			return NIL;
		if (!target->resjunk)
			columns = lappend_int(columns, var->varattno);
	}
	return columns;
}

bool
px_send_fits_below(const Plan *top)
{
	return columns_below_gather(top) != NIL;
}

/*
 * A target list that returns the only column of varno.  It has the marker's
 * result type: bytea, or text for ExchangeArmour.
 */
static List *
frame_targetlist(int varno, const TargetEntry *marker)
{
	const FuncExpr *call = castNode(FuncExpr, marker->expr);
	Var *frame = makeVar(varno, 1, call->funcresulttype, -1, call->funccollid,
						 0);

	return list_make1(makeTargetEntry(
		(Expr *) frame, 1, marker->resname ? pstrdup(marker->resname) : NULL,
		false));
}

/*
 * The marker as the expression that describes the node's output in EXPLAIN.
 * Its row argument refers to the range table of the outer query, which the
 * plan does not have, so we replace it by a null.
 */
static List *
marker_targetlist(const TargetEntry *marker)
{
	TargetEntry *copy = copyObject(unconstify(TargetEntry *, marker));
	FuncExpr   *call = castNode(FuncExpr, copy->expr);

	lsecond(call->args) = makeNullConst(RECORDOID, -1, InvalidOid);
	copy->resno = 1;
	copy->ressortgroupref = 0;
	return list_make1(copy);
}

/*
 * Estimate costs and number of frames.  The number includes the schema and end
 * frames, but ignores compression and the small first batches.
 */
static void
estimate_send(Plan *plan, const Plan *child, int ncolumns,
		 const px_request *request)
{
	double		raw_nbytes = child->plan_rows * child->plan_width;
	double		targets = Max(request->targets, 1);
	double		batches = ceil(Max(child->plan_rows / request->batch_rows,
								   raw_nbytes / request->batch_bytes));

	plan->startup_cost = child->startup_cost;
	plan->total_cost = child->total_cost +
		child->plan_rows * ncolumns * cpu_operator_cost;
	plan->plan_rows = clamp_row_est(batches + 2 * targets);
	plan->plan_width = (int) Min(raw_nbytes / plan->plan_rows,
								 (double) INT_MAX);
}

/*
 * Make a node that returns frames, on top of child.  The caller sets costs and
 * number of rows.
 */
static CustomScan *
make_node(Plan *child, const TargetEntry *marker, int plan_node_id,
		  const CustomScanMethods *methods)
{
	CustomScan *scan = makeNode(CustomScan);
	Plan	   *plan = &scan->scan.plan;

	plan->plan_node_id = plan_node_id;
	plan->targetlist = frame_targetlist(INDEX_VAR, marker);
	plan->extParam = bms_copy(child->extParam);
	plan->allParam = bms_copy(child->allParam);
	px_plan_copy_disabled(plan, child);

	scan->custom_plans = list_make1(child);
	scan->custom_scan_tlist = marker_targetlist(marker);
	scan->methods = methods;
	return scan;
}

/* gather is what will be above the node, or NULL. */
static Plan *
make_send(const PlannedStmt *stmt, Plan *child, List *columns,
		  const TargetEntry *marker, const px_request *request,
		  const px_slice *slice, const Gather *gather, bool text)
{
	CustomScan *scan = make_node(child, marker, SEND_PLAN_NODE_ID,
								 &px_send_scan_methods);
	Plan	   *plan = &scan->scan.plan;
	Expr	   *target = NULL;
	List	   *bare = px_bare_scan(stmt, child, columns,
									request->targets > 1 ? &target : NULL);

	if (bare != NIL)
		columns = bare;
	if (target)
		scan->custom_exprs = list_make1(target);
	estimate_send(plan, child, list_length(columns), request);
	plan->parallel_safe = child->parallel_safe;

	/*
	 * The executor gives shared memory only to parallel-aware nodes.  The
	 * senders of a parallel plan hand over frames in it, and in mode auto they
	 * share what they measure.
	 */
	plan->parallel_aware = gather != NULL;
	scan->custom_private = list_make5(
		columns, makeInteger(gather ? 1 : 0),
		makeInteger(gather && gather->single_copy ? 1 : 0),
		list_make4_int((int) slice->slices, (int) slice->blocks,
					   (int) slice->file, (int) slice->reason),
		makeInteger(text ? 1 : 0));
	return plan;
}

/* Make a node that passes on frames, or texts made of them, from its child. */
static CustomScan *
make_passing_node(Plan *child, const TargetEntry *marker, int plan_node_id,
				  const CustomScanMethods *methods)
{
	CustomScan *scan = make_node(child, marker, plan_node_id, methods);
	Plan	   *plan = &scan->scan.plan;

	plan->startup_cost = child->startup_cost;
	plan->total_cost = child->total_cost;
	plan->plan_rows = child->plan_rows;
	plan->plan_width = child->plan_width;
	return scan;
}

static Plan *
make_plan_node(Plan *child, const TargetEntry *marker,
			   const px_request *request)
{
	CustomScan *scan = make_passing_node(child, marker, TOP_PLAN_NODE_ID,
										 &px_plan_scan_methods);

	scan->scan.plan.plan_rows++;
	scan->custom_private = list_make2_int((int) request->explain,
										  request->version);
	return &scan->scan.plan;
}

/*
 * The marker for nodes below ExchangeArmour.  These return frames, so the
 * result type is that of exchange.send.
 */
static TargetEntry *
frame_marker(const TargetEntry *marker)
{
	TargetEntry *copy = copyObject(unconstify(TargetEntry *, marker));
	FuncExpr   *call = castNode(FuncExpr, copy->expr);

	call->funcresulttype = BYTEAOID;
	call->funccollid = InvalidOid;
	return copy;
}

void
px_send_add_node(PlannedStmt *stmt, const TargetEntry *marker,
				 const px_request *request, const px_slice *slice, bool text)
{
	Plan	   *top = stmt->planTree;
	List	   *columns = visible_columns(top);
	List	   *mapped = text ? NIL : columns_below_gather(top);
	const TargetEntry *frame = text ? frame_marker(marker) : marker;

	if (mapped != NIL)
	{
		Plan	   *send = make_send(stmt, outerPlan(top), mapped, frame,
									 request, slice, castNode(Gather, top),
									 text);

		/* The Gather returns at least the frames of one participant. */
		outerPlan(top) = send;
		top->targetlist = frame_targetlist(OUTER_VAR, frame);
		top->plan_rows = send->plan_rows;
		top->plan_width = send->plan_width;
		top->total_cost = Max(top->total_cost, send->total_cost);
		stmt->planTree = &make_passing_node(top, frame, FORWARD_PLAN_NODE_ID,
											&px_forward_scan_methods)
							  ->scan.plan;
	}
	else
		stmt->planTree = make_send(stmt, top, columns, frame, request, slice,
								   NULL, text);
	if (request->explain != 0)
		stmt->planTree = make_plan_node(stmt->planTree, frame, request);
	if (text)
		stmt->planTree = &make_passing_node(stmt->planTree, marker,
											ARMOUR_PLAN_NODE_ID,
											&px_armour_scan_methods)
							  ->scan.plan;
}
