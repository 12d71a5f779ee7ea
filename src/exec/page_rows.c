/*-------------------------------------------------------------------------
 *
 * page_rows.c
 *		The rows of a plan, those of a page without a call for each.
 *
 * When a heap scan has returned a tuple, its descriptor has the page and an
 * array of the tuples on it that are visible.  We go on along that array, as
 * the scan would, and leave the descriptor as the scan would: with the tuple
 * and its index.  The next page is the scan's business again, and so are
 * visibility, serializable transactions and parallel scans.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/relscan.h"
#include "access/tableam.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"

#include "compat.h"
#include "compat_executor.h"
#include "exec/page_rows.h"

void
px_page_rows_init(px_page_rows *rows, PlanState *plan)
{
	ScanState  *scan = (ScanState *) plan;

	rows->plan = plan;
	rows->slot = NULL;
	rows->scan = NULL;
	if ((IsA(plan, SeqScanState) || IsA(plan, TidRangeScanState)) &&
		plan->ps_ProjInfo == NULL && plan->instrument == NULL &&
		scan->ss_currentRelation->rd_tableam == GetHeapamTableAmRoutine() &&
		TTS_IS_BUFFERTUPLE(scan->ss_ScanTupleSlot))
		rows->scan = scan;
}

void
px_page_rows_restart(px_page_rows *rows)
{
	rows->slot = NULL;
}

/* Does the scan want all tuples of this block? */
static inline bool
is_whole_block(const ScanState *scan, BlockNumber block)
{
	const TidRangeScanState *range = (const TidRangeScanState *) scan;

	return IsA(scan, SeqScanState) ||
		(block > ItemPointerGetBlockNumberNoCheck(&range->trss_mintid) &&
		 block < ItemPointerGetBlockNumberNoCheck(&range->trss_maxtid));
}

/* Put the next tuple of the page into the scan's slot; false if it has none. */
static inline bool
store_next(px_page_rows *rows)
{
	HeapScanDesc desc = (HeapScanDesc) rows->scan->ss_currentScanDesc;
	HeapTupleTableSlot *slot = (HeapTupleTableSlot *) rows->slot;
	HeapTuple	tuple = &desc->rs_ctup;
	int			index = (int) desc->rs_cindex + 1;
	OffsetNumber offset;
	ItemId		item;
	Page		page;

	if ((desc->rs_base.rs_flags & SO_ALLOW_PAGEMODE) == 0 ||
		index >= (int) desc->rs_ntuples || slot->tuple != tuple ||
		TTS_SHOULDFREE(rows->slot) ||
		!is_whole_block(rows->scan, desc->rs_cblock))
		return false;
	page = BufferGetPage(desc->rs_cbuf);
	offset = desc->rs_vistuples[index];
	item = PageGetItemId(page, offset);
	tuple->t_data = (HeapTupleHeader) PageGetItem(page, item);
	tuple->t_len = ItemIdGetLength(item);
	ItemPointerSet(&tuple->t_self, desc->rs_cblock, offset);
	desc->rs_cindex = index;
	px_count_tuples_returned(desc->rs_base.rs_rd, 1);

	/* The slot has a pin on this page already. */
	slot->off = 0;
	slot->base.tts_nvalid = 0;
	slot->base.tts_tid = tuple->t_self;
	return true;
}

/* Does the row pass the scan's filter? */
static inline bool
passes(const ScanState *scan, TupleTableSlot *slot)
{
	ExprContext *econtext = scan->ps.ps_ExprContext;

	if (scan->ps.qual == NULL)
		return true;
	ResetExprContext(econtext);
	econtext->ecxt_scantuple = slot;
	return ExecQual(scan->ps.qual, econtext);
}

TupleTableSlot *
px_page_rows_next(px_page_rows *rows)
{
	TupleTableSlot *slot;

	while (rows->slot && rows->plan->chgParam == NULL && store_next(rows))
	{
		CHECK_FOR_INTERRUPTS();
		if (passes(rows->scan, rows->slot))
			return rows->slot;
	}
	slot = ExecProcNode(rows->plan);
	rows->slot = rows->scan && !TupIsNull(slot) ? slot : NULL;
	return slot;
}
