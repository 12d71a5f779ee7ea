/*-------------------------------------------------------------------------
 *
 * insert_mode.h
 *		How ExchangeInsert may gather rows before it stores them.
 *
 * Whatever the mode, the first error is the one that a ModifyTable would have
 * raised, which takes one row after the other.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_EXEC_INSERT_MODE_H
#define PX_EXEC_INSERT_MODE_H

#include "nodes/execnodes.h"
#include "nodes/plannodes.h"

/* Custom scans of this name insert rows. */
#define PX_INSERT_NAME	"ExchangeInsert"

typedef enum px_insert_mode
{
	/*
	 * Each row is stored before the next one is fetched.
	 */
	PX_INSERT_ROWS,

	/*
	 * Rows are gathered.  Storing them cannot fail for a reason that is in a
	 * row, because there are neither indexes nor triggers.
	 */
	PX_INSERT_BATCHES,

	/*
	 * Rows are gathered.  If a row cannot be fetched or violates a constraint,
	 * the rows before it are stored first, because this may fail, too.  Then
	 * the row's error is raised.
	 */
	PX_INSERT_GUARDED
} px_insert_mode;

/*
 * The mode for inserting the rows of source.  The indexes of target must be
 * open.  statement_rows: AFTER ROW triggers are fired after so many rows; 0:
 * at the end of the statement.
 */
extern px_insert_mode px_insert_choose(const ResultRelInfo *target,
									   const Plan *source,
									   uint64 statement_rows);

/* Is an ExchangeInsert on top of the plan? */
extern bool px_insert_is_on_top(const PlannedStmt *stmt);

#endif							/* PX_EXEC_INSERT_MODE_H */
