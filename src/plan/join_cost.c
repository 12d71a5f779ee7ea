/*-------------------------------------------------------------------------
 *
 * join_cost.c
 *		What a join costs that a remote server is to do.
 *
 * Without use_remote_estimate, postgres_fdw assumes that the remote compares
 * each row of one side with each row of the other: the cost of a join is the
 * product of both numbers of rows and the cost of the clauses.  By that, a join
 * of large tables is never left to the remote: it seemed cheaper to fetch all
 * of lineitem and orders (TPC-H Q3, Q5, Q10, Q12).  But the remote can hash as
 * we can.
 *
 * The cost of a join is also part of the cost of joins and aggregates above
 * it, which postgres_fdw keeps in structures of its own.  So we do not correct
 * its paths, but what it computes the costs from: the planner keeps the cost
 * of each clause in the RestrictInfo.  While postgres_fdw looks at the join,
 * the clauses that can be hashed have a cost that makes the product come to
 * that of a hash join, and the others have none.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "miscadmin.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"

#include "plan/join_cost.h"

/* The size of a relation's rows in pages, as in core's costsize.c. */
static double
pages_of(const RelOptInfo *rel)
{
	double		width = MAXALIGN(rel->reltarget->width) +
		MAXALIGN(SizeofHeapTupleHeader);

	return ceil(rel->rows * width / BLCKSZ);
}

/*
 * Cost of a hash join of both sides, without what these cost, as in core's
 * initial_cost_hashjoin: the smaller side is hashed, and if it is larger than
 * work_mem, both are written to files and read.
 */
static Cost
hash_join_cost(const RelOptInfo *outer, const RelOptInfo *inner, int nclauses)
{
	double		smaller = Min(pages_of(outer), pages_of(inner));
	double		larger = Max(pages_of(outer), pages_of(inner));
	Cost		cost;

	cost = (outer->rows + inner->rows) * cpu_operator_cost * nclauses +
		Min(outer->rows, inner->rows) * cpu_tuple_cost;
	if (smaller * BLCKSZ > work_mem * 1024.0)
		cost += seq_page_cost * 2 * (smaller + larger);
	return cost;
}

/* A clause with a subquery is evaluated here, at its own cost. */
static void
replace_cost(px_join_cost *replaced, RestrictInfo *clause, Cost per_tuple)
{
	QualCost   *saved;

	if (contain_subplans((Node *) clause->clause))
		return;
	saved = palloc(sizeof(QualCost));
	*saved = clause->eval_cost;
	replaced->clauses = lappend(replaced->clauses, clause);
	replaced->costs = lappend(replaced->costs, saved);
	clause->eval_cost.startup = 0;
	clause->eval_cost.per_tuple = per_tuple;
}

px_join_cost
px_join_cost_begin(PlannerInfo *root, const RelOptInfo *outer,
				   const RelOptInfo *inner, const List *restrict_clauses)
{
	px_join_cost replaced = {NIL, NIL};
	Relids		relids;
	Cost		per_pair;
	int			nhashable = 0;
	int			relid = -1;
	ListCell   *lc;

	foreach(lc, restrict_clauses)
	{
		if (OidIsValid(lfirst_node(RestrictInfo, lc)->hashjoinoperator))
			nhashable++;
	}
	if (nhashable == 0)
		return replaced;

	per_pair = hash_join_cost(outer, inner, nhashable) /
		(Max(outer->rows, 1.0) * Max(inner->rows, 1.0));
	foreach(lc, restrict_clauses)
	{
		RestrictInfo *clause = lfirst(lc);
		bool		hashable = OidIsValid(clause->hashjoinoperator);

		replace_cost(&replaced, clause, hashable ? per_pair / nhashable : 0);
	}

	/*
	 * For an inner join, postgres_fdw counts the quals of both sides once
	 * more, for each pair of rows.
	 */
	relids = bms_union(outer->relids, inner->relids);
	while ((relid = bms_next_member(relids, relid)) >= 0)
	{
		const RelOptInfo *rel = root->simple_rel_array[relid];

		if (rel == NULL)
			continue;			/* an outer join, in 16 and later */
		foreach(lc, rel->baserestrictinfo)
			replace_cost(&replaced, lfirst(lc), 0);
	}
	return replaced;
}

void
px_join_cost_end(px_join_cost *replaced)
{
	ListCell   *clause,
			   *cost;

	forboth(clause, replaced->clauses, cost, replaced->costs)
		lfirst_node(RestrictInfo, clause)->eval_cost =
			*(QualCost *) lfirst(cost);
}
