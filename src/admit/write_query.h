/*-------------------------------------------------------------------------
 *
 * write_query.h
 *		The statements that postgres_fdw prepares for writing rows.
 *
 * They are INSERT ... VALUES of one row, UPDATE ... WHERE ctid = $1 and DELETE
 * ... WHERE ctid = $1, with parameters $1, $2, ... for the values.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_ADMIT_WRITE_QUERY_H
#define PX_ADMIT_WRITE_QUERY_H

#include "nodes/parsenodes.h"

/*
 * Parse and analyze such a statement, as PREPARE would: the tables are locked,
 * and the types of the parameters, types[*ntypes], are inferred.  *ntypes is
 * at least 1.  Raises what PREPARE would raise, and
 * ERRCODE_FEATURE_NOT_SUPPORTED for statements of any other form: they may
 * have no subqueries, no RETURNING, and no ON CONFLICT but DO NOTHING.
 */
extern Query *px_write_query_analyze(const char *sql, Oid **types,
									 int *ntypes);

/*
 * Let an analyzed statement take its rows from exchange.unpack($1), whose oid
 * is unpack: each parameter becomes the column of that number.  Returns a
 * changed copy.
 */
extern Query *px_write_query_from_rows(Query *query, Oid unpack,
									   const Oid *types, int ntypes);

#endif							/* PX_ADMIT_WRITE_QUERY_H */
