/*-------------------------------------------------------------------------
 *
 * inbox.h
 *		ExchangeInbox: the rows of an inbox of this session.
 *
 * It takes the place of the scan of exchange.inbox(number) in FROM, see
 * node/row_function.h.  The inbox may be filled after planning, but not after
 * its first row was read.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_NODE_INBOX_H
#define PX_NODE_INBOX_H

#include "fmgr.h"
#include "nodes/execnodes.h"
#include "nodes/extensible.h"

extern const CustomScanMethods px_inbox_scan_methods;

/* exchange.inbox; plan/row_function.c compares its address. */
extern PGDLLEXPORT Datum px_sql_inbox(PG_FUNCTION_ARGS);

/* Is the node an ExchangeInbox? */
extern bool px_inbox_is_scan(const PlanState *node);

/*
 * Have an ExchangeInbox, which has not returned a row, set *distinct each time
 * when it has returned all rows, if no two of the inbox's rows have the same
 * value in the column, an integer; null does not count.  Until then, and if
 * that is not known, it is false.
 */
extern void px_inbox_watch(PlanState *node, AttrNumber column, bool *distinct);

/* Register ExchangeInbox; called by _PG_init. */
extern void px_inbox_node_init(void);

#endif							/* PX_NODE_INBOX_H */
