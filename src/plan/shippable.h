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

/* Can values of the type be sent to a server as they are? */
extern bool px_type_is_shippable(Oid type);

#endif							/* PX_PLAN_SHIPPABLE_H */
