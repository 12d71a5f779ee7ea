/*-------------------------------------------------------------------------
 *
 * modify.c
 *		Foreign tables of postgres_fdw as targets of statements that write.
 *
 * When the executor begins to write to a foreign table, our Begin function
 * calls postgres_fdw's first: so its connection is made, or fails, when it
 * does so without us.  If nothing speaks against frames, the other functions
 * of this target are replaced, too, and rows go to a writer (exec/writer.h).
 * Else postgres_fdw's are put back.  The executor has a copy of the functions
 * for each target, so other targets are not concerned.
 *
 * What was written is complete when the writer is flushed: at the end of
 * ExecutorRun (exec/run.c), or when a COPY ends its target.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "executor/executor.h"
#include "foreign/fdwapi.h"
#include "foreign/foreign.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "compat.h"
#include "compat_executor.h"
#include "exec/clocks.h"
#include "exec/plan_walk.h"
#include "exec/run.h"
#include "exec/write_explain.h"
#include "exec/write_install.h"
#include "exec/write_rules.h"
#include "exec/write_statement.h"
#include "exec/writer.h"
#include "guc.h"
#include "node/modify.h"
#include "stats/counters.h"

/*
 * The functions of a target that we take part in; its ri_FdwRoutine.  In
 * es_query_cxt.
 */
typedef struct modify_routine
{
	FdwRoutine	fdw;			/* must be first */
	const FdwRoutine *own;		/* postgres_fdw's */
	px_write_plan plan;
	bool		is_only;		/* the statement has no other target */
	px_write_target *target;	/* NULL before the first row, and if reason */
	const char *reason;			/* why postgres_fdw writes; NULL: it doesn't */
} modify_routine;

/* The ri_FdwRoutine of a partitioned table, for EXPLAIN.  In es_query_cxt. */
typedef struct routed_targets
{
	FdwRoutine	fdw;			/* must be first */
	List	   *routines;		/* of the partitions: modify_routine */
} routed_targets;

static modify_routine *
routine_of(const ResultRelInfo *relinfo)
{
	return (modify_routine *) relinfo->ri_FdwRoutine;
}

/* The counters for the target's server and its user. */
static px_counters *
counters_of(ResultRelInfo *relinfo, EState *estate)
{
	Oid			relid = RelationGetRelid(relinfo->ri_RelationDesc);
	const ForeignServer *server =
		GetForeignServer(GetForeignServerIdByRelId(relid));

	return px_counters_get(server->serverid,
						   px_result_relation_user(relinfo, estate),
						   server->servername);
}

/*
 * Let postgres_fdw write to the target, from now on.  That is counted for the
 * query of estate, if it is given, and other targets of it are told.
 */
static void
leave_to_fdw(modify_routine *routine, const char *reason, EState *estate)
{
	ExplainForeignModify_function explain = routine->fdw.ExplainForeignModify;

	routine->fdw = *routine->own;
	routine->fdw.ExplainForeignModify = explain;
	routine->reason = reason;
	if (estate == NULL)
		return;
	counters_of(routine->plan.relinfo, estate)->write_fallbacks++;
	ereport(DEBUG1,
			(errmsg_internal("writing to \"%s\" is left to postgres_fdw: %s",
							 RelationGetRelationName(
								 routine->plan.relinfo->ri_RelationDesc),
							 reason)));
	if (!routine->is_only)
		px_writer_leave(&routine->plan, reason);
}

/* ---------------------------------------------------------------------
 * Rows
 * --------------------------------------------------------------------- */

/* The target's writer, made for its first row.  NULL: postgres_fdw writes. */
static px_write_target *
writer_of(modify_routine *routine)
{
	if (routine->target == NULL && routine->reason == NULL)
	{
		const char *reason = px_write_copy_reason(routine->plan.relinfo,
												  routine->plan.batch_size);

		if (reason)
			leave_to_fdw(routine, reason, routine->plan.mtstate->ps.state);
		else
			routine->target = px_writer_add(&routine->plan);
	}
	return routine->target;
}

static TupleTableSlot *
modify_insert(EState *estate, ResultRelInfo *relinfo, TupleTableSlot *slot,
			  TupleTableSlot *plan_slot)
{
	px_write_target *target = writer_of(routine_of(relinfo));

	if (target == NULL)
		return relinfo->ri_FdwRoutine->ExecForeignInsert(estate, relinfo, slot,
														 plan_slot);
	return px_writer_row(target, slot, plan_slot);
}

static TupleTableSlot *
modify_update(EState *estate, ResultRelInfo *relinfo, TupleTableSlot *slot,
			  TupleTableSlot *plan_slot)
{
	return px_writer_row(writer_of(routine_of(relinfo)), slot, plan_slot);
}

/*
 * The executor wants its slot, which is for RETURNING, as a sign that there
 * was a row.
 */
static TupleTableSlot *
modify_delete(EState *estate, ResultRelInfo *relinfo, TupleTableSlot *slot,
			  TupleTableSlot *plan_slot)
{
	return px_writer_row(writer_of(routine_of(relinfo)), NULL, plan_slot) ?
		slot : NULL;
}

/* Our writer makes its own batches, straight from the slots. */
static int
modify_batch_size(ResultRelInfo *relinfo)
{
	return 1;
}

/* ---------------------------------------------------------------------
 * Begin and end
 * --------------------------------------------------------------------- */

/* May rows of the plan below name a row of the target twice? */
static bool
may_repeat(const Plan *plan)
{
	while (plan->lefttree && !plan->righttree)
		plan = plan->lefttree;
	if (IsA(plan, ForeignScan))
		return ((const ForeignScan *) plan)->scan.scanrelid == 0;
	return !px_plan_is_receive(plan) ||
		((const CustomScan *) plan)->scan.scanrelid == 0;
}

static void
fill_plan(modify_routine *routine, bool routed, List *private, int reads)
{
	px_write_plan *plan = &routine->plan;
	const ModifyTableState *mtstate = plan->mtstate;
	const ModifyTable *modify = (const ModifyTable *) mtstate->ps.plan;

	plan->fdw = routine->own;
	plan->fdw_state = plan->relinfo->ri_FdwState;
	plan->operation = routed ? CMD_INSERT : mtstate->operation;
	if (!routed)
		px_write_statement_set(plan, private);
	if (plan->operation != CMD_INSERT)
	{
		const Plan *source = mtstate->ps.plan->lefttree;

		plan->ctid_attno = ExecFindJunkAttributeInTlist(source->targetlist,
														"ctid");
		plan->may_repeat = may_repeat(source);
	}
	plan->whole_statements = plan->batch_size > 1 &&
		(reads & PX_READS_OURS) != 0;
	plan->passes_first = (reads & PX_READS_TARGET) != 0;
	plan->expects_few = modify && plan->batch_size <= 1 &&
		modify->plan.lefttree->plan_rows <= px_min_write_rows;
	plan->do_nothing = modify &&
		modify->onConflictAction == ONCONFLICT_NOTHING;
	plan->set_processed = modify == NULL || mtstate->canSetTag;
}

/* The size of postgres_fdw's statements, after its Begin function. */
static int
fdw_batch_size(const FdwRoutine *own, const ModifyTableState *mtstate,
			   CmdType operation, ResultRelInfo *relinfo)
{
	bool		copies = mtstate->ps.plan == NULL;

	if (operation != CMD_INSERT || own->GetForeignModifyBatchSize == NULL ||
		(copies && !PX_COPY_HAS_BATCHES))
		return 1;
	return own->GetForeignModifyBatchSize(relinfo);
}

static void modify_end(EState *estate, ResultRelInfo *relinfo);
static void modify_end_insert(EState *estate, ResultRelInfo *relinfo);
static void modify_explain(ModifyTableState *mtstate, ResultRelInfo *relinfo,
						   List *fdw_private, int subplan_index,
						   ExplainState *es);
static void add_routed(ModifyTableState *mtstate, modify_routine *routine);

/* Take part in writing to a target that postgres_fdw has begun. */
static void
begin(ModifyTableState *mtstate, ResultRelInfo *relinfo, bool routed,
	  List *private, bool explain_only)
{
	EState	   *estate = mtstate->ps.state;
	MemoryContext oldcontext = MemoryContextSwitchTo(estate->es_query_cxt);
	const FdwRoutine *own = px_write_own_routine();
	CmdType		operation = routed ? CMD_INSERT : mtstate->operation;
	modify_routine *routine = palloc0(sizeof(modify_routine));
	int			batch_size = fdw_batch_size(own, mtstate, operation, relinfo);
	bool		is_off = !px_enabled || !px_writes;
	bool		is_small = !is_off && px_write_is_small(mtstate);
	int			reads = 0;
	const char *reason = is_small ? PX_WRITE_FEW_ROWS :
		px_write_reason(mtstate, relinfo, routed, private, batch_size, &reads);

	routine->fdw = *own;
	routine->own = own;
	routine->plan.mtstate = mtstate;
	routine->plan.relinfo = relinfo;
	routine->plan.begun_ns = px_wall_ns();
	routine->plan.batch_size = batch_size;
	routine->is_only = !routed && mtstate->mt_nrels == 1;
	relinfo->ri_FdwRoutine = &routine->fdw;
	if (explain_only || estate->es_instrument)
		routine->fdw.ExplainForeignModify = modify_explain;
	if (routed && estate->es_instrument)
		add_routed(mtstate, routine);
	if (reason == NULL && !explain_only)
	{
		fill_plan(routine, routed, private, reads);
		reason = px_write_statement_reason(&routine->plan);
	}

	if (reason)
		leave_to_fdw(routine, reason, explain_only || is_small || is_off ?
					 NULL : estate);
	else if (!explain_only)
	{
		routine->fdw.ExecForeignInsert = modify_insert;
		routine->fdw.ExecForeignUpdate = modify_update;
		routine->fdw.ExecForeignDelete = modify_delete;
		routine->fdw.GetForeignModifyBatchSize = modify_batch_size;
		routine->fdw.EndForeignModify = modify_end;
		routine->fdw.EndForeignInsert = modify_end_insert;
	}
	MemoryContextSwitchTo(oldcontext);
}

/* BeginForeignModify */
static void
modify_begin(ModifyTableState *mtstate, ResultRelInfo *relinfo,
			 List *fdw_private, int subplan_index, int eflags)
{
	px_write_own_routine()->BeginForeignModify(mtstate, relinfo, fdw_private,
											   subplan_index, eflags);

	/* A transport of ours has one that is not the executor's. */
	if (relinfo->ri_FdwRoutine &&
		relinfo->ri_FdwRoutine->BeginForeignModify == modify_begin)
		begin(mtstate, relinfo, false, fdw_private,
			  (eflags & EXEC_FLAG_EXPLAIN_ONLY) != 0);
}

/* BeginForeignInsert */
static void
modify_begin_insert(ModifyTableState *mtstate, ResultRelInfo *relinfo)
{
	px_write_own_routine()->BeginForeignInsert(mtstate, relinfo);
	begin(mtstate, relinfo, true, NIL, false);
}

/* Add to the statistics of the target's server what was done, in the end. */
static void
count(const modify_routine *routine, EState *estate)
{
	const px_write_stats *stats = routine->target ?
		px_writer_stats(routine->target) : NULL;
	px_counters *counters;

	if (stats == NULL || strstr(stats->transport, PX_WRITE_FEW_ROWS))
		return;
	counters = counters_of(routine->plan.relinfo, estate);
	if (stats->frames > 0)
		counters->writes++;
	else
		counters->write_fallbacks++;
	counters->rows_sent += stats->rows;
	counters->sent_nbytes += stats->wire_nbytes;
}

/* EndForeignModify */
static void
modify_end(EState *estate, ResultRelInfo *relinfo)
{
	count(routine_of(relinfo), estate);
	routine_of(relinfo)->own->EndForeignModify(estate, relinfo);
}

/*
 * EndForeignInsert: after COPY, rows may still be on their way.  Those of all
 * its partitions are sent now, so nothing is left for the next one.
 */
static void
modify_end_insert(EState *estate, ResultRelInfo *relinfo)
{
	const modify_routine *routine = routine_of(relinfo);

	if (routine->plan.mtstate->ps.plan == NULL)
		px_run_flush_copy(estate);
	count(routine, estate);
	routine->own->EndForeignInsert(estate, relinfo);
}

static px_write_explained
explained_of(const modify_routine *routine)
{
	return (px_write_explained) {
		.relid = RelationGetRelid(routine->plan.relinfo->ri_RelationDesc),
		.reason = routine->reason,
		.stats = routine->target ? px_writer_stats(routine->target) : NULL,
	};
}

/* ExplainForeignModify */
static void
modify_explain(ModifyTableState *mtstate, ResultRelInfo *relinfo,
			   List *fdw_private, int subplan_index, ExplainState *es)
{
	const modify_routine *routine = routine_of(relinfo);
	int			batch_size = relinfo->ri_BatchSize;
	px_write_explained explained;

	/* postgres_fdw's, as it would show it. */
	if (batch_size > 0)
		relinfo->ri_BatchSize = routine->plan.batch_size;
	if (routine->own->ExplainForeignModify)
		routine->own->ExplainForeignModify(mtstate, relinfo, fdw_private,
										   subplan_index, es);
	relinfo->ri_BatchSize = batch_size;
	explained = explained_of(routine);
	px_write_explain(&explained, 1, es);
}

/* ExplainForeignModify of a partitioned table: a sum of its partitions. */
static void
routed_explain(ModifyTableState *mtstate, ResultRelInfo *relinfo,
			   List *fdw_private, int subplan_index, ExplainState *es)
{
	const routed_targets *routed = (routed_targets *) relinfo->ri_FdwRoutine;
	int			n = list_length(routed->routines);
	px_write_explained *explained = palloc(n * sizeof(px_write_explained));

	for (int i = 0; i < n; i++)
		explained[i] = explained_of(list_nth(routed->routines, i));
	ExplainPropertyInteger("Foreign Partitions", NULL, n, es);
	px_write_explain(explained, n, es);
}

/*
 * Have EXPLAIN ANALYZE ask us about a partitioned table of which this is a
 * partition.  The executor looks at the functions of partitions only, when
 * rows are routed.
 */
static void
add_routed(ModifyTableState *mtstate, modify_routine *routine)
{
	ResultRelInfo *root = mtstate->rootResultRelInfo;
	routed_targets *routed = (routed_targets *) root->ri_FdwRoutine;

	if (root->ri_RelationDesc->rd_rel->relkind != RELKIND_PARTITIONED_TABLE ||
		mtstate->operation != CMD_INSERT || mtstate->ps.plan == NULL)
		return;
	if (routed == NULL)
	{
		routed = palloc0(sizeof(routed_targets));
		routed->fdw.type = T_FdwRoutine;
		routed->fdw.ExplainForeignModify = routed_explain;
		root->ri_FdwRoutine = &routed->fdw;
	}
	routed->routines = lappend(routed->routines, routine);
}

/* ---------------------------------------------------------------------
 * Hooks
 * --------------------------------------------------------------------- */

void
px_modify_init(void)
{
	px_write_install_init(modify_begin, modify_begin_insert);
}
