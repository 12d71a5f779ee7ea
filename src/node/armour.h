/*-------------------------------------------------------------------------
 *
 * armour.h
 *		ExchangeArmour, which turns frames into text.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_NODE_ARMOUR_H
#define PX_NODE_ARMOUR_H

#include "nodes/extensible.h"

/* Its custom_private is NIL. */
extern const CustomScanMethods px_armour_scan_methods;

/* Register the node; called by _PG_init. */
extern void px_armour_node_init(void);

#endif							/* PX_NODE_ARMOUR_H */
