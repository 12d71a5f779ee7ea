/*-------------------------------------------------------------------------
 *
 * session.h
 *		Queries that only the session of postgres_fdw may run.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_SEND_SESSION_H
#define PX_SEND_SESSION_H

#include "nodes/parsenodes.h"

/*
 * Raise PX_ERRCODE_DECLINED, whose message names the function, if the query
 * calls one that is volatile, or tells about the session that runs it.  For a
 * query that has been rewritten, so that views are looked into; functions in
 * SQL or PL are judged by what they are declared as.
 */
extern void px_session_check(Query *query);

#endif							/* PX_SEND_SESSION_H */
