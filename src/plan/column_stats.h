/*-------------------------------------------------------------------------
 *
 * column_stats.h
 *		Statistics of a column: checked, merged, as a row of pg_statistic.
 *
 * The statistics are those that the planner uses for scalar types: null
 * fraction, width, number of distinct values, most common values, histogram
 * and correlation.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_PLAN_COLUMN_STATS_H
#define PX_PLAN_COLUMN_STATS_H

#include "access/htup.h"

/* The largest statistics target of PostgreSQL. */
#define PX_STATISTICS_TARGET_MAX	10000

/* A column's type without its domains, and its collation. */
typedef struct px_column_type
{
	Oid			type;
	Oid			collation;
} px_column_type;

/* Fields are as in pg_statistic. */
typedef struct px_column_stats
{
	double		null_frac;
	int			width;			/* bytes */
	double		n_distinct;		/* negative: a fraction of the rows; 0: not
								 * known */
	double		correlation;	/* valid if has_correlation */
	bool		has_correlation;
	int			nmcv;
	Datum	   *mcv;			/* most common values */
	double	   *mcv_freq;		/* their fractions of all rows */
	int			nbounds;		/* 0, or at least 2 */
	Datum	   *bounds;			/* of the histogram, in order */
} px_column_stats;

/*
 * Check statistics of a peer.  False if they are impossible.  Most common
 * values and histogram are dropped if they can't be right: for instance, if
 * the bounds are not in the order of our collation.  Calls comparison
 * functions of the type, which may raise errors.
 */
extern bool px_column_stats_check(px_column_type type,
								  px_column_stats *stats);

/* Make a row of pg_statistic in the current memory context. */
extern HeapTuple px_column_stats_tuple(Oid relid, AttrNumber attnum,
									   bool inherited, px_column_type type,
									   const px_column_stats *stats);

/*
 * The contents of a row of pg_statistic.  Values of other types than type are
 * left out.  Arrays are in the current memory context.
 */
extern void px_column_stats_read(HeapTuple tuple, px_column_type type,
								 px_column_stats *stats);

/*
 * Statistics of the rows of several tables together.  Of n of these tables the
 * statistics are known, each with tuples[i] rows; all have all_tuples rows.
 * If no value can be in two tables, is_key is true.  The result has values of
 * the parts, which are not copied.
 */
extern void px_column_stats_merge(px_column_type type,
								  const px_column_stats *parts,
								  const double *tuples, int n,
								  double all_tuples, bool is_key,
								  px_column_stats *merged);

#endif							/* PX_PLAN_COLUMN_STATS_H */
