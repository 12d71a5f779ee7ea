/*-------------------------------------------------------------------------
 *
 * tid_scan.c
 *		The TID scan of an UPDATE or DELETE, rescanned for each row.
 *
 * A rescan asks the operating system for the size of the table, which takes a
 * fifth of the time of a DELETE.  It does so only if the node has a descriptor
 * of the scan.  So the node has it only while it returns a row.
 *
 * The size is used to tell whether a ctid is in the table.  The snapshot of
 * the statement is older than the descriptor.  So no row that it sees is in a
 * block that was added later.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"
#include "utils/memutils.h"

#include "exec/tid_scan.h"

/* A scan whose node has no descriptor between two rows. */
typedef struct kept_scan
{
	TidScanState *node;
	ExecProcNodeMtd exec;		/* the node's own function */
	struct TableScanDescData *descriptor;	/* NULL before the first row */
	struct kept_scan *outer;	/* of a statement that this one is part of */
	MemoryContextCallback forget;
} kept_scan;

static kept_scan *innermost = NULL;

/* The TID scan that is rescanned for each row of the other side, or NULL. */
static TidScanState *
find_node(PlanState *top)
{
	PlanState  *join = IsA(top, ModifyTableState) ? outerPlanState(top) : NULL;

	if (join == NULL || !IsA(join, NestLoopState) ||
		!IsA(innerPlanState(join), TidScanState))
		return NULL;
	return (TidScanState *) innerPlanState(join);
}

static kept_scan *
find_kept(const PlanState *node)
{
	kept_scan  *kept = innermost;

	while (kept && &kept->node->ss.ps != node)
		kept = kept->outer;
	return kept;
}

/* The statement's memory is freed, maybe after an error. */
static void
forget_scan(void *arg)
{
	kept_scan **link = &innermost;

	while (*link && *link != arg)
		link = &(*link)->outer;
	if (*link)
		*link = (*link)->outer;
}

/* In place of the node's own function. */
static TupleTableSlot *
exec_kept(PlanState *node)
{
	kept_scan  *kept = find_kept(node);
	ScanState  *scan = &kept->node->ss;
	TupleTableSlot *slot;

	scan->ss_currentScanDesc = kept->descriptor;
	slot = kept->exec(node);
	kept->descriptor = scan->ss_currentScanDesc;
	scan->ss_currentScanDesc = NULL;
	return slot;
}

void
px_tid_scan_keep(PlanState *top)
{
	TidScanState *node = find_node(top);
	MemoryContext context = top->state->es_query_cxt;
	kept_scan  *kept;

	if (node == NULL)
		return;
	kept = MemoryContextAllocZero(context, sizeof(kept_scan));
	kept->node = node;
	kept->exec = node->ss.ps.ExecProcNodeReal;
	kept->forget.func = forget_scan;
	kept->forget.arg = kept;
	MemoryContextRegisterResetCallback(context, &kept->forget);
	kept->outer = innermost;
	innermost = kept;
	ExecSetExecProcNode(&node->ss.ps, exec_kept);
}

void
px_tid_scan_release(PlanState *top)
{
	TidScanState *node = find_node(top);
	kept_scan  *kept = node ? find_kept(&node->ss.ps) : NULL;

	if (kept)
		node->ss.ss_currentScanDesc = kept->descriptor;
}
