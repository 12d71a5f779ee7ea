/*-------------------------------------------------------------------------
 *
 * frequent_keys.h
 *		Keys with so many rows that no single target should have them.
 *
 * If rows are cut by the hash of a key, all rows of a value get together on
 * one target.  That is too much for it if the value is frequent.  Then the
 * rows of one side with that value go to the targets in turn, and those of the
 * other side go to each target: so each pair of them is on one target.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_PLAN_FREQUENT_KEYS_H
#define PX_PLAN_FREQUENT_KEYS_H

#include "nodes/pathnodes.h"

/* One side of the equality by which rows get together. */
typedef struct px_keyed_rows
{
	const Var  *key;
	Oid			type;			/* that the operator takes it as */
	double		rows;
	bool		may_spread;		/* may a row of the other side meet its
								 * partners here on several targets? */
} px_keyed_rows;

typedef struct px_frequent_keys
{
	int			n;
	char	   *spread[2];		/* SQL of an array of keys, or NULL: rows of
								 * that side go to any target, and those of the
								 * other one to all.  What is in both belongs to
								 * the first */
	const char *type;			/* of its elements */
	double		copies;			/* rows that are sent beyond once */
	double		largest;		/* rows of the most frequent key that is not
								 * one of them */
} px_frequent_keys;

/* Find the frequent keys of rows that are cut into so many targets. */
extern px_frequent_keys px_frequent_keys_find(PlannerInfo *root,
											  const px_keyed_rows sides[2],
											  int ntargets);

/* The part of all rows that the most frequent key has; 0 if not known. */
extern double px_most_frequent(PlannerInfo *root, const Var *key);

#endif							/* PX_PLAN_FREQUENT_KEYS_H */
