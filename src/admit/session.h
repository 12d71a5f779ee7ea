/*-------------------------------------------------------------------------
 *
 * session.h
 *		Queries that only postgres_fdw's session may run.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_ADMIT_SESSION_H
#define PX_ADMIT_SESSION_H

#include "fmgr.h"
#include "nodes/parsenodes.h"
#include "nodes/plannodes.h"

/*
 * Why another session could return other rows for a query, or why effects of
 * the query could show that another session runs it.  Returns a reason that
 * continues a sentence after "query", for instance "locks rows": palloc'd, or
 * a constant.  Returns NULL if there is no reason.
 *
 * The query must have been rewritten, so that views are judged, too.  A
 * function is judged by its declared volatility, not by its body.
 */
extern char *px_session_judge(Query *query);

/*
 * The same for the finished plan of such a query.  Only its relations are
 * judged: some of them, such as partitions, are known only after planning.
 */
extern char *px_session_judge_plan(const PlannedStmt *stmt);

/*
 * May it matter when a row of the query is evaluated?  Then what the session
 * does between two FETCHes could be seen in the rows, or the query's effects
 * could be seen there: volatile functions, row locks, and the values of
 * sequences.  The query must have been rewritten.
 */
extern bool px_session_judge_time(Query *query);

/*
 * The same of an expression: may it matter for which rows it is evaluated?
 * Beyond contain_volatile_functions(), it knows what aggregates and domains
 * call.
 */
extern bool px_session_judge_calls(Node *node);

/* Which function exchange.unpack is; called before any query is judged. */
extern void px_session_set_unpack(PGFunction function);

/* The same for exchange.inbox. */
extern void px_session_set_inbox(PGFunction function);

/* Raise PX_ERRCODE_DECLINED unless reason is NULL. */
extern void px_session_decline(const char *reason);

/*
 * A hash of everything outside the query that could make two sessions return
 * different rows: the running instance, the database, the users, and all
 * settings except those that differ by design.
 */
extern uint64 px_session_fingerprint(void);

#endif							/* PX_ADMIT_SESSION_H */
