/*-------------------------------------------------------------------------
 * local_agg.h
 *		The aggregates of a remote's rows, computed here.
 *
 * A remote may aggregate its rows for us only if its columns have the types
 * that are declared here.  Where they have not, rows are aggregated here.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_PLAN_LOCAL_AGG_H
#define PX_PLAN_LOCAL_AGG_H

#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"

/*
 * Must the remote be asked about types of columns, if it is to return a row
 * for these expressions?  False if they have no columns.
 */
extern bool px_local_agg_has_columns(const PathTarget *plain);

/*
 * The path that does the same here, with rows as postgres_fdw reads them: the
 * partial aggregates of output_rel->reltarget.  plain is what a remote would
 * be asked for: keys first, nkeys of them.  NULL if there is none, or if a
 * column has a type or collation that the remote may not know.
 */
extern Path *px_local_agg_path(PlannerInfo *root, RelOptInfo *input_rel,
							   RelOptInfo *output_rel,
							   const GroupPathExtraData *extra,
							   const PathTarget *plain, int nkeys);

/*
 * What px_ask_types_begin takes, for the plan of such a path, and expressions
 * of the plain target.
 */
extern List *px_local_agg_types(PlannerInfo *root, const Plan *plan,
								List *plain);

/*
 * The same for aggregates that are not partial: the path returns the keys and
 * aggregates of which those of output_rel->reltarget are made, and checks
 * HAVING.
 */
extern Path *px_local_agg_whole_path(PlannerInfo *root, RelOptInfo *input_rel,
									 RelOptInfo *output_rel,
									 const GroupPathExtraData *extra);
extern List *px_local_agg_whole_types(PlannerInfo *root,
									  const Plan *plan);

/* The Agg of such a path's plan, above which it may be sorted and limited. */
extern const Plan *px_local_agg_groups(const Plan *plan);

#endif							/* PX_PLAN_LOCAL_AGG_H */
