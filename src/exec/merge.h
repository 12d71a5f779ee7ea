/*-------------------------------------------------------------------------
 *
 * merge.h
 *		Sorted rows of several nodes, merged by a binary heap.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_EXEC_MERGE_H
#define PX_EXEC_MERGE_H

#include "commands/explain.h"
#include "nodes/execnodes.h"
#include "nodes/plannodes.h"

#include "compat.h"

typedef struct px_merge px_merge;

/*
 * Merge the rows of nodes, PlanStates, by the sort columns of append.  Lives
 * in the current memory context.
 */
extern px_merge *px_merge_new(const MergeAppend *append, List *nodes);

/*
 * The next row, of a node that is in valid (indexes of nodes), in the slot of
 * that node; NULL at the end.  Blocks, serving interrupts.
 */
extern TupleTableSlot *px_merge_next_row(px_merge *merge,
										 const Bitmapset *valid);

/* Read the first row of node i now, before that of others is wanted. */
extern void px_merge_read_first(px_merge *merge, int i);

/* The nodes were rescanned: begin with their first rows again. */
extern void px_merge_reset(px_merge *merge);

/* Show the sort columns, of which plan's target list has the expressions. */
extern void px_merge_explain(const MergeAppend *append, Plan *plan,
							 List *ancestors, ExplainState *es);

#endif							/* PX_EXEC_MERGE_H */
