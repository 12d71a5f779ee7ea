/*-------------------------------------------------------------------------
 *
 * marker.c
 *		Recognizing SELECT exchange.send('...', t.*) FROM (...) t, and the same
 *		with exchange.send_text.
 *
 * The planner hook sees every query of the backend, so it begins with cheap
 * tests that nearly all queries fail.  A marked query must have exactly this
 * form: one target, one subquery, nothing else.  A query that resembles it is
 * planned as usual, and then refused by the function itself.
 *
 * A coordinator calls the function by name.  Although it has found the
 * extension here, the name may mean another function: somebody may have
 * created one whose arguments match better, or the extension was dropped.
 * Such a function must not run with the rights of the coordinator's user.  So
 * the hook refuses a query that has the form of a marked one and calls
 * somebody else's function exchange.send or exchange.send_text.
 *
 * The subquery is planned in place of the whole query.  It was analyzed,
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
#include "utils/lsyscache.h"
#include "utils/regproc.h"

#include "admit/session.h"
#include "compat.h"
#include "conn/sqlstate.h"
#include "exec/fragment_memory.h"
#include "exec/plan_walk.h"
#include "node/send.h"
#include "plan/attach.h"
#include "plan/in_keys.h"
#include "plan/key_descents.h"
#include "plan/marker.h"
#include "plan/slice.h"
#include "tuple/cut.h"

static planner_hook_type prev_planner_hook = NULL;

/* Does the query have any clause other than its target list and FROM? */
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

/* If FROM is a single subquery and nothing else, return its entry. */
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
 * Is this call a marker, exchange.send('...', t.*), where t is the subquery?
 * The parser makes the same of a plain t, unless the subquery has a column of
 * that name.  So receivers write t.*.
 *
 * The row of a subquery has type record.  The row of a view has a named type.
 * The rewriter has turned a view into a subquery, too, but permissions to use
 * the view are checked by its range table entry, which would be lost here.  So
 * we accept type record only.
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

/* Has this function, which is not a marker function, the name of one? */
static bool
has_marker_name(Oid function)
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
refuse_foreign_function(Oid function)
{
	ereport(ERROR,
			(errcode(PX_ERRCODE_NOT_PLANNED),
			 errmsg("function %s is not that of pg_exchange",
					format_procedure_qualified(function)),
			 errdetail("It is called like the one by which a server asks for an exchange."),
			 errhint("Give the function another name or schema.")));
}

/*
 * If the query is marked, return the marker and set *text to whether it is
 * exchange.send_text.  Otherwise return NULL.
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
	 * Only now we look into the catalogs.  We compare the function's address,
	 * because the function may have been created under any name and in any
	 * schema.
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
	if (has_marker_name(function))
		refuse_foreign_function(function);
	return NULL;
}

static PlannedStmt *
plan_query(PX_PLANNER_PARAMETERS)
{
	if (prev_planner_hook)
		return prev_planner_hook(PX_PLANNER_ARGUMENTS(parse));
	return standard_planner(PX_PLANNER_ARGUMENTS(parse));
}

/* Plan the query below a marker. */
static PlannedStmt *
plan_below(PX_PLANNER_PARAMETERS)
{
	int			nestlevel = px_fragment_memory_begin();
	bool		capped = px_key_descents_cap();
	PlannedStmt *stmt;

	PG_TRY();
	{
		stmt = plan_query(PX_PLANNER_ARGUMENTS(parse));
	}
	PG_FINALLY();
	{
		px_key_descents_restore(capped);
	}
	PG_END_TRY();
	px_fragment_memory_end(nestlevel);
	return stmt;
}

/*
 * Frames name their senders, and each worker has a sender for each target.
 * Plan no more workers than there are numbers of senders for.
 */
static void
limit_workers(const px_request *request)
{
	int			workers_max = PX_CUT_PARTICIPANT_MAX((int) request->targets);
	char		value[12];

	if (max_parallel_workers_per_gather <= workers_max)
		return;
	pg_ltoa(workers_max, value);
	(void) set_config_option("max_parallel_workers_per_gather", value,
							 PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true,
							 0, false);
}

/*
 * Plan the query of a stream.
 *
 * parallel_tuple_cost is the cost of passing a row through a Gather.  It would
 * prevent parallel plans for all queries that return many rows.  But with
 * ExchangeSend below the Gather, frames pass through it, and a frame has many
 * rows.  So we divide the cost by the rows of a batch.  If ExchangeSend cannot
 * go below the Gather of the resulting plan, we plan again with the real cost.
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
		return plan_below(PX_PLANNER_ARGUMENTS(parse));

	copy = copyObject(parse);
	double_to_shortest_decimal_buf(parallel_tuple_cost / request->batch_rows,
								   cost);
	nestlevel = NewGUCNestLevel();
	(void) set_config_option("parallel_tuple_cost", cost, PGC_USERSET,
							 PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
	limit_workers(request);
	stmt = plan_below(PX_PLANNER_ARGUMENTS(copy));
	AtEOXact_GUC(true, nestlevel);

	if (stmt->parallelModeNeeded && !px_send_fits_below(stmt->planTree))
		stmt = plan_below(PX_PLANNER_ARGUMENTS(parse));
	return stmt;
}

/* Decline a query that must run in postgres_fdw's session, not in this one. */
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
 * Change the request so that the query is evaluated in the portions that
 * postgres_fdw would fetch.  Volatile functions may have effects, which must
 * not happen earlier than with postgres_fdw, and so may row locks.  The
 * receiver cannot request this, because they may be inside a view of the
 * remote.
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
	 * A stream of frames cannot run backward.  For a scrollable cursor the
	 * planner may add a Materialize, but not on top of a finished plan.  So
	 * such a query is not taken, and the function itself refuses it.
	 */
	if (marker == NULL || (cursor_options & CURSOR_OPT_SCROLL) != 0)
		return plan_query(PX_PLANNER_ARGUMENTS(parse));

	inner = single_subquery(parse)->subquery;
	pfree(px_send_read_request(castNode(FuncExpr, marker->expr),
							   ExecCleanTargetListLength(inner->targetList),
							   &request));
	if (text && request.targets > 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("exchange.send_text cannot cut rows into targets")));
	if (text)
	{
		/*
		 * Receivers run this query by a cursor of postgres_fdw, and cursors
		 * have no parallel plans.  So EXPLAIN must not get one either.  Nor
		 * are only the first rows wanted, if a LIMIT leaves no others.
		 */
		cursor_options &= ~CURSOR_OPT_PARALLEL_OK;
		if (inner->limitCount != NULL)
			cursor_options &= ~CURSOR_OPT_FAST_PLAN;
		if (px_session_judge_time(inner))
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
	px_in_keys_replace(stmt, castNode(FuncExpr, marker->expr)->funcid);
	px_send_add_node(stmt, marker, &request, &slice, text);
	px_plan_add_function(stmt, castNode(FuncExpr, marker->expr)->funcid);
	return stmt;
}

void
px_marker_init(void)
{
	prev_planner_hook = planner_hook;
	planner_hook = marker_planner;
}
