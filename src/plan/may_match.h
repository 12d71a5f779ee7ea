/*-------------------------------------------------------------------------
 *
 * may_match.h
 *		The SQL functions exchange.has_type and exchange.may_match.
 *
 * A foreign table may declare a column with another type than the remote's
 * column has.  postgres_fdw reads the output of the one as input of the other,
 * which is not what a cast does: char(3) to text keeps blanks, boolean to text
 * is 't', and timestamptz depends on the time zone here.  So a remote may
 * compare a column with keys only if that is the same as comparing what would
 * be read here.  Only the remote knows its types at the right moment.
 *
 * So it is with collations.  Under a nondeterministic one, the remote finds
 * strings equal that differ here.  All others agree about equality, but each
 * has an order of its own.
 *
 * Both functions take a row (column, NULL::type, ...) and the declared type
 * modifier, or -1.  The row has the exact type record: so nobody can make a
 * function that is preferred to them.  The planner replaces them, and nothing
 * of them is left in the plan:
 *
 * - has_type(row, typmod) by true or false: is the column's value here the
 *	 value that it has there, as far as equality can tell?  If the row has a
 *	 third field, the name of a collation of pg_catalog: has the column this
 *	 one?
 * - may_match(row, typmod) by a comparison of the column, or by true if
 *	 has_type is false.  The further fields are an array of keys, or two bounds,
 *	 or a Bloom filter.  An index on the column can be used.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_PLAN_MAY_MATCH_H
#define PX_PLAN_MAY_MATCH_H

#include "fmgr.h"

extern Datum px_sql_has_type(PG_FUNCTION_ARGS);
extern Datum px_sql_may_match(PG_FUNCTION_ARGS);
extern Datum px_sql_may_match_support(PG_FUNCTION_ARGS);

#endif							/* PX_PLAN_MAY_MATCH_H */
