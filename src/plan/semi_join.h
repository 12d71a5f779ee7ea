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

/* The sides of a join: their ForeignPaths, without parameters and order. */
typedef struct px_semi_join
{
	ForeignPath *outer_path;	/* NULL if there is none */
	ForeignPath *inner_path;	/* the same */
	double		tuple_cost;		/* fdw_tuple_cost of the server */
} px_semi_join;

/*
 * In GetForeignJoinPaths, after postgres_fdw's: add a ForeignPath by which the
 * server evaluates IN, EXISTS or NOT EXISTS, if both sides are scans that
 * postgres_fdw makes, and all quals of the join are comparisons of columns
 * that mean the same there.  Only an ExchangeReceive may run it: see
 * px_semi_join_types.  Does nothing for other joins, and where
 * postgres_fdw has made a path.
 */
extern void px_semi_join_add_path(PlannerInfo *root, RelOptInfo *joinrel,
								  JoinType jointype,
								  const JoinPathExtraData *extra,
								  const px_semi_join *sides);

/* Is it such a path? */
extern bool px_semi_join_is_path(const ForeignPath *path);

/*
 * The ForeignScan for such a path, with the plan of its fdw_outerpath, which
 * joins the sides here; NULL for other paths.
 */
extern ForeignScan *px_semi_join_plan(const ForeignPath *path, List *tlist,
									  Plan *outer_plan);

/*
 * The server must be asked before it does such a join: what
 * px_ask_types_begin takes.  NIL for other paths.
 */
extern List *px_semi_join_types(const ForeignPath *path);

/*
 * The path, without the join here: for a query around that of the path, whose
 * server is asked for the path's types, too.
 */
extern ForeignPath *px_semi_join_alone(ForeignPath *path);

#endif							/* PX_PLAN_SEMI_JOIN_H */
