/*-------------------------------------------------------------------------
 *
 * in_keys.h
 *		Rows of a finished plan are filtered for many keys by exchange.in_keys.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_PLAN_IN_KEYS_H
#define PX_PLAN_IN_KEYS_H

#include "nodes/plannodes.h"

/*
 * Where a scan of the plan filters rows by key = ANY (keys), and the keys are
 * a constant of many integers, let exchange.in_keys do that.  marker is a
 * function of the extension's schema.  Changes stmt; nothing is changed if the
 * functions are not there, or if the user may not call them.
 */
extern void px_in_keys_replace(PlannedStmt *stmt, Oid marker);

#endif							/* PX_PLAN_IN_KEYS_H */
