/*-------------------------------------------------------------------------
 *
 * fdw_scan.h
 *		A foreign scan that postgres_fdw runs with a query of ours.
 *
 * postgres_fdw runs whatever query stands in a ForeignScan node.  So such a
 * node is made, and the executor state that it runs in.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_TRANSPORT_FDW_SCAN_H
#define PX_TRANSPORT_FDW_SCAN_H

#include "nodes/execnodes.h"

/*
 * A scan of sql, which returns one column of text, on a server: with the
 * connection of rtindex's foreign table, as userid, with params as $1 and so
 * on.  The node points to sql and params.  It fetches a row at a time.
 */
extern ForeignScan *px_fdw_scan_make(Oid serverid, Index rtindex, Oid userid,
									 List *params, char *sql);

/*
 * An executor state for scans that may outlive query's.  To be freed by
 * FreeExecutorState; it is gone with the current subtransaction otherwise.
 *
 * postgres_fdw remembers a request that has failed until its own remote
 * subtransaction is rolled back.  If that is an outer subtransaction, and the
 * request was made for a portal in it, then the portal's memory is freed
 * before that.  So the scan of a cursor lasts as long as its subtransaction.
 * Parameters are still evaluated in the query.
 */
extern EState *px_fdw_scan_estate(EState *query);

/*
 * ExecInitNode of a scan of postgres_fdw, which connects to the server if this
 * session has not.  If that fails, idle streams may have taken the last places
 * there: then they are closed, and it is tried again.
 */
extern ForeignScanState *px_fdw_scan_init(ForeignScan *scan, EState *estate,
										  int eflags);

/* Make the foreign table relid, read by userid, the only one of own's. */
extern void px_fdw_scan_set_table(EState *own, Oid relid, Oid userid);

/* Parameters of a scan in own: argument as the only one. */
extern List *px_fdw_scan_text_param(EState *own, text *argument);

/* The ids of PARAM_EXEC that its parameters are made of. */
extern Bitmapset *px_fdw_scan_paramids(const ForeignScan *scan);

#endif							/* PX_TRANSPORT_FDW_SCAN_H */
