/*-------------------------------------------------------------------------
 *
 * remote_plan.h
 *		The plan of a remote server, as part of our own EXPLAIN.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_EXEC_REMOTE_PLAN_H
#define PX_EXEC_REMOTE_PLAN_H

#include "commands/explain.h"

#include "compat.h"

/*
 * Add a plan that a remote server has explained, under the label Remote Plan:
 * its lines in text format; in other formats, its JSON taken apart and written
 * as these have it.  Without COSTS, the remote's are left out.
 */
extern void px_remote_plan_text(const char *text, ExplainState *es);

/*
 * json is an object with the field Plan, or an array of one such object.
 * Errors: ERRCODE_INVALID_TEXT_REPRESENTATION and other errors of the type
 * json.
 */
extern void px_remote_plan_json(const char *json, ExplainState *es);

#endif							/* PX_EXEC_REMOTE_PLAN_H */
