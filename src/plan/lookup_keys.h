/*-------------------------------------------------------------------------
 * lookup_keys.h
 *		The keys of a scan that an ExchangeLookup has made.
 *-------------------------------------------------------------------------
 */
#ifndef PX_PLAN_LOOKUP_KEYS_H
#define PX_PLAN_LOOKUP_KEYS_H

#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"

/*
 * A private list for a ForeignPath that is to be scanned by an
 * ExchangeReceive with these keys: RestrictInfos of column = ANY (parameter).
 */
extern List *px_lookup_keys_mark(List *clauses);

/* Is it the private list of such a path? */
extern bool px_lookup_keys_marked(const List *fdw_private);

/*
 * What px_scan_keys_begin takes, for a path with that list whose plan is
 * foreign.  NIL if the list is another one.
 */
extern List *px_lookup_keys_items(const List *fdw_private,
								  const ForeignScan *foreign);

#endif							/* PX_PLAN_LOOKUP_KEYS_H */
