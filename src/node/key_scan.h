/*-------------------------------------------------------------------------
 *
 * key_scan.h
 *		ExchangeKeyScan: the rows of a table whose integers are among many.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_NODE_KEY_SCAN_H
#define PX_NODE_KEY_SCAN_H

#include "nodes/extensible.h"

/*
 * A scan of a whole table, or of its blocks in a range, whose access method is
 * heap.  In the CustomScan,
 *
 * custom_exprs are the tidrangequals of a range: ctid >= and ctid < constants;
 * custom_private are the positions of conditions in the plan's qual that are
 * looked at first: exchange.in_keys(constant, column).
 */
extern const CustomScanMethods px_key_scan_methods;

/* Register ExchangeKeyScan; called by _PG_init. */
extern void px_key_scan_init(void);

#endif							/* PX_NODE_KEY_SCAN_H */
