/*-------------------------------------------------------------------------
 *
 * eligible.h
 *		Which foreign scans an exchange may take over.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_PLAN_ELIGIBLE_H
#define PX_PLAN_ELIGIBLE_H

#include "foreign/foreign.h"
#include "nodes/pathnodes.h"

/*
 * Does the server belong to postgres_fdw?  We compare the name of the handler
 * function only, because the extension may be in any schema.
 */
extern bool px_server_is_postgres_fdw(const ForeignServer *server);

/*
 * The cost that postgres_fdw assumes for the transfer of a row: the server's
 * option fdw_tuple_cost, or its default.
 */
extern double px_fdw_tuple_cost(const ForeignServer *server);

/*
 * May a scan of rel be an exchange?  rel is a base, join or upper relation of
 * postgres_fdw.  The query must only read, because UPDATE and DELETE need
 * postgres_fdw's own node.  If the query locks rows, rel must be a base
 * relation.
 */
extern bool px_rel_is_eligible(PlannerInfo *root, RelOptInfo *rel);

/* Does the remote query of base relation rel lock rows? */
extern bool px_rel_is_locked(PlannerInfo *root, RelOptInfo *rel);

/*
 * The bytes that the path is expected to return, for comparison with
 * min_bytes.  A table that was never analyzed is assumed to be larger than
 * postgres_fdw assumes.
 */
extern double px_expected_nbytes(PlannerInfo *root, const Path *path);

#endif							/* PX_PLAN_ELIGIBLE_H */
