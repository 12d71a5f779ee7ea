/*-------------------------------------------------------------------------
 *
 * fragment.h
 *		The SQL of a fragment: a join, and its aggregates, on a shard.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_PLAN_FRAGMENT_H
#define PX_PLAN_FRAGMENT_H

#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"

/* Rows that are sent to the shards. */
typedef struct px_fragment_side
{
	RelOptInfo *rel;			/* whose columns they have: see columns */
	List	   *columns;		/* Vars: rel->reltarget->exprs */
	JoinType	jointype;		/* JOIN_INNER, or one that is about rows of the
								 * big table: JOIN_LEFT, JOIN_SEMI, JOIN_ANTI */
	List	   *clauses;		/* RestrictInfos: how they are joined to the
								 * big table, and to the sides before */
	List	   *filters;		/* RestrictInfos: conditions on what an outer
								 * join returns */
	int			inbox;			/* of the server's session that has the rows;
								 * 0: they are a parameter */
	const Var  *key;			/* by which the rows of the inbox were cut */
} px_fragment_side;

/* Does the join return no columns of the side? */
static inline bool
px_fragment_is_hidden(const px_fragment_side *side)
{
	return side->jointype == JOIN_SEMI || side->jointype == JOIN_ANTI;
}

/* The targets of rows that are cut. */
typedef struct px_fragment_cut
{
	const Var  *key;			/* of the relation whose rows they are */
	const char *target;			/* SQL of the target's number, with a %s where
								 * the value of the key stands */

	/* SQL of arrays of keys, or NULL.  The first one that has a key counts. */
	const char *spread[2];
	const char *spread_type;	/* of their elements */
	int			side;			/* rows with keys of spread[side] go to any
								 * target, those of the other one to all */
} px_fragment_cut;

/* What a fragment computes, in terms of the parent table. */
typedef struct px_fragment
{
	RelOptInfo *big;			/* the table, or join, whose partitions are
								 * joined with the sides */
	List	   *columns;		/* of big, if inbox is set: Vars */
	int			inbox;			/* that has rows of big; 0: they are scanned
								 * where they are */
	const Var  *key;			/* by which they were cut */
	int			ntargets;		/* of rows that are cut */
	List	   *sides;			/* of px_fragment_side */
	PathTarget *target;			/* what is returned: columns; or keys, which
								 * have a sortgroupref, and plain aggregates */
} px_fragment;

/*
 * The query for leaf, a partition of the big table or join:
 *
 *	SELECT key, aggregate FROM (scan_sql) r(c1, ...)
 *		JOIN exchange.unpack($n, '{...}') s1(c1 type, ...) ON (...)
 *		WHERE EXISTS (SELECT FROM exchange.unpack($n, '{...}') s2(c1 type, ...)
 *					  WHERE (...))
 *		GROUP BY 1
 *
 * with EXISTS for semijoins, and NOT EXISTS for antijoins.
 * columns has the Vars of leaf that scan_sql returns.  scan_sql has nparams
 * parameters; those of the sides follow.  In place of the scan, or of
 * exchange.unpack, is exchange.inbox(n, '{...}') for what has an inbox.  The
 * arrays have the number of distinct values that each column is expected to
 * have, 0 if that is not known.
 */
extern char *px_fragment_sql(PlannerInfo *root, const px_fragment *fragment,
							 RelOptInfo *leaf, const char *scan_sql,
							 List *columns, int nparams);

/* The columns that the remote query of a scan returns: Vars. */
extern List *px_fragment_scan_columns(PlannerInfo *root,
									  const ForeignScan *foreign);

/* The sides whose rows are parameters. */
extern int	px_fragment_pieces(const px_fragment *fragment);

/*
 * The query of a source of rows that are cut, of leaf, a partition of rel:
 *
 *	SELECT column, ..., target FROM (scan_sql) r(c1, ...)
 *
 * columns has the Vars of rel that are sent.  With spread false, it is the
 * query in which all rows with a key go to the target of that key.
 */
extern char *px_fragment_source_sql(PlannerInfo *root, RelOptInfo *rel,
									RelOptInfo *leaf, const char *scan_sql,
									List *scan_columns, List *columns,
									const px_fragment_cut *cut, bool spread);

/*
 * What px_ask_types_begin takes: have the columns of scan_sql the types that
 * are declared here?  For columns and ordered, see px_types_question_add.  The
 * query is that of path, which may have such a question itself; NULL if it has
 * none.
 */
extern List *px_fragment_types(const ForeignPath *path, const char *scan_sql,
							   const List *columns, const List *ordered,
							   int nparams);

/*
 * The columns of leaf whose order matters to what the fragment computes: Vars.
 */
extern List *px_fragment_ordered(PlannerInfo *root,
								 const px_fragment *fragment,
								 RelOptInfo *leaf);

/* The clauses by which the sides are joined, for EXPLAIN: Strings. */
extern List *px_fragment_keys(PlannerInfo *root, const px_fragment *fragment);

#endif							/* PX_PLAN_FRAGMENT_H */
