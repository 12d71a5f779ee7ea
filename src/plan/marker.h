/*-------------------------------------------------------------------------
 *
 * marker.h
 *		Recognizing SELECT exchange.send('...', t.*) FROM (...) t, and the same
 *		with exchange.send_text.
 *
 * We call such a query a marked query, and the function call its marker.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_PLAN_MARKER_H
#define PX_PLAN_MARKER_H

#include "fmgr.h"

/* The marker functions.  marker.c compares their addresses. */
extern PGDLLEXPORT Datum px_sql_send(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum px_sql_send_text(PG_FUNCTION_ARGS);

/* Install the planner hook; called by _PG_init. */
extern void px_marker_init(void);

#endif							/* PX_PLAN_MARKER_H */
