/*-------------------------------------------------------------------------
 *
 * target.h
 *		SQL of the target that a row goes to.
 *
 * Each is an expression with a %s where the value of the key stands: the
 * target's number, or null if no target has such keys.  palloc'd in the
 * current context.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_PLAN_TARGET_H
#define PX_PLAN_TARGET_H

#include "plan/fragment_join.h"

/* The equality by which rows of big and of a side get together. */
typedef struct px_cut_key
{
	const Var  *big;
	const Var  *side;
	Oid			big_type;		/* of the operator's arguments */
	Oid			side_type;
} px_cut_key;

/* By the hash of a key of that type, among so many. */
extern char *px_target_by_hash(int ntargets, Oid type);

/*
 * By the partition of big, a table that is partitioned by hash, or by range,
 * that has the key: the number of its leaf.  NULL if it cannot be told.
 */
extern char *px_target_by_hash_bounds(const px_fragment_join *join,
									  const px_cut_key *key);
extern char *px_target_by_range(const px_fragment_join *join,
								const px_cut_key *key);

#endif							/* PX_PLAN_TARGET_H */
