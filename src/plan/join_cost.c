/*-------------------------------------------------------------------------
 *
 * join_cost.c
 *		What a join costs that a remote computes.
 *
 * Without use_remote_estimate, postgres_fdw assumes a nested loop: all pairs of
 * rows are compared.  For two tables of a million rows that is so expensive
 * that no plan would ever join them at the remote.  Where there is a clause to
 * hash by, the remote will hash, and so does the estimate here.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"

#include "plan/join_cost.h"

/* How many clauses compare both sides by an operator that can hash? */
static int
count_hash_clauses(Relids outer, Relids inner, List *clauses)
{
	int			count = 0;
	ListCell   *lc;

	foreach(lc, clauses)
	{
		const RestrictInfo *info = lfirst_node(RestrictInfo, lc);

		if (info->can_join && OidIsValid(info->hashjoinoperator) &&
			((bms_is_subset(info->left_relids, outer) &&
			  bms_is_subset(info->right_relids, inner)) ||
			 (bms_is_subset(info->left_relids, inner) &&
			  bms_is_subset(info->right_relids, outer))))
			count++;
	}
	return count;
}

Cost
px_hash_join_cost(const RelOptInfo *joinrel, const px_join_side *outer,
				  const px_join_side *inner, List *clauses)
{
	int			nclauses = count_hash_clauses(outer->rel->relids,
											  inner->rel->relids, clauses);
	double		nhashed = Min(outer->rel->rows, inner->rel->rows);
	double		nprobes = Max(outer->rel->rows, inner->rel->rows);

	if (nclauses == 0)
		return -1.0;

	/* As in initial_cost_hashjoin, without batches. */
	return outer->cost + inner->cost +
		(cpu_operator_cost * nclauses + cpu_tuple_cost) * nhashed +
		cpu_operator_cost * nclauses * nprobes +
		(cpu_tuple_cost + cpu_operator_cost *
		 (list_length(clauses) - nclauses)) * joinrel->rows;
}

Cost
px_local_clauses_cost(PlannerInfo *root, List *clauses, double rows,
					  double *nchecked)
{
	List	   *local = NIL;
	QualCost	cost;
	ListCell   *lc;

	foreach(lc, clauses)
	{
		RestrictInfo *info = lfirst_node(RestrictInfo, lc);

		if (contain_subplans((Node *) info->clause) ||
			contain_mutable_functions((Node *) info->clause))
			local = lappend(local, info);
	}
	*nchecked = rows;
	if (local == NIL)
		return 0.0;
	*nchecked /= Max(clauselist_selectivity(root, local, 0, JOIN_INNER, NULL),
					 1e-9);
	cost_qual_eval(&cost, local, root);
	return cost.startup + cost.per_tuple * *nchecked;
}
