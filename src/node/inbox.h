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
#include "nodes/extensible.h"

extern const CustomScanMethods px_inbox_scan_methods;

/* exchange.inbox; plan/row_function.c compares its address. */
extern PGDLLEXPORT Datum px_sql_inbox(PG_FUNCTION_ARGS);

/* Register ExchangeInbox; called by _PG_init. */
extern void px_inbox_node_init(void);

#endif							/* PX_NODE_INBOX_H */
