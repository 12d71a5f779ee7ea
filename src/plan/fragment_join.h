/*-------------------------------------------------------------------------
 *
 * fragment_join.h
 *		A join that may run on the shards, and its paths.
 *
 * The layers, lowest first: fragment.c writes the SQL, redistribute.c decides
 * how rows are cut and plans their sources, fragment_path.c makes paths and
 * plans of all, and broadcast.c finds the joins.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_PLAN_FRAGMENT_JOIN_H
#define PX_PLAN_FRAGMENT_JOIN_H

#include "nodes/pathnodes.h"

#include "plan/fragment.h"

/*
 * The rows of the leaves of big, and of the sides, get together on each server
 * in one of these ways:
 *
 *	- all sides are sent to each of the leaves' servers;
 *	- one side is cut by the bounds of the partitions of big;
 *	- one side and big are cut by a hash of the key.
 *
 * The sides that are not cut are sent to each server.
 */
typedef struct px_fragment_join
{
	PlannerInfo *root;
	RelOptInfo *input_rel;		/* the join */
	Path	   *local;			/* its rows, by a join here */
	RelOptInfo *grouped_rel;	/* its groups; NULL if rows are wanted */
	GroupPathExtraData *extra;	/* of grouped_rel */
	PathTarget *partial;		/* what the fragments return: the first step of
								 * the groups, or input_rel's rows */
	px_fragment fragment;
	List	   *leaves;			/* RelOptInfos of big */
	int			nservers;		/* that have them */
	int			nclauses;		/* by which the sides are joined */

	/* If a side is cut.  See plan/redistribute.h. */
	List	   *hosts;			/* RelOptInfos: leaves of big, of which each
								 * gives its server to a fragment.  If big is
								 * not cut, all of them */
	List	   *sources;		/* of px_source; NIL: nothing is cut */
	int			nfrequent;		/* keys whose rows the sources spread */
	double		copies;			/* rows that are sent for that beyond once */
	double		skew;			/* rows of the target that gets most of those
								 * that are cut, divided by the mean */
} px_fragment_join;

/*
 * Add the path in which the fragments run on the servers, and what they return
 * is combined here.  join->local, partial and fragment.target must be set.
 */
extern void px_fragment_path_add(const px_fragment_join *join);

/*
 * The cheapest path of rel, a join, that has no fragments, for
 * join->local.  It is one of our own: the planner does not free it if it finds
 * a better one.  NULL if there is none that we can copy.
 */
extern Path *px_fragment_local_path(PlannerInfo *root, RelOptInfo *rel);

#endif							/* PX_PLAN_FRAGMENT_JOIN_H */
