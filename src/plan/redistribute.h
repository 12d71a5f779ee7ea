/*-------------------------------------------------------------------------
 *
 * redistribute.h
 *		Which rows of a join are cut by their keys, and how.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_PLAN_REDISTRIBUTE_H
#define PX_PLAN_REDISTRIBUTE_H

#include "nodes/extensible.h"

#include "plan/fragment_join.h"

/* A leaf whose server cuts its rows, which go to the fragments. */
typedef struct px_source
{
	RelOptInfo *rel;			/* the side, or big */
	RelOptInfo *leaf;			/* of rel */
	List	   *columns;		/* that are sent: Vars of rel */
	int			inbox;			/* that they go to, from 1 */
	int			number;			/* among the sources of that inbox, from 0 */
	int			parts;			/* of each fragment's rows: of n fragments, the
								 * target of number t is part t / n for
								 * fragment t % n */
	px_fragment_cut cut;
} px_source;

/*
 * The leaves of rel, a table or a join, that exchanges read; NIL if it has
 * others, too.
 */
extern List *px_foreign_leaves(PlannerInfo *root, RelOptInfo *rel);

/*
 * Can the servers do all of the leaves' scans or joins?  postgres_fdw plans
 * them to find out, which takes longer than other reasons not to go on.
 */
extern bool px_are_remote_alone(PlannerInfo *root, List *leaves);

/*
 * Choose a side to be cut.  False if none can be.  Then call one of those
 * below, which set sources, hosts and inboxes, and are false if they cannot.
 */
extern bool px_redistribute_find(const px_fragment_join *join, int *side);

/* Cut the side alone, by the bounds of the partitions of big. */
extern bool px_redistribute_by_bounds(px_fragment_join *join, int side);

/* Cut the side and big by a hash. */
extern bool px_redistribute_by_hash(px_fragment_join *join, int side);

/* The ExchangeReceive of a source.  No row of it is returned. */
extern Path *px_redistribute_source_path(PlannerInfo *root,
										 const px_source *source);

#endif							/* PX_PLAN_REDISTRIBUTE_H */
