/*-------------------------------------------------------------------------
 *
 * parallel_path.c
 *		Partial paths: scans by exchanges in parallel plans of the coordinator.
 *
 * Workers share the rows that have come.  They do not make the remote any
 * faster: a single participant has it read as many slices at a time, and an
 * ExchangeGather as many partitions.
 *
 * Rows of several participants come in any order.  So there are no parallel
 * plans if sums of floats are to have all of postgres_fdw's digits.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"

#include "guc.h"
#include "plan/eligible.h"
#include "plan/harmless.h"
#include "plan/parallel_path.h"

/*
 * Workers make connections of their own, for each query and partition.  To
 * connect takes both ends 3 to 5 ms of CPU time, and a unit of cost is about
 * 4 us.
 */
#define CONNECTION_COST	1000.0

double
px_parallel_divisor(int nworkers)
{
	double leader = parallel_leader_participation ? 1.0 - 0.3 * nworkers : 0.0;

	return nworkers + Max(leader, 0.0);
}

static int
nworkers_for(const RelOptInfo *rel)
{
	int			nworkers = Min(max_parallel_workers_per_gather,
							   px_max_connections_per_server - 1);

	/* Several may read one table by slices only. */
	return rel->reloptkind == RELOPT_BASEREL ?
		Min(nworkers, px_slices_setting) : nworkers;
}

bool
px_parallel_path_is_allowed(PlannerInfo *root, RelOptInfo *rel,
							const Path *foreign)
{
	return IS_SIMPLE_REL(rel) && rel->consider_parallel &&
		nworkers_for(rel) > 0 && bms_is_empty(rel->lateral_relids) &&
		foreign->param_info == NULL && foreign->pathkeys == NIL &&
		px_transport_setting != PX_TRANSPORT_SESSION &&
		px_partial_aggregates_setting != PX_PARTIAL_EXACT &&
		!px_rel_is_locked(root, rel);
}

/*
 * What the conditions cost that are evaluated here.  Which these are is
 * postgres_fdw's secret: at least those with functions that the server may not
 * have, or may have others of.
 */
static Cost
local_cost(PlannerInfo *root, const RelOptInfo *rel)
{
	List	   *conditions = NIL;
	QualCost	cost;
	double		selectivity;
	ListCell   *lc;

	foreach(lc, rel->baserestrictinfo)
	{
		RestrictInfo *info = lfirst_node(RestrictInfo, lc);

		if (px_calls_function_of_user((Node *) info->clause))
			conditions = lappend(conditions, info);
	}
	if (conditions == NIL)
		return 0;
	cost_qual_eval(&cost, conditions, root);
	selectivity = clauselist_selectivity(root, conditions, rel->relid,
										 JOIN_INNER, NULL);
	return cost.per_tuple * Min(rel->rows / Max(selectivity, 1e-6),
								rel->tuples);
}

void
px_parallel_path_add(PlannerInfo *root, RelOptInfo *rel, CustomPath *receive,
					 Cost transfer)
{
	Path	   *path = &receive->path;
	int			nworkers = nworkers_for(rel);
	double		divisor = px_parallel_divisor(nworkers);
	Cost		shared = transfer + local_cost(root, rel);

	path->parallel_aware = true;
	path->parallel_safe = true;
	path->parallel_workers = nworkers;
	path->total_cost -= Min(shared, path->total_cost - path->startup_cost) *
		(1.0 - 1.0 / divisor);
	if (rel->reloptkind != RELOPT_BASEREL)
		path->total_cost += CONNECTION_COST / divisor;
	path->rows = clamp_row_est(path->rows / divisor);
	add_partial_path(rel, path);
}
