/*-------------------------------------------------------------------------
 *
 * collation.h
 *		What a remote server may do with strings of its own collations.
 *
 * A foreign table may declare another collation than the remote's column has,
 * or none.  Under all deterministic collations the same strings are equal, but
 * each has an order of its own.  Under another one, a comparison must stay
 * where it is.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_PLAN_COLLATION_H
#define PX_PLAN_COLLATION_H

#include "nodes/primnodes.h"

/* Is equality under the collation that of bytes?  Or is there no collation? */
extern bool px_is_deterministic(Oid collation);

/* Does the function return the same under all deterministic collations? */
extern bool px_is_collation_blind(Oid function);

/*
 * The columns of expressions on whose collation their values depend, even if
 * all collations are deterministic: Vars, some of them several times.
 */
extern List *px_ordered_columns(Node *exprs);

/* Is the column, by its number, a member of a list of columns? */
extern bool px_is_column_of(const Var *column, const List *columns);

#endif							/* PX_PLAN_COLLATION_H */
