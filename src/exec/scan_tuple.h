/*-------------------------------------------------------------------------
 *
 * scan_tuple.h
 *		What the scan tuples of a ForeignScan of postgres_fdw are made of.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_EXEC_SCAN_TUPLE_H
#define PX_EXEC_SCAN_TUPLE_H

#include "nodes/execnodes.h"

/*
 * Does the remote query return the ctid of a base relation's rows?  A slot for
 * these rows has one column more than the table.
 */
extern bool px_scan_tuple_has_ctid(const ForeignScan *foreign);

/*
 * Have the scan of a base relation, with this descriptor, return its scan
 * tuples.  px_receive_plan leaves the target list empty, so that setrefs.c need
 * not go through columns that may never be asked for.  Does nothing to a plan
 * that is complete.
 */
extern void px_scan_tuple_complete(ForeignScan *foreign, TupleDesc table);

/*
 * A flat copy of such a plan, or of one that is complete, to run here, in the
 * current memory context.
 */
extern ForeignScan *px_scan_tuple_plan(const ForeignScan *foreign,
									   TupleDesc table);

/* Such a slot: virtual.  scan_slot is the one for rows of the table. */
extern TupleTableSlot *px_scan_tuple_ctid_slot(
	EState *estate, const TupleTableSlot *scan_slot);

/*
 * Make the scan tuple of a row in such a slot.  Its values are those of row,
 * not copies.
 */
extern TupleTableSlot *px_scan_tuple_take_ctid(const TupleTableSlot *row,
											   TupleTableSlot *scan_slot);

/*
 * What the columns of the remote query are in a slot of natts columns: their
 * attribute numbers.
 */
extern List *px_scan_tuple_retrieved(const ForeignScan *foreign, int natts);

/*
 * The descriptor to convert remote values by: that of slot, with the row type
 * of the table in place of RECORD for whole-row references in joins, so that
 * their fields can be read.  A copy in the current memory context.
 */
extern TupleDesc px_scan_tuple_desc(const ForeignScan *foreign, EState *estate,
									const TupleTableSlot *slot);

/*
 * For each attribute of the scan tuple, the error context line for a value of
 * it that cannot be converted, in postgres_fdw's words.
 */
extern const char **px_scan_tuple_contexts(const ForeignScan *foreign,
										   EState *estate, int natts);

#endif							/* PX_EXEC_SCAN_TUPLE_H */
