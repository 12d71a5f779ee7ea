/*-------------------------------------------------------------------------
 *
 * unpack.h
 *		ExchangeUnpack: the rows of a piece, a text given by a client.
 *
 * It takes the place of the scan of exchange.unpack(piece) in FROM.  Its scan
 * tuple has the columns of the function, as the query has declared them, and
 * after them the whole row if the query wants that.  custom_exprs has the
 * call of the function.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_NODE_UNPACK_H
#define PX_NODE_UNPACK_H

#include "fmgr.h"
#include "nodes/extensible.h"

extern const CustomScanMethods px_unpack_scan_methods;

/* Does the node scan an ExchangeUnpack? */
static inline bool
px_is_unpack(const Plan *plan)
{
	return IsA(plan, CustomScan) &&
		((const CustomScan *) plan)->methods == &px_unpack_scan_methods;
}

/* exchange.unpack; plan/unpack.c compares its address. */
extern PGDLLEXPORT Datum px_sql_unpack(PG_FUNCTION_ARGS);

/* Register ExchangeUnpack; called by _PG_init. */
extern void px_unpack_node_init(void);

#endif							/* PX_NODE_UNPACK_H */
