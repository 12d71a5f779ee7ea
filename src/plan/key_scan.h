/*-------------------------------------------------------------------------
 *
 * key_scan.h
 *		ExchangeKeyScan in place of a scan that filters by many keys.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_PLAN_KEY_SCAN_H
#define PX_PLAN_KEY_SCAN_H

#include "nodes/plannodes.h"

/*
 * What stands in place of a scan of a finished plan: an ExchangeKeyScan if it
 * reads a heap from one end to the other, or the blocks of a range, and has
 * conditions exchange.in_keys on its columns that may be looked at first.  Else
 * the scan itself.
 */
extern Plan *px_key_scan_replace(const PlannedStmt *stmt, Plan *plan);

#endif							/* PX_PLAN_KEY_SCAN_H */
