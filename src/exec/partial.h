/*-------------------------------------------------------------------------
 *
 * partial.h
 *		Rows of partial aggregates, made from plain rows of the remote.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_EXEC_PARTIAL_H
#define PX_EXEC_PARTIAL_H

#include "executor/tuptable.h"
#include "nodes/plannodes.h"

/* How the columns of a node's scan tuples are made. */
typedef struct px_partial px_partial;

/*
 * For the scan tuples that scan's custom_scan_tlist describes: grouping keys
 * and partial Aggrefs.  columns has an IntList for each of them: the columns
 * (1-based) of the remote's rows that it is made of.  NIL if it is not made of
 * any: a constant, which no expression above takes from the scan tuple.
 * servername must live as long as the result, which lives in the current
 * memory context.
 */
extern px_partial *px_partial_new(const CustomScan *scan, List *columns,
								  const char *servername);

/*
 * A slot for the remote's rows: of the target list that foreign would return
 * if its quals and projection were done.  It is freed with the query.
 */
extern TupleTableSlot *px_partial_remote_slot(EState *estate,
											  const ForeignScan *foreign);

/*
 * Make slot's row from that of remote.  States are allocated in the current
 * memory context.  Errors: those of px_agg_state.
 */
extern void px_partial_make_row(const px_partial *partial,
								const TupleTableSlot *remote,
								TupleTableSlot *slot);

#endif							/* PX_EXEC_PARTIAL_H */
