/*-------------------------------------------------------------------------
 *
 * ask_plan.h
 *		The remote's plan, for plain EXPLAIN.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_EXEC_ASK_PLAN_H
#define PX_EXEC_ASK_PLAN_H

#include "exec/receive_state.h"

/*
 * Ask the server for its plan of the query, with options of EXPLAIN.  *plan is
 * palloc'd, and valid with PX_OUTCOME_OK only.  Connects, and blocks for a
 * round trip, at most a few seconds, serving interrupts.  For plain EXPLAIN.
 */
extern px_outcome px_ask_plan(px_receive_state *state, const char *options,
							  char **plan);

#endif							/* PX_EXEC_ASK_PLAN_H */
