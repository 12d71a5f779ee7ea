/*-------------------------------------------------------------------------
 *
 * foreign_query.c
 *		Which queries read foreign tables of postgres_fdw.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_class.h"
#include "catalog/pg_foreign_table.h"
#include "catalog/pg_inherits.h"
#include "foreign/foreign.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "conn/foreign_server.h"
#include "plan/foreign_query.h"

static bool
is_foreign_table(Oid relid)
{
	HeapTuple	tuple = SearchSysCache1(FOREIGNTABLEREL,
										ObjectIdGetDatum(relid));
	Oid			server;

	if (!HeapTupleIsValid(tuple))
		return false;
	server = ((Form_pg_foreign_table) GETSTRUCT(tuple))->ftserver;
	ReleaseSysCache(tuple);
	return SearchSysCacheExists1(FOREIGNSERVEROID, ObjectIdGetDatum(server)) &&
		px_server_is_postgres_fdw(GetForeignServer(server));
}

static bool
has_foreign_table(Oid relid, bool children)
{
	ListCell   *lc;

	check_stack_depth();
	if (get_rel_relkind(relid) == RELKIND_FOREIGN_TABLE &&
		is_foreign_table(relid))
		return true;
	if (!children || !has_subclass(relid))
		return false;
	foreach(lc, find_inheritance_children(relid, NoLock))
	{
		if (has_foreign_table(lfirst_oid(lc), true))
			return true;
	}
	return false;
}

static bool
reads_foreign_table(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, RangeTblEntry))
	{
		RangeTblEntry *rte = (RangeTblEntry *) node;

		return rte->rtekind == RTE_RELATION &&
			has_foreign_table(rte->relid, rte->inh);
	}
	if (IsA(node, Query))
		return query_tree_walker((Query *) node, reads_foreign_table, context,
								 QTW_EXAMINE_RTES_BEFORE);
	return expression_tree_walker(node, reads_foreign_table, context);
}

bool
px_query_is_foreign(Query *query)
{
	return reads_foreign_table((Node *) query, NULL);
}
