/*-------------------------------------------------------------------------
 *
 * update.h
 *		Scans that feed an UPDATE or DELETE of foreign tables.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_PLAN_UPDATE_H
#define PX_PLAN_UPDATE_H

#include "foreign/fdwapi.h"
#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"

/*
 * PlanDirectModify: can the remote do the whole UPDATE or DELETE of target, by
 * one statement?  postgres_fdw, whose routines are fdw, decides.  If so, its
 * ForeignScan takes the place of the ExchangeReceive.
 */
extern bool px_update_plan_direct(const FdwRoutine *fdw, PlannerInfo *root,
								  ModifyTable *plan, Index target,
								  int subplan_index);

/* May an ExchangeGather replace an Append over these children? */
extern bool px_update_allows_gather(List *children);

#endif							/* PX_PLAN_UPDATE_H */
