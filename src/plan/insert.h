/*-------------------------------------------------------------------------
 *
 * insert.h
 *		Putting ExchangeInsert on top of a plan.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_PLAN_INSERT_H
#define PX_PLAN_INSERT_H

#include "nodes/plannodes.h"

/*
 * If the finished plan inserts the rows of frames into a simple table, put an
 * ExchangeInsert in place of its ModifyTable.
 */
extern void px_insert_place(PlannedStmt *stmt);

#endif							/* PX_PLAN_INSERT_H */
