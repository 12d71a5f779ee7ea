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

typedef struct px_decorrelate_options
{
	bool		restrict_keys;	/* restrict new subqueries to the keys that may
								 * be asked for, where that is possible */
	bool		outermost;		/* the statement needs all rows of the query */
	bool		passed_on;		/* other subqueries may use what it returns */
	bool		harmless;		/* nothing in the statement can raise an error */
} px_decorrelate_options;

/*
 * Turn each suitable scalar subquery in WHERE and in the target list of the
 * query into a join, in place; see decorrelate.c.  Subqueries of the query are
 * not looked into.  Returns true if the query was changed.
 */
extern bool px_decorrelate(Query *query, px_decorrelate_options options);

#endif							/* PX_PLAN_DECORRELATE_H */
