/*-------------------------------------------------------------------------
 *
 * limit_group.c
 *		One remote query for several partitions of one server.
 *
 * With ORDER BY and LIMIT, each partition sends as many rows as the LIMIT
 * says, and each stream has a cost of its own.  So the partitions of a server
 * are made to groups, as many as there may be connections to it, and the
 * remote merges the rows of each group:
 *
 *	SELECT * FROM
 *		((SELECT c1::text, ... FROM (query of a partition) s(c1, ...))
 *		 UNION ALL ...) u(c1, ...)
 *	ORDER BY c1::integer LIMIT 10
 *
 * The types of a remote table may differ from those of the foreign table, and
 * from those of other partitions.  postgres_fdw converts each value by the
 * output function of the remote type and the input function of the local one.
 * So the query makes text of all values, and they are converted here.  Keys
 * are also converted there, to sort by them.  If a key has another type in one
 * of the remote tables, the partitions are merged here: the remote is asked
 * before (exec/ask_types.h).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type_d.h"
#include "lib/stringinfo.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"

#include "compat.h"
#include "compat_executor.h"
#include "exec/plan_walk.h"
#include "guc.h"
#include "node/receive.h"
#include "plan/limit_group.h"
#include "plan/paths.h"
#include "plan/types_question.h"
#include "transport/transmission.h"

/* ---------------------------------------------------------------------
 * What can be grouped
 * --------------------------------------------------------------------- */

/*
 * Of more rows, those of several partitions take less to send in the form of
 * their types than those of one as text.
 */
#define GROUP_ROWS_MAX	1000

/*
 * Can the remote make keys of the type from text?  Not if the input function
 * is not immutable: then only postgres_fdw's session may run the query.
 */
static bool
is_key_type(Oid type)
{
	switch (type)
	{
		case BOOLOID:
		case INT2OID:
		case INT4OID:
		case INT8OID:
		case FLOAT4OID:
		case FLOAT8OID:
		case NUMERICOID:
		case UUIDOID:
			return true;
		default:
			return false;
	}
}

/*
 * The cast to text differs from the output function for some types of the
 * remote column: it strips blanks from char(n), and makes "true" of "t".  The
 * input functions of these local types do not see the difference, or fail in
 * both cases.  The others need the output function, which is longer to write.
 */
static bool
may_be_cast_to_text(Oid local_type)
{
	switch (local_type)
	{
		case BOOLOID:
		case INT2OID:
		case INT4OID:
		case INT8OID:
		case FLOAT4OID:
		case FLOAT8OID:
		case NUMERICOID:
		case DATEOID:
		case TIMEOID:
		case TIMETZOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
		case INTERVALOID:
			return true;
		default:
			return false;
	}
}

static ForeignScan *
foreign_of(const CustomScan *receive)
{
	return linitial_node(ForeignScan, receive->custom_plans);
}

/*
 * Which column of the remote query, counted from 1, is this target of a scan?
 * 0 if it is none, or something else than a plain column.
 */
static int
remote_column(const CustomScan *receive, const TargetEntry *target)
{
	const Var  *var = (const Var *) target->expr;
	int			column = 0;
	ListCell   *lc;

	if (!IsA(var, Var) || (Index) var->varno != receive->scan.scanrelid ||
		var->varattno <= 0)
		return 0;
	foreach(lc, (List *) lsecond(foreign_of(receive)->fdw_private))
	{
		column++;
		if (lfirst_int(lc) == var->varattno)
			return column;
	}
	return 0;
}

/*
 * Is it a scan of a partition that only returns columns of it, and so many
 * rows by one FETCH?
 */
static bool
can_be_grouped(const CustomScan *receive, int64 nrows)
{
	const Plan *plan = &receive->scan.plan;
	const ForeignScan *foreign = foreign_of(receive);
	ListCell   *lc;

	if (receive->scan.scanrelid == 0 || plan->qual != NIL ||
		plan->initPlan != NIL || plan->parallel_aware ||
		!bms_is_empty(plan->extParam) || foreign->fdw_exprs != NIL ||
		nrows > intVal(lthird(foreign->fdw_private)) ||
		foreign->fsSystemCol || plan->targetlist == NIL ||
		px_receive_get(receive, PX_RECEIVE_PRIVATE_LOCKS) != 0 ||
		px_receive_get(receive, PX_RECEIVE_PRIVATE_KEYS) != 0)
		return false;
	foreach(lc, plan->targetlist)
	{
		if (remote_column(receive, lfirst_node(TargetEntry, lc)) == 0)
			return false;
	}
	return true;
}

static Oid
column_type(const List *targets, AttrNumber column)
{
	return exprType((Node *) list_nth_node(TargetEntry, targets,
										   column - 1)->expr);
}

/* Is it to connect to the same server as the same user? */
static bool
is_same_server(const PlannedStmt *stmt, const CustomScan *a,
			   const CustomScan *b)
{
	return foreign_of(a)->fs_server == foreign_of(b)->fs_server &&
		px_foreignscan_user(foreign_of(a),
							rt_fetch(a->scan.scanrelid, stmt->rtable)) ==
		px_foreignscan_user(foreign_of(b),
							rt_fetch(b->scan.scanrelid, stmt->rtable));
}

/* ---------------------------------------------------------------------
 * The remote query
 * --------------------------------------------------------------------- */

/* "s(c1, c2)" */
static void
add_alias(StringInfo sql, const char *name, int ncolumns)
{
	appendStringInfo(sql, "%s(", name);
	for (int i = 1; i <= ncolumns; i++)
		appendStringInfo(sql, "%sc%d", i > 1 ? ", " : "", i);
	appendStringInfoChar(sql, ')');
}

/* The query of a partition, all columns of which are made text. */
static void
add_partition(StringInfo sql, const CustomScan *receive)
{
	const List *fdw_private = foreign_of(receive)->fdw_private;
	const char *separator = "";
	ListCell   *lc;

	appendStringInfoString(sql, "(SELECT ");
	foreach(lc, receive->scan.plan.targetlist)
	{
		const TargetEntry *target = lfirst_node(TargetEntry, lc);
		int			column = remote_column(receive, target);

		appendStringInfoString(sql, separator);
		if (may_be_cast_to_text(exprType((Node *) target->expr)))
			appendStringInfo(sql, "c%d::pg_catalog.text", column);
		else
			appendStringInfo(sql,
							 "CASE WHEN c%d IS DISTINCT FROM NULL "
							 "THEN pg_catalog.format('%%s', c%d) END",
							 column, column);
		separator = ", ";
	}
	appendStringInfo(sql, " FROM (%s) ", strVal(linitial(fdw_private)));
	add_alias(sql, "s", list_length(lsecond(fdw_private)));
	appendStringInfoChar(sql, ')');
}

static char *
make_query(const List *receives, int nkeys, const px_sort_key *keys,
		   int64 nrows)
{
	const List *targets = linitial_node(CustomScan, receives)
		->scan.plan.targetlist;
	const char *separator = "SELECT * FROM (";
	StringInfoData sql;
	ListCell   *lc;

	initStringInfo(&sql);
	foreach(lc, receives)
	{
		appendStringInfoString(&sql, separator);
		add_partition(&sql, lfirst(lc));
		separator = " UNION ALL ";
	}
	appendStringInfoString(&sql, ") ");
	add_alias(&sql, "u", list_length(targets));

	separator = " ORDER BY ";
	for (int i = 0; i < nkeys; i++)
	{
		Oid			type = column_type(targets, keys[i].column);

		appendStringInfo(&sql, "%sc%d::%s %s NULLS %s", separator,
						 keys[i].column,
						 px_transmission_type(type, -1),
						 keys[i].descending ? "DESC" : "ASC",
						 keys[i].nulls_first ? "FIRST" : "LAST");
		separator = ", ";
	}
	appendStringInfo(&sql, " LIMIT " INT64_FORMAT, nrows);
	return sql.data;
}

/* ---------------------------------------------------------------------
 * The plan
 * --------------------------------------------------------------------- */

/*
 * The column that an error about a value of the group is reported for, and
 * that EXPLAIN shows: that of the parent table, because it is not known which
 * partition a row is from.  If there is no such table, that of the first
 * partition.
 */
static Var *
make_column(const PlannedStmt *stmt, const Plan *append,
			const TargetEntry *target)
{
	const Var  *output = (const Var *) list_nth_node(
		TargetEntry, append->targetlist, target->resno - 1)->expr;
	Var *var = copyObject(unconstify(Var *, (const Var *) target->expr));

	if (IsA(output, Var) && output->varnosyn > 0 &&
		output->varattnosyn > 0 &&
		rt_fetch(output->varnosyn, stmt->rtable)->rtekind == RTE_RELATION)
	{
		var->varno = output->varnosyn;
		var->varattno = output->varattnosyn;
	}
	return var;
}

/* Targets that are the columns of fdw_scan_tlist, or custom_scan_tlist. */
static List *
refer_to_columns(const List *targets)
{
	List	   *result = NIL;
	ListCell   *lc;

	foreach(lc, targets)
	{
		TargetEntry *target = flatCopyTargetEntry(lfirst(lc));
		const Node *expr = (const Node *) target->expr;

		target->expr = (Expr *) makeVar(INDEX_VAR, target->resno,
										exprType(expr), exprTypmod(expr),
										exprCollation(expr), 0);
		result = lappend(result, target);
	}
	return result;
}

/* Ask for the types of the keys of all of them. */
static List *
make_types(const List *receives, int nkeys, const px_sort_key *keys)
{
	px_types_question question;
	ListCell   *lc;

	px_types_question_begin(&question);
	foreach(lc, receives)
	{
		const CustomScan *receive = lfirst(lc);
		const List *fdw_private = foreign_of(receive)->fdw_private;
		List	   *columns = NIL;

		for (int i = 0; i < list_length(lsecond(fdw_private)); i++)
			columns = lappend(columns, NULL);
		for (int i = 0; i < nkeys; i++)
		{
			const TargetEntry *target = list_nth_node(
				TargetEntry, receive->scan.plan.targetlist,
				keys[i].column - 1);

			lfirst(list_nth_cell(columns, remote_column(receive, target) -
								 1)) = target->expr;
		}
		px_types_question_add(&question, strVal(linitial(fdw_private)),
							  columns, NIL);
	}
	return px_types_question_end(&question, 0);
}

/*
 * The plan without the group, which does the same here: the Append or
 * MergeAppend, over the scans that the members would fall back to.
 */
static Plan *
make_local_plan(const Plan *append, const List *receives)
{
	Plan	   *plan = IsA(append, Append) ?
		(Plan *) makeNode(Append) : (Plan *) makeNode(MergeAppend);
	ListCell   *lc;

	if (IsA(append, Append))
	{
		*(Append *) plan = *(const Append *) append;
		((Append *) plan)->nasyncplans = 0;
		((Append *) plan)->first_partial_plan = list_length(receives);
	}
	else
		*(MergeAppend *) plan = *(const MergeAppend *) append;
	plan->targetlist = copyObject(append->targetlist);
	plan->initPlan = NIL;
	*px_plan_list(plan) = NIL;
	foreach(lc, receives)
	{
		const CustomScan *receive = lfirst(lc);
		Plan	   *scan = (Plan *) foreign_of(receive);

		scan = copyObject(outerPlan(scan) ? outerPlan(scan) : scan);
		scan->targetlist = copyObject(receive->scan.plan.targetlist);
		*px_plan_list(plan) = lappend(*px_plan_list(plan), scan);
	}
	return plan;
}

/* Is what one query returns for several scans small? */
static int
smallness_of_all(const List *receives)
{
	px_smallness all = PX_IS_SMALL;
	ListCell   *lc;

	foreach(lc, receives)
	{
		int			smallness = px_receive_get(lfirst(lc),
											   PX_RECEIVE_PRIVATE_SMALL);

		if (smallness == PX_IS_SMALL)
			continue;
		if ((smallness & PX_IS_SMALL_IF_CHEAP) == 0)
			return PX_IS_NOT_SMALL;
		all = PX_IS_SMALL_IF_CHEAP;
	}
	return all;
}

/* An ExchangeReceive that has the place of several. */
static CustomScan *
make_group(const PlannedStmt *stmt, const Plan *append, const List *receives,
		   int nkeys, const px_sort_key *keys, int64 nrows)
{
	const CustomScan *first = linitial(receives);
	CustomScan *group = makeNode(CustomScan);
	ForeignScan *foreign = makeNode(ForeignScan);
	Plan	   *plan = &group->scan.plan;
	Bitmapset  *relids = NULL;
	List	   *columns = NIL;
	List	   *retrieved = NIL;
	StringInfoData names;
	ListCell   *lc;

	*group = *first;
	*foreign = *foreign_of(first);
	group->custom_private = list_copy(first->custom_private);
	group->custom_plans = list_make1(foreign);
	group->scan.scanrelid = foreign->scan.scanrelid = 0;

	initStringInfo(&names);
	plan->startup_cost = plan->total_cost = plan->plan_rows = 0;
	foreach(lc, receives)
	{
		const CustomScan *receive = lfirst(lc);

		plan->startup_cost += receive->scan.plan.startup_cost;
		plan->total_cost += receive->scan.plan.total_cost;
		plan->plan_rows += receive->scan.plan.plan_rows;
		plan->parallel_safe &= receive->scan.plan.parallel_safe;
		relids = bms_add_member(relids, receive->scan.scanrelid);
		appendStringInfo(&names, "%s%u", names.len > 0 ? ", " : "",
						 receive->scan.scanrelid);
		if (px_receive_get(receive, PX_RECEIVE_PRIVATE_ASYNC))
			px_receive_set(group->custom_private, PX_RECEIVE_PRIVATE_ASYNC, 1);
	}
	px_receive_set(group->custom_private, PX_RECEIVE_PRIVATE_SMALL,
				   smallness_of_all(receives));
	plan->plan_rows = Min(plan->plan_rows, clamp_row_est((double) nrows));
	foreign->scan.plan.startup_cost = plan->startup_cost;
	foreign->scan.plan.total_cost = plan->total_cost;
	foreign->scan.plan.plan_rows = plan->plan_rows;
	px_foreignscan_set_relids(foreign, relids);

	foreach(lc, first->scan.plan.targetlist)
	{
		const TargetEntry *target = lfirst_node(TargetEntry, lc);
		Var		   *var = make_column(stmt, append, target);

		columns = lappend(columns, makeTargetEntry((Expr *) var, target->resno,
												   NULL, false));
		retrieved = lappend_int(retrieved, target->resno);
	}
	foreign->fdw_scan_tlist = columns;
	foreign->scan.plan.targetlist = refer_to_columns(columns);
	foreign->fdw_recheck_quals = NIL;
	foreign->fdw_private = list_make4(
		makeString(make_query(receives, nkeys, keys, nrows)), retrieved,
		lthird(foreign->fdw_private), makeString(names.data));
	outerPlan(foreign) = make_local_plan(append, receives);
	(void) px_paths_set_types(plan, make_types(receives, nkeys, keys));
	group->custom_scan_tlist = copyObject(columns);
	plan->targetlist = refer_to_columns(first->scan.plan.targetlist);
	return group;
}

/*
 * Make ngroups of some children, each with about the same number of them.  The
 * first child of a group has its place in children; the others leave it.
 */
static void
replace_children(const PlannedStmt *stmt, const Plan *append, List **children,
				 const List *receives, int ngroups, int nkeys,
				 const px_sort_key *keys, int64 nrows)
{
	int			n = list_length(receives);

	for (int i = 0; i < ngroups; i++)
	{
		List	   *members = NIL;
		CustomScan *group;
		ListCell   *lc;

		for (int j = n * i / ngroups; j < n * (i + 1) / ngroups; j++)
			members = lappend(members, list_nth(receives, j));
		if (list_length(members) < 2)
			continue;
		group = make_group(stmt, append, members, nkeys, keys, nrows);
		foreach(lc, *children)
		{
			if (lfirst(lc) == linitial(members))
				lfirst(lc) = group;
		}
		*children = list_difference_ptr(*children, members);
	}
}

void
px_limit_group(const PlannedStmt *stmt, Plan *append, const List *limited,
			   int nkeys, const px_sort_key *keys, int64 nrows)
{
	List	   *candidates = NIL;
	List	  **children = IsA(append, Append) ?
		&((Append *) append)->appendplans :
		&((MergeAppend *) append)->mergeplans;
	ListCell   *lc;

	for (int i = 0; i < nkeys; i++)
	{
		if (!is_key_type(column_type(append->targetlist, keys[i].column)))
			return;
	}
	if (nrows > GROUP_ROWS_MAX || px_has_pruning(append) ||
		append->parallel_aware ||
		(IsA(append, Append) &&
		 ((Append *) append)->first_partial_plan < list_length(*children)))
		return;
	foreach(lc, limited)
	{
		if (can_be_grouped(lfirst(lc), nrows))
			candidates = lappend(candidates, lfirst(lc));
	}
	while (candidates != NIL)
	{
		List	   *receives = NIL;

		foreach(lc, candidates)
		{
			if (is_same_server(stmt, linitial(candidates), lfirst(lc)))
				receives = lappend(receives, lfirst(lc));
		}
		replace_children(stmt, append, children, receives,
						 Min(list_length(receives),
							 px_max_connections_per_server),
						 nkeys, keys, nrows);
		candidates = list_difference_ptr(candidates, receives);
	}
	if (IsA(append, Append))
		((Append *) append)->first_partial_plan = list_length(*children);
}
