/*-------------------------------------------------------------------------
 *
 * paths.h
 *		Putting an ExchangeReceive in place of each ForeignPath.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_PLAN_PATHS_H
#define PX_PLAN_PATHS_H

#include "nodes/pathnodes.h"

/*
 * Is rel a foreign table of postgres_fdw, or a join or upper relation of such,
 * whose paths are made by us?  Not while pg_exchange.enabled is off.
 */
extern bool px_rel_is_postgres_fdw(const RelOptInfo *rel);

/* Install the planner's hook for relations; called by _PG_init. */
extern void px_paths_init(void);

#endif							/* PX_PLAN_PATHS_H */
