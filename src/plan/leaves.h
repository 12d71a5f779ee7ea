/*-------------------------------------------------------------------------
 *
 * leaves.h
 *		The tables of an append relation.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_PLAN_LEAVES_H
#define PX_PLAN_LEAVES_H

#include "nodes/pathnodes.h"

/*
 * Append the tables of rel to *leaves: rel itself, or the members of an append
 * relation, and of their members, that were not pruned.  False if one has no
 * path without parameters.
 */
extern bool px_leaves_collect(PlannerInfo *root, RelOptInfo *rel,
							  List **leaves);

/*
 * The same for a join: it is its own only leaf, or has those of the joins of
 * its partitions.  False if these are not known, or have partitions again.
 */
extern bool px_leaves_of_join(PlannerInfo *root, RelOptInfo *rel,
							  List **leaves);

/* An expression of rel, a table or join, in terms of one of its leaves. */
extern Node *px_leaf_translate(PlannerInfo *root, Node *expr, RelOptInfo *rel,
							   RelOptInfo *leaf);

#endif							/* PX_PLAN_LEAVES_H */
