/*-------------------------------------------------------------------------
 *
 * apply_plan.c
 *		Planning the statement of exchange.apply.
 *
 * Of the rows of a piece, the first one that fails must be the first one that
 * fails with postgres_fdw.  And a statement may be run for one row at a time.
 * So an UPDATE or DELETE is a nested loop, with the piece as its outer side
 * and a TID scan of the table as its inner side.  A planner that has the
 * choice takes a hash join for many rows, or reads a small table for few.  Its
 * other paths are removed by plan/unpack.c.  Here are the settings by which
 * the planner would not make such a path, or put something on top of it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "jit/jit.h"
#include "utils/guc.h"

#include "compat.h"
#include "exec/apply_plan.h"

static void
set_option(const char *name, const char *value)
{
	(void) set_config_option(name, value, PGC_USERSET, PGC_S_SESSION,
							 GUC_ACTION_SAVE, true, 0, false);
}

PlannedStmt *
px_apply_plan(Query *query, const char *sql)
{
	PlannedStmt *stmt;

	if (query->commandType == CMD_INSERT)
		stmt = px_plan_query(query, sql, 0);
	else
	{
		int			nestlevel = NewGUCNestLevel();

		set_option("enable_tidscan", "on");
		set_option("enable_nestloop", "on");
		set_option("enable_memoize", "off");
		stmt = px_plan_query(query, sql, 0);
		AtEOXact_GUC(true, nestlevel);
	}

	/* There is little to compile, and the next piece is planned anew. */
	stmt->jitFlags = PGJIT_NONE;
	return stmt;
}
