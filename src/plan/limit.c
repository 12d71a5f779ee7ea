/*-------------------------------------------------------------------------
 *
 * limit.c
 *		LIMIT in the remote queries below a Limit.
 *
 * postgres_fdw pushes a LIMIT down only if the whole query is one foreign
 * scan.  Of several partitions, each one sends rows until the Limit here stops
 * the scan.  But no more than LIMIT + OFFSET rows of each can be wanted, so we
 * add that to the finished remote queries:
 *
 * - below a MergeAppend of sorted partitions, and below an Append;
 * - below a Sort.  Then the remote must sort, too, so we add ORDER BY with the
 *   keys of the Sort, as far as they are columns of types that all servers
 *   sort alike.  The Sort stays.  If some keys cannot be added, the rows with
 *   the same values of the others are wanted, too: FETCH FIRST … WITH TIES.
 *
 * That is right only through nodes that return each row of their input, and no
 * others.  A row that is dropped above a scan would have to be replaced by one
 * that the remote has not sent.
 *
 * Where the server's columns have other types than are declared here, they may
 * have another order there.  ExchangeReceive asks before (exec/ask_types.h),
 * and else runs the query as it was.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/stratnum.h"
#include "access/table.h"
#include "access/transam.h"
#include "catalog/pg_operator_d.h"
#include "catalog/pg_type_d.h"
#include "common/int.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/typcache.h"

#include "admit/session.h"
#include "compat.h"
#include "exec/ask_types.h"
#include "exec/plan_walk.h"
#include "exec/scan_tuple.h"
#include "guc.h"
#include "node/receive.h"
#include "plan/collation.h"
#include "plan/limit.h"
#include "plan/limit_group.h"
#include "plan/make_query.h"
#include "plan/paths.h"
#include "plan/types_question.h"

/* What is wanted of a node below a Limit. */
typedef struct wanted
{
	const PlannedStmt *stmt;
	const Limit *limit;
	int64		rows;			/* LIMIT + OFFSET; -1 if that is count */
	Expr	   *count;			/* the same as an expression; NULL if it is
								 * known */
	bool		merged;			/* rows are merged: the first ones of all
								 * children are wanted at once */
	bool		ties;			/* also the rows that are equal to the last
								 * one in the keys */
	int			nkeys;			/* 0 unless rows are sorted here */
	px_sort_key *keys;
} wanted;

/* ---------------------------------------------------------------------
 * How many rows
 * --------------------------------------------------------------------- */

/* Could its value change while the plan is executed? */
static bool
changes_in_query(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Param))
		return ((Param *) node)->paramkind != PARAM_EXTERN;
	if (IsA(node, Var) || IsA(node, SubPlan) || IsA(node, AlternativeSubPlan))
		return true;
	return expression_tree_walker(node, changes_in_query, context);
}

static Expr *
call_int8(Oid function, Oid result, Expr *a, Expr *b)
{
	return (Expr *) makeFuncExpr(function, result,
								 list_make2(copyObject(a), copyObject(b)),
								 InvalidOid, InvalidOid,
								 COERCE_EXPLICIT_CALL);
}

/*
 * An expression for count + offset.  It raises no error.  If the sum is out of
 * range, or there is no limit, it is the greatest int8.  If one is negative,
 * that too: the Limit raises the error then.
 */
static Expr *
make_sum(Expr *count, Expr *offset)
{
	Expr	   *max = px_make_int8(PG_INT64_MAX);
	Expr	   *zero = px_make_int8(0);
	CoalesceExpr *skipped = makeNode(CoalesceExpr);
	CaseExpr   *sum = makeNode(CaseExpr);
	CaseWhen   *in_range = makeNode(CaseWhen);

	skipped->coalescetype = INT8OID;
	skipped->args = list_make2(copyObject(offset ? offset : zero),
							   copyObject(zero));
	skipped->location = -1;

	/* offset is not negative, and count is from 0 to max - offset */
	in_range->expr = (Expr *) makeBoolExpr(
		AND_EXPR,
		list_make3(call_int8(F_INT8GE, BOOLOID, (Expr *) skipped, zero),
				   call_int8(F_INT8GE, BOOLOID, count, zero),
				   call_int8(F_INT8LE, BOOLOID, count,
							 call_int8(F_INT8MI, INT8OID, max,
									   (Expr *) skipped))),
		-1);
	in_range->result = call_int8(F_INT8PL, INT8OID, count, (Expr *) skipped);
	in_range->location = -1;
	sum->casetype = INT8OID;
	sum->args = list_make1(in_range);
	sum->defresult = max;
	sum->location = -1;
	return (Expr *) sum;
}

/*
 * How many rows does the Limit want?  False if that is not limited, or not
 * known before other nodes have run, or an error.
 */
static bool
get_wanted_rows(const Limit *limit, wanted *wanted)
{
	const Const *count = (const Const *) limit->limitCount;
	const Const *offset = (const Const *) limit->limitOffset;
	int64		skipped = 0;

	if (count == NULL || exprType((const Node *) count) != INT8OID ||
		(offset && exprType((const Node *) offset) != INT8OID))
		return false;
	if (!IsA(count, Const) || (offset && !IsA(offset, Const)))
	{
		if (changes_in_query(limit->limitCount, NULL) ||
			changes_in_query(limit->limitOffset, NULL) ||
			contain_mutable_functions(limit->limitCount) ||
			contain_mutable_functions(limit->limitOffset))
			return false;
		wanted->rows = -1;
		wanted->count = make_sum((Expr *) limit->limitCount,
								 (Expr *) limit->limitOffset);
		return true;
	}

	if (offset && !offset->constisnull)
		skipped = DatumGetInt64(offset->constvalue);
	return !count->constisnull && skipped >= 0 &&
		DatumGetInt64(count->constvalue) >= 0 &&
		!pg_add_s64_overflow(DatumGetInt64(count->constvalue), skipped,
							 &wanted->rows);
}

/* ---------------------------------------------------------------------
 * In which order
 * --------------------------------------------------------------------- */

/* Do all servers sort the values of the type alike? */
static bool
is_sorted_alike(Oid type)
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
		case DATEOID:
		case TIMEOID:
		case TIMETZOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
		case INTERVALOID:
		case UUIDOID:
			return true;
		default:
			return false;
	}
}

static const TargetEntry *
get_column(const Plan *plan, AttrNumber column)
{
	return list_nth_node(TargetEntry, plan->targetlist, column - 1);
}

/*
 * The keys of a Sort or MergeAppend, up to the first of ncolumns that a remote
 * cannot sort by.  Returns how many they are.
 */
static int
take_keys(const Plan *plan, int ncolumns, const AttrNumber *columns,
		  const Oid *operators, const bool *nulls_first, px_sort_key *keys)
{
	int			n;

	for (n = 0; n < ncolumns; n++)
	{
		Oid			type = exprType(
			(Node *) get_column(plan, columns[n])->expr);
		TypeCacheEntry *cache;

		if (!is_sorted_alike(type))
			break;
		cache = lookup_type_cache(type,
								  TYPECACHE_LT_OPR | TYPECACHE_GT_OPR);
		if (operators[n] != cache->lt_opr && operators[n] != cache->gt_opr)
			break;
		keys[n].column = columns[n];
		keys[n].descending = operators[n] == cache->gt_opr;
		keys[n].nulls_first = nulls_first[n];
	}
	return n;
}

static void
take_sort_keys(const Sort *sort, wanted *wanted)
{
	int			nkeys_max = wanted->ties ?
		Min(sort->numCols, wanted->limit->uniqNumCols) : sort->numCols;

	wanted->keys = palloc(sort->numCols * sizeof(px_sort_key));
	wanted->nkeys = take_keys(&sort->plan, nkeys_max, sort->sortColIdx,
							  sort->sortOperators, sort->nullsFirst,
							  wanted->keys);
	if (wanted->nkeys < sort->numCols)
		wanted->ties = true;
}

/*
 * The same keys as columns of the input, whose Vars have varno; fewer if one
 * is computed by the node.  A copy: siblings may differ.
 */
static wanted
keys_of_input(const wanted *output, const Plan *plan, int varno)
{
	wanted		input = *output;

	if (output->keys == NULL)
		return input;
	input.keys = palloc(Max(output->nkeys, 1) * sizeof(px_sort_key));
	for (input.nkeys = 0; input.nkeys < output->nkeys; input.nkeys++)
	{
		const px_sort_key *key = &output->keys[input.nkeys];
		const Var  *var = (const Var *) get_column(plan, key->column)->expr;

		if (!IsA(var, Var) || (int) var->varno != varno ||
			var->varattno <= 0)
			break;
		input.keys[input.nkeys] = *key;
		input.keys[input.nkeys].column = var->varattno;
	}
	if (input.nkeys < output->nkeys)
		input.ties = true;
	return input;
}

/* ---------------------------------------------------------------------
 * The remote query
 * --------------------------------------------------------------------- */

/*
 * Is the remote query a plain SELECT, to which clauses can be added?  Words in
 * a literal make us give up in vain; that does no harm.
 */
static bool
is_extensible(const char *sql, bool sorts)
{
	return strncmp(sql, "SELECT ", 7) == 0 && strstr(sql, " LIMIT ") == NULL &&
		strstr(sql, " FETCH FIRST ") == NULL &&
		strstr(sql, " FOR UPDATE") == NULL &&
		strstr(sql, " FOR SHARE") == NULL &&
		(!sorts || strstr(sql, " ORDER BY ") == NULL);
}

/*
 * Add ORDER BY with the numbers of the remote query's columns.  False if one
 * of the keys is not a column of it.
 */
static bool
add_order_by(StringInfo sql, const wanted *wanted, const ForeignScan *foreign)
{
	const List *retrieved = lsecond(foreign->fdw_private);

	for (int i = 0; i < wanted->nkeys; i++)
	{
		const px_sort_key *key = &wanted->keys[i];
		int			position = 0;
		ListCell   *lc;

		foreach(lc, retrieved)
		{
			position++;
			if (lfirst_int(lc) == key->column)
				break;
		}
		if (lc == NULL)
			return false;
		appendStringInfo(sql, "%s%d %s NULLS %s",
						 i > 0 ? ", " : " ORDER BY ", position,
						 key->descending ? "DESC" : "ASC",
						 key->nulls_first ? "FIRST" : "LAST");
	}
	return true;
}

static void
add_limit(StringInfo sql, const wanted *wanted, ForeignScan *foreign)
{
	char	   *rows;

	if (wanted->count)
	{
		foreign->fdw_exprs = lappend(foreign->fdw_exprs,
									 copyObject(wanted->count));
		rows = psprintf("$%d::bigint", list_length(foreign->fdw_exprs));
	}
	else
		rows = psprintf(INT64_FORMAT, wanted->rows);
	if (wanted->ties)
		appendStringInfo(sql, " FETCH FIRST (%s) ROWS WITH TIES", rows);
	else
		appendStringInfo(sql, " LIMIT %s", rows);
}

/* May the rows of a column be taken for what the remote query returns? */
static bool
is_plain_scan(const CustomScan *receive, const ForeignScan *foreign)
{
	ListCell   *lc;

	if (receive->scan.scanrelid > 0)
		return true;
	if (list_nth(receive->custom_private, PX_RECEIVE_PRIVATE_PARTIAL) != NIL ||
		list_length(receive->custom_scan_tlist) !=
		list_length(foreign->fdw_scan_tlist))
		return false;
	foreach(lc, receive->custom_scan_tlist)
	{
		const Aggref *aggref =
			(const Aggref *) lfirst_node(TargetEntry, lc)->expr;

		if (IsA(aggref, Aggref) && aggref->aggsplit != AGGSPLIT_SIMPLE)
			return false;
	}
	return true;
}

/*
 * The columns that the remote sorts by, as px_types_question_add takes them;
 * or, if ties are wanted in postgres_fdw's order, all columns.  False if the
 * remote cannot be asked about one of these.
 */
static bool
compared_columns(const ForeignScan *foreign, const wanted *wanted,
				 List **columns)
{
	ListCell   *lc;

	foreach(lc, (List *) lsecond(foreign->fdw_private))
	{
		AttrNumber	number = (AttrNumber) lfirst_int(lc);
		bool		compared = wanted->keys == NULL;
		Expr	   *column = NULL;

		for (int i = 0; i < wanted->nkeys; i++)
			compared |= wanted->keys[i].column == number;
		if (compared && number > 0)
		{
			column = get_column(&foreign->scan.plan, number)->expr;
			if (getBaseType(exprType((Node *) column)) >=
				FirstGenbkiObjectId ||
				!px_is_deterministic(exprCollation((Node *) column)))
				return false;
		}
		*columns = lappend(*columns, column);
	}
	return true;
}

/* The scan is to be looked into, or to run as a local plan. */
static void
complete(const PlannedStmt *stmt, ForeignScan *foreign)
{
	Relation	relation;

	if (foreign->scan.scanrelid == 0)
		return;
	relation = table_open(rt_fetch(foreign->scan.scanrelid,
								   stmt->rtable)->relid, NoLock);
	px_scan_tuple_complete(foreign, RelationGetDescr(relation));
	table_close(relation, NoLock);
}

/*
 * The remote is going to compare values of columns, as it would not for
 * postgres_fdw.  Where they have other types there, all rows must come.  False
 * if the remote cannot be asked about them.
 *
 * If groups are wanted that may be computed here, the remote is asked about
 * all that they are made of.
 */
static bool
ask_types(CustomScan *receive, ForeignScan *foreign, const wanted *wanted)
{
	List	   *types = list_nth(receive->custom_private,
								 PX_RECEIVE_PRIVATE_TYPES);
	List	   *columns = NIL;
	px_types_question question;

	if ((wanted->keys == NULL && !wanted->ties) ||
		(types != NIL && intVal(list_nth(types, PX_ASK_TYPES_NPARAMS)) ==
		 PX_ASK_TYPES_LOCAL_PARAMS))
		return true;
	complete(wanted->stmt, foreign);
	if (!compared_columns(foreign, wanted, &columns))
		return false;
	px_types_question_begin(&question);
	px_types_question_add(&question, strVal(linitial(foreign->fdw_private)),
						  columns, NIL);
	px_types_question_add_other(&question, types);
	(void) px_paths_set_types(
		&receive->scan.plan,
		px_types_question_end(&question, list_length(foreign->fdw_exprs)));
	if (types == NIL)
		outerPlan(foreign) = (Plan *) copyObject(foreign);
	return true;
}

/*
 * May the columns of the node be evaluated for fewer rows?  For a Limit alone
 * they are in any case, for a Sort they are not: there may be volatile
 * functions in them, or in their subqueries.
 */
static bool
evaluates_fewer(const Plan *plan, const wanted *wanted)
{
	return wanted->keys == NULL ||
		(!px_session_judge_calls((Node *) plan->targetlist) &&
		 !contain_subplans((Node *) plan->targetlist));
}

/*
 * No more rows than that are going to come: expect no more.  What is done here
 * instead, if there is that, reads as many rows as before.
 */
static void
expect_fewer(CustomScan *receive, double rows)
{
	Plan	   *plan = &receive->scan.plan;
	Plan	   *child = linitial(receive->custom_plans);
	int			smallness = px_receive_get(receive, PX_RECEIVE_PRIVATE_SMALL);

	plan->plan_rows = clamp_row_est(Min(plan->plan_rows, rows));
	child->plan_rows = plan->plan_rows;
	if (smallness != PX_IS_SMALL &&
		px_plan_nbytes(plan) < px_min_bytes)
		px_receive_set(receive->custom_private, PX_RECEIVE_PRIVATE_SMALL,
					   smallness | PX_IS_SMALL_IF_CHEAP);
	if (outerPlan(child) == NULL)
		px_receive_set(receive->custom_private, PX_RECEIVE_PRIVATE_INPUT,
					   (int) Min(plan->plan_rows, INT_MAX));
}

/* Returns whether no more rows than that are going to come. */
static bool
push_into_receive(CustomScan *receive, const wanted *wanted)
{
	ForeignScan *foreign = linitial_node(ForeignScan, receive->custom_plans);
	ListCell   *private = list_head(foreign->fdw_private);
	int			nsorted = px_receive_get(receive, PX_RECEIVE_PRIVATE_SORTED);
	double		rows = wanted->count ?
		wanted->limit->plan.plan_rows : (double) wanted->rows;
	bool		sorts = wanted->keys != NULL;
	struct wanted input = *wanted;
	StringInfoData sql;

	if (receive->scan.plan.qual != NIL ||
		!evaluates_fewer(&receive->scan.plan, wanted) ||
		px_receive_get(receive, PX_RECEIVE_PRIVATE_LOCKS) != 0 ||
		!is_extensible(strVal(lfirst(private)), sorts) ||
		!is_plain_scan(receive, foreign))
		return false;

	initStringInfo(&sql);
	appendStringInfoString(&sql, strVal(lfirst(private)));
	if (sorts)
	{
		/* Sorting there is in vain if all rows are wanted. */
		input = keys_of_input(wanted, &receive->scan.plan,
							  receive->scan.scanrelid > 0 ?
							  (int) receive->scan.scanrelid : INDEX_VAR);
		if (input.nkeys == 0 || rows >= receive->scan.plan.plan_rows ||
			!add_order_by(&sql, &input, foreign))
			return false;
	}
	else if (wanted->ties && nsorted != wanted->limit->uniqNumCols)
		return false;			/* ties there are not ties here */
	if (!ask_types(receive, foreign, &input))
		return false;
	add_limit(&sql, &input, foreign);
	lfirst(private) = makeString(sql.data);

	expect_fewer(receive, rows);
	if (wanted->merged)
		px_receive_set(receive->custom_private, PX_RECEIVE_PRIVATE_LIMITED, 1);
	return true;
}

/* ---------------------------------------------------------------------
 * The plan
 * --------------------------------------------------------------------- */

static void push_down(Plan *plan, wanted wanted);

/* All children of an Append or MergeAppend. */
static void
push_into_children(Plan *append, const wanted *wanted)
{
	const MergeAppend *merge = (const MergeAppend *) append;
	px_sort_key *keys = wanted->keys;
	int			nkeys = wanted->nkeys;
	List	   *limited = NIL;
	ListCell   *lc;

	foreach(lc, *px_plan_list(append))
	{
		Plan	   *child = lfirst(lc);

		if (!px_plan_is_receive(child))
			push_down(child, *wanted);
		else if (push_into_receive((CustomScan *) child, wanted))
			limited = lappend(limited, child);
	}

	if (wanted->count || wanted->ties)
		return;
	if (IsA(append, MergeAppend) && keys == NULL)
	{
		keys = palloc(merge->numCols * sizeof(px_sort_key));
		nkeys = take_keys(append, merge->numCols, merge->sortColIdx,
						  merge->sortOperators, merge->nullsFirst, keys);
		if (nkeys < merge->numCols)
			return;
	}
	if (nkeys > 0)
		px_limit_group(wanted->stmt, append, limited, nkeys, keys,
					   wanted->rows);
}

/* No more rows of plan are wanted than that. */
static void
push_down(Plan *plan, wanted wanted)
{
	check_stack_depth();
	if (px_plan_is_receive(plan))
	{
		(void) push_into_receive((CustomScan *) plan, &wanted);
		return;
	}
	if (plan->qual != NIL || !evaluates_fewer(plan, &wanted))
		return;
	switch (nodeTag(plan))
	{
		case T_Result:
			if (outerPlan(plan))
				push_down(outerPlan(plan),
						  keys_of_input(&wanted, plan, OUTER_VAR));
			break;
		case T_SubqueryScan:
			push_down(((SubqueryScan *) plan)->subplan,
					  keys_of_input(&wanted, plan,
									((SubqueryScan *) plan)->scan.scanrelid));
			break;
		case T_Sort:
			if (wanted.keys != NULL)
				break;			/* rows are sorted anew above */
			take_sort_keys((const Sort *) plan, &wanted);
			if (wanted.nkeys > 0)
				push_down(outerPlan(plan), wanted);
			break;
		case T_MergeAppend:
			if (wanted.keys == NULL && wanted.ties &&
				((const MergeAppend *) plan)->numCols !=
				wanted.limit->uniqNumCols)
				break;
			wanted.merged = true;
			push_into_children(plan, &wanted);
			break;
		case T_Append:

			/*
			 * With ties a Limit reads one row more than it returns.  If the
			 * child had sent no more, that would be the next child's.
			 */
			if (!wanted.ties || wanted.keys != NULL)
				push_into_children(plan, &wanted);
			break;
		default:
			break;
	}
}

static bool
push_below_limit(Plan *plan, void *arg)
{
	const Limit *limit = (const Limit *) plan;
	wanted		wanted = {.stmt = arg, .limit = limit};

	if (!IsA(plan, Limit) || !get_wanted_rows(limit, &wanted))
		return false;
	wanted.ties = limit->limitOption == LIMIT_OPTION_WITH_TIES;
	push_down(outerPlan(plan), wanted);
	return false;
}

void
px_limit_push_all(const PlannedStmt *stmt)
{
	(void) px_plan_walk_all(stmt, push_below_limit,
							unconstify(PlannedStmt *, stmt));
}
