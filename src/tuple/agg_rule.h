/*-------------------------------------------------------------------------
 *
 * agg_rule.h
 *		Which aggregates are computed in parts, and of which values.
 *
 * A remote server cannot be asked for the transition state of an aggregate,
 * but for plain aggregates whose values tell that state: for avg(x) of int4,
 * count(x) and sum(x).  A rule says which ones.  tuple/agg_state.h makes the
 * state of their values.  Only the aggregates listed in agg_rule.c have a
 * rule; they are known by their OIDs.  They exist in all versions of
 * PostgreSQL that we support, since a remote may have any of them.
 *
 * A state is complete, also where the aggregate itself would need less of it.
 * Core lets aggregates with the same transition function share one state: the
 * Finalize Aggregate may compute avg(x) from what was made for sum(x), and
 * stddev(x) from what was made for avg(x).
 *
 * Errors of arithmetic are those of one server, with these exceptions.  A
 * remote may raise an overflow if the sum of its rows overflows and the sum of
 * all rows does not.  It squares values of numeric for a variance: a value of
 * more than 65,000 digits has a variance on one server, and no square.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_TUPLE_AGG_RULE_H
#define PX_TUPLE_AGG_RULE_H

#include "compat.h"

#include "nodes/primnodes.h"

/* The greatest length of a list that px_agg_plain_aggrefs returns. */
#define PX_AGG_VALUES_MAX	10

/*
 * What a state is, and the values that it is made of, in their order.  n is
 * the number of rows where x is not NULL.
 */
typedef enum px_agg_kind
{
	PX_AGG_COUNT,				/* the value itself, a count */
	PX_AGG_VALUE,				/* the value itself */
	PX_AGG_INT_AVG,				/* int8[]: n, sum(x) */
	PX_AGG_INT8_SUM,			/* int8_avg_serialize: n, sum(x) */
	PX_AGG_NUMERIC_SUM,			/* numeric_avg_serialize: n, sum(x) */
	PX_AGG_INTERVAL_SUM,		/* before 17: sum(x); since then:
								 * interval_avg_serialize: n, sum(x) */
	PX_AGG_INTERVAL_AVG,		/* before 17: interval[]; n, sum(x) */
	PX_AGG_INT_VARIANCE,		/* numeric_poly_serialize: n, sum(x) of int8,
								 * sum(x * x) */
	PX_AGG_INT8_VARIANCE,		/* numeric_serialize: n, sum(x), sum(x * x) */
	PX_AGG_NUMERIC_VARIANCE,	/* likewise */
	PX_AGG_FLOAT,				/* float8[]: n, sum(x), var_pop(x) */
	PX_AGG_REGRESSION			/* float8[]: see px_agg_regression_value */
} px_agg_kind;

/*
 * The values of PX_AGG_REGRESSION.  All are of the rows where neither x nor y
 * is NULL.
 */
typedef enum px_agg_regression_value
{
	PX_REGR_COUNT,
	PX_REGR_SUM_X,
	PX_REGR_SXX,
	PX_REGR_SUM_Y,
	PX_REGR_SYY,
	PX_REGR_SXY,
	/* the others only if PX_REGRESSION_STATE_HAS_COMMON */
	PX_REGR_MIN_X,
	PX_REGR_MAX_X,
	PX_REGR_MIN_Y,
	PX_REGR_MAX_Y
} px_agg_regression_value;

/* When is the result that of one server, digit for digit? */
typedef enum px_agg_exactness
{
	PX_EXACT_ALWAYS,
	PX_EXACT_AS_KEY,			/* if px_key_is_exact says so of the argument */
	PX_EXACT_NEVER
} px_agg_exactness;

/* How one aggregate is computed in parts.  Static: never freed. */
typedef struct px_agg_rule
{
	Oid			function;
	px_agg_kind kind;
	px_agg_exactness exactness;
} px_agg_rule;

/*
 * The rule for an aggregate; NULL if it may not be computed in parts.  aggref
 * may be of any AGGSPLIT_*.  If exact, there is none where the last digits may
 * depend on the order of addition, or where the result is one of several equal
 * values that look different.
 */
extern const px_agg_rule *px_agg_rule_for(const Aggref *aggref, bool exact);

/*
 * Do equal values of such a grouping key always look the same?  type may be a
 * domain.  collation is InvalidOid for types without collation.
 */
extern bool px_key_is_exact(Oid type, int32 typmod, Oid collation);

/* Is that so of all keys of a GROUP BY? */
extern bool px_group_is_exact(List *group_clause, List *targetlist);

/*
 * The plain aggregates to ask a remote server for, at most PX_AGG_VALUES_MAX:
 * new Aggrefs of AGGSPLIT_SIMPLE with copies of the arguments and of the
 * filter of "partial", which has been through preprocess_aggrefs.  They call
 * built-in functions only.  Their aggno and aggtransno are -1, so that equal()
 * finds those that two lists have in common.
 */
extern List *px_agg_plain_aggrefs(const px_agg_rule *rule,
								  const Aggref *partial);

#endif							/* PX_TUPLE_AGG_RULE_H */
