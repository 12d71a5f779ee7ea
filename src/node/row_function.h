/*-------------------------------------------------------------------------
 *
 * row_function.h
 *		What scans of exchange.unpack and exchange.inbox have in common.
 *
 * Such a node takes the place of the scan of the function in FROM, and stores
 * no rows.  Its scan tuple has the columns of the function, as the query has
 * declared them, and after them the whole row if the query wants that.
 * custom_exprs has the call of the function, which has one argument.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_NODE_ROW_FUNCTION_H
#define PX_NODE_ROW_FUNCTION_H

#include "nodes/execnodes.h"
#include "nodes/extensible.h"

#include "node/fit.h"

/*
 * How many rows are converted at a time.  Nobody can tell, but for the memory
 * that their values take.
 */
#define PX_ROW_FUNCTION_WINDOW_ROWS	100

/* What the state of such a node begins with. */
typedef struct px_row_function
{
	CustomScanState css;		/* must be first */

	/*
	 * The next row: sets the columns of the function, whose values are valid
	 * until the next call; or returns false if there are no more.
	 */
	bool		(*next) (struct px_row_function *state, Datum *values,
						 bool *isnull);
	bool		lacks_row;		/* the whole row is null: nobody looks */

	int			ncolumns;		/* of the function */
	TupleDesc	tupdesc;		/* of these */
	int			rti;			/* of the function, in the range table */
	TupleTableSlot *row_slot;	/* for rechecks */
	ExprState  *argument;		/* of the function */
	px_fit	   *fit;			/* computes the target list; or NULL */
} px_row_function;

/* A state of nbytes, all zero, of which a px_row_function is the beginning. */
extern Node *px_row_function_create(size_t nbytes,
									const CustomExecMethods *methods);

/*
 * Begin the scan: check that the function may be called, and set all fields
 * but next and lacks_row.  Returns the call.
 */
extern const FuncExpr *px_row_function_begin(px_row_function *state,
											 EState *estate);

/*
 * Compute the argument, which is valid until the next row.  False if it is
 * null.
 */
extern bool px_row_function_argument(px_row_function *state, Datum *value);

/* ExecCustomScan, for both. */
extern TupleTableSlot *px_row_function_exec(CustomScanState *node);

/* EndCustomScan: there is nothing to do. */
extern void px_row_function_end(CustomScanState *node);

/* Raise an error: the function was called, so no such node took its place. */
extern void px_row_function_not_planned(const char *function);

#endif							/* PX_NODE_ROW_FUNCTION_H */
