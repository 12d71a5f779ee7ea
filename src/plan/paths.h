/*-------------------------------------------------------------------------
 *
 * paths.h
 *		Putting an ExchangeReceive in place of each ForeignPath.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_PLAN_PATHS_H
#define PX_PLAN_PATHS_H

#include "foreign/fdwapi.h"
#include "nodes/extensible.h"
#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"

/*
 * Make an ExchangeReceive path in place of a ForeignPath.  It has the same
 * costs, except that the transfer is charged by bytes, unless the query is an
 * UPDATE or DELETE.  It is never more expensive.
 */
extern CustomPath *px_receive_path(PlannerInfo *root, ForeignPath *foreign);

/* PlanCustomPath of such a path. */
extern Plan *px_receive_plan(PlannerInfo *root, RelOptInfo *rel,
							 CustomPath *best_path, List *tlist,
							 List *clauses, List *custom_plans);

/*
 * The routines of postgres_fdw itself, for a relation of postgres_fdw; NULL
 * for other relations.
 */
extern const FdwRoutine *px_original_routine(const RelOptInfo *rel);

/*
 * Is rel a foreign table of postgres_fdw, or a join or upper relation of such,
 * whose paths are made by us?  Not while pg_exchange.enabled is off.
 */
extern bool px_rel_is_postgres_fdw(const RelOptInfo *rel);

/*
 * postgres_fdw's path for a base or join relation, without parameters and
 * order, at its own costs; NULL if there is none.  It may be one of ours, of
 * which px_semi_join_plan knows.
 */
extern ForeignPath *px_paths_foreign(const RelOptInfo *rel);

/*
 * Are both the scan of rel and upper, which the server makes of its rows,
 * lookups?  postgres_fdw reads the scan, and the other one saves nothing.
 */
extern bool px_paths_are_lookups(PlannerInfo *root, const RelOptInfo *rel,
								 const ForeignPath *upper);

/* fdw_tuple_cost of the server of rel, a relation of postgres_fdw. */
extern double px_paths_tuple_cost(const RelOptInfo *rel);

/* Is rel a foreign table whose scan can take arrays of keys? */
extern bool px_paths_have_plain(const RelOptInfo *rel);

/* Is it an ExchangeReceive path of such a table, for one process? */
extern bool px_paths_are_plain(const Path *path);

/* What the remote does to read all rows of such a table. */
extern Cost px_paths_scan_cost(const RelOptInfo *rel);

/*
 * What is left of the cost of one of so many servers if all of them work at
 * once.  A parallel plan, which reads all rows, is given credit for that: so
 * others must be, too.
 */
extern Cost px_paths_cost_at_once(Cost cost, int nservers);

/*
 * What it costs to send so many rows of so many bytes as frames from, or to,
 * the server of rel, a relation of postgres_fdw.
 */
extern Cost px_paths_transfer_cost(const RelOptInfo *rel, double rows,
								   int width);

/*
 * A path for such a table that returns only rows for which clauses, a list of
 * RestrictInfos, are true.  They compare columns with the markers of
 * plan/lookup.c; the remote must be able to evaluate them.  fraction of the
 * rows are expected; nkeys is the expected length of all arrays together;
 * nservers is the number of servers that work for the join at once.
 */
extern Path *px_paths_make_lookup(PlannerInfo *root, RelOptInfo *rel,
								  List *clauses, double fraction,
								  double nkeys, int nservers);

/* A lower bound of the cost of that path. */
extern Cost px_paths_lookup_cost_min(const RelOptInfo *rel, double fraction,
									 double nkeys, int nservers);

/*
 * Have an ExchangeReceive ask the remote about types: what px_ask_types_begin
 * takes, or NIL.  Returns the plan.
 */
extern Plan *px_paths_set_types(Plan *receive, List *types);

/* Install the planner's hook for relations; called by _PG_init. */
extern void px_paths_init(void);

#endif							/* PX_PLAN_PATHS_H */
