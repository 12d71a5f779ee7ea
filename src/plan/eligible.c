/*-------------------------------------------------------------------------
 *
 * eligible.c
 *		Which foreign scans an exchange may take over.
 *
 * What only shows at run time (no extension on the remote, own writes, …) is
 * decided by node/receive.c, which then runs the kept ForeignScan.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/sysattr.h"
#include "catalog/pg_class.h"
#include "commands/defrem.h"
#include "foreign/foreign.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "compat.h"
#include "plan/eligible.h"

/*
 * postgres_fdw plans for 10 pages where a table has no statistics.  An
 * exchange rather expects this many times as much, about 1 MB: an equality
 * (selectivity 0.005) then stays below the default of min_bytes, a range
 * (0.33) or the whole of the table does not.
 */
#define UNKNOWN_TABLE_FACTOR	16

bool
px_server_is_postgres_fdw(const ForeignServer *server)
{
	ForeignDataWrapper *fdw = GetForeignDataWrapper(server->fdwid);
	char	   *handler = OidIsValid(fdw->fdwhandler)
		? get_func_name(fdw->fdwhandler)
		: NULL;

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

		if (parse->commandType != CMD_SELECT &&
			parse->commandType != CMD_INSERT)
			return false;
		if (parse->hasModifyingCTE)
			return false;
	}
	return true;
}

/* May rows be locked here, of any table? */
static bool
query_locks_rows(PlannerInfo *root)
{
	for (; root; root = root->parent_root)
	{
		if (root->parse->rowMarks != NIL || root->rowMarks != NIL)
			return true;
	}
	return false;
}

bool
px_rel_is_locked(PlannerInfo *root, RelOptInfo *rel)
{
	ListCell   *lc;

	foreach(lc, root->rowMarks)
	{
		PlanRowMark *mark = lfirst_node(PlanRowMark, lc);

		if (bms_is_member(mark->rti, rel->relids) &&
			mark->strength != LCS_NONE)
			return true;
	}
	return false;
}

/*
 * Is a system column of base relation rel wanted that a row as we make it
 * cannot have?  tableoid it can.  (In the target list of a join or upper
 * relation, postgres_fdw makes ordinary columns of them.)
 */
static bool
needs_system_columns(RelOptInfo *rel)
{
	Bitmapset  *attnos = NULL;
	ListCell   *lc;
	int			bit = -1;

	pull_varattnos((Node *) rel->reltarget->exprs, rel->relid, &attnos);
	foreach(lc, rel->baserestrictinfo)
		pull_varattnos((Node *) lfirst_node(RestrictInfo, lc)->clause,
					   rel->relid, &attnos);

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
	/* To check a join's row again takes a plan that only postgres_fdw has. */
	return query_only_reads(root) &&
		(IS_SIMPLE_REL(rel) || !query_locks_rows(root)) &&
		!(IS_SIMPLE_REL(rel) && needs_system_columns(rel));
}

double
px_fdw_tuple_cost(const ForeignServer *server)
{
	double		cost = PX_FDW_TUPLE_COST_DEFAULT;
	ListCell   *lc;

	foreach(lc, server->options)
	{
		DefElem    *option = lfirst_node(DefElem, lc);

		if (strcmp(option->defname, "fdw_tuple_cost") == 0)
			(void) parse_real(defGetString(option), &cost, 0, NULL);
	}
	return cost;
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
	double		nbytes = path->rows * path->pathtarget->width;
	int			relid = -1;

	/* An upper relation has no relids; its size hangs on no table's. */
	while ((relid = bms_next_member(rel->relids, relid)) >= 0)
	{
		RangeTblEntry *rte = planner_rt_fetch(relid, root);

		if (rte->rtekind == RTE_RELATION && !has_statistics(rte->relid))
			return nbytes * UNKNOWN_TABLE_FACTOR;
	}
	return nbytes;
}
