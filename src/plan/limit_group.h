/*-------------------------------------------------------------------------
 *
 * limit_group.h
 *		One remote query for several partitions of one server.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_PLAN_LIMIT_GROUP_H
#define PX_PLAN_LIMIT_GROUP_H

#include "nodes/plannodes.h"

/* A key that rows are sorted by. */
typedef struct px_sort_key
{
	AttrNumber	column;			/* of the node in question */
	bool		descending;
	bool		nulls_first;
} px_sort_key;

/*
 * For an Append or MergeAppend of which no more than the first nrows rows are
 * wanted, in the order of keys, which are columns of types that all servers
 * sort alike.  limited has those of its children that are ExchangeReceives
 * whose remote queries sort by keys already, and end with LIMIT nrows.  Those
 * of one server that allow it are replaced by as many ExchangeReceives as
 * there may be connections to the server, or fewer.
 */
extern void px_limit_group(const PlannedStmt *stmt, Plan *append,
						   const List *limited, int nkeys,
						   const px_sort_key *keys, int64 nrows);

#endif							/* PX_PLAN_LIMIT_GROUP_H */
