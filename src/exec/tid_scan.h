/*-------------------------------------------------------------------------
 *
 * tid_scan.h
 *		The TID scan of an UPDATE or DELETE, rescanned for each row.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_EXEC_TID_SCAN_H
#define PX_EXEC_TID_SCAN_H

#include "nodes/execnodes.h"

/*
 * The plan was initialized: spare its TID scan what a rescan does, if it is
 * the inner side of a nested loop below ModifyTable.
 */
extern void px_tid_scan_keep(PlanState *top);

/* The plan was run, and is going to be ended. */
extern void px_tid_scan_release(PlanState *top);

#endif							/* PX_EXEC_TID_SCAN_H */
