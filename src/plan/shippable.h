/*-------------------------------------------------------------------------
 *
 * shippable.h
 *		Expressions that mean the same on a remote server.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_PLAN_SHIPPABLE_H
#define PX_PLAN_SHIPPABLE_H

#include "nodes/pathnodes.h"

/*
 * Can the expression be computed by a server that has the columns of foreign,
 * a relation of postgres_fdw, and rows of ours with all other columns?  The
 * rules are those of postgres_fdw: built-in immutable functions, and a
 * collation only if a foreign column brings it along.  With columns of ours,
 * strings may be used where all deterministic collations are the same, as in
 * equalities, but not sorted: a collation of that name may sort in another way
 * there.  Aggregates may
 * stand at the top alone.
 */
extern bool px_is_shippable(Node *expr, Relids foreign);

/*
 * Can rows of these columns, which are Vars, be sent to a server?  Their values
 * are sent as they are, and the fragment's query has a list of column
 * definitions for them, which PostgreSQL limits to MaxHeapAttributeNumber.  No
 * columns are not rows.
 */
extern bool px_are_columns_shippable(List *columns);

#endif							/* PX_PLAN_SHIPPABLE_H */
