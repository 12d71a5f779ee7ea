/*-------------------------------------------------------------------------
 *
 * eligible.h
 *		Which foreign scans an exchange may take over.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_PLAN_ELIGIBLE_H
#define PX_PLAN_ELIGIBLE_H

#include "nodes/pathnodes.h"

/* Is this query, or one that contains it, an UPDATE or DELETE? */
extern bool px_query_updates(PlannerInfo *root);

/*
 * May a scan of rel be an exchange?  rel is a base, join or upper relation of
 * postgres_fdw.  If the query locks rows, as UPDATE and DELETE do, rel must be
 * a base relation.
 */
extern bool px_rel_is_eligible(PlannerInfo *root, RelOptInfo *rel);

/*
 * May joins of foreign tables be exchanges in an UPDATE or DELETE, although
 * they are not eligible?  postgres_fdw looks for a local path of the join
 * then, by which a row can be checked again.
 */
extern bool px_join_feeds_update(PlannerInfo *root);

/* Does the remote query of base or join relation rel lock rows? */
extern bool px_rel_is_locked(PlannerInfo *root, RelOptInfo *rel);

/*
 * The bytes that the path is expected to return, for comparison with
 * min_bytes.  A table that was never analyzed is assumed to be larger than
 * postgres_fdw assumes.
 */
extern double px_expected_nbytes(PlannerInfo *root, const Path *path);

/*
 * Has an expression a parameter that an InitPlan of the query sets?  If only we
 * send the expression, and postgres_fdw has it evaluated here, it must not be
 * sent: the value of the parameter would have to be known before the remote is
 * asked, and the InitPlan would be executed with the settings of postgres_fdw's
 * parameters, not with those of the session, and also if there is no row.
 */
extern bool px_has_init_param(PlannerInfo *root, Node *node);

#endif							/* PX_PLAN_ELIGIBLE_H */
