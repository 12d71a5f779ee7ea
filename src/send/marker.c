/*-------------------------------------------------------------------------
 *
 * marker.c
 *		Recognising SELECT exchange.send('...', t.*) FROM (...) t.
 *
 * The planner hook looks at every query of the backend, so the first tests
 * are the cheap ones that nearly all queries fail.  What passes must be
 * exactly the marker: one target, one subquery, nothing else at all.  Anything
 * near it is planned as usual and then refused by exchange.send itself.
 *
 * The subquery is planned in place of the whole query.  It was analysed,
 * rewritten and locked as part of it, so permissions, row security and
 * invalidation of cached plans are those of an ordinary SELECT.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type_d.h"
#include "common/shortest_dec.h"
#include "executor/executor.h"
#include "nodes/makefuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/planner.h"
#include "utils/guc.h"
#include "utils/inval.h"
#include "utils/syscache.h"

#include "send/marker.h"
#include "send/send.h"
#include "send/session.h"
#include "send/slice.h"

static planner_hook_type prev_planner_hook = NULL;

/* Has the query any clause besides a target list and FROM? */
static bool
has_other_clauses(const Query *query)
{
	return query->hasAggs || query->hasWindowFuncs || query->hasTargetSRFs ||
		query->hasSubLinks || query->hasDistinctOn || query->hasRecursive ||
		query->hasModifyingCTE || query->hasForUpdate ||
		query->cteList != NIL || query->groupClause != NIL ||
		query->groupingSets != NIL || query->havingQual != NULL ||
		query->windowClause != NIL || query->distinctClause != NIL ||
		query->sortClause != NIL || query->limitOffset != NULL ||
		query->limitCount != NULL || query->rowMarks != NIL ||
		query->setOperations != NULL || query->withCheckOptions != NIL ||
		query->returningList != NIL || query->onConflict != NULL;
}

/* If FROM is a single subquery and nothing more, return its entry. */
static RangeTblEntry *
single_subquery(const Query *query)
{
	RangeTblEntry *rte;
	Node	   *from;

	if (list_length(query->rtable) != 1 || query->jointree == NULL ||
		list_length(query->jointree->fromlist) != 1 ||
		query->jointree->quals != NULL)
		return NULL;
	from = linitial(query->jointree->fromlist);
	if (!IsA(from, RangeTblRef) || ((RangeTblRef *) from)->rtindex != 1)
		return NULL;
	rte = linitial_node(RangeTblEntry, query->rtable);
	if (rte->rtekind != RTE_SUBQUERY || rte->subquery == NULL ||
		rte->subquery->commandType != CMD_SELECT ||
		rte->securityQuals != NIL || rte->tablesample != NULL)
		return NULL;
	return rte;
}

/*
 * Is this exchange.send('...', t.*), with t the subquery?  A plain t is the
 * same where the subquery has no column of that name, which is why receivers
 * do not write it.
 *
 * The subquery's row is of type record.  A view's has a named type, and the
 * rights to use the view hang on its range table entry: so a view is not
 * taken for a subquery, although the rewriter has made one of it.
 */
static bool
is_marker_call(const Node *node)
{
	const FuncExpr *call = (const FuncExpr *) node;
	const Const *request;
	const Var  *row;
	FmgrInfo	finfo;

	if (!IsA(node, FuncExpr) || call->funcresulttype != BYTEAOID ||
		call->funcretset || call->funcvariadic || list_length(call->args) != 2)
		return false;
	request = linitial(call->args);
	row = lsecond(call->args);
	if (!IsA(request, Const) || request->consttype != TEXTOID ||
		request->constisnull)
		return false;
	if (!IsA(row, Var) || row->varno != 1 || row->varattno != 0 ||
		row->varlevelsup != 0 || row->vartype != RECORDOID)
		return false;

	/*
	 * Only now ask the catalogs.  The function's address is the surest sign:
	 * it leaves no doubt about names, schemas or versions of the library.
	 */
	fmgr_info(call->funcid, &finfo);
	return finfo.fn_addr == px_sql_send;
}

/* If the query is a marked one, return the marker, else NULL. */
static TargetEntry *
find_marker(const Query *query)
{
	TargetEntry *target;

	if (query->commandType != CMD_SELECT || query->utilityStmt != NULL ||
		list_length(query->targetList) != 1)
		return NULL;
	target = linitial_node(TargetEntry, query->targetList);
	if (target->resjunk || !IsA(target->expr, FuncExpr))
		return NULL;
	if (has_other_clauses(query) || single_subquery(query) == NULL)
		return NULL;
	return is_marker_call((Node *) target->expr) ? target : NULL;
}

static PlannedStmt *
plan_query(Query *query, const char *query_string, int cursor_options,
		   ParamListInfo params)
{
	if (prev_planner_hook)
		return prev_planner_hook(query, query_string, cursor_options, params);
	return standard_planner(query, query_string, cursor_options, params);
}

/*
 * Plan the query of a stream.  Below a Gather, participants hand over frames,
 * one for many rows; parallel_tuple_cost is for each row, and would keep all
 * plans that return many of them from being parallel.  So it is divided by the
 * rows of a batch, unless the plan has a Gather that rows go through all the
 * same.
 */
static PlannedStmt *
plan_stream(Query *inner, const px_request *request, const char *query_string,
			int cursor_options, ParamListInfo params)
{
	Query	   *copy;
	PlannedStmt *stmt;
	char		cost[DOUBLE_SHORTEST_DECIMAL_LEN];
	int			nestlevel;

	if ((cursor_options & CURSOR_OPT_PARALLEL_OK) == 0 ||
		max_parallel_workers_per_gather == 0)
		return plan_query(inner, query_string, cursor_options, params);

	copy = copyObject(inner);
	double_to_shortest_decimal_buf(parallel_tuple_cost / request->batch_rows, cost);
	nestlevel = NewGUCNestLevel();
	(void) set_config_option("parallel_tuple_cost", cost, PGC_USERSET, PGC_S_SESSION,
							 GUC_ACTION_SAVE, true, 0, false);
	stmt = plan_query(copy, query_string, cursor_options, params);
	AtEOXact_GUC(true, nestlevel);

	if (stmt->parallelModeNeeded && !px_send_fits_below(stmt->planTree))
		stmt = plan_query(inner, query_string, cursor_options, params);
	return stmt;
}

/*
 * Make dropping or replacing the function invalidate the plan, as the planner
 * does for functions that it meets itself.
 */
static void
add_function_dependency(PlannedStmt *stmt, Oid function)
{
	PlanInvalItem *item = makeNode(PlanInvalItem);

	item->cacheId = PROCOID;
	item->hashValue = GetSysCacheHashValue1(PROCOID, ObjectIdGetDatum(function));
	stmt->invalItems = lappend(stmt->invalItems, item);
}

static PlannedStmt *
marker_planner(Query *parse, const char *query_string, int cursor_options,
			   ParamListInfo params)
{
	TargetEntry *marker = find_marker(parse);
	Query	   *inner;
	PlannedStmt *stmt;
	px_request	request;
	px_slice	slice = {.slices = 1};

	/*
	 * A stream of frames cannot run backwards, and a plan that is finished
	 * cannot be materialized any more: no scrolling.
	 */
	if (marker == NULL || (cursor_options & CURSOR_OPT_SCROLL) != 0)
		return plan_query(parse, query_string, cursor_options, params);

	inner = single_subquery(parse)->subquery;
	px_session_check(inner);
	pfree(px_send_read_request(castNode(FuncExpr, marker->expr),
							   ExecCleanTargetListLength(inner->targetList), &request));
	if (request.slices > 1)
		px_slice_query(inner, &request, &slice);
	inner->queryId = parse->queryId;
	inner->querySource = parse->querySource;
	inner->canSetTag = parse->canSetTag;
	inner->hasRowSecurity |= parse->hasRowSecurity;
	inner->stmt_location = parse->stmt_location;
	inner->stmt_len = parse->stmt_len;

	stmt = plan_stream(inner, &request, query_string, cursor_options, params);
	px_send_add_node(stmt, marker, &request, &slice);
	add_function_dependency(stmt, castNode(FuncExpr, marker->expr)->funcid);
	return stmt;
}

void
px_marker_init(void)
{
	prev_planner_hook = planner_hook;
	planner_hook = marker_planner;
}
