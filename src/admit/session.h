/*-------------------------------------------------------------------------
 *
 * session.h
 *		Queries that only the session of postgres_fdw may run.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_ADMIT_SESSION_H
#define PX_ADMIT_SESSION_H

#include "nodes/parsenodes.h"
#include "nodes/plannodes.h"

#include "conn/sqlstate.h"

/*
 * Why another session could answer a query differently, or what it does could
 * show there: words that go on after "query", palloc'd, or NULL if there is no
 * reason.  For a query that has been rewritten, so that views are looked into;
 * functions in SQL or PL are judged by what they are declared as.
 */
extern char *px_session_judge(Query *query);

/*
 * The same of the finished plan of such a query, of which only relations are
 * judged: some, as partitions, are known to the planner alone.
 */
extern char *px_session_judge_plan(const PlannedStmt *stmt);

/* Raise PX_ERRCODE_DECLINED if there is a reason. */
extern void px_session_decline(const char *reason);

/*
 * A hash of what could make two sessions answer the same query differently, if
 * the query itself does not: the running instance, the database, the users and
 * all settings but those that differ by design.
 */
extern uint64 px_session_fingerprint(void);

#endif							/* PX_ADMIT_SESSION_H */
