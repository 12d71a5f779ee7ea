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
