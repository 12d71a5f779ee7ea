/*-------------------------------------------------------------------------
 *
 * run.c
 *		What the executor is about to do with a query that has exchanges.
 *
 * A stream reads in a remote session of its own, whose locks on the remote
 * tables last until it has sent all.  If postgres_fdw's session wanted a
 * stronger lock meanwhile, it would wait for the stream, and the stream for
 * us.  So there are streams only while a query runs to its end in one go.  A
 * function may run another query inside it, which writes to foreign tables or
 * has postgres_fdw read them: before that, all streams are read to their end.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "executor/executor.h"
#include "nodes/parsenodes.h"
#include "parser/parsetree.h"
#include "tcop/utility.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/reltrigger.h"

#include "compat.h"
#include "compat_executor.h"
#include "conn/pool.h"
#include "exec/plan_walk.h"
#include "exec/run.h"
#include "exec/write_install.h"
#include "exec/writer.h"
#include "transport/stream.h"

/* The queries that are running, the innermost first. */
typedef struct running_query
{
	const EState *estate;
	bool		complete;
	bool		once;			/* no other run follows */
	struct running_query *outer;
} running_query;

static running_query *running = NULL;

static ExecutorStart_hook_type next_executor_start = NULL;
static ExecutorRun_hook_type next_executor_run = NULL;
static ProcessUtility_hook_type next_process_utility = NULL;

static const running_query *
find_running(const EState *estate)
{
	const running_query *query = running;

	while (query && query->estate != estate)
		query = query->outer;
	return query;
}

bool
px_run_is_complete(const EState *estate)
{
	const running_query *query = find_running(estate);

	return query && query->complete;
}

bool
px_run_may_resume(const EState *estate)
{
	const running_query *query = find_running(estate);

	return query == NULL || !(query->complete || query->once);
}

static bool
is_foreign(Oid relid)
{
	char		relkind = get_rel_relkind(relid);

	/* Rows may be routed to a partition that is foreign. */
	return relkind == RELKIND_FOREIGN_TABLE ||
		relkind == RELKIND_PARTITIONED_TABLE;
}

bool
px_run_writes_foreign(const PlannedStmt *plan)
{
	Bitmapset  *targets = px_result_relation_relids(plan);
	int			rti = -1;

	while ((rti = bms_next_member(targets, rti)) >= 0)
	{
		if (is_foreign(rt_fetch(rti, plan->rtable)->relid))
			return true;
	}
	return false;
}

bool
px_run_has_early_triggers(const EState *estate)
{
	Bitmapset  *targets = px_result_relation_relids(estate->es_plannedstmt);
	int			rti = -1;

	while ((rti = bms_next_member(targets, rti)) >= 0)
	{
		Oid			relid = rt_fetch(rti, estate->es_range_table)->relid;

		/* The executor has locked it. */
		Relation	relation = table_open(relid, NoLock);
		const TriggerDesc *triggers = relation->trigdesc;
		bool		early = triggers &&
			(triggers->trig_insert_before_row ||
			 triggers->trig_insert_instead_row ||
			 triggers->trig_insert_before_statement ||
			 triggers->trig_update_before_row ||
			 triggers->trig_update_before_statement ||
			 triggers->trig_delete_before_row ||
			 triggers->trig_delete_before_statement);

		table_close(relation, NoLock);
		if (early)
			return true;
	}
	return false;
}

/*
 * Does postgres_fdw run the scan by itself?  What it reads may be a view
 * there, which takes any lock.
 */
static bool
is_foreign_scan(Plan *plan, void *arg)
{
	return IsA(plan, ForeignScan);
}

/* May postgres_fdw's session want locks that conflict with a stream's? */
static bool
may_lock_there(const PlannedStmt *plan)
{
	return px_run_writes_foreign(plan) ||
		px_plan_walk_all(plan, is_foreign_scan, NULL);
}

/* ---------------------------------------------------------------------
 * Writes by frames
 * --------------------------------------------------------------------- */

/* Rows that COPY has counted, but the remote has not written. */
static uint64 copy_skipped = 0;

/* Have our functions called for a foreign table that is written to. */
static void
install_write(Oid relid)
{
	Relation	relation;

	if (get_rel_relkind(relid) != RELKIND_FOREIGN_TABLE)
		return;

	/* Parser or plan cache have locked it. */
	relation = table_open(relid, NoLock);
	px_write_install(relation);
	table_close(relation, NoLock);
}

static void
install_writes(const PlannedStmt *plan)
{
	Bitmapset  *targets = px_result_relation_relids(plan);
	int			rti = -1;

	while ((rti = bms_next_member(targets, rti)) >= 0)
		install_write(rt_fetch(rti, plan->rtable)->relid);
}

static void
flush_writer(EState *estate)
{
	MemoryContext oldcontext = MemoryContextSwitchTo(estate->es_query_cxt);

	px_writer_flush(estate);
	MemoryContextSwitchTo(oldcontext);
}

void
px_run_flush_copy(EState *estate)
{
	px_writer_flush(estate);

	/* COPY does not use es_processed, so the writer counts down from zero. */
	copy_skipped -= estate->es_processed;
	estate->es_processed = 0;
}

/* ---------------------------------------------------------------------
 * Hooks
 * --------------------------------------------------------------------- */

static void
executor_start(QueryDesc *query, int eflags)
{
	if ((eflags & EXEC_FLAG_EXPLAIN_ONLY) == 0 &&
		px_connection_in_use(InvalidOid) && may_lock_there(query->plannedstmt))
		px_streams_spool_all(InvalidOid);
	if (query->operation != CMD_SELECT)
		install_writes(query->plannedstmt);

	if (next_executor_start)
		next_executor_start(query, eflags);
	else
		standard_ExecutorStart(query, eflags);
}

static void
executor_run(PX_EXECUTOR_RUN_PARAMETERS)
{
	running_query self = {queryDesc->estate, count == 0,
						  PX_EXECUTOR_RUN_IS_ONCE, running};

	running = &self;
	PG_TRY();
	{
		if (next_executor_run)
			next_executor_run(PX_EXECUTOR_RUN_ARGUMENTS);
		else
			standard_ExecutorRun(PX_EXECUTOR_RUN_ARGUMENTS);

		/* The number of rows that were written is read next. */
		if (queryDesc->operation != CMD_SELECT)
			flush_writer(queryDesc->estate);
	}
	PG_CATCH();
	{
		running = self.outer;
		if (queryDesc->operation != CMD_SELECT)
			px_writer_after_error(queryDesc->estate);
		PG_RE_THROW();
	}
	PG_END_TRY();
	running = self.outer;
}

/* Does it name a foreign table, or one that has foreign children? */
static bool
truncates_foreign(const TruncateStmt *stmt)
{
	ListCell   *lc;

	foreach(lc, stmt->relations)
	{
		const RangeVar *relation = lfirst_node(RangeVar, lc);
		Oid			relid = RangeVarGetRelid(relation, NoLock, true);
		List	   *members;
		ListCell   *member;

		if (!OidIsValid(relid))
			continue;
		members = relation->inh ? find_all_inheritors(relid, NoLock, NULL) :
			list_make1_oid(relid);
		foreach(member, members)
		{
			if (get_rel_relkind(lfirst_oid(member)) == RELKIND_FOREIGN_TABLE)
				return true;
		}
	}
	return false;
}

static bool
utility_writes_foreign(const Node *stmt)
{
	if (IsA(stmt, TruncateStmt))
		return truncates_foreign((const TruncateStmt *) stmt);
	if (IsA(stmt, CopyStmt) && ((const CopyStmt *) stmt)->is_from)
	{
		const CopyStmt *copy = (const CopyStmt *) stmt;
		Oid			relid = RangeVarGetRelid(copy->relation, NoLock, true);

		return OidIsValid(relid) && is_foreign(relid);
	}
	return false;
}

static void
run_utility(PlannedStmt *pstmt, const char *query, bool read_only_tree,
			ProcessUtilityContext context, ParamListInfo params,
			QueryEnvironment *environment, DestReceiver *dest,
			QueryCompletion *completion)
{
	if (next_process_utility)
		next_process_utility(pstmt, query, read_only_tree, context, params,
							 environment, dest, completion);
	else
		standard_ProcessUtility(pstmt, query, read_only_tree, context, params,
								environment, dest, completion);
}

static void
process_utility(PlannedStmt *pstmt, const char *query, bool read_only_tree,
				ProcessUtilityContext context, ParamListInfo params,
				QueryEnvironment *environment, DestReceiver *dest,
				QueryCompletion *completion)
{
	uint64		outer_skipped = copy_skipped;

	if (px_connection_in_use(InvalidOid) &&
		utility_writes_foreign(pstmt->utilityStmt))
		px_streams_spool_all(InvalidOid);
	copy_skipped = 0;
	PG_TRY();
	{
		run_utility(pstmt, query, read_only_tree, context, params, environment,
					dest, completion);
	}
	PG_CATCH();
	{
		if (IsA(pstmt->utilityStmt, CopyStmt))
			px_writer_after_error(NULL);
		PG_RE_THROW();
	}
	PG_END_TRY();

	/* The second error of a transaction block stops all timers. */
	if (IsA(pstmt->utilityStmt, TransactionStmt))
		px_pool_watch_idle();
	if (completion && completion->commandTag == CMDTAG_COPY)
		completion->nprocessed -= copy_skipped;
	copy_skipped = outer_skipped;
}

void
px_run_init(void)
{
	next_executor_start = ExecutorStart_hook;
	ExecutorStart_hook = executor_start;
	next_executor_run = ExecutorRun_hook;
	ExecutorRun_hook = executor_run;
	next_process_utility = ProcessUtility_hook;
	ProcessUtility_hook = process_utility;
}
