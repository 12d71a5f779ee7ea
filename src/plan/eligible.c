/*-------------------------------------------------------------------------
 *
 * eligible.c
 *		Which foreign scans an exchange may take over.
 *
 * Reasons against an exchange that are known only at run time (no extension on
 * the remote, own writes, …) are found by exec/start.c.  Then postgres_fdw's
 * session is read instead, or the ForeignScan runs, which is kept in the plan.
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
#include "plan/eligible.h"
#include "plan/estimate.h"

/*
 * For a table without statistics, postgres_fdw assumes 10 pages.  We multiply
 * that by this factor, which is about 1 MB.  Then the expected bytes of an
 * equality (selectivity 0.005) are below the default of min_bytes, and those
 * of a range (0.33) or of the whole table are above it.
 */
#define UNKNOWN_TABLE_FACTOR	16

/*
 * Are exchanges known to work in this query and the queries that contain it?
 * Not in MERGE, nor beside a CTE that changes rows.
 */
static bool
query_is_suitable(PlannerInfo *root)
{
	for (; root; root = root->parent_root)
	{
		switch (root->parse->commandType)
		{
			case CMD_SELECT:
			case CMD_INSERT:
			case CMD_UPDATE:
			case CMD_DELETE:
				break;
			default:
				return false;
		}
		if (root->parse->hasModifyingCTE)
			return false;
	}
	return true;
}

static bool
is_update(const Query *query)
{
	return query->commandType == CMD_UPDATE ||
		query->commandType == CMD_DELETE;
}

bool
px_query_updates(PlannerInfo *root)
{
	for (; root; root = root->parent_root)
	{
		if (is_update(root->parse))
			return true;
	}
	return false;
}

/* Does this query, or one that contains it, lock rows of any table? */
static bool
query_locks_rows(PlannerInfo *root)
{
	if (px_query_updates(root))
		return true;
	for (; root; root = root->parent_root)
	{
		if (root->parse->rowMarks != NIL || root->rowMarks != NIL)
			return true;
	}
	return false;
}

/*
 * Does rel have rows of a table that the query updates or deletes from?
 * postgres_fdw reads these FOR UPDATE.
 */
static bool
is_target(PlannerInfo *root, RelOptInfo *rel)
{
	return is_update(root->parse) &&
		bms_overlap(rel->relids, root->all_result_relids);
}

bool
px_rel_is_locked(PlannerInfo *root, RelOptInfo *rel)
{
	ListCell   *lc;

	if (is_target(root, rel))
		return true;
	foreach(lc, root->rowMarks)
	{
		PlanRowMark *mark = lfirst_node(PlanRowMark, lc);

		if (bms_is_member(mark->rti, rel->relids) &&
			mark->strength != LCS_NONE)
			return true;
	}
	return false;
}

/* Of relation relid (an int *).  Our rows have ctid and tableoid only. */
static bool
uses_other_system_column(Node *node, void *relid)
{
	if (node == NULL)
		return false;
	if (IsA(node, Var))
	{
		const Var  *var = (const Var *) node;

		return var->varno == *(const int *) relid &&
			var->varlevelsup == 0 && var->varattno < 0 &&
			var->varattno != TableOidAttributeNumber &&
			var->varattno != SelfItemPointerAttributeNumber;
	}
	return expression_tree_walker(node, uses_other_system_column, relid);
}

/*
 * Does the query use a system column of base relation rel that our rows do not
 * have?  (For a join or upper relation, postgres_fdw fetches system columns as
 * ordinary ones.)
 */
static bool
needs_system_columns(RelOptInfo *rel)
{
	int			relid = rel->relid;
	ListCell   *lc;

	if (uses_other_system_column((Node *) rel->reltarget->exprs, &relid))
		return true;
	foreach(lc, rel->baserestrictinfo)
	{
		if (uses_other_system_column((Node *) lfirst_node(RestrictInfo,
														  lc)->clause, &relid))
			return true;
	}
	return false;
}

/*
 * postgres_fdw has the remote lock no more rows than a LIMIT wants, if the
 * remote does all of the query.  A scan of ours below the LIMIT would lock all
 * rows of a FETCH, or wait for them.  Partitions are below a LIMIT in any case.
 */
static bool
may_push_limit_with_locks(PlannerInfo *root, RelOptInfo *rel)
{
	return rel->reloptkind == RELOPT_BASEREL &&
		root->parse->rowMarks != NIL &&
		(root->parse->limitCount != NULL || root->parse->limitOffset != NULL);
}

bool
px_rel_is_eligible(PlannerInfo *root, RelOptInfo *rel)
{
	/*
	 * A locked row of a join may have to be checked again (EvalPlanQual), by
	 * a local plan of the join.
	 */
	return query_is_suitable(root) &&
		(IS_SIMPLE_REL(rel) || !query_locks_rows(root)) &&
		!may_push_limit_with_locks(root, rel) &&
		!(IS_SIMPLE_REL(rel) && needs_system_columns(rel));
}

bool
px_join_feeds_update(PlannerInfo *root)
{
	return is_update(root->parse) && query_is_suitable(root);
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

	/* An upper relation has no relids: no table's statistics apply. */
	while ((relid = bms_next_member(rel->relids, relid)) >= 0)
	{
		RangeTblEntry *rte = planner_rt_fetch(relid, root);

		if (rte->rtekind == RTE_RELATION && !has_statistics(rte->relid) &&
			!px_estimate_is_known(rte->relid))
			return nbytes * UNKNOWN_TABLE_FACTOR;
	}
	return nbytes;
}

static bool
is_init_param(const Param *param, const PlannerInfo *root)
{
	ListCell   *lc;

	if (param->paramkind != PARAM_EXEC)
		return false;
	foreach(lc, root->init_plans)
	{
		if (list_member_int(lfirst_node(SubPlan, lc)->setParam,
							param->paramid))
			return true;
	}
	return false;
}

static bool
has_init_param(Node *node, void *root)
{
	if (node == NULL)
		return false;
	if (IsA(node, Param))
		return is_init_param((Param *) node, root);
	return expression_tree_walker(node, has_init_param, root);
}

bool
px_has_init_param(PlannerInfo *root, Node *node)
{
	return root->init_plans != NIL && has_init_param(node, root);
}
