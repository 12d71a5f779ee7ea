/*-------------------------------------------------------------------------
 *
 * broadcast.h
 *		ExchangeBroadcast: a join on the shards, to which its sides are sent.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_NODE_BROADCAST_H
#define PX_NODE_BROADCAST_H

#include "nodes/extensible.h"

#define PX_BROADCAST_NAME	"ExchangeBroadcast"
#define PX_HASH_PARTITION_NAME	"ExchangeHashPartition"

/*
 * The most bytes that the frames of all sides may have.  They are sent to each
 * server, and one piece for each fragment is in memory here and there.
 */
#define PX_BROADCAST_NBYTES_MAX	(8 * 1024 * 1024)

/*
 * The most that all fragments get, together: their queries have the frames as
 * text, which is there for each of them.
 */
#define PX_BROADCAST_ALL_NBYTES_MAX	(64 * 1024 * 1024)

/* What stands in CustomScan.custom_private, in this order. */
typedef enum px_broadcast_private
{
	PX_BROADCAST_PRIVATE_PARAM, /* Integer: PARAM_EXEC of the first side of the
								 * first fragment; -1 during planning */
	PX_BROADCAST_PRIVATE_KEYS,	/* Strings: by what the sides are joined */
	PX_BROADCAST_PRIVATE_INBOXES,	/* of each source: an inbox, and the
									 * source's number there, IntLists */
	PX_BROADCAST_PRIVATE_DECISIVE,	/* IntList: sides without whose rows the
									 * join has none */
	PX_BROADCAST_PRIVATE_ALL_ROWS,	/* Integer: 1 if all rows of the fragments
									 * are wanted, as far as is known */
	PX_BROADCAST_PRIVATE_JOINED,	/* Integer: 1 if they are joined rows, not
									 * groups */
	PX_BROADCAST_PRIVATE_FREQUENT	/* Integer: keys whose rows the sources
									 * spread */
} px_broadcast_private;

/*
 * The custom plans, all of which return the node's scan tuples but the sides.
 * Fragments is an ExchangeReceive, or several below an Append.  The last
 * parameters of each remote query are the sides, as pieces.
 */
typedef enum px_broadcast_plans
{
	PX_BROADCAST_PLAN_FRAGMENTS,
	PX_BROADCAST_PLAN_LOCAL,	/* runs if fragments cannot */
	PX_BROADCAST_PLAN_SIDES		/* the first side; others follow, and then the
								 * sources: ExchangeReceives whose rows go to
								 * the fragments, not to this node */
} px_broadcast_plans;

/* The node is called by the second name if there are sources. */
extern const CustomScanMethods px_broadcast_scan_methods;
extern const CustomScanMethods px_hash_partition_scan_methods;

static inline bool
px_is_broadcast(const Plan *plan)
{
	return IsA(plan, CustomScan) &&
		(((const CustomScan *) plan)->methods == &px_broadcast_scan_methods ||
		 ((const CustomScan *) plan)->methods ==
		 &px_hash_partition_scan_methods);
}

/* Register the node; called by _PG_init. */
extern void px_broadcast_init(void);

#endif							/* PX_NODE_BROADCAST_H */
