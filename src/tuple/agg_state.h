/*-------------------------------------------------------------------------
 *
 * agg_state.h
 *		Transition states of aggregates, made from plain values.
 *
 * What is made here equals what core's transition functions make of the same
 * rows, in the form that a partial Aggref returns: a Datum of the transition
 * type, or the bytes of core's serialization function if that type is
 * internal.  What core keeps for moving aggregates only is not known here, and
 * is set to something valid.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_TUPLE_AGG_STATE_H
#define PX_TUPLE_AGG_STATE_H

#include "tuple/agg_rule.h"

/*
 * The state.  values and isnull are those of the rule's plain aggregates, in
 * their order and of their types; they come from the server "servername".
 * Returns one of the values or memory allocated in the current context.  Sets
 * *state_isnull.
 *
 * Errors: ERRCODE_DATA_CORRUPTED if no rows can have such values.
 */
extern Datum px_agg_state(const px_agg_rule *rule, const char *servername,
						  const Datum *values, const bool *isnull,
						  bool *state_isnull);

#endif							/* PX_TUPLE_AGG_STATE_H */
