/*-------------------------------------------------------------------------
 *
 * run.h
 *		What the executor is about to do with a query that has exchanges.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_EXEC_RUN_H
#define PX_EXEC_RUN_H

#include "nodes/execnodes.h"

/*
 * Is the query of estate run to its end in one go?  False for a cursor of
 * which some rows are fetched, for instance: other statements may come before
 * the next ones.
 */
extern bool px_run_is_complete(const EState *estate);

/*
 * May other statements come before the query of estate has returned its last
 * row?  False also if its caller wants a few rows, and no more later.
 */
extern bool px_run_may_resume(const EState *estate);

/* Does the plan write to foreign tables, or may it route rows to some? */
extern bool px_run_writes_foreign(const PlannedStmt *plan);

/*
 * Has a table that the query writes to triggers that fire before all rows are
 * read?
 */
extern bool px_run_has_early_triggers(const EState *estate);

/*
 * Have all rows of a COPY written, before its targets end.  Rows that the
 * remote has skipped are left out of its command tag.
 */
extern void px_run_flush_copy(EState *estate);

/* Install the hooks; called by _PG_init. */
extern void px_run_init(void);

#endif							/* PX_EXEC_RUN_H */
