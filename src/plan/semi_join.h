/*-------------------------------------------------------------------------
 *
 * semi_join.h
 *		Semi-joins and anti-joins of foreign tables by their server.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_PLAN_SEMI_JOIN_H
#define PX_PLAN_SEMI_JOIN_H

#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"

/*
 * In GetForeignJoinPaths, after postgres_fdw's: add a ForeignPath by which the
 * server evaluates IN, EXISTS or NOT EXISTS, if both sides are scans that
 * postgres_fdw makes, and all quals of the join are comparisons of columns
 * that mean the same there.  Does nothing for other joins, and where
 * postgres_fdw has made a path.
 */
extern void px_semi_join_add_path(PlannerInfo *root, RelOptInfo *joinrel,
								  RelOptInfo *outerrel, RelOptInfo *innerrel,
								  JoinType jointype,
								  const JoinPathExtraData *extra);

/* The ForeignScan for such a path; NULL for other paths. */
extern ForeignScan *px_semi_join_plan(const ForeignPath *path, List *tlist);

#endif							/* PX_PLAN_SEMI_JOIN_H */
