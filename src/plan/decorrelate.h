/*-------------------------------------------------------------------------
 *
 * decorrelate.h
 *		Correlated scalar subqueries as joins.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_PLAN_DECORRELATE_H
#define PX_PLAN_DECORRELATE_H

#include "nodes/parsenodes.h"

/*
 * Turn each suitable scalar subquery in the WHERE clause of the query into a
 * join, in place; see decorrelate.c.  Subqueries of the query are not looked
 * into.  If restrict_keys is set, the new subqueries are restricted to the
 * keys that may be asked for, where that is possible.  Returns true if the
 * query was changed.
 */
extern bool px_decorrelate(Query *query, bool restrict_keys);

#endif							/* PX_PLAN_DECORRELATE_H */
