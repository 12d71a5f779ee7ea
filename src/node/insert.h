/*-------------------------------------------------------------------------
 *
 * insert.h
 *		ExchangeInsert, which stores the rows of frames in a table.
 *
 * It stands in place of a ModifyTable on top of a plan (plan/insert.h).
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_NODE_INSERT_H
#define PX_NODE_INSERT_H

#include "nodes/extensible.h"

/*
 * Its only child makes the rows.  The scanrelid is the table.  custom_private
 * is an IntList: whether the command tag counts the rows.
 */
extern const CustomScanMethods px_insert_scan_methods;

/* Register the node; called by _PG_init. */
extern void px_insert_node_init(void);

#endif							/* PX_NODE_INSERT_H */
