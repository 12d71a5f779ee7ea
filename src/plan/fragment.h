/*-------------------------------------------------------------------------
 *
 * fragment.h
 *		The SQL of a fragment: a join and its aggregates on a shard.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_PLAN_FRAGMENT_H
#define PX_PLAN_FRAGMENT_H

#include "nodes/pathnodes.h"

/* Rows that are sent to the shards. */
typedef struct px_fragment_side
{
	RelOptInfo *rel;			/* whose columns they have: see columns */
	List	   *columns;		/* Vars: rel->reltarget->exprs */
	List	   *clauses;		/* RestrictInfos: how they are joined to the
								 * big table, and to the sides before */
} px_fragment_side;

/* What a fragment computes, in terms of the parent table. */
typedef struct px_fragment
{
	RelOptInfo *big;			/* the table, or join, whose partitions are
								 * joined with the sides */
	List	   *sides;			/* of px_fragment_side */
	PathTarget *target;			/* what is returned: keys, which have a
								 * sortgroupref, and plain aggregates */
} px_fragment;

/*
 * The query for leaf, a partition of the big table or join:
 *
 *	SELECT key, aggregate FROM (scan_sql) r(c1, ...)
 *		JOIN exchange.unpack($n) s1(c1 type, ...) ON (...) GROUP BY 1
 *
 * columns has the Vars of leaf that scan_sql returns.  scan_sql has nparams
 * parameters; those of the sides follow.
 */
extern char *px_fragment_sql(PlannerInfo *root, const px_fragment *fragment,
							 RelOptInfo *leaf, const char *scan_sql,
							 List *columns, int nparams);

/*
 * What px_ask_types_begin takes: have the columns of scan_sql the types that
 * are declared here?
 */
extern List *px_fragment_types(const char *scan_sql, const List *columns,
							   int nparams);

/* The clauses by which the sides are joined, for EXPLAIN: Strings. */
extern List *px_fragment_keys(PlannerInfo *root, const px_fragment *fragment);

#endif							/* PX_PLAN_FRAGMENT_H */
