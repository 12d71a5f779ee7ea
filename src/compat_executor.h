/*-------------------------------------------------------------------------
 *
 * compat_executor.h
 *		Differences between PostgreSQL 15 to 19 in the executor, and in COPY.
 *
 * The same as compat.h, of which it is a part.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_COMPAT_EXECUTOR_H
#define PX_COMPAT_EXECUTOR_H

#include "access/tableam.h"
#include "commands/copyfrom_internal.h"
#include "executor/execPartition.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/pathnodes.h"
#include "parser/parsetree.h"
#include "partitioning/partprune.h"
#include "pgstat.h"
#include "tcop/pquery.h"
#include "utils/rel.h"

/*
 * ExecutorRun_hook lost execute_once: 18.  The parameters of such a function,
 * the same as arguments for the next one, and whether no other call of
 * ExecutorRun follows.  Since 18 that is a guess, which is right if it is true:
 * functions in SQL ask for one row at a time.
 */
#if PG_VERSION_NUM >= 180000
#define PX_EXECUTOR_RUN_PARAMETERS \
	QueryDesc *queryDesc, ScanDirection direction, uint64 count
#define PX_EXECUTOR_RUN_ARGUMENTS	queryDesc, direction, count
#define PX_EXECUTOR_RUN_IS_ONCE                 \
	(count > 1 && (!PortalIsValid(ActivePortal) || \
				   ActivePortal->queryDesc != queryDesc))
#else
#define PX_EXECUTOR_RUN_PARAMETERS                               \
	QueryDesc *queryDesc, ScanDirection direction, uint64 count, \
		bool		execute_once
#define PX_EXECUTOR_RUN_ARGUMENTS	queryDesc, direction, count, execute_once
#define PX_EXECUTOR_RUN_IS_ONCE		execute_once
#endif

/* ExecutorRun, likewise: run a query to its end. */
static inline void
px_executor_run(QueryDesc *query)
{
#if PG_VERSION_NUM >= 180000
	ExecutorRun(query, ForwardScanDirection, 0);
#else
	ExecutorRun(query, ForwardScanDirection, 0, true);
#endif
}

/*
 * Whom a table is written to as: ExecGetResultRelCheckAsUser: 16.  Before, the
 * user stands in the range table entry: in that of its root if the table has
 * none of its own, because rows are routed to it.
 */
static inline Oid
px_result_relation_user(ResultRelInfo *relinfo, EState *estate)
{
#if PG_VERSION_NUM >= 160000
	return ExecGetResultRelCheckAsUser(relinfo, estate);
#else
	const ResultRelInfo *with_rte = relinfo->ri_RangeTableIndex != 0 ?
		relinfo : relinfo->ri_RootResultRelInfo;
	Oid			userid = exec_rt_fetch(with_rte->ri_RangeTableIndex,
									   estate)->checkAsUser;

	return OidIsValid(userid) ? userid : GetUserId();
#endif
}

/* The expression of a column that COPY does not read: by column since 16. */
static inline const ExprState *
px_copy_default(const CopyFromStateData *copy, int i)
{
#if PG_VERSION_NUM >= 160000
	return copy->defexprs[copy->defmap[i]];
#else
	return copy->defexprs[i];
#endif
}

/* COPY gives an FDW many rows at once, and then does not name lines: 16. */
#if PG_VERSION_NUM >= 160000
#define PX_COPY_HAS_BATCHES		true
#else
#define PX_COPY_HAS_BATCHES		false
#endif

static inline void
px_copy_hide_line(CopyFromStateData *copy, bool hide)
{
#if PG_VERSION_NUM >= 160000
	copy->relname_only = hide;
#endif
}

/* Are children of this Append or MergeAppend pruned at run time? */
static inline bool
px_has_pruning(const Plan *append)
{
#if PG_VERSION_NUM >= 180000
	return (IsA(append, Append) ?
			((const Append *) append)->part_prune_index :
			((const MergeAppend *) append)->part_prune_index) >= 0;
#else
	return (IsA(append, Append) ?
			((const Append *) append)->part_prune_info :
			((const MergeAppend *) append)->part_prune_info) != NULL;
#endif
}

/*
 * What is needed to prune the partitions of table that paths are for, by
 * clauses; NULL if nothing could be pruned when the query runs.  While the
 * query is planned, a PlannerInfo has it: 18.
 */
static inline PartitionPruneInfo *
px_make_pruning(PlannerInfo *root, RelOptInfo *table, List *paths,
				List *clauses)
{
#if PG_VERSION_NUM >= 180000
	PartitionPruneInfo *info;

	if (make_partition_pruneinfo(root, table, paths, clauses) < 0)
		return NULL;
	info = llast_node(PartitionPruneInfo, root->partPruneInfos);
	root->partPruneInfos = list_delete_last(root->partPruneInfos);
	return info;
#else
	return make_partition_pruneinfo(root, table, paths, clauses);
#endif
}

/* Numbers of relations are higher by offset in the finished plan. */
static inline void
px_move_pruning(PartitionedRelPruneInfo *rel, int offset)
{
	rel->rtindex += offset;
#if PG_VERSION_NUM >= 180000
	for (int i = 0; i < rel->nparts; i++)
	{
		if (rel->leafpart_rti_map[i] > 0)
			rel->leafpart_rti_map[i] += offset;
	}
#endif
}

/*
 * Have an Append or MergeAppend of a finished plan prune its children.  The
 * plan has what is needed for all: 18.
 */
static inline void
px_set_pruning(PlannedStmt *stmt, Plan *plan, PartitionPruneInfo *info)
{
#if PG_VERSION_NUM >= 180000
	info->relids = bms_copy(IsA(plan, Append) ?
							((const Append *) plan)->apprelids :
							((const MergeAppend *) plan)->apprelids);
	if (IsA(plan, Append))
		((Append *) plan)->part_prune_index = list_length(stmt->partPruneInfos);
	else
		((MergeAppend *) plan)->part_prune_index =
			list_length(stmt->partPruneInfos);
	stmt->partPruneInfos = lappend(stmt->partPruneInfos, info);
#else
	if (IsA(plan, Append))
		((Append *) plan)->part_prune_info = info;
	else
		((MergeAppend *) plan)->part_prune_info = info;
#endif
}

/*
 * Run-time pruning of an Append's children: the pruning steps stand in the
 * node, since 18 in the PlannedStmt.  *valid is set to the children that are
 * left before execution; NULL is returned if no more can be said later.
 */
static inline PartitionPruneState *
px_begin_pruning(PlanState *node, int nplans, const Plan *append,
				 Bitmapset **valid)
{
	PartitionPruneState *state = NULL;
#if PG_VERSION_NUM >= 180000
	int			index = IsA(append, Append) ?
		((const Append *) append)->part_prune_index :
		((const MergeAppend *) append)->part_prune_index;
	const Bitmapset *relids = IsA(append, Append) ?
		((const Append *) append)->apprelids :
		((const MergeAppend *) append)->apprelids;

	if (index >= 0)
		state = ExecInitPartitionExecPruning(
			node, nplans, index, unconstify(Bitmapset *, relids), valid);
#else
	PartitionPruneInfo *info = IsA(append, Append) ?
		((const Append *) append)->part_prune_info :
		((const MergeAppend *) append)->part_prune_info;

	if (info)
		state = ExecInitPartitionPruning(node, nplans, info, valid);
#endif
	if (state == NULL)
		*valid = nplans > 0 ? bms_add_range(NULL, 0, nplans - 1) : NULL;
	else if (!state->do_exec_prune)
		state = NULL;
	return state;
}

/* The children that are left for the current parameters. */
static inline Bitmapset *
px_prune(PartitionPruneState *state)
{
#if PG_VERSION_NUM >= 180000
	return ExecFindMatchingSubPlans(state, false, NULL);
#else
	return ExecFindMatchingSubPlans(state, false);
#endif
}

/*
 * Has the user all rights to execute the plan?  Raise the error that executing
 * it would, if wanted.  ExecCheckPermissions: 16, which moved rights out of the
 * range table.
 */
static inline bool
px_check_permissions(const PlannedStmt *stmt, bool raise)
{
#if PG_VERSION_NUM >= 160000
	return ExecCheckPermissions(stmt->rtable, stmt->permInfos, raise);
#else
	return ExecCheckRTPerms(stmt->rtable, raise);
#endif
}

/*
 * Make the index entries of a row that was inserted.  It can make those of
 * summarizing indexes only: 16.  It takes flags: 19.
 */
static inline List *
px_insert_index_tuples(ResultRelInfo *target, TupleTableSlot *slot,
					   EState *estate)
{
#if PG_VERSION_NUM >= 190000
	return ExecInsertIndexTuples(target, estate, 0, slot, NIL, NULL);
#elif PG_VERSION_NUM >= 160000
	return ExecInsertIndexTuples(target, slot, estate, false, false, NULL, NIL,
								 false);
#else
	return ExecInsertIndexTuples(target, slot, estate, false, false, NULL,
								 NIL);
#endif
}

/* Make a scan's slot; nothing is promised of its columns, which came in 19. */
static inline void
px_init_scan_slot(EState *estate, ScanState *scan, TupleDesc desc,
				  const TupleTableSlotOps *ops)
{
#if PG_VERSION_NUM >= 190000
	ExecInitScanTupleSlot(estate, scan, desc, ops, 0);
#else
	ExecInitScanTupleSlot(estate, scan, desc, ops);
#endif
}

/* A table's scans, which take options: 19. */
static inline TableScanDesc
px_table_beginscan(Relation relation, Snapshot snapshot)
{
#if PG_VERSION_NUM >= 190000
	return table_beginscan(relation, snapshot, 0, NULL, SO_NONE);
#else
	return table_beginscan(relation, snapshot, 0, NULL);
#endif
}

static inline TableScanDesc
px_table_beginscan_tidrange(Relation relation, Snapshot snapshot,
							ItemPointer first, ItemPointer last)
{
#if PG_VERSION_NUM >= 190000
	return table_beginscan_tidrange(relation, snapshot, first, last, SO_NONE);
#else
	return table_beginscan_tidrange(relation, snapshot, first, last);
#endif
}

static inline TableScanDesc
px_table_beginscan_parallel(Relation relation, ParallelTableScanDesc shared)
{
#if PG_VERSION_NUM >= 190000
	return table_beginscan_parallel(relation, shared, SO_NONE);
#else
	return table_beginscan_parallel(relation, shared);
#endif
}

/* Count tuples of a relation that a scan has passed: renamed in 16. */
static inline void
px_count_tuples_returned(Relation relation, int ntuples)
{
	if (!pgstat_should_count_relation(relation))
		return;
#if PG_VERSION_NUM >= 160000
	relation->pgstat_info->counts.tuples_returned += ntuples;
#else
	relation->pgstat_info->t_counts.t_tuples_returned += ntuples;
#endif
}

#endif							/* PX_COMPAT_EXECUTOR_H */
