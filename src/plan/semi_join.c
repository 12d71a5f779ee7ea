/*-------------------------------------------------------------------------
 *
 * semi_join.c
 *		Semi-joins and anti-joins of foreign tables by their server.
 *
 * postgres_fdw has the server do inner and outer joins; since 17 semi-joins,
 * too.  For the others it reads both sides.  Here, IN, EXISTS and NOT EXISTS
 * between tables of a server, or between partitions that are joined pair by
 * pair, become
 *
 *	SELECT r.c1, r.c2 FROM (outer) r(c1, c2) WHERE EXISTS
 *	(SELECT 1 FROM (inner) s(c1) WHERE (r.c1 OPERATOR(pg_catalog.=) s.c1))
 *
 * where outer and inner are what postgres_fdw has deparsed for each side.  So
 * all that it knows about tables, quals and parameters stays in its hands.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "catalog/pg_type.h"
#include "foreign/fdwapi.h"
#include "lib/stringinfo.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/planmain.h"
#include "optimizer/restrictinfo.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"

#include "compat.h"
#include "exec/transmission.h"
#include "plan/semi_join.h"

/* The first member of a path's fdw_private; postgres_fdw has Booleans there. */
#define SEMI_JOIN_MARK	"semi-join"

/* The others. */
typedef enum semi_join_private
{
	SEMI_JOIN_MARKED,
	SEMI_JOIN_FDW_PRIVATE,		/* of the ForeignScan */
	SEMI_JOIN_FDW_EXPRS,		/* its parameters */
	SEMI_JOIN_TLIST				/* its rows */
} semi_join_private;

/* What stands in a ForeignScan's fdw_private, in all versions. */
typedef enum fdw_scan_private
{
	FDW_SCAN_SQL,
	FDW_SCAN_RETRIEVED,
	FDW_SCAN_FETCH_SIZE,
	FDW_SCAN_RELATIONS			/* joins only */
} fdw_scan_private;

/* One side of the join. */
typedef struct join_side
{
	char		alias;
	ForeignPath *path;
	const ForeignScan *scan;
	List	   *columns;		/* Vars, in the order of its query */
} join_side;

/* ---------------------------------------------------------------------
 * The sides
 * --------------------------------------------------------------------- */

/* The columns of a base relation's query; NIL if one is a system column. */
static List *
base_columns(PlannerInfo *root, const RelOptInfo *rel,
			 const ForeignScan *scan)
{
	const RangeTblEntry *rte = planner_rt_fetch(rel->relid, root);
	List	   *columns = NIL;
	ListCell   *lc;

	foreach(lc, (List *) list_nth(scan->fdw_private, FDW_SCAN_RETRIEVED))
	{
		Oid			type,
					collation;
		int32		typmod;

		if (lfirst_int(lc) <= 0)
			return NIL;
		get_atttypetypmodcoll(rte->relid, lfirst_int(lc), &type, &typmod,
							  &collation);
		columns = lappend(columns, makeVar(rel->relid, lfirst_int(lc), type,
										   typmod, collation, 0));
	}
	return columns;
}

/* The same for a join; NIL also if one is not a column at all. */
static List *
join_columns(const ForeignScan *scan)
{
	List	   *columns = NIL;
	ListCell   *lc;

	foreach(lc, scan->fdw_scan_tlist)
	{
		Var		   *var = (Var *) lfirst_node(TargetEntry, lc)->expr;

		if (!IsA(var, Var) || var->varattno <= 0)
			return NIL;
		columns = lappend(columns, copyObject(var));
	}
	return columns;
}

/*
 * Have postgres_fdw make the side's query.  False if there is none, or if some
 * of its quals are to be evaluated here.
 */
static bool
make_side(PlannerInfo *root, join_side *side)
{
	RelOptInfo *rel = side->path->path.parent;
	bool		is_base = IS_SIMPLE_REL(rel);

	side->scan = rel->fdwroutine->GetForeignPlan(
		root, rel,
		is_base ? planner_rt_fetch(rel->relid, root)->relid : InvalidOid,
		side->path, NIL, is_base ? rel->baserestrictinfo : NIL, NULL);
	if (side->scan->scan.plan.qual != NIL)
		return false;
	side->columns = is_base ? base_columns(root, rel, side->scan) :
		join_columns(side->scan);
	return side->columns != NIL;
}

/* The number of a column in the side's query, from 1; 0 if it has it not. */
static int
column_number(const join_side *side, const Var *var)
{
	int			number = 0;
	ListCell   *lc;

	foreach(lc, side->columns)
	{
		const Var  *column = lfirst(lc);

		number++;
		if (column->varno == var->varno && column->varattno == var->varattno)
			return number;
	}
	return 0;
}

/* Does the join return columns of the outer side only? */
static bool
returns_columns_of(const RelOptInfo *joinrel, const join_side *outer)
{
	ListCell   *lc;

	foreach(lc, joinrel->reltarget->exprs)
	{
		const Var  *var = lfirst(lc);

		if (!IsA(var, Var) || column_number(outer, var) == 0)
			return false;
	}
	return true;
}

/* ---------------------------------------------------------------------
 * Quals
 * --------------------------------------------------------------------- */

/*
 * Append a side of a comparison.  False if it is not a column of outer or
 * inner, perhaps with another type that has the same bytes, of a built-in
 * type, with the collation of the comparison.  The column is compared as the
 * foreign table declares it, which casts nothing if it is the same there.
 */
static bool
append_operand(StringInfo sql, Node *expr, Oid collation,
			   const join_side *outer, const join_side *inner,
			   const join_side **found)
{
	Node	   *column = expr;
	int			number;

	while (IsA(column, RelabelType))
		column = (Node *) ((RelabelType *) column)->arg;
	if (!IsA(column, Var) || exprType(expr) >= FirstGenbkiObjectId ||
		exprType(column) >= FirstGenbkiObjectId ||
		get_typtype(exprType(column)) != TYPTYPE_BASE ||
		(OidIsValid(collation) &&
		 (exprCollation(expr) != collation ||
		  ((Var *) column)->varcollid != collation)))
		return false;
	*found = outer;
	number = column_number(outer, (Var *) column);
	if (number == 0)
	{
		*found = inner;
		number = column_number(inner, (Var *) column);
	}
	appendStringInfo(sql, "%c.c%d", (*found)->alias, number);
	appendStringInfo(sql, "::%s", px_transmission_type(exprType(column),
													   exprTypmod(column)));
	if (column != expr)
		appendStringInfo(sql, "::%s",
						 px_transmission_type(exprType(expr), -1));
	return number > 0;
}

/* Append a qual of the join.  False if the server may not evaluate it. */
static bool
append_qual(StringInfo sql, const RestrictInfo *rinfo,
			const join_side *outer, const join_side *inner)
{
	const OpExpr *op = (const OpExpr *) rinfo->clause;
	const join_side *left;
	const join_side *right;

	if (rinfo->pseudoconstant || rinfo->security_level > 0 ||
		!IsA(op, OpExpr) || list_length(op->args) != 2 ||
		op->opno >= FirstGenbkiObjectId || op->opresulttype != BOOLOID ||
		op_volatile(op->opno) != PROVOLATILE_IMMUTABLE)
		return false;
	appendStringInfoChar(sql, '(');
	if (!append_operand(sql, linitial(op->args), op->inputcollid, outer,
						inner, &left))
		return false;
	appendStringInfo(sql, " OPERATOR(pg_catalog.%s) ", get_opname(op->opno));
	if (!append_operand(sql, lsecond(op->args), op->inputcollid, outer, inner,
						&right))
		return false;
	appendStringInfoChar(sql, ')');
	return left != right;
}

/*
 * Append all quals of the join.  In an anti-join, those of the WHERE clause
 * above it are no part of it.
 */
static bool
append_quals(StringInfo sql, const RelOptInfo *joinrel, JoinType jointype,
			 const List *rinfos, const join_side *outer,
			 const join_side *inner)
{
	bool		has_equality = false;
	ListCell   *lc;

	foreach(lc, rinfos)
	{
		const RestrictInfo *rinfo = lfirst_node(RestrictInfo, lc);

		if (jointype == JOIN_ANTI &&
			RINFO_IS_PUSHED_DOWN(rinfo, joinrel->relids))
			return false;
		if (foreach_current_index(lc) > 0)
			appendStringInfoString(sql, " AND ");
		if (!append_qual(sql, rinfo, outer, inner))
			return false;
		has_equality = has_equality || OidIsValid(rinfo->hashjoinoperator);
	}
	return has_equality;
}

/* ---------------------------------------------------------------------
 * The query
 * --------------------------------------------------------------------- */

static void
append_columns(StringInfo sql, const char *prefix, const join_side *side)
{
	for (int i = 1; i <= list_length(side->columns); i++)
		appendStringInfo(sql, "%s%sc%d", i > 1 ? ", " : "", prefix, i);
}

/* The side's query as an item of FROM. */
static void
append_side(StringInfo sql, const join_side *side)
{
	appendStringInfo(sql, " FROM (%s) %c(",
					 strVal(list_nth(side->scan->fdw_private, FDW_SCAN_SQL)),
					 side->alias);
	append_columns(sql, "", side);
	appendStringInfoChar(sql, ')');
}

/* How EXPLAIN calls the side: numbers stand for names, as in postgres_fdw. */
static char *
relations_of(const join_side *side)
{
	const RelOptInfo *rel = side->path->path.parent;

	if (IS_SIMPLE_REL(rel))
		return psprintf("%u", rel->relid);
	return strVal(list_nth(side->scan->fdw_private, FDW_SCAN_RELATIONS));
}

/* The query; NULL if there is none. */
static char *
make_sql(const RelOptInfo *joinrel, JoinType jointype, const List *rinfos,
		 const join_side *outer, const join_side *inner)
{
	StringInfoData sql;

	initStringInfo(&sql);
	appendStringInfoString(&sql, "SELECT ");
	append_columns(&sql, "r.", outer);
	append_side(&sql, outer);
	appendStringInfo(&sql, " WHERE %sEXISTS (SELECT 1",
					 jointype == JOIN_ANTI ? "NOT " : "");
	append_side(&sql, inner);
	appendStringInfoString(&sql, " WHERE ");
	if (!append_quals(&sql, joinrel, jointype, rinfos, outer, inner))
		return NULL;
	appendStringInfoChar(&sql, ')');
	return sql.data;
}

/* The rows of the ForeignScan, which are those of the outer side. */
static List *
make_tlist(const join_side *outer, List **retrieved)
{
	List	   *tlist = NIL;
	ListCell   *lc;

	foreach(lc, outer->columns)
	{
		int			resno = list_length(tlist) + 1;

		tlist = lappend(tlist, makeTargetEntry(lfirst(lc), resno, NULL,
											   false));
		*retrieved = lappend_int(*retrieved, resno);
	}
	return tlist;
}

/*
 * What the server needs for a side, without the transfer of its rows: it costs
 * the same there, whatever becomes of them.
 */
static Cost
cost_there(const Path *path, double tuple_cost)
{
	return Max(path->total_cost - path->startup_cost - path->rows *
			   (tuple_cost + cpu_tuple_cost), 0);
}

static ForeignPath *
make_path(RelOptInfo *joinrel, const px_semi_join *sides, List *private)
{
	ForeignPath *path = makeNode(ForeignPath);
	const Path *outer = &sides->outer_path->path;
	const Path *inner = &sides->inner_path->path;
	Cost		hash_cost = (outer->rows + inner->rows) *
		(cpu_operator_cost + cpu_tuple_cost);

	path->path.pathtype = T_ForeignScan;
	path->path.parent = joinrel;
	path->path.pathtarget = joinrel->reltarget;
	path->path.rows = joinrel->rows;
	path->path.startup_cost = outer->startup_cost;
	path->path.total_cost = path->path.startup_cost +
		cost_there(outer, sides->tuple_cost) +
		cost_there(inner, sides->tuple_cost) + hash_cost +
		joinrel->rows * (sides->tuple_cost + cpu_tuple_cost);
	path->fdw_private = private;
	return path;
}

/* May the server do the join, by what is known without its queries? */
static bool
is_suitable(const PlannerInfo *root, const RelOptInfo *joinrel,
			JoinType jointype, const px_semi_join *sides)
{
	return (jointype == JOIN_SEMI || jointype == JOIN_ANTI) &&
		joinrel->pathlist == NIL && sides->outer_path && sides->inner_path &&
		IS_SIMPLE_REL(sides->inner_path->path.parent) &&
		root->qual_security_level == 0 &&
		bms_is_empty(joinrel->lateral_relids);
}

void
px_semi_join_add_path(PlannerInfo *root, RelOptInfo *joinrel,
					  JoinType jointype, const JoinPathExtraData *extra,
					  const px_semi_join *sides)
{
	join_side	outer = {.alias = 'r', .path = sides->outer_path};
	join_side	inner = {.alias = 's', .path = sides->inner_path};
	char	   *relations;
	char	   *sql;
	List	   *retrieved = NIL;
	List	   *tlist;
	List	   *fdw_private;

	if (!is_suitable(root, joinrel, jointype, sides) ||
		!make_side(root, &outer) || !make_side(root, &inner) ||
		inner.scan->fdw_exprs != NIL || !returns_columns_of(joinrel, &outer))
		return;
	sql = make_sql(joinrel, jointype, extra->restrictlist, &outer, &inner);
	if (sql == NULL)
		return;
	tlist = make_tlist(&outer, &retrieved);
	relations = psprintf("(%s) %s JOIN (%s)", relations_of(&outer),
						 jointype == JOIN_SEMI ? "SEMI" : "ANTI",
						 relations_of(&inner));
	fdw_private = list_make4(
		makeString(sql), retrieved,
		list_nth(outer.scan->fdw_private, FDW_SCAN_FETCH_SIZE),
		makeString(relations));
	add_path(joinrel, (Path *) make_path(
				 joinrel, sides,
				 list_make4(makeString(SEMI_JOIN_MARK), fdw_private,
							outer.scan->fdw_exprs, tlist)));
}

bool
px_semi_join_is_path(const ForeignPath *path)
{
	const List *private = path->fdw_private;

	return private != NIL && IsA(linitial(private), String) &&
		strcmp(strVal(linitial(private)), SEMI_JOIN_MARK) == 0;
}

ForeignScan *
px_semi_join_plan(const ForeignPath *path, List *tlist)
{
	const List *private = path->fdw_private;

	if (!px_semi_join_is_path(path))
		return NULL;
	return make_foreignscan(tlist, NIL, 0,
							copyObject(list_nth(private, SEMI_JOIN_FDW_EXPRS)),
							copyObject(list_nth(private,
												SEMI_JOIN_FDW_PRIVATE)),
							copyObject(list_nth(private, SEMI_JOIN_TLIST)),
							NIL, NULL);
}
