/*-------------------------------------------------------------------------
 *
 * filter.c
 *		Runtime filters in a finished plan.
 *
 * A hash join whose outer side has ExchangeReceives hands the keys of its
 * inner side to these, as far as it drops outer rows that match no inner row.
 * An ExchangeKeys collects the keys between the Hash and its child
 * (node/keys.c); the scans ask for rows with these keys only
 * (exec/scan_filter.c).
 *
 * We follow the column of the join from the join down to the scans.  The way
 * leads only through nodes whose result without the rows of a key is their
 * result without the rows of that key in the input: what core does when it
 * moves a qual down.
 *
 * The plan has been through set_plan_references, so we must fill in all fields
 * of a new node that the planner would fill in.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type_d.h"
#include "miscadmin.h"
#include "nodes/extensible.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "compat.h"
#include "exec/plan_walk.h"
#include "exec/scan_filter.h"
#include "guc.h"
#include "node/keys.h"
#include "node/lookup.h"
#include "node/receive.h"
#include "plan/filter.h"
#include "plan/filter_column.h"
#include "plan/join_key.h"
#include "plan/lookup_bind.h"

/*
 * Ids must differ within a plan.  The planner counts from 0, and we count from
 * the other end: the last ones are those of plan/attach.c.
 */
#define LAST_PLAN_NODE_ID	(PG_INT32_MAX - 16)

/* The statement that filters are placed in. */
typedef struct placement
{
	PlannedStmt *stmt;
	Bitmapset  *constant;		/* parameters that are set once */
	int			nnodes;			/* that were added */
} placement;

/* A key that is offered to the scans of the outer side. */
typedef struct offer
{
	int			param;			/* the filter's number */
	Oid			operator;		/* column = key */
	double		fraction;		/* of the rows that have one of the keys */
	double		member_rows;	/* of all members of the append relation that
								 * is offered to */
	int			source;			/* the table that keys are of, or 0 */
	bool		once;			/* the join runs once in the query */
	int			ntaken;			/* scans that take it */
} offer;

/* ---------------------------------------------------------------------
 * The query
 * --------------------------------------------------------------------- */

/* A view or table whose rows some users may not see. */
static bool
has_barrier(Node *node, void *context)
{
	ListCell   *lc;

	if (node == NULL)
		return false;
	if (!IsA(node, Query))
		return expression_tree_walker(node, has_barrier, context);
	if (((Query *) node)->hasRowSecurity ||
		((Query *) node)->rowMarks != NIL ||
		((Query *) node)->hasModifyingCTE)
		return true;
	foreach(lc, ((Query *) node)->rtable)
	{
		const RangeTblEntry *rte = lfirst_node(RangeTblEntry, lc);

		if (rte->security_barrier || rte->securityQuals != NIL)
			return true;
	}
	return query_tree_walker((Query *) node, has_barrier, context, 0);
}

/*
 * Volatile functions would be called for other rows.  Keys would be compared
 * with rows that the user may not see.  Rows that are locked, or found for an
 * UPDATE, are checked again by a part of the plan.
 */
bool
px_filter_suits_query(Query *query)
{
	return px_enabled && px_runtime_filters &&
		(query->commandType == CMD_SELECT ||
		 query->commandType == CMD_INSERT) &&
		!has_barrier((Node *) query, NULL) &&
		!contain_volatile_functions((Node *) query);
}

/* ---------------------------------------------------------------------
 * Scans
 * --------------------------------------------------------------------- */

static void offer_to(Plan *plan, AttrNumber resno, offer *offer, bool kept);

/* May an ExchangeReceive leave out rows, by its column number resno? */
static void
offer_to_receive(CustomScan *receive, AttrNumber resno, offer *offer)
{
	const Plan *plan = &receive->scan.plan;
	const Var  *var = px_plan_column(plan, resno);
	const Var  *column;
	int			position;
	List	   *filter;
	ListCell   *cell;

	/* The remote's order would be lost, and locks. */
	if (var == NULL || plan->parallel_aware ||
		px_receive_get(receive, PX_RECEIVE_PRIVATE_LOCKS) != 0 ||
		px_receive_get(receive, PX_RECEIVE_PRIVATE_SORTED) != 0 ||
		Max(plan->plan_rows, offer->member_rows) * (1 - offer->fraction) <
		PX_FILTER_ROWS_MIN)
		return;
	position = px_receive_column_position(receive, (const Node *) var,
										  &column);
	if (position == 0 || !px_is_plain_type(column->vartype))
		return;

	/* See px_scan_filter_item. */
	filter = list_make5(makeInteger(offer->param), makeInteger(position),
						makeInteger((int) column->vartype),
						makeInteger(offer->source),
						makeInteger((int) offer->operator));
	filter = lappend(filter, makeFloat(
						 psprintf("%.0f", plan->plan_rows * plan->plan_width *
								  (1 - offer->fraction))));
	filter = lappend(filter, copyObject(unconstify(Var *, column)));
	cell = list_nth_cell(receive->custom_private, PX_RECEIVE_PRIVATE_FILTERS);
	lfirst(cell) = lappend(lfirst(cell), filter);
	offer->ntaken++;
}

/* ---------------------------------------------------------------------
 * The way from the join to the scans
 * --------------------------------------------------------------------- */

/*
 * May outer rows of the join be dropped early if its own result without them
 * is wanted?  Or, with inner set, inner rows?  Not those whose absence would
 * leave rows of the other side without a match.
 */
static bool
may_drop(JoinType jointype, bool inner)
{
	switch (jointype)
	{
		case JOIN_INNER:
			return true;
		case JOIN_SEMI:
		case JOIN_LEFT:
		case JOIN_ANTI:
			return !inner;
		case JOIN_RIGHT:
			return inner;
		default:
			return false;
	}
}

static void
offer_to_join(Plan *plan, AttrNumber resno, offer *offer, bool kept)
{
	const Join *join = (const Join *) plan;
	const Var  *var = px_plan_column(plan, resno);

	if (var == NULL || (var->varno != OUTER_VAR && var->varno != INNER_VAR) ||
		!may_drop(join->jointype, var->varno == INNER_VAR))
		return;
	if (var->varno == OUTER_VAR)
		offer_to(outerPlan(plan), var->varattno, offer, kept);
	else if (!IsA(plan, NestLoop) || IsA(innerPlan(plan), Material))
	{
		/* A nested loop would send the keys for each outer row. */
		offer_to(innerPlan(plan), var->varattno, offer, kept);
	}
}

/* Does the aggregate return groups of that column's values? */
static bool
groups_by(const Agg *agg, AttrNumber input)
{
	if (agg->groupingSets != NIL || agg->chain != NIL)
		return false;
	for (int i = 0; i < agg->numCols; i++)
	{
		const Node *column = (const Node *) list_nth_node(
			TargetEntry, outerPlan(agg)->targetlist, input - 1)->expr;

		if (agg->grpColIdx[i] == input)
			return agg->grpOperators[i] ==
				lookup_type_cache(exprType(column), TYPECACHE_EQ_OPR)->eq_opr;
	}
	return false;
}

/*
 * Offer to the children of a node that passes on their columns in order.  Many
 * small partitions are worth as much as a large table.
 */
static void
offer_to_members(List *members, AttrNumber resno, offer *offer, bool kept)
{
	double		rows_above = offer->member_rows;
	double		rows = 0;
	ListCell   *lc;

	foreach(lc, members)
		rows += ((const Plan *) lfirst(lc))->plan_rows;
	offer->member_rows = Max(rows_above, rows);
	foreach(lc, members)
		offer_to(lfirst(lc), resno, offer, kept);
	offer->member_rows = rows_above;
}

static void
offer_to_custom(CustomScan *scan, AttrNumber resno, offer *offer, bool kept)
{
	if (px_plan_is_receive(&scan->scan.plan))
		offer_to_receive(scan, resno, offer);
	else if (px_plan_is_gather(&scan->scan.plan))
		offer_to_members(scan->custom_plans, resno, offer, kept);
	else if (scan->methods == &px_keys_scan_methods)
		offer_to(outerPlan(scan), resno, offer, kept);
}

/*
 * Offer a filter to the scans below plan, for its column number resno.  kept:
 * a node above keeps rows, and returns them again if it is rescanned, when the
 * join may have other keys.
 */
static void
offer_to(Plan *plan, AttrNumber resno, offer *offer, bool kept)
{
	const Var  *var;

	check_stack_depth();
	if (kept && !offer->once)
		return;
	switch (nodeTag(plan))
	{
		case T_CustomScan:
			offer_to_custom((CustomScan *) plan, resno, offer, kept);
			return;
		case T_Append:
		case T_MergeAppend:
			offer_to_members(*px_plan_list(plan), resno, offer, kept);
			return;
		case T_HashJoin:
		case T_MergeJoin:
		case T_NestLoop:
			offer_to_join(plan, resno, offer, kept);
			return;
		default:
			break;
	}

	var = px_plan_column(plan, resno);
	if (var == NULL)
		return;
	switch (nodeTag(plan))
	{
		case T_SubqueryScan:
			if ((Index) var->varno ==
				((SubqueryScan *) plan)->scan.scanrelid)
				offer_to(((SubqueryScan *) plan)->subplan, var->varattno,
						 offer, kept);
			break;
		case T_Result:
			if (outerPlan(plan) && var->varno == OUTER_VAR)
				offer_to(outerPlan(plan), var->varattno, offer, kept);
			break;
		case T_Agg:
			if (var->varno == OUTER_VAR &&
				groups_by((Agg *) plan, var->varattno))
				offer_to(outerPlan(plan), var->varattno, offer, true);
			break;
		case T_Hash:
		case T_Material:
		case T_Sort:
			offer_to(outerPlan(plan), var->varattno, offer, true);
			break;
		default:
			break;
	}
}

/* ---------------------------------------------------------------------
 * Joins
 * --------------------------------------------------------------------- */

/*
 * Can the keys be sent as text?  Not intervals: those that are infinite are
 * an error before 17.
 */
static bool
is_filter_key(Oid operator, Oid collation, const Node *outer,
			  const Node *inner)
{
	return exprType(inner) != INTERVALOID &&
		px_is_join_key(operator, collation, outer, inner) &&
		px_join_column(outer)->varno == OUTER_VAR;
}

/*
 * The number of distinct keys that are expected, and the fraction of the outer
 * rows that has one of them.
 *
 * For several keys, the planner knows the fraction of the rows that have all
 * of them.  One of them alone may let more through, so its distinct values
 * decide, as far as these are known.
 */
static double
expect_keys(const placement *place, const HashJoin *join, const Hash *hash,
			const Node *outer, const Node *inner, double *fraction)
{
	const Plan *plan = &join->join.plan;
	double		nouter = Max(outerPlan(join)->plan_rows, 1);
	double		ninner = Max(hash->plan.plan_rows, 1);
	double		nkeys = ninner;
	double		ndistinct;

	ndistinct = px_table_column_ndistinct(
		place->stmt, px_table_column_below(outerPlan(hash), inner, false));
	if (ndistinct > 0)
		nkeys = Min(nkeys, ndistinct);

	*fraction = 1;
	if (join->join.jointype == JOIN_SEMI)
		*fraction = plan->plan_rows / nouter;
	else if (join->join.jointype == JOIN_INNER)
		*fraction = plan->plan_rows / nouter * nkeys / ninner;
	ndistinct = px_table_column_ndistinct(
		place->stmt, px_table_column_below(outerPlan(join), outer, true));
	if (ndistinct > 0)
		*fraction = list_length(join->hashkeys) > 1 ? nkeys / ndistinct :
			Min(*fraction, nkeys / ndistinct);
	*fraction = Max(Min(*fraction, 1), 1e-9);
	return nkeys;
}

/* What a plan's rows look like from above: Vars of varno, in order. */
static List *
pass_columns(const Plan *plan, int varno)
{
	List	   *tlist = NIL;
	ListCell   *lc;

	foreach(lc, plan->targetlist)
	{
		const TargetEntry *target = lfirst_node(TargetEntry, lc);
		const Node *expr = (const Node *) target->expr;
		TargetEntry *output = flatCopyTargetEntry(
			unconstify(TargetEntry *, target));

		output->expr = (Expr *) makeVar(varno, target->resno, exprType(expr),
										exprTypmod(expr), exprCollation(expr),
										0);
		tlist = lappend(tlist, output);
	}
	return tlist;
}

/* Put an ExchangeKeys between hash and its child. */
static void
add_keys_node(placement *place, Hash *hash, List *exprs, List *params,
			  List *keys_max)
{
	CustomScan *scan = makeNode(CustomScan);
	Plan	   *plan = &scan->scan.plan;
	Plan	   *child = outerPlan(hash);

	plan->startup_cost = child->startup_cost;
	plan->total_cost = child->total_cost;
	plan->plan_rows = child->plan_rows;
	plan->plan_width = child->plan_width;
	px_plan_copy_disabled(plan, child);
	plan->plan_node_id = LAST_PLAN_NODE_ID - place->nnodes++;
	plan->extParam = bms_copy(child->extParam);
	plan->allParam = bms_copy(child->allParam);
	plan->targetlist = pass_columns(child, INDEX_VAR);

	/*
	 * EXPLAIN looks for the columns in the outer child.  The child is not one
	 * of custom_plans, too: whoever copies the plan would copy it twice, and
	 * each of two such children below twice again.
	 */
	plan->lefttree = child;
	scan->custom_scan_tlist = pass_columns(child, OUTER_VAR);
	scan->custom_exprs = exprs;
	scan->custom_private = list_make2(params, keys_max);
	scan->methods = &px_keys_scan_methods;
	outerPlan(hash) = plan;
}

/*
 * The outer side is not going to return a row before the keys are complete.
 * The executor must know that: otherwise it would ask for the first outer row
 * before it reads the inner side.
 */
static void
wait_for_keys(Plan *outer, const Hash *hash)
{
	Cost		wait = hash->plan.total_cost - outer->startup_cost;

	if (wait <= 0)
		return;
	outer->startup_cost += wait;
	outer->total_cost = Max(outer->total_cost, outer->startup_cost);
}

/*
 * The scans do not run beside the inner side's: is what is saved worth it?  On
 * servers that have both sides, they would take turns anyway.  And an estimate
 * of what a HAVING leaves is no more than a guess.
 */
static bool
is_worth_waiting(const HashJoin *join, const Hash *hash, double fraction)
{
	return fraction <= PX_FILTER_FRACTION_MAX &&
		hash->plan.total_cost <= outerPlan(join)->total_cost;
}

static void
place_at_join(placement *place, HashJoin *join, bool once)
{
	Hash	   *hash = castNode(Hash, innerPlan(join));
	List	   *exprs = NIL;
	List	   *params = NIL;
	List	   *keys_max = NIL;
	ListCell   *lc_outer;
	ListCell   *lc_inner;
	ListCell   *lc_operator;
	ListCell   *lc_collation;

	if (!px_join_drops_outer_rows(join->join.jointype) ||
		hash->plan.parallel_aware ||
		!bms_is_subset(hash->plan.extParam, place->constant))
		return;
	forfour(lc_outer, join->hashkeys, lc_inner, hash->hashkeys,
			lc_operator, join->hashoperators, lc_collation,
			join->hashcollations)
	{
		Node	   *outer = lfirst(lc_outer);
		Node	   *inner = lfirst(lc_inner);
		offer		offer = {.operator = lfirst_oid(lc_operator),
							 .once = once};
		double		nkeys;

		if (!is_filter_key(offer.operator, lfirst_oid(lc_collation), outer,
						   inner))
			continue;
		nkeys = expect_keys(place, join, hash, outer, inner, &offer.fraction);
		if (!is_worth_waiting(join, hash, offer.fraction))
			continue;
		offer.param = list_length(place->stmt->paramExecTypes);
		offer.source =
			(int) px_table_column_below(outerPlan(hash), inner, false).rtindex;
		offer_to(outerPlan(join), px_join_column(outer)->varattno, &offer,
				 false);
		if (offer.ntaken == 0)
			continue;
		place->stmt->paramExecTypes =
			lappend_oid(place->stmt->paramExecTypes, INTERNALOID);
		exprs = lappend(exprs, copyObject(inner));
		params = lappend_int(params, offer.param);
		keys_max = lappend(keys_max, makeFloat(
							   psprintf("%.0f", nkeys / offer.fraction *
										PX_FILTER_FRACTION_MAX)));
	}
	if (exprs == NIL)
		return;
	add_keys_node(place, hash, exprs, params, keys_max);
	wait_for_keys(outerPlan(join), hash);
}

/* ---------------------------------------------------------------------
 * The plan
 * --------------------------------------------------------------------- */

static void place_below(placement *place, Plan *plan, bool once);

/* The children of a custom node; its lefttree may be one of them. */
static void
place_below_custom(placement *place, CustomScan *scan, bool once)
{
	bool		is_lookup = scan->methods == &px_lookup_scan_methods;
	ListCell   *lc;

	if (px_plan_is_receive(&scan->scan.plan))
		return;
	if (scan->methods == &px_keys_scan_methods)
		place_below(place, outerPlan(scan), once);
	foreach(lc, scan->custom_plans)
		place_below(place, lfirst(lc),
					once &&
						(!is_lookup || lc == list_head(scan->custom_plans)));
}

/* once: the plan is not rescanned. */
static void
place_below(placement *place, Plan *plan, bool once)
{
	ListCell   *lc;

	if (plan == NULL)
		return;
	check_stack_depth();
	switch (nodeTag(plan))
	{
		case T_Gather:
		case T_GatherMerge:
			return;				/* participants have no filter in common */
		case T_CustomScan:
			place_below_custom(place, (CustomScan *) plan, once);
			return;
		case T_SubqueryScan:
			place_below(place, ((SubqueryScan *) plan)->subplan, once);
			return;
		case T_HashJoin:
			place_at_join(place, (HashJoin *) plan, once);
			break;
		case T_NestLoop:
		case T_RecursiveUnion:
			place_below(place, outerPlan(plan), once);
			place_below(place, innerPlan(plan), false);
			return;
		default:
			break;
	}
	place_below(place, outerPlan(plan), once);
	place_below(place, innerPlan(plan), once);
	if (px_plan_list(plan))
	{
		foreach(lc, *px_plan_list(plan))
			place_below(place, lfirst(lc), once);
	}
}

void
px_filter_place(PlannedStmt *stmt)
{
	placement	place = {.stmt = stmt, .constant = px_constant_params(stmt)};
	ListCell   *lc;

	if (stmt->dependsOnRole)
		return;

	/* A parameter of all scans below, which only checks of locked rows set. */
	if (IsA(stmt->planTree, ModifyTable))
		place.constant = bms_add_member(
			place.constant, ((ModifyTable *) stmt->planTree)->epqParam);
	place_below(&place, stmt->planTree, true);
	foreach(lc, stmt->subplans)
		place_below(&place, lfirst(lc), false);
}
