/*-------------------------------------------------------------------------
 *
 * fragment.c
 *		The SQL of a fragment: a join, and its aggregates, on a shard.
 *
 * postgres_fdw has deparsed the scan of the partition.  It becomes a subquery,
 * which the remote planner pulls up.  All around it is deparsed here, by
 * ruleutils, from expressions that plan/shippable.c has judged.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "lib/stringinfo.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/restrictinfo.h"
#include "parser/parsetree.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/ruleutils.h"

#include "compat.h"
#include "plan/collation.h"
#include "plan/fragment.h"
#include "plan/join_key.h"
#include "plan/leaves.h"
#include "plan/semi_join.h"
#include "plan/types_question.h"
#include "transport/transmission.h"
#include "wire/request.h"

/* In the query, r is the first relation, and the sides follow. */
#define RTINDEX_OF_SCAN		1
#define RTINDEX_OF_SIDES	2

typedef struct fragment_context
{
	PlannerInfo *root;
	const px_fragment *fragment;
	RelOptInfo *leaf;
	List	   *columns;		/* of the scan: Vars of leaf */
	List	   *deparse;		/* ruleutils' context */
} fragment_context;

/* ---------------------------------------------------------------------
 * Expressions
 * --------------------------------------------------------------------- */

/* An entry of a range table for ruleutils, which wants only names of it. */
static RangeTblEntry *
make_entry(const char *name, List *columns)
{
	RangeTblEntry *rte = makeNode(RangeTblEntry);

	rte->rtekind = RTE_VALUES;
	rte->eref = makeAlias(name, columns);
	rte->inFromCl = true;
	return rte;
}

/* A context for deparse_expression. */
static List *
make_deparse_context(List *rtable)
{
	PlannedStmt *stmt = makeNode(PlannedStmt);
	List	   *names = NIL;
	ListCell   *lc;

	foreach(lc, rtable)
		names = lappend(names,
						lfirst_node(RangeTblEntry, lc)->eref->aliasname);
	stmt->rtable = rtable;
	return deparse_context_for_plan_tree(stmt, names);
}

/* c1, c2, and so on. */
static List *
column_names(int n)
{
	List	   *names = NIL;

	for (int i = 1; i <= n; i++)
		names = lappend(names, makeString(psprintf("c%d", i)));
	return names;
}

static List *
make_fragment_rtable(const fragment_context *context)
{
	List	   *rtable = list_make1(
		make_entry("r", column_names(list_length(context->columns))));
	ListCell   *lc;

	foreach(lc, context->fragment->sides)
	{
		const px_fragment_side *side = lfirst(lc);

		rtable = lappend(rtable, make_entry(
							 psprintf("s%d", foreach_current_index(lc) + 1),
							 column_names(list_length(side->columns))));
	}
	return rtable;
}

/* Which of these Vars is that column?  Counted from 1; 0 if none is. */
static int
find_column(List *columns, const Var *var)
{
	ListCell   *lc;

	foreach(lc, columns)
	{
		const Var  *column = lfirst(lc);

		if (IsA(column, Var) && column->varno == var->varno &&
			column->varattno == var->varattno)
			return foreach_current_index(lc) + 1;
	}
	return 0;
}

/* The column of the scan of leaf that has a column of rel; 0 if none has. */
static int
column_of_leaf(PlannerInfo *root, RelOptInfo *rel, RelOptInfo *leaf,
			   List *columns, const Var *var)
{
	const Var  *column = (const Var *) px_leaf_translate(
		root, (Node *) var, rel, leaf);

	return IsA(column, Var) ? find_column(columns, column) : 0;
}

/* The column of r that has a column of the big table; 0 if none has. */
static int
column_of_scan(const fragment_context *context, const Var *var)
{
	if (context->fragment->inbox > 0)
		return find_column(context->columns, var);
	return column_of_leaf(context->root, context->fragment->big, context->leaf,
						  context->columns, var);
}

/*
 * The column of the fragment's query that var is.  Those of sides have the
 * default collation there, which gives way to that of a foreign column.
 */
static Var *
replace_var(const fragment_context *context, const Var *var)
{
	int			rtindex = RTINDEX_OF_SCAN;
	int			column = 0;
	ListCell   *lc;

	if (bms_is_member(var->varno, context->fragment->big->relids))
		column = column_of_scan(context, var);
	else
	{
		foreach(lc, context->fragment->sides)
		{
			const px_fragment_side *side = lfirst(lc);

			column = find_column(side->columns, var);
			rtindex = RTINDEX_OF_SIDES + foreach_current_index(lc);
			if (column > 0)
				break;
		}
	}
	if (column == 0)
		elog(ERROR, "fragment lacks a column");
	return makeVar(rtindex, (AttrNumber) column, var->vartype, var->vartypmod,
				   var->varcollid, 0);
}

static Node *
replace_vars(Node *node, void *context)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, Var))
		return (Node *) replace_var(context, (Var *) node);
	return expression_tree_mutator(node, replace_vars, context);
}

static char *
expression_text(fragment_context *context, Node *expr)
{
	return deparse_expression(replace_vars(expr, context), context->deparse,
							  true, true);
}

/* ---------------------------------------------------------------------
 * The query
 * --------------------------------------------------------------------- */

static void
append_targets(fragment_context *context, StringInfo sql)
{
	ListCell   *lc;

	appendStringInfoString(sql, "SELECT ");
	foreach(lc, context->fragment->target->exprs)
		appendStringInfo(sql, "%s%s",
						 foreach_current_index(lc) > 0 ? ", " : "",
						 expression_text(context, lfirst(lc)));
}

/*
 * The scan, whose columns have the types that the foreign table declares: see
 * px_fragment_types.  That casts nothing but narrower integers.
 */
static void
append_scan(List *columns, const char *scan_sql, StringInfo sql)
{
	ListCell   *lc;

	appendStringInfoString(sql, " FROM (SELECT ");
	foreach(lc, columns)
	{
		const Var  *column = lfirst_node(Var, lc);
		int			i = foreach_current_index(lc);

		appendStringInfo(sql, "%sc%d::%s AS c%d", i > 0 ? ", " : "", i + 1,
						 px_transmission_type(column->vartype,
											  column->vartypmod),
						 i + 1);
	}
	appendStringInfo(sql, " FROM (%s) r(", scan_sql);
	for (int i = 1; i <= list_length(columns); i++)
		appendStringInfo(sql, "%sc%d", i > 1 ? ", " : "", i);
	appendStringInfoString(sql, ")) r");
}

/* A list of columns for a function that returns records. */
static void
append_column_definitions(List *columns, StringInfo sql)
{
	ListCell   *lc;

	appendStringInfoChar(sql, '(');
	foreach(lc, columns)
		appendStringInfo(sql, "%sc%d %s",
						 foreach_current_index(lc) > 0 ? ", " : "",
						 foreach_current_index(lc) + 1,
						 px_transmission_type(exprType(lfirst(lc)), -1));
	appendStringInfoChar(sql, ')');
}

/*
 * The distinct values that each column of the rows of an inbox, or of a
 * parameter, may have, as an array.  They are those of the tables: how many
 * rows there are the server sees for itself, and takes no column for one with
 * more values.  We may have expected far fewer.  The inbox of each target has
 * others of the key that the rows were cut by.
 */
static void
append_distinct_values(const fragment_context *context, List *columns,
					   const Var *key, StringInfo sql)
{
	ListCell   *lc;

	appendStringInfoString(sql, "'{");
	foreach(lc, columns)
	{
		Node	   *column = lfirst(lc);
		double		n = px_distinct_values(context->root, column);

		if (key && equal(column, key))
			n /= context->fragment->ntargets;
		appendStringInfo(sql, "%s%.0f", foreach_current_index(lc) > 0 ? "," : "",
						 n);
	}
	appendStringInfoString(sql, "}'::pg_catalog.float8[]");
}

/* The big table's rows: from the table, or from an inbox. */
static void
append_big(const fragment_context *context, const char *scan_sql,
		   StringInfo sql)
{
	if (context->fragment->inbox == 0)
	{
		append_scan(context->columns, scan_sql, sql);
		return;
	}
	appendStringInfo(sql, " FROM exchange.inbox(%d, ",
					 context->fragment->inbox);
	append_distinct_values(context, context->columns, context->fragment->key,
						   sql);
	appendStringInfoString(sql, ") r");
	append_column_definitions(context->columns, sql);
}

/* A side's rows, from the parameter or from its inbox. */
static void
append_rows(const fragment_context *context, const px_fragment_side *side,
			int number, int param, StringInfo sql)
{
	if (side->inbox > 0)
		appendStringInfo(sql, "exchange.inbox(%d, ", side->inbox);
	else
		appendStringInfo(sql, "exchange.unpack($%d::pg_catalog.text, ", param);
	append_distinct_values(context, side->columns, side->key, sql);
	appendStringInfo(sql, ") s%d", number);
	append_column_definitions(side->columns, sql);
}

/* RestrictInfos, all of which must be true. */
static void
append_clauses(fragment_context *context, List *clauses, StringInfo sql)
{
	ListCell   *lc;

	foreach(lc, clauses)
		appendStringInfo(sql, "%s%s",
						 foreach_current_index(lc) > 0 ? " AND " : "",
						 expression_text(context, (Node *) lfirst_node(
							 RestrictInfo, lc)->clause));
}

/* A side that stands in FROM. */
static void
append_joined(fragment_context *context, const px_fragment_side *side,
			  int number, int param, StringInfo sql)
{
	appendStringInfoString(sql, side->jointype == JOIN_LEFT ? " LEFT JOIN " :
						   " JOIN ");
	append_rows(context, side, number, param, sql);
	appendStringInfoString(sql, " ON (");
	append_clauses(context, side->clauses, sql);
	appendStringInfoChar(sql, ')');
}

/* A side of which it only matters whether it has a row. */
static void
append_exists(fragment_context *context, const px_fragment_side *side,
			  int number, int param, StringInfo sql)
{
	if (side->jointype == JOIN_ANTI)
		appendStringInfoString(sql, "NOT ");
	appendStringInfoString(sql, "EXISTS (SELECT FROM ");
	append_rows(context, side, number, param, sql);
	appendStringInfoString(sql, " WHERE ");
	append_clauses(context, side->clauses, sql);
	appendStringInfoChar(sql, ')');
}

/*
 * Filters of outer joins, semijoins and antijoins.  All of these choose among
 * the rows of the joins before.  The joins after them look at each row by
 * itself.  So it makes no difference that these conditions come last.
 */
static void
append_conditions(fragment_context *context, const int *params,
				  StringInfo sql)
{
	const char *separator = " WHERE ";
	ListCell   *lc;

	foreach(lc, context->fragment->sides)
	{
		const px_fragment_side *side = lfirst(lc);
		int			i = foreach_current_index(lc);

		if (side->filters != NIL)
		{
			appendStringInfoString(sql, separator);
			append_clauses(context, side->filters, sql);
			separator = " AND ";
		}
		if (px_fragment_is_hidden(side))
		{
			appendStringInfoString(sql, separator);
			append_exists(context, side, i + 1, params[i], sql);
			separator = " AND ";
		}
	}
}

static void
append_keys(const px_fragment *fragment, StringInfo sql)
{
	const char *separator = " GROUP BY ";

	for (int i = 0; i < list_length(fragment->target->exprs); i++)
	{
		if (get_pathtarget_sortgroupref(fragment->target, i) == 0)
			continue;
		appendStringInfo(sql, "%s%d", separator, i + 1);
		separator = ", ";
	}
}

char *
px_fragment_sql(PlannerInfo *root, const px_fragment *fragment,
				RelOptInfo *leaf, const char *scan_sql, List *columns,
				int nparams)
{
	fragment_context context = {
		.root = root,
		.fragment = fragment,
		.leaf = leaf,
		.columns = fragment->inbox > 0 ? fragment->columns : columns
	};
	int			nestlevel = px_transmission_begin();
	int			param = fragment->inbox > 0 ? 0 : nparams;
	int		   *params = palloc(list_length(fragment->sides) * sizeof(int));
	StringInfoData sql;
	ListCell   *lc;

	context.deparse = make_deparse_context(make_fragment_rtable(&context));
	initStringInfo(&sql);
	append_targets(&context, &sql);
	append_big(&context, scan_sql, &sql);
	foreach(lc, fragment->sides)
	{
		const px_fragment_side *side = lfirst(lc);
		int			i = foreach_current_index(lc);

		if (side->inbox == 0)
			param++;
		params[i] = param;
		if (!px_fragment_is_hidden(side))
			append_joined(&context, side, i + 1, param, &sql);
	}
	append_conditions(&context, params, &sql);
	append_keys(fragment, &sql);
	AtEOXact_GUC(true, nestlevel);
	return sql.data;
}

List *
px_fragment_scan_columns(PlannerInfo *root, const ForeignScan *foreign)
{
	List	   *columns = NIL;
	ListCell   *lc;

	foreach(lc, (List *) lsecond(foreign->fdw_private))
	{
		Oid			type,
					collation;
		int32		typmod;

		if (foreign->scan.scanrelid == 0)
			columns = lappend(columns, list_nth_node(
								  TargetEntry, foreign->fdw_scan_tlist,
								  lfirst_int(lc) - 1)->expr);
		else
		{
			get_atttypetypmodcoll(
				planner_rt_fetch(foreign->scan.scanrelid, root)->relid,
				(AttrNumber) lfirst_int(lc), &type, &typmod, &collation);
			columns = lappend(columns, makeVar(
								  foreign->scan.scanrelid,
								  (AttrNumber) lfirst_int(lc), type, typmod,
								  collation, 0));
		}
	}
	return columns;
}

int
px_fragment_pieces(const px_fragment *fragment)
{
	int			n = 0;
	ListCell   *lc;

	foreach(lc, fragment->sides)
	{
		if (((const px_fragment_side *) lfirst(lc))->inbox == 0)
			n++;
	}
	return n;
}

/* The column of the scan of leaf that var, of rel, is. */
static int
require_column(PlannerInfo *root, RelOptInfo *rel, RelOptInfo *leaf,
			   List *scan_columns, const Var *var)
{
	int			column = column_of_leaf(root, rel, leaf, scan_columns, var);

	if (column == 0)
		elog(ERROR, "source of a fragment lacks a column");
	return column;
}

/*
 * The target of a row whose key is in the column value.  Sources of both sides
 * look at the arrays in the same order.  So a pair of rows meets on a single
 * target, whatever the arrays have.
 */
static void
append_target(const px_fragment_cut *cut, const char *value, bool spread,
			  StringInfo sql)
{
	const char *place = strstr(cut->target, "%s");
	bool		any = false;

	for (int i = 0; spread && i < 2; i++)
	{
		if (cut->spread[i] == NULL)
			continue;
		appendStringInfo(sql, "%s WHEN %s::%s OPERATOR(pg_catalog.=)"
						 " ANY (%s) THEN '%d'::pg_catalog.int4",
						 any ? "" : "CASE", value, cut->spread_type,
						 cut->spread[i],
						 i == cut->side ? PX_TARGET_ANY : PX_TARGET_ALL);
		any = true;
	}
	if (any)
		appendStringInfoString(sql, " ELSE ");
	appendBinaryStringInfo(sql, cut->target, (int) (place - cut->target));
	appendStringInfo(sql, "%s%s%s", value, place + strlen("%s"),
					 any ? " END" : "");
}

char *
px_fragment_source_sql(PlannerInfo *root, RelOptInfo *rel, RelOptInfo *leaf,
					   const char *scan_sql, List *scan_columns, List *columns,
					   const px_fragment_cut *cut, bool spread)
{
	int			nestlevel = px_transmission_begin();
	const char *value = psprintf(
		"r.c%d", require_column(root, rel, leaf, scan_columns, cut->key));
	StringInfoData sql;
	ListCell   *lc;

	initStringInfo(&sql);
	appendStringInfoString(&sql, "SELECT ");
	foreach(lc, columns)
		appendStringInfo(&sql, "r.c%d, ",
						 require_column(root, rel, leaf, scan_columns,
										lfirst_node(Var, lc)));
	append_target(cut, value, spread, &sql);
	append_scan(scan_columns, scan_sql, &sql);
	AtEOXact_GUC(true, nestlevel);
	return sql.data;
}

List *
px_fragment_types(const ForeignPath *path, const char *scan_sql,
				  const List *columns, const List *ordered, int nparams)
{
	px_types_question question;

	px_types_question_begin(&question);
	px_types_question_add(&question, scan_sql, columns, ordered);
	if (path)
		px_types_question_add_other(&question, px_semi_join_types(path));
	return px_types_question_end(&question, nparams);
}

List *
px_fragment_ordered(PlannerInfo *root, const px_fragment *fragment,
					RelOptInfo *leaf)
{
	List	   *exprs = list_copy(fragment->target->exprs);
	ListCell   *lc;

	foreach(lc, fragment->sides)
	{
		const px_fragment_side *side = lfirst(lc);

		exprs = list_concat(exprs,
							extract_actual_clauses(side->clauses, false));
		exprs = list_concat(exprs,
							extract_actual_clauses(side->filters, false));
	}
	return px_ordered_columns(px_leaf_translate(root, (Node *) exprs,
												fragment->big, leaf));
}

List *
px_fragment_keys(PlannerInfo *root, const px_fragment *fragment)
{
	List	   *rtable = NIL;
	List	   *keys = NIL;
	List	   *deparse;
	ListCell   *lc;

	foreach(lc, root->parse->rtable)
	{
		const Alias *names = lfirst_node(RangeTblEntry, lc)->eref;

		rtable = lappend(rtable, make_entry(names->aliasname,
											names->colnames));
	}
	deparse = make_deparse_context(rtable);
	foreach(lc, fragment->sides)
	{
		const px_fragment_side *side = lfirst(lc);
		ListCell   *lc_clause;

		foreach(lc_clause, side->clauses)
		{
			Node	   *clause = copyObject(
				(Node *) lfirst_node(RestrictInfo, lc_clause)->clause);

			keys = lappend(keys, makeString(deparse_expression(
								clause, deparse, true, false)));
		}
	}
	return keys;
}
