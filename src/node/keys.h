/*-------------------------------------------------------------------------
 *
 * keys.h
 *		ExchangeKeys: collects the keys of a hash join's inner side.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_NODE_KEYS_H
#define PX_NODE_KEYS_H

#include "nodes/extensible.h"

#define PX_KEYS_NAME	"ExchangeKeys"

/* What stands in CustomScan.custom_private. */
typedef enum px_keys_private
{
	PX_KEYS_PRIVATE_PARAMS,		/* list of the filters' numbers, one for
								 * each key: see exec/filter.h */
	PX_KEYS_PRIVATE_KEYS_MAX	/* list of Floats: a filter of more keys than
								 * that is not used */
} px_keys_private;

/*
 * For a CustomScan that is the child of a Hash, and passes on the rows of its
 * outer child as they are.  It has no custom plans.  custom_exprs has the
 * keys: expressions of the child's rows, as Vars of OUTER_VAR.  The keys are complete when the child
 * has no more rows.
 */
extern const CustomScanMethods px_keys_scan_methods;

/* Register the node; called by _PG_init. */
extern void px_keys_init(void);

#endif							/* PX_NODE_KEYS_H */
