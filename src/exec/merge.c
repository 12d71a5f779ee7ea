/*-------------------------------------------------------------------------
 *
 * merge.c
 *		Sorted rows of several nodes, merged by a binary heap.
 *
 * The heap has each node's next row.  While it waits for one stream, the
 * others fill their sockets.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"
#include "lib/binaryheap.h"
#include "miscadmin.h"
#include "utils/ruleutils.h"
#include "utils/sortsupport.h"

#include "compat.h"
#include "exec/merge.h"

struct px_merge
{
	int			nnodes;
	PlanState **nodes;
	TupleTableSlot **slots;		/* the next row of each node in the heap */
	binaryheap *heap;			/* of indexes of nodes */
	bool		begun;			/* the heap was filled */
	int			was_read;		/* the node whose first row is there; or -1 */
	SortSupport sort_keys;
	int			nsort_keys;
};

/* For the heap, which has the greatest on top: so the other way round. */
static int
compare_rows(Datum a, Datum b, void *arg)
{
	const px_merge *merge = arg;
	TupleTableSlot *x = merge->slots[DatumGetInt32(a)];
	TupleTableSlot *y = merge->slots[DatumGetInt32(b)];

	for (int i = 0; i < merge->nsort_keys; i++)
	{
		SortSupport key = &merge->sort_keys[i];
		bool		xnull;
		bool		ynull;
		Datum		xvalue = slot_getattr(x, key->ssup_attno, &xnull);
		Datum		yvalue = slot_getattr(y, key->ssup_attno, &ynull);
		int			order = ApplySortComparator(xvalue, xnull, yvalue, ynull,
												key);

		if (order != 0)
			return order < 0 ? 1 : -1;
	}
	return 0;
}

px_merge *
px_merge_new(const MergeAppend *append, List *nodes)
{
	px_merge   *merge = palloc0(sizeof(px_merge));
	int			room = Max(list_length(nodes), 1);
	ListCell   *lc;

	merge->nodes = palloc(room * sizeof(PlanState *));
	foreach(lc, nodes)
		merge->nodes[merge->nnodes++] = lfirst(lc);
	merge->slots = palloc0(room * sizeof(TupleTableSlot *));
	merge->was_read = -1;
	merge->heap = binaryheap_allocate(room, compare_rows, merge);

	merge->nsort_keys = append->numCols;
	merge->sort_keys = palloc0(append->numCols * sizeof(SortSupportData));
	for (int i = 0; i < append->numCols; i++)
	{
		SortSupport key = &merge->sort_keys[i];

		key->ssup_cxt = CurrentMemoryContext;
		key->ssup_collation = append->collations[i];
		key->ssup_nulls_first = append->nullsFirst[i];
		key->ssup_attno = append->sortColIdx[i];
		PrepareSortSupportFromOrderingOp(append->sortOperators[i], key);
	}
	return merge;
}

/* The first row of each node. */
static void
fill_heap(px_merge *merge, const Bitmapset *valid)
{
	int			i = -1;

	while ((i = bms_next_member(valid, i)) >= 0)
	{
		if (i != merge->was_read)
			merge->slots[i] = ExecProcNode(merge->nodes[i]);
		if (!TupIsNull(merge->slots[i]))
			binaryheap_add_unordered(merge->heap, Int32GetDatum(i));
	}
	binaryheap_build(merge->heap);
}

/* The next row of the node that the last one came from. */
static void
advance_top(px_merge *merge)
{
	int			i = DatumGetInt32(binaryheap_first(merge->heap));

	merge->slots[i] = ExecProcNode(merge->nodes[i]);
	if (TupIsNull(merge->slots[i]))
		(void) binaryheap_remove_first(merge->heap);
	else
		binaryheap_replace_first(merge->heap, Int32GetDatum(i));
}

void
px_merge_read_first(px_merge *merge, int i)
{
	merge->slots[i] = ExecProcNode(merge->nodes[i]);
	merge->was_read = i;
}

TupleTableSlot *
px_merge_next_row(px_merge *merge, const Bitmapset *valid)
{
	CHECK_FOR_INTERRUPTS();
	if (!merge->begun)
		fill_heap(merge, valid);
	else if (!binaryheap_empty(merge->heap))
		advance_top(merge);
	merge->begun = true;

	if (binaryheap_empty(merge->heap))
		return NULL;
	return merge->slots[DatumGetInt32(binaryheap_first(merge->heap))];
}

void
px_merge_reset(px_merge *merge)
{
	binaryheap_reset(merge->heap);
	merge->begun = false;
	merge->was_read = -1;
}

void
px_merge_explain(const MergeAppend *append, Plan *plan, List *ancestors,
				 ExplainState *es)
{
	List	   *context = set_deparse_context_plan(es->deparse_cxt, plan,
												   ancestors);
	bool		useprefix = list_length(es->rtable) > 1 || es->verbose;
	List	   *keys = NIL;

	for (int i = 0; i < append->numCols; i++)
	{
		TargetEntry *target = list_nth_node(TargetEntry, plan->targetlist,
											append->sortColIdx[i] - 1);

		keys = lappend(keys, deparse_expression((Node *) target->expr,
												context, useprefix, true));
	}
	ExplainPropertyList("Sort Key", keys, es);
}
