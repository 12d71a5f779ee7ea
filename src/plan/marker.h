/*-------------------------------------------------------------------------
 *
 * marker.h
 *		Recognising SELECT exchange.send('...', t.*) FROM (...) t, and the same
 *		with exchange.send_text.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_PLAN_MARKER_H
#define PX_PLAN_MARKER_H

#include "fmgr.h"

/* The markers themselves; marker.c knows the functions by their addresses. */
extern PGDLLEXPORT Datum px_sql_send(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum px_sql_send_text(PG_FUNCTION_ARGS);

/* Install the planner hook; called once per process, by px_send_init. */
extern void px_marker_init(void);

#endif							/* PX_PLAN_MARKER_H */
