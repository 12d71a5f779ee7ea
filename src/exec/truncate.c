/*-------------------------------------------------------------------------
 *
 * truncate.c
 *		TRUNCATE of foreign tables, while streams read from them.
 *
 * A stream reads in a remote session of its own, whose lock on the remote
 * table lasts until it has sent all.  With a cursor over it open, that is as
 * long as we like: a TRUNCATE by postgres_fdw's session would wait for us, and
 * we for it.  PostgreSQL refuses to truncate a table that is being read, but
 * two foreign tables may be one there, or a view.  So before foreign tables
 * are truncated, all streams are read to their end.
 *
 * Nothing else that postgres_fdw does there conflicts with reading.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "nodes/parsenodes.h"
#include "tcop/utility.h"
#include "utils/lsyscache.h"

#include "conn/stream.h"
#include "exec/truncate.h"

static ProcessUtility_hook_type next_process_utility = NULL;

/* Does it name a foreign table, or one that has foreign children? */
static bool
truncates_foreign(const TruncateStmt *stmt)
{
	ListCell   *lc;

	foreach(lc, stmt->relations)
	{
		const RangeVar *relation = lfirst_node(RangeVar, lc);
		Oid			relid = RangeVarGetRelid(relation, NoLock, true);
		List	   *members;
		ListCell   *member;

		if (!OidIsValid(relid))
			continue;
		members = relation->inh ? find_all_inheritors(relid, NoLock, NULL) : list_make1_oid(relid);
		foreach(member, members)
		{
			if (get_rel_relkind(lfirst_oid(member)) == RELKIND_FOREIGN_TABLE)
				return true;
		}
	}
	return false;
}

static void
process_utility(PlannedStmt *pstmt, const char *query, bool read_only_tree,
				ProcessUtilityContext context, ParamListInfo params,
				QueryEnvironment *environment, DestReceiver *dest, QueryCompletion *completion)
{
	if (IsA(pstmt->utilityStmt, TruncateStmt) && px_connection_in_use() &&
		truncates_foreign((const TruncateStmt *) pstmt->utilityStmt))
		px_streams_settle();

	if (next_process_utility)
		next_process_utility(pstmt, query, read_only_tree, context, params,
							 environment, dest, completion);
	else
		standard_ProcessUtility(pstmt, query, read_only_tree, context, params,
								environment, dest, completion);
}

void
px_truncate_init(void)
{
	next_process_utility = ProcessUtility_hook;
	ProcessUtility_hook = process_utility;
}
