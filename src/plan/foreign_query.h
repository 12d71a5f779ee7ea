/*-------------------------------------------------------------------------
 *
 * foreign_query.h
 *		Which queries read foreign tables of postgres_fdw.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_PLAN_FOREIGN_QUERY_H
#define PX_PLAN_FOREIGN_QUERY_H

#include "nodes/parsenodes.h"

/*
 * Does the query read a foreign table of postgres_fdw?  Subqueries, views,
 * and children of tables count.  Takes no locks, so that a child that is not
 * locked yet may be overlooked while it is being created or dropped.
 */
extern bool px_query_is_foreign(Query *query);

#endif							/* PX_PLAN_FOREIGN_QUERY_H */
