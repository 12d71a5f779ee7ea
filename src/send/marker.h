/*-------------------------------------------------------------------------
 *
 * marker.h
 *		Recognising SELECT exchange.send('...', t.*) FROM (...) t.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_SEND_MARKER_H
#define PX_SEND_MARKER_H

#include "fmgr.h"

/* exchange.send itself; marker.c knows the function by its address. */
extern PGDLLEXPORT Datum px_sql_send(PG_FUNCTION_ARGS);

/* Install the planner hook; called once per process, by px_send_init. */
extern void px_marker_init(void);

#endif							/* PX_SEND_MARKER_H */
