/*-------------------------------------------------------------------------
 *
 * page_rows.h
 *		The rows of a plan, those of a page without a call for each.
 *
 * ExecProcNode, a scan of a heap and the storing of its tuple cost as much for
 * a row as to put some columns of it into a batch.  But the scan has the whole
 * page at hand: it has pinned it, and knows which tuples the snapshot sees.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_EXEC_PAGE_ROWS_H
#define PX_EXEC_PAGE_ROWS_H

#include "nodes/execnodes.h"

typedef struct px_page_rows
{
	PlanState  *plan;
	ScanState  *scan;			/* of which pages are read; NULL: by calls */
	TupleTableSlot *slot;		/* the scan's; NULL before its first row */
} px_page_rows;

/*
 * Read the rows of an initialized plan.  Pages are read if it is a scan of a
 * heap from one end to the other, or of a range, that does not project and is
 * not instrumented.
 */
extern void px_page_rows_init(px_page_rows *rows, PlanState *plan);

/* The plan begins anew. */
extern void px_page_rows_restart(px_page_rows *rows);

/* The same as ExecProcNode. */
extern TupleTableSlot *px_page_rows_next(px_page_rows *rows);

#endif							/* PX_EXEC_PAGE_ROWS_H */
