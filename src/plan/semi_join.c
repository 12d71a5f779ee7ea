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
 * The columns are compared as the server's.  So ExchangeReceive asks before
 * whether they have the types that are declared here, and else runs a join of
 * both sides as postgres_fdw reads them: the path's fdw_outerpath.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "catalog/pg_am_d.h"
#include "catalog/pg_type.h"
#include "commands/defrem.h"
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
#include "exec/ask_types.h"
#include "plan/collation.h"
#include "plan/join_key.h"
#include "plan/semi_join.h"
#include "transport/transmission.h"
#include "tuple/policy.h"

/*
 * The first member of a path's fdw_private; postgres_fdw has Booleans there.
 */
#define SEMI_JOIN_MARK	"semi-join"

/* The others. */
typedef enum semi_join_private
{
	SEMI_JOIN_MARKED,
	SEMI_JOIN_FDW_PRIVATE,		/* of the ForeignScan */
	SEMI_JOIN_FDW_EXPRS,		/* its parameters */
	SEMI_JOIN_TLIST,			/* its rows */
	SEMI_JOIN_TYPES				/* see px_semi_join_types */
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
	StringInfo	tests;			/* of the types of columns: of both sides */
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

/* Add what is to be asked of the column. */
static void
append_test(const join_side *side, int number, const Var *column,
			Oid function)
{
	appendStringInfo(side->tests, "%s%s", side->tests->len > 0 ? " AND " : "",
					 px_ask_types_test(psprintf("%c.c%d", side->alias, number),
									   column->vartype, column->vartypmod,
									   px_is_collation_blind(function) ?
									   InvalidOid : column->varcollid));
}

/* Are values of the type the same on each server?  A regclass is not. */
static bool
is_plain(Oid type)
{
	Oid			element = get_element_type(type);
	Oid			class;

	if (!OidIsValid(element))
		return type < FirstGenbkiObjectId &&
			get_typtype(type) == TYPTYPE_BASE && !px_type_names_objects(type);
	class = GetDefaultOpClass(element, BTREE_AM_OID);
	return px_is_plain_type(element) && OidIsValid(class) &&
		(get_opclass_input_type(class) == element || element == VARCHAROID);
}

/*
 * Append a side of a comparison.  False if it is not a column of outer or
 * inner, as the operator takes it, of a built-in type, with the collation of
 * the comparison.
 */
static bool
append_operand(StringInfo sql, Node *expr, const OpExpr *op,
			   const join_side *outer, const join_side *inner,
			   const join_side **found)
{
	const Var  *column = px_join_column(expr);
	Oid			collation = op->inputcollid;
	int			number;

	if (column == NULL || !is_plain(column->vartype) ||
		!px_is_deterministic(collation) ||
		!px_is_operand(column, exprType(expr)) ||
		(OidIsValid(collation) && (exprCollation(expr) != collation ||
								   column->varcollid != collation)))
		return false;
	*found = outer;
	number = column_number(outer, column);
	if (number == 0)
	{
		*found = inner;
		number = column_number(inner, column);
	}
	if (number == 0)
		return false;
	append_test(*found, number, column, get_opcode(op->opno));
	appendStringInfo(sql, "%c.c%d::%s", (*found)->alias, number,
					 px_transmission_type(column->vartype,
										  column->vartypmod));
	if (exprType(expr) != column->vartype)
		appendStringInfo(sql, "::%s",
						 px_transmission_type(exprType(expr), -1));
	return true;
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
	if (!append_operand(sql, linitial(op->args), op, outer, inner, &left))
		return false;
	appendStringInfo(sql, " OPERATOR(pg_catalog.%s) ", get_opname(op->opno));
	if (!append_operand(sql, lsecond(op->args), op, outer, inner, &right))
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

/* The columns that the join returns. */
static void
append_targets(StringInfo sql, const RelOptInfo *joinrel,
			   const join_side *outer)
{
	ListCell   *lc;

	foreach(lc, joinrel->reltarget->exprs)
		appendStringInfo(sql, "%sr.c%d",
						 foreach_current_index(lc) > 0 ? ", " : "",
						 column_number(outer, lfirst_node(Var, lc)));
	if (joinrel->reltarget->exprs == NIL)
		appendStringInfoString(sql, "NULL");
}

/* The side's query as an item of FROM. */
static void
append_side(StringInfo sql, const join_side *side)
{
	appendStringInfo(sql, "(%s) %c(",
					 strVal(list_nth(side->scan->fdw_private, FDW_SCAN_SQL)),
					 side->alias);
	for (int i = 1; i <= list_length(side->columns); i++)
		appendStringInfo(sql, "%sc%d", i > 1 ? ", " : "", i);
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
	append_targets(&sql, joinrel, outer);
	appendStringInfoString(&sql, " FROM ");
	append_side(&sql, outer);
	appendStringInfo(&sql, " WHERE %sEXISTS (SELECT 1 FROM ",
					 jointype == JOIN_ANTI ? "NOT " : "");
	append_side(&sql, inner);
	appendStringInfoString(&sql, " WHERE ");
	if (!append_quals(&sql, joinrel, jointype, rinfos, outer, inner))
		return NULL;
	appendStringInfoChar(&sql, ')');
	return sql.data;
}

/*
 * The question for px_ask_types_begin.  If the outer side is such a join, too,
 * its own question is part of it.
 */
static List *
make_types(const join_side *outer, const join_side *inner)
{
	List	   *nested = px_semi_join_types(outer->path);
	StringInfoData from;

	if (nested != NIL)
		appendStringInfo(outer->tests, " AND (%s) IS NOT NULL",
						 strVal(list_nth(nested, PX_ASK_TYPES_SQL)));
	initStringInfo(&from);
	appendStringInfoString(&from, " LEFT JOIN ");
	append_side(&from, outer);
	appendStringInfoString(&from, " ON false LEFT JOIN ");
	append_side(&from, inner);
	appendStringInfoString(&from, " ON false");
	return list_make2(makeString(px_ask_types_sql(outer->tests->data,
												  from.data)),
					  makeInteger(list_length(outer->scan->fdw_exprs)));
}

/* The rows of the ForeignScan, which are those of the local plan. */
static List *
make_tlist(const RelOptInfo *joinrel, List **retrieved)
{
	List	   *tlist = NIL;
	ListCell   *lc;

	foreach(lc, joinrel->reltarget->exprs)
	{
		int			resno = list_length(tlist) + 1;

		tlist = lappend(tlist, makeTargetEntry(copyObject(lfirst(lc)), resno,
											   NULL, false));
		*retrieved = lappend_int(*retrieved, resno);
	}
	return tlist;
}

/* ---------------------------------------------------------------------
 * The path
 * --------------------------------------------------------------------- */

/* The path of a side as postgres_fdw reads it, or as it is joined here. */
static Path *
local_side(const ForeignPath *path)
{
	return px_semi_join_types(path) != NIL ? path->fdw_outerpath :
		unconstify(Path *, &path->path);
}

/* The join of both sides here. */
static Path *
make_local_path(PlannerInfo *root, RelOptInfo *joinrel, JoinType jointype,
				const JoinPathExtraData *extra, const px_semi_join *sides)
{
	Path	   *outer = local_side(sides->outer_path);
	Path	   *inner = local_side(sides->inner_path);
	JoinPathExtraData hash_extra = *extra;
	JoinCostWorkspace workspace;
	List	   *clauses = NIL;
	ListCell   *lc;

	foreach(lc, extra->restrictlist)
	{
		RestrictInfo *rinfo = lfirst_node(RestrictInfo, lc);

		if (OidIsValid(rinfo->hashjoinoperator))
			clauses = lappend(clauses, rinfo);
	}
	initial_cost_hashjoin(root, &workspace, jointype, clauses, outer, inner,
						  &hash_extra, false);
	return (Path *) create_hashjoin_path(root, joinrel, jointype, &workspace,
										 &hash_extra, outer, inner, false,
										 extra->restrictlist, NULL, clauses);
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
make_path(RelOptInfo *joinrel, const px_semi_join *sides, Path *local,
		  List *private)
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
	path->fdw_outerpath = local;
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
	StringInfo	tests = makeStringInfo();
	join_side	outer = {.alias = 'r', .path = sides->outer_path,
						 .tests = tests};
	join_side	inner = {.alias = 's', .path = sides->inner_path,
						 .tests = tests};
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
	tlist = make_tlist(joinrel, &retrieved);
	relations = psprintf("(%s) %s JOIN (%s)", relations_of(&outer),
						 jointype == JOIN_SEMI ? "SEMI" : "ANTI",
						 relations_of(&inner));
	fdw_private = list_make4(
		makeString(sql), retrieved,
		list_nth(outer.scan->fdw_private, FDW_SCAN_FETCH_SIZE),
		makeString(relations));
	add_path(joinrel, (Path *) make_path(
				 joinrel, sides,
				 make_local_path(root, joinrel, jointype, extra, sides),
				 list_make5(makeString(SEMI_JOIN_MARK), fdw_private,
							outer.scan->fdw_exprs, tlist,
							make_types(&outer, &inner))));
}

bool
px_semi_join_is_path(const ForeignPath *path)
{
	const List *private = path->fdw_private;

	return private != NIL && IsA(linitial(private), String) &&
		strcmp(strVal(linitial(private)), SEMI_JOIN_MARK) == 0;
}

List *
px_semi_join_types(const ForeignPath *path)
{
	const List *private = path->fdw_private;

	return px_semi_join_is_path(path) ? list_nth(private, SEMI_JOIN_TYPES) :
		NIL;
}

ForeignScan *
px_semi_join_plan(const ForeignPath *path, List *tlist, Plan *outer_plan)
{
	const List *private = path->fdw_private;

	if (!px_semi_join_is_path(path))
		return NULL;
	return make_foreignscan(tlist, NIL, 0,
							copyObject(list_nth(private, SEMI_JOIN_FDW_EXPRS)),
							copyObject(list_nth(private,
												SEMI_JOIN_FDW_PRIVATE)),
							copyObject(list_nth(private, SEMI_JOIN_TLIST)),
							NIL, outer_plan);
}

ForeignPath *
px_semi_join_alone(ForeignPath *path)
{
	ForeignPath *alone;

	if (!px_semi_join_is_path(path))
		return path;
	alone = palloc(sizeof(ForeignPath));
	*alone = *path;
	alone->fdw_outerpath = NULL;
	return alone;
}
