/*-------------------------------------------------------------------------
 *
 * agg_state.h
 *		Transition states of aggregates, made from plain values.
 *
 * A remote server cannot be asked for the transition state of an aggregate,
 * but for plain aggregates whose values tell that state: for avg(x) of int4,
 * count(x) and sum(x).  A rule says which ones, and how the state is made of
 * them.  Only the aggregates listed in agg_state.c have one; they are known by
 * their OIDs.
 *
 * A state is complete, also where the aggregate itself would need less of it.
 * Core lets aggregates with the same transition function share one state: the
 * Finalize Aggregate may compute avg(x) from what was made for sum(x), and
 * stddev(x) from what was made for avg(x).
 *
 * Errors of arithmetic: an aggregate of the remote server may overflow where
 * one server's would not, only if the sum of some rows overflows its type and
 * the sum of all rows does not.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_TUPLE_AGG_STATE_H
#define PX_TUPLE_AGG_STATE_H

#include "compat.h"

#include "nodes/primnodes.h"

/* The greatest length of a list that px_agg_plain_aggrefs returns. */
#define PX_AGG_VALUES_MAX	10

/* How one aggregate's state is made.  Static: never freed. */
typedef struct px_agg_rule px_agg_rule;

/*
 * The rule for an aggregate; NULL if it may not be computed in parts.  aggref
 * may be of any AGGSPLIT_*.  If exact, there is none where the last digits may
 * depend on the order of addition, or where the result is one of several equal
 * values that look different.
 */
extern const px_agg_rule *px_agg_rule_for(const Aggref *aggref, bool exact);

/*
 * Can equal values of such a grouping key not look different?  A domain's type
 * is that of the domain.  collation is InvalidOid for types without collation.
 */
extern bool px_key_is_exact(Oid type, int32 typmod, Oid collation);

/*
 * The plain aggregates to ask a remote server for, at most PX_AGG_VALUES_MAX:
 * new Aggrefs of AGGSPLIT_SIMPLE with copies of the arguments and of the
 * filter of "partial".  Their arguments contain calls of built-in functions
 * that postgres_fdw ships.  Their aggno and aggtransno are -1.
 */
extern List *px_agg_plain_aggrefs(const px_agg_rule *rule,
								  const Aggref *partial);

/*
 * The state, in the form that a partial Aggref returns: of the transition
 * type, or serialized if that is internal.  values and isnull are those of the
 * plain aggregates of the rule, in their order and of their types; they come
 * from the server "servername".  Returns one of the values or memory allocated
 * in the current context.  Sets *state_isnull.
 *
 * Errors: ERRCODE_DATA_CORRUPTED if no rows can have such values.
 */
extern Datum px_agg_state(const px_agg_rule *rule, const char *servername,
						  const Datum *values, const bool *isnull,
						  bool *state_isnull);

#endif							/* PX_TUPLE_AGG_STATE_H */
