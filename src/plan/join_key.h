/*-------------------------------------------------------------------------
 *
 * join_key.h
 *		Which equalities of a join a remote can evaluate as they are here.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_PLAN_JOIN_KEY_H
#define PX_PLAN_JOIN_KEY_H

#include "nodes/pathnodes.h"

/* The column that an expression is, relabelled maybe; or NULL. */
extern const Var *px_join_column(const Node *expr);

/* May an operator take the column as a value of this type? */
extern bool px_is_operand(const Var *column, Oid type);

/* Is it a built-in type, no domain, that arrays can be made of? */
extern bool px_is_plain_type(Oid type);

/*
 * Can inner = outer be a key, where a remote has inner, and keys are values of
 * outer?  The remote must give the operator the meaning that it has here, and
 * postgres_fdw must be ready to send it: so it is a built-in one, and a column
 * with the collation of the comparison.
 */
extern bool px_is_join_key(Oid operator, Oid collation, const Node *inner,
						   const Node *outer);

/*
 * Are many keys found fast by key = ANY (keys)?  Core compares them one after
 * another if both sides are hashed by different functions; integers of another
 * width are converted before (in_keys.h).
 */
extern bool px_keys_are_hashed(Oid operator);

/* How many distinct values does an expression have?  0 if not known. */
extern double px_distinct_values(PlannerInfo *root, Node *expr);

#endif							/* PX_PLAN_JOIN_KEY_H */
