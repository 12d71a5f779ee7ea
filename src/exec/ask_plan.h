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
 * Ask the server for its plan of the query, with options of EXPLAIN.  NULL, with
 * *reason set, if it does not tell.  Connects, and blocks for a round trip, at
 * most a few seconds, serving interrupts.  For plain EXPLAIN.
 */
extern char *px_receive_ask_plan(px_receive_state *state, const char *options,
								 const char **reason);

#endif							/* PX_EXEC_ASK_PLAN_H */
