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

/* By the name of its handler, as extensions may be in any schema. */
extern bool px_server_is_postgres_fdw(const ForeignServer *server);

/*
 * What postgres_fdw takes the transfer of a row to cost: the server's option
 * fdw_tuple_cost, or its default.
 */
extern double px_fdw_tuple_cost(const ForeignServer *server);

/*
 * May a scan of rel, a base, join or upper relation of postgres_fdw's, be an
 * exchange?  Only in queries that read: UPDATE and DELETE need postgres_fdw's
 * own node.  Where rows are locked, only base relations.
 */
extern bool px_rel_is_eligible(PlannerInfo *root, RelOptInfo *rel);

/* Does the remote query of base relation rel lock rows? */
extern bool px_rel_is_locked(PlannerInfo *root, RelOptInfo *rel);

/*
 * Bytes that the path is expected to return, for comparison with min_bytes.
 * A table that was never analyzed is taken for a bigger one than postgres_fdw
 * takes it for.
 */
extern double px_expected_nbytes(PlannerInfo *root, const Path *path);

#endif							/* PX_PLAN_ELIGIBLE_H */
