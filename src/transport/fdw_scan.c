/*-------------------------------------------------------------------------
 *
 * fdw_scan.c
 *		A foreign scan that postgres_fdw runs with a query of ours.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/pg_class.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/memutils.h"

#include "compat.h"
#include "conn/pool.h"
#include "transport/fdw_scan.h"

/*
 * A row for each FETCH: the remote decides how much a row holds, and the first
 * row is there after as many round trips as with postgres_fdw.
 */
#define ROWS_OF_A_FETCH		1

ForeignScan *
px_fdw_scan_make(Oid serverid, Index rtindex, Oid userid, List *params,
				 char *sql)
{
	ForeignScan *scan = makeNode(ForeignScan);
	Expr	   *null = (Expr *) makeNullConst(TEXTOID, -1, InvalidOid);
	Var		   *var = makeVar(INDEX_VAR, 1, TEXTOID, -1, InvalidOid, 0);

	scan->fdw_scan_tlist = list_make1(makeTargetEntry(null, 1, NULL, false));
	scan->scan.plan.targetlist =
		list_make1(makeTargetEntry((Expr *) var, 1, NULL, false));
	scan->scan.plan.async_capable = true;
	scan->operation = CMD_SELECT;
	scan->fs_server = serverid;
	scan->fdw_exprs = params;
	px_foreignscan_set_relids(scan, bms_make_singleton(rtindex));
	px_foreignscan_set_user(scan, userid);
	scan->fdw_private = list_make3(makeString(sql), list_make1_int(1),
								   makeInteger(ROWS_OF_A_FETCH));
	return scan;
}

EState *
px_fdw_scan_estate(EState *query)
{
	MemoryContext oldcontext = MemoryContextSwitchTo(CurTransactionContext);
	EState	   *estate = CreateExecutorState();
	MemoryContext context = estate->es_query_cxt;

	*estate = *query;
	estate->es_query_cxt = context;
	estate->es_tupleTable = NIL;
	estate->es_exprcontexts = NIL;
	estate->es_per_tuple_exprcontext = NULL;
	estate->es_instrument = 0;
	estate->es_jit_flags = 0;
	estate->es_jit = NULL;
	estate->es_partition_directory = NULL;
	estate->es_epq_active = NULL;	/* else it would not be asynchronous */
	MemoryContextSwitchTo(oldcontext);
	return estate;
}

/*
 * In a PG_CATCH: is it worth to try again?  Nothing was changed if there is no
 * connection, so no subtransaction is needed.  Raises the error again if not.
 */
static void
give_way_or_rethrow(MemoryContext context, Oid serverid)
{
	ErrorData  *error;

	if (geterrcode() != ERRCODE_SQLCLIENT_UNABLE_TO_ESTABLISH_SQLCONNECTION)
		PG_RE_THROW();
	MemoryContextSwitchTo(context);
	error = CopyErrorData();
	FlushErrorState();
	if (!px_pool_give_way(GetForeignServer(serverid)))
		ReThrowError(error);
	FreeErrorData(error);
}

ForeignScanState *
px_fdw_scan_init(ForeignScan *scan, EState *estate, int eflags)
{
	MemoryContext context = CurrentMemoryContext;
	PlanState  *volatile node = NULL;

	PG_TRY();
	{
		node = ExecInitNode((Plan *) scan, estate, eflags);
	}
	PG_CATCH();
	{
		give_way_or_rethrow(context, scan->fs_server);
	}
	PG_END_TRY();
	if (node == NULL)
		node = ExecInitNode((Plan *) scan, estate, eflags);
	return castNode(ForeignScanState, node);
}

void
px_fdw_scan_set_table(EState *own, Oid relid, Oid userid)
{
	RangeTblEntry *rte = makeNode(RangeTblEntry);

	rte->rtekind = RTE_RELATION;
	rte->relid = relid;
	rte->relkind = RELKIND_FOREIGN_TABLE;
	px_rte_set_user(rte, userid);
	own->es_range_table = list_make1(rte);
	own->es_range_table_size = 1;
}

List *
px_fdw_scan_text_param(EState *own, text *argument)
{
	Param	   *param = makeNode(Param);

	own->es_param_exec_vals = palloc0(sizeof(ParamExecData));
	own->es_param_exec_vals[0].value = PointerGetDatum(argument);
	param->paramkind = PARAM_EXEC;
	param->paramid = 0;
	param->paramtype = TEXTOID;
	param->paramtypmod = -1;
	param->paramcollid = DEFAULT_COLLATION_OID;
	param->location = -1;
	return list_make1(param);
}

static bool
add_paramids(Node *node, void *arg)
{
	Bitmapset **paramids = arg;

	if (node == NULL)
		return false;
	if (IsA(node, Param) && ((Param *) node)->paramkind == PARAM_EXEC)
		*paramids = bms_add_member(*paramids, ((Param *) node)->paramid);
	return expression_tree_walker(node, add_paramids, arg);
}

Bitmapset *
px_fdw_scan_paramids(const ForeignScan *scan)
{
	Bitmapset  *paramids = NULL;

	(void) add_paramids((Node *) scan->fdw_exprs, &paramids);
	return paramids;
}
