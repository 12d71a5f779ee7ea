/*-------------------------------------------------------------------------
 *
 * marker.c
 *		Recognising SELECT exchange.send('...', t.*) FROM (...) t, and the same
 *		with exchange.send_text.
 *
 * The planner hook looks at every query of the backend, so the first tests
 * are the cheap ones that nearly all queries fail.  What passes must be
 * exactly the marker: one target, one subquery, nothing else at all.  Anything
 * near it is planned as usual and then refused by the function itself.
 *
 * A coordinator that has found the extension here, and then calls the function
 * by its name, may still meet another of that name: because somebody else has
 * made one that fits better, or the extension is gone.  Such a function is not
 * to be called with the rights of whoever reads through the coordinator; so
 * what has the form of the marker is refused.
 *
 * The subquery is planned in place of the whole query.  It was analysed,
 * rewritten and locked as part of it, so permissions, row security and
 * invalidation of cached plans are those of an ordinary SELECT.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_collation_d.h"
#include "catalog/pg_type_d.h"
#include "common/shortest_dec.h"
#include "executor/executor.h"
#include "nodes/makefuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/planner.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/regproc.h"
#include "utils/syscache.h"

#include "admit/session.h"
#include "compat.h"
#include "conn/sqlstate.h"
#include "node/send.h"
#include "plan/attach.h"
#include "plan/marker.h"
#include "plan/slice.h"

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
 * Is this a marker's call, exchange.send('...', t.*), with t the subquery?  A
 * plain t is the same where the subquery has no column of that name, which is
 * why receivers do not write it.
 *
 * The subquery's row is of type record.  A view's has a named type, and the
 * rights to use the view hang on its range table entry: so a view is not
 * taken for a subquery, although the rewriter has made one of it.
 */
static bool
is_marker_call(const FuncExpr *call, Oid result_type)
{
	const Const *request;
	const Var  *row;

	if (call->funcresulttype != result_type ||
		call->funcretset || call->funcvariadic || list_length(call->args) != 2)
		return false;
	request = linitial(call->args);
	row = lsecond(call->args);
	if (!IsA(request, Const) || request->consttype != TEXTOID ||
		request->constisnull)
		return false;
	return IsA(row, Var) && row->varno == 1 && row->varattno == 0 &&
		row->varlevelsup == 0 && row->vartype == RECORDOID;
}

/* Is this a stranger's function of a marker's name? */
static bool
is_impostor(Oid function)
{
	char	   *name = get_func_name(function);
	char	   *schema;

	if (name == NULL ||
		(strcmp(name, "send") != 0 && strcmp(name, "send_text") != 0))
		return false;
	schema = get_namespace_name(get_func_namespace(function));
	return schema != NULL && strcmp(schema, "exchange") == 0;
}

static void
refuse_impostor(Oid function)
{
	ereport(ERROR,
			(errcode(PX_ERRCODE_NOT_PLANNED),
			 errmsg("function %s is not that of pg_exchange", format_procedure_qualified(function)),
			 errdetail("It is called like the one by which a server asks for an exchange."),
			 errhint("Give the function another name or schema.")));
}

/*
 * If the query is a marked one, return the marker, else NULL.  *text is set to
 * whether it asks for text.
 */
static TargetEntry *
find_marker(const Query *query, bool *text)
{
	TargetEntry *target;
	Oid			function;
	FmgrInfo	finfo;

	if (query->commandType != CMD_SELECT || query->utilityStmt != NULL ||
		list_length(query->targetList) != 1)
		return NULL;
	target = linitial_node(TargetEntry, query->targetList);
	if (target->resjunk)
		return NULL;
	if (IsA(target->expr, FuncExpr))
		function = ((FuncExpr *) target->expr)->funcid;
	else if (IsA(target->expr, Aggref))
		function = ((Aggref *) target->expr)->aggfnoid;
	else
		return NULL;
	if (single_subquery(query) == NULL)
		return NULL;

	/*
	 * Only now ask the catalogs.  The function's address is the surest sign:
	 * it leaves no doubt about names, schemas or versions of the library.
	 */
	if (IsA(target->expr, FuncExpr))
	{
		fmgr_info(function, &finfo);
		if (finfo.fn_addr == px_sql_send || finfo.fn_addr == px_sql_send_text)
		{
			*text = finfo.fn_addr == px_sql_send_text;
			return !has_other_clauses(query) &&
					is_marker_call((FuncExpr *) target->expr,
								   *text ? TEXTOID : BYTEAOID)
				? target
				: NULL;
		}
	}
	if (is_impostor(function))
		refuse_impostor(function);
	return NULL;
}

static PlannedStmt *
plan_query(PX_PLANNER_PARAMETERS)
{
	if (prev_planner_hook)
		return prev_planner_hook(PX_PLANNER_ARGUMENTS(parse));
	return standard_planner(PX_PLANNER_ARGUMENTS(parse));
}

/*
 * Plan the query of a stream.  Below a Gather, participants hand over frames,
 * one for many rows; parallel_tuple_cost is for each row, and would keep all
 * plans that return many of them from being parallel.  So it is divided by the
 * rows of a batch, unless the plan has a Gather that rows go through all the
 * same.
 */
static PlannedStmt *
plan_stream(const px_request *request, PX_PLANNER_PARAMETERS)
{
	Query	   *copy;
	PlannedStmt *stmt;
	char		cost[DOUBLE_SHORTEST_DECIMAL_LEN];
	int			nestlevel;

	if ((cursor_options & CURSOR_OPT_PARALLEL_OK) == 0 ||
		max_parallel_workers_per_gather == 0)
		return plan_query(PX_PLANNER_ARGUMENTS(parse));

	copy = copyObject(parse);
	double_to_shortest_decimal_buf(parallel_tuple_cost / request->batch_rows,
								   cost);
	nestlevel = NewGUCNestLevel();
	(void) set_config_option("parallel_tuple_cost", cost, PGC_USERSET,
							 PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
	stmt = plan_query(PX_PLANNER_ARGUMENTS(copy));
	AtEOXact_GUC(true, nestlevel);

	if (stmt->parallelModeNeeded && !px_send_fits_below(stmt->planTree))
		stmt = plan_query(PX_PLANNER_ARGUMENTS(parse));
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
	item->hashValue = GetSysCacheHashValue1(PROCOID,
											ObjectIdGetDatum(function));
	stmt->invalItems = lappend(stmt->invalItems, item);
}

/* Decline what another session than this should do. */
static void
check_session(Query *query, const px_request *request)
{
	px_session_decline(px_session_judge(query));
	if (request->has_session && request->session != px_session_fingerprint())
		ereport(ERROR,
				(errcode(PX_ERRCODE_DECLINED),
				 errmsg("session settings differ"),
				 errdetail("Another session with these settings could answer the query differently.")));
}

/*
 * Functions of the query may have effects: let it be evaluated in the portions
 * that postgres_fdw would fetch, whatever the receiver knows.
 */
static TargetEntry *
evaluate_portions(const TargetEntry *marker, px_request *request)
{
	TargetEntry *copy = copyObject(unconstify(TargetEntry *, marker));
	FuncExpr   *call = castNode(FuncExpr, copy->expr);
	px_request_column *columns;
	size_t		nbytes;
	char	   *line;

	if (request->fetch_rows == 0 || request->fetch_rows > request->batch_rows)
		return copy;
	request->fixed = true;
	columns = px_send_read_request(call, request->ncolumns, &(px_request) {0});
	nbytes = px_request_write(NULL, 0, request, columns);
	line = palloc(nbytes + 1);
	px_request_write(line, nbytes + 1, request, columns);
	linitial(call->args) = makeConst(TEXTOID, -1, DEFAULT_COLLATION_OID, -1,
									 CStringGetTextDatum(line), false, false);
	return copy;
}

static PlannedStmt *
marker_planner(PX_PLANNER_PARAMETERS)
{
	bool		text = false;
	TargetEntry *marker = find_marker(parse, &text);
	Query	   *inner;
	PlannedStmt *stmt;
	px_request	request;
	px_slice	slice = {.slices = 1};

	/*
	 * A stream of frames cannot run backwards, and a plan that is finished
	 * cannot be materialized any more: no scrolling.
	 */
	if (marker == NULL || (cursor_options & CURSOR_OPT_SCROLL) != 0)
		return plan_query(PX_PLANNER_ARGUMENTS(parse));

	inner = single_subquery(parse)->subquery;
	pfree(px_send_read_request(castNode(FuncExpr, marker->expr),
							   ExecCleanTargetListLength(inner->targetList),
							   &request));
	if (text)
	{
		/*
		 * It is postgres_fdw's own session that runs it, by a cursor of its
		 * own.
		 */
		cursor_options &= ~CURSOR_OPT_PARALLEL_OK;
		if (contain_volatile_functions((Node *) inner))
			marker = evaluate_portions(marker, &request);
	}
	else
		check_session(inner, &request);
	if (request.slices > 1)
		px_slice_query(inner, &request, &slice);
	inner->queryId = parse->queryId;
	inner->querySource = parse->querySource;
	inner->canSetTag = parse->canSetTag;
	inner->hasRowSecurity |= parse->hasRowSecurity;
	inner->stmt_location = parse->stmt_location;
	inner->stmt_len = parse->stmt_len;

	stmt = plan_stream(&request, PX_PLANNER_ARGUMENTS(inner));
	if (!text)
		px_session_decline(px_session_judge_plan(stmt));
	px_send_add_node(stmt, marker, &request, &slice, text);
	add_function_dependency(stmt, castNode(FuncExpr, marker->expr)->funcid);
	return stmt;
}

void
px_marker_init(void)
{
	prev_planner_hook = planner_hook;
	planner_hook = marker_planner;
}
