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

/* An expression of rel, in terms of one of its leaves. */
extern Node *px_leaf_translate(PlannerInfo *root, Node *expr, RelOptInfo *rel,
							   RelOptInfo *leaf);

#endif							/* PX_PLAN_LEAVES_H */
