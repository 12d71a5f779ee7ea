/*-------------------------------------------------------------------------
 *
 * append_rows.c
 *		Few rows of a table with many foreign partitions.
 *
 * The planner expects at least one row of each partition.  So a condition that
 * one row of the whole table fulfils seems to be fulfilled by as many rows as
 * there are partitions, and each join with that table returns so many times
 * too many.  Q21 of TPC-H expects four nations of one name, and fetches all of
 * lineitem instead of asking for the keys of one nation's suppliers.  If the
 * statistics of the whole table know better, we use them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_class_d.h"
#include "optimizer/optimizer.h"
#include "optimizer/paths.h"

#include "guc.h"
#include "plan/append_rows.h"
#include "plan/paths.h"

static set_rel_pathlist_hook_type prev_set_rel_pathlist_hook = NULL;

/*
 * The number of rows in the partitions that are not pruned; 0 if more than one
 * row of one is expected, or if one is not a foreign table of postgres_fdw.
 */
static double
tuples_of_clamped_partitions(const RelOptInfo *rel)
{
	double		ntuples = 0;

	for (int i = 0; i < rel->nparts; i++)
	{
		RelOptInfo *child = rel->part_rels[i];

		if (child == NULL || IS_DUMMY_REL(child))
			continue;
		if (IS_PARTITIONED_REL(child))
		{
			double		below = tuples_of_clamped_partitions(child);

			if (below == 0)
				return 0;
			ntuples += below;
		}
		else if (px_rel_is_postgres_fdw(child) && child->rows <= 1)
			ntuples += Max(child->tuples, 0);
		else
			return 0;
	}
	return ntuples;
}

static void
correct_rows(PlannerInfo *root, RelOptInfo *rel, Index rti,
			 RangeTblEntry *rte)
{
	double		ntuples;
	double		expected;

	if (prev_set_rel_pathlist_hook)
		prev_set_rel_pathlist_hook(root, rel, rti, rte);
	if (!px_enabled || rte->rtekind != RTE_RELATION ||
		rte->relkind != RELKIND_PARTITIONED_TABLE || !rte->inh ||
		rel->reloptkind != RELOPT_BASEREL || rel->baserestrictinfo == NIL)
		return;
	ntuples = tuples_of_clamped_partitions(rel);
	if (ntuples == 0)
		return;

	/* The planner takes the rows that are expected for those of the table. */
	expected = rel->tuples;
	rel->tuples = ntuples;
	rel->rows = Min(rel->rows, clamp_row_est(
		ntuples * clauselist_selectivity(root, rel->baserestrictinfo, 0,
										 JOIN_INNER, NULL)));
	rel->tuples = expected;
}

void
px_append_rows_init(void)
{
	prev_set_rel_pathlist_hook = set_rel_pathlist_hook;
	set_rel_pathlist_hook = correct_rows;
}
