/*-------------------------------------------------------------------------
 *
 * eligible.c
 *		Which foreign scans an exchange may take over.
 *
 * What only shows at run time (no extension on the remote, own writes, …) is
 * decided by exec/receive.c, which then runs the kept ForeignScan.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/sysattr.h"
#include "catalog/pg_class.h"
#include "foreign/foreign.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "compat.h"
#include "guc.h"
#include "plan/eligible.h"

/*
 * Size assumed for a table without statistics, in units of min_bytes: an
 * equality (selectivity 0.005) on it stays below min_bytes, a range (0.33) or
 * the whole of it does not.
 */
#define UNKNOWN_TABLE_MIN_BYTES	16

static bool
is_postgres_fdw(Oid serverid)
{
	ForeignServer *server = GetForeignServer(serverid);
	ForeignDataWrapper *fdw = GetForeignDataWrapper(server->fdwid);
	char	   *handler = OidIsValid(fdw->fdwhandler) ? get_func_name(fdw->fdwhandler) : NULL;

	return handler && strcmp(handler, "postgres_fdw_handler") == 0;
}

/*
 * Does this query level, and each it stands in, only read?  INSERT reads
 * what it inserts; its target is never scanned.
 */
static bool
query_only_reads(PlannerInfo *root)
{
	for (; root; root = root->parent_root)
	{
		Query	   *parse = root->parse;

		if (parse->commandType != CMD_SELECT && parse->commandType != CMD_INSERT)
			return false;
		if (parse->hasModifyingCTE || parse->rowMarks != NIL || root->rowMarks != NIL)
			return false;
	}
	return true;
}

/* Is a system column of rel wanted that only the remote could tell? */
static bool
needs_system_columns(RelOptInfo *rel)
{
	Bitmapset  *attnos = NULL;
	ListCell   *lc;
	int			bit = -1;

	pull_varattnos((Node *) rel->reltarget->exprs, rel->relid, &attnos);
	foreach(lc, rel->baserestrictinfo)
		pull_varattnos((Node *) lfirst_node(RestrictInfo, lc)->clause, rel->relid, &attnos);

	while ((bit = bms_next_member(attnos, bit)) >= 0)
	{
		AttrNumber	attno = bit + FirstLowInvalidHeapAttributeNumber;

		if (attno < 0 && attno != TableOidAttributeNumber)
			return true;
	}
	return false;
}

bool
px_rel_is_eligible(PlannerInfo *root, RelOptInfo *rel)
{
	return px_enabled &&
		rel->fdwroutine != NULL &&
		OidIsValid(rel->serverid) &&
		query_only_reads(root) &&
		is_postgres_fdw(rel->serverid) &&
		!needs_system_columns(rel);
}

static bool
has_statistics(Oid relid)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	bool		result;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for relation %u", relid);
	result = ((Form_pg_class) GETSTRUCT(tuple))->reltuples >= 0;
	ReleaseSysCache(tuple);
	return result;
}

double
px_expected_nbytes(PlannerInfo *root, const Path *path)
{
	RelOptInfo *rel = path->parent;
	RangeTblEntry *rte = planner_rt_fetch(rel->relid, root);

	if (!has_statistics(rte->relid))
		return (double) px_min_bytes * UNKNOWN_TABLE_MIN_BYTES *
			path->rows / Max(rel->tuples, 1.0);
	return path->rows * path->pathtarget->width;
}
