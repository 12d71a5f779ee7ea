/*-------------------------------------------------------------------------
 *
 * compat_query.h
 *		Differences between PostgreSQL 15 to 19 in the trees of queries.
 *
 * The same as compat.h, of which it is a part.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_COMPAT_QUERY_H
#define PX_COMPAT_QUERY_H

#include "nodes/parsenodes.h"
#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"
#include "parser/parse_relation.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#if PG_VERSION_NUM >= 180000
#include "optimizer/optimizer.h"
#endif

/* A copy of node in which Vars of relids have the mark of an outer join. */
static inline void *
px_add_nulling_relid(void *node, Relids relids, int ojrelid)
{
	node = copyObjectImpl(node);
#if PG_VERSION_NUM >= 160000
	if (ojrelid != 0)
		node = add_nulling_relids(node, relids,
								  bms_make_singleton(ojrelid));
#endif
	return node;
}

/*
 * Append a copy of a range table entry of one query to another query, with
 * the rights that it needs.  These moved out of the entry: 16.
 */
static inline void
px_copy_rte(const Query *from, const RangeTblEntry *rte, Query *to)
{
	RangeTblEntry *copy = copyObject(unconstify(RangeTblEntry *, rte));

#if PG_VERSION_NUM >= 160000
	if (copy->perminfoindex != 0)
	{
		to->rteperminfos = lappend(
			to->rteperminfos,
			copyObject(list_nth(from->rteperminfos,
								copy->perminfoindex - 1)));
		copy->perminfoindex = list_length(to->rteperminfos);
	}
#endif
	to->rtable = lappend(to->rtable, copy);
}

/*
 * The columns that a query reads of a table in its range table, which its user
 * must have the right to read.  These moved out of the entry: 16.  NULL if the
 * entry has none.
 */
static inline Bitmapset **
px_selected_columns(const Query *query, RangeTblEntry *rte)
{
#if PG_VERSION_NUM >= 160000
	return rte->perminfoindex == 0 ? NULL :
		&((RTEPermissionInfo *) list_nth(query->rteperminfos,
										 rte->perminfoindex - 1))->selectedCols;
#else
	return &rte->selectedCols;
#endif
}

/*
 * The user as whom a table of a plan is read, InvalidOid for the current one.
 * False if it is that of the table's parent, because the entry itself needs no
 * rights: since 16.
 */
static inline bool
px_planned_user(const PlannedStmt *stmt, Index rtindex, Oid *userid)
{
	RangeTblEntry *rte = rt_fetch(rtindex, stmt->rtable);

#if PG_VERSION_NUM >= 160000
	if (rte->perminfoindex == 0)
		return false;
	*userid = getRTEPermissionInfo(stmt->permInfos, rte)->checkAsUser;
#else
	*userid = rte->checkAsUser;
#endif
	return true;
}

/*
 * What a statement does with tables, and needs rights for.  The two have these
 * fields alike: relid, requiredPerms, checkAsUser, selectedCols.  16.
 */
#if PG_VERSION_NUM >= 160000
typedef RTEPermissionInfo px_table_rights;
#else
typedef RangeTblEntry px_table_rights;
#endif

/* A list of px_table_rights; some may need none. */
static inline const List *
px_planned_rights(const PlannedStmt *stmt)
{
#if PG_VERSION_NUM >= 160000
	return stmt->permInfos;
#else
	return stmt->rtable;
#endif
}

/*
 * Let the query refer to the expressions of GROUP BY themselves, as before 18,
 * not to RTE_GROUP.
 */
static inline void
px_flatten_group(Query *query)
{
#if PG_VERSION_NUM >= 180000
	ListCell   *lc;

	if (!query->hasGroupRTE)
		return;
	query->targetList = (List *) flatten_group_exprs(
		NULL, query, (Node *) query->targetList);
	query->havingQual = flatten_group_exprs(NULL, query, query->havingQual);
	query->hasGroupRTE = false;
	foreach(lc, query->rtable)
	{
		RangeTblEntry *rte = lfirst_node(RangeTblEntry, lc);

		if (rte->rtekind == RTE_GROUP)
		{
			rte->rtekind = RTE_RESULT;
			rte->groupexprs = NIL;
		}
	}
#endif
}

/* Let a query have FROM and WHERE of another one, which are not copied. */
static inline void
px_share_from(Query *from, Query *to)
{
	to->rtable = from->rtable;
	to->jointree = from->jointree;
#if PG_VERSION_NUM >= 160000
	to->rteperminfos = from->rteperminfos;
#endif
}

/* RTE_GROUP, which stands for the expressions of GROUP BY: 18. */
static inline bool
px_rte_is_group(const RangeTblEntry *rte)
{
#if PG_VERSION_NUM >= 180000
	return rte->rtekind == RTE_GROUP;
#else
	return false;
#endif
}

#endif							/* PX_COMPAT_QUERY_H */
