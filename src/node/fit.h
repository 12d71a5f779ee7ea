/*-------------------------------------------------------------------------
 *
 * fit.h
 *		Values converted to the length of the column that they are for.
 *
 * What is written to a column numeric(p,s), char(n) or varchar(n) goes through
 * a function that checks the length, and changes the value if need be.  Nearly
 * all values fit already.  This sees it, and calls the function for the others
 * only.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_NODE_FIT_H
#define PX_NODE_FIT_H

#include "executor/tuptable.h"

typedef struct px_fit px_fit;

/*
 * For a target list of a scan whose Vars are attributes of the scan tuple.
 * NULL if it has anything but Vars, constants, and such functions of Vars.
 */
extern px_fit *px_fit_new(const List *tlist);

/*
 * Store the row of the target list in result, a virtual slot.  scan has the
 * scan tuple.  Functions are called in the current memory context.
 */
extern TupleTableSlot *px_fit_row(px_fit *fit, const TupleTableSlot *scan,
								  TupleTableSlot *result);

#endif							/* PX_NODE_FIT_H */
