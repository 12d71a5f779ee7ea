/*-------------------------------------------------------------------------
 *
 * key_descents.c
 *		What index scans for many keys cost.
 *
 * The receivers of joins ask for the rows that have one of many keys.  For
 * each key a B-tree is descended anew, and before 17 core charges the price of
 * a descent that often, although the upper pages are at hand.  With thousands
 * of keys a parallel sequential scan then looks cheaper, which takes several
 * times as long.  17 counts no more descents than a third of the pages of the
 * index: so do we, for the queries of streams.  Other queries are planned as
 * they always were.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "optimizer/optimizer.h"
#include "optimizer/plancat.h"
#include "utils/index_selfuncs.h"
#include "utils/selfuncs.h"

#include "compat.h"
#include "plan/key_descents.h"

static bool is_capped = false;

bool
px_key_descents_cap(void)
{
	bool		was_capped = is_capped;

	is_capped = true;
	return was_capped;
}

void
px_key_descents_restore(bool capped)
{
	is_capped = capped;
}

#if PX_BTREE_CHARGES_EACH_KEY

/* As in btcostestimate: of the pages of an index. */
#define DESCENTS_PER_PAGE		0.3333333

/* As in selfuncs.c: what a page costs, in cpu_operator_cost. */
#define PAGE_CPU_MULTIPLIER		50.0

static get_relation_info_hook_type prev_get_relation_info_hook = NULL;

/* How many keys has the array for the first column?  1 if there is none. */
static double
number_of_keys(const IndexPath *path)
{
	ListCell   *lc;
	ListCell   *lc_qual;

	foreach(lc, path->indexclauses)
	{
		const IndexClause *clause = lfirst_node(IndexClause, lc);

		foreach(lc_qual, clause->indexcol == 0 ? clause->indexquals : NIL)
		{
			Node	   *qual = (Node *) lfirst_node(RestrictInfo,
													lc_qual)->clause;

			if (IsA(qual, ScalarArrayOpExpr))
				return Max(estimate_array_length(
							   lsecond(((ScalarArrayOpExpr *) qual)->args)), 1);
		}
	}
	return 1;
}

/* What core charges for a descent to a leaf page. */
static Cost
cost_of_descent(const IndexOptInfo *index)
{
	Cost		cost = (index->tree_height + 1) * PAGE_CPU_MULTIPLIER *
		cpu_operator_cost;

	if (index->tuples > 1)
		cost += ceil(log(index->tuples) / log(2.0)) * cpu_operator_cost;
	return cost;
}

/* Stands in for btcostestimate. */
static void
estimate_cost(PlannerInfo *root, IndexPath *path, double loop_count,
			  Cost *startup_cost, Cost *total_cost, Selectivity *selectivity,
			  double *correlation, double *pages)
{
	const IndexOptInfo *index = path->indexinfo;
	double		descents = number_of_keys(path);
	double		descents_max = Max(ceil(index->pages * DESCENTS_PER_PAGE), 1);

	btcostestimate(root, path, loop_count, startup_cost, total_cost,
				   selectivity, correlation, pages);
	if (descents > descents_max)
		*total_cost -= (descents - descents_max) * cost_of_descent(index);
}

static void
replace_estimates(PlannerInfo *root, Oid relid, bool inhparent,
				  RelOptInfo *rel)
{
	ListCell   *lc;

	if (prev_get_relation_info_hook)
		prev_get_relation_info_hook(root, relid, inhparent, rel);
	foreach(lc, is_capped ? rel->indexlist : NIL)
	{
		IndexOptInfo *index = lfirst_node(IndexOptInfo, lc);

		if (index->amcostestimate == (void (*) ()) btcostestimate)
			index->amcostestimate = (void (*) ()) estimate_cost;
	}
}

void
px_key_descents_init(void)
{
	prev_get_relation_info_hook = get_relation_info_hook;
	get_relation_info_hook = replace_estimates;
}

#else

void
px_key_descents_init(void)
{
}

#endif
