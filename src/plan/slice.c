/*-------------------------------------------------------------------------
 *
 * slice.c
 *		Restricting a query to a range of the blocks of one table.
 *
 * A join can be split into slices by splitting one of its tables, if each row
 * of the result has exactly one row of that table.  So the table must not be
 * on the nullable side of an outer join.
 *
 * Under one snapshot, a row stays in its block whatever other transactions do:
 * updates write new row versions, which are not visible, VACUUM does not move
 * rows, and blocks that are added later belong to the last slice.  Only a
 * rewrite of the table moves rows.  A stream holds a lock that prevents it,
 * but one slice may end before the next one begins.  The table's relfilenode
 * shows if there was a rewrite in between.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "access/table.h"
#include "catalog/pg_am_d.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_operator_d.h"
#include "catalog/pg_type_d.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"

#include "plan/slice.h"

/* A slice of fewer blocks is not worth its connection. */
#define SLICE_BLOCKS_MIN	8

/* The table to split: the largest one that was found so far. */
typedef struct slice_choice
{
	Index		rtindex;		/* 0: none */
	uint32		blocks;
	uint32		file;
} slice_choice;

/* Is the query only a join, without aggregates, LIMIT, UNION and so on? */
static bool
is_join(const Query *query)
{
	return query->commandType == CMD_SELECT && !query->hasAggs &&
		!query->hasWindowFuncs && !query->hasTargetSRFs &&
		!query->hasModifyingCTE && !query->hasRecursive &&
		query->groupClause == NIL && query->groupingSets == NIL &&
		query->havingQual == NULL && query->distinctClause == NIL &&
		query->limitOffset == NULL && query->limitCount == NULL &&
		query->setOperations == NULL && query->rowMarks == NIL &&
		query->jointree != NULL;
}

/*
 * Does a range table entry return the same rows each time it is read?  A
 * function may not, nor a sample.
 */
static bool
is_plain_entry(const RangeTblEntry *rte)
{
	switch (rte->rtekind)
	{
		case RTE_RELATION:
			return rte->tablesample == NULL;
		case RTE_SUBQUERY:
		case RTE_JOIN:
		case RTE_VALUES:
		case RTE_CTE:
		case RTE_RESULT:
			return true;
		default:
			return false;		/* functions, for instance */
	}
}

/*
 * Is there a subquery, in a view for instance, whose rows may depend on the
 * plan?  It is evaluated for each slice, and each slice has its own plan.  So
 * a LIMIT may return other rows in each, and row_number() may number equal
 * rows in another order.
 */
static bool
depends_on_plan(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Query))
	{
		Query	   *query = (Query *) node;
		ListCell   *lc;

		if (!is_join(query))
			return true;
		foreach(lc, query->rtable)
		{
			if (!is_plain_entry(lfirst_node(RangeTblEntry, lc)))
				return true;
		}
		return query_tree_walker(query, depends_on_plan, context, 0);
	}
	return expression_tree_walker(node, depends_on_plan, context);
}

static px_unsliced
judge_shape(Query *query)
{
	if (depends_on_plan((Node *) query, NULL) ||
		contain_volatile_functions((Node *) query))
		return PX_UNSLICED_SHAPE;
	if (query->sortClause != NIL)
		return PX_UNSLICED_SORTED;
	return PX_SLICED;
}

/* Consider a table.  It must be a heap, without children and TABLESAMPLE. */
static void
consider_table(const RangeTblEntry *rte, Index rtindex, slice_choice *choice)
{
	Relation	relation;

	if (rte->rtekind != RTE_RELATION || rte->relkind != RELKIND_RELATION ||
		rte->tablesample != NULL || (rte->inh && has_subclass(rte->relid)))
		return;

	relation = table_open(rte->relid, NoLock);	/* locked by the parser */
	if (relation->rd_rel->relam == HEAP_TABLE_AM_OID)
	{
		uint32		blocks = RelationGetNumberOfBlocks(relation);

		if (choice->rtindex == 0 || blocks > choice->blocks)
		{
			choice->rtindex = rtindex;
			choice->blocks = blocks;
			choice->file = relation->rd_rel->relfilenode;
		}
	}
	table_close(relation, NoLock);
}

/*
 * Consider the tables below a node of the join tree that are not on the
 * nullable side of an outer join.
 */
static void
consider_tables(const Query *query, const Node *node, slice_choice *choice)
{
	if (IsA(node, RangeTblRef))
	{
		Index		rtindex = ((const RangeTblRef *) node)->rtindex;

		consider_table(rt_fetch(rtindex, query->rtable), rtindex, choice);
	}
	else if (IsA(node, FromExpr))
	{
		ListCell   *lc;

		foreach(lc, ((const FromExpr *) node)->fromlist)
			consider_tables(query, lfirst(lc), choice);
	}
	else if (IsA(node, JoinExpr))
	{
		const JoinExpr *join = (const JoinExpr *) node;

		if (join->jointype == JOIN_INNER || join->jointype == JOIN_LEFT)
			consider_tables(query, join->larg, choice);
		if (join->jointype == JOIN_INNER || join->jointype == JOIN_RIGHT)
			consider_tables(query, join->rarg, choice);
	}
}

/* Add "ctid op (block,0)" to the query's WHERE. */
static void
restrict_ctid(Query *query, Index rtindex, Oid op, BlockNumber block)
{
	ItemPointer tid = palloc(sizeof(ItemPointerData));
	Var *ctid = makeVar(rtindex, SelfItemPointerAttributeNumber, TIDOID, -1,
						InvalidOid, 0);
	Const	   *bound;
	OpExpr	   *clause;

	ItemPointerSet(tid, block, 0);
	bound = makeConst(TIDOID, -1, InvalidOid, sizeof(ItemPointerData),
					  PointerGetDatum(tid), false, false);
	clause = (OpExpr *) make_opclause(op, BOOLOID, false, (Expr *) ctid,
									  (Expr *) bound, InvalidOid, InvalidOid);
	set_opfuncid(clause);
	query->jointree->quals = make_and_qual(query->jointree->quals,
										   (Node *) clause);
}

void
px_slice_query(Query *query, const px_request *request, px_slice *slice)
{
	slice_choice choice = {0};
	uint32		blocks;
	uint32		k = request->slice;
	uint32		n = request->slices;

	slice->reason = judge_shape(query);
	if (slice->reason == PX_SLICED)
	{
		consider_tables(query, (const Node *) query->jointree, &choice);
		if (choice.rtindex == 0)
			slice->reason = PX_UNSLICED_NO_HEAP;
		else if (k == 0 && choice.blocks / n < SLICE_BLOCKS_MIN)
			slice->reason = PX_UNSLICED_SMALL;
	}
	if (slice->reason != PX_SLICED)
	{
		if (k > 0)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("query cannot be sent in slices"),
					 errdetail("Slice %u of %u was asked for.", k, n)));
		slice->slices = 1;
		slice->blocks = slice->file = 0;
		return;
	}

	blocks = k == 0 ? choice.blocks : request->blocks;
	slice->slices = n;
	slice->blocks = blocks;
	slice->file = choice.file;
	if (k > 0)
		restrict_ctid(query, choice.rtindex, TIDGreaterEqOperator,
					  (BlockNumber) ((uint64) blocks * k / n));
	if (k + 1 < n)
		restrict_ctid(query, choice.rtindex, TIDLessOperator,
					  (BlockNumber) ((uint64) blocks * (k + 1) / n));
}
