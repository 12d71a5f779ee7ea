/*-------------------------------------------------------------------------
 * scan_keys.h
 *		The keys that an ExchangeLookup has an ExchangeReceive ask for.
 *
 * The remote query becomes a subquery, whose columns are compared with arrays
 * of keys: its last parameters.  exchange.may_match does that, so a column of
 * another type than ours is not compared at all (plan/may_match.h).  The node
 * above compares all rows again.
 *
 * The child has no keys: where no exchange can be used, see child_keys.h.
 *-------------------------------------------------------------------------
 */
#ifndef PX_EXEC_SCAN_KEYS_H
#define PX_EXEC_SCAN_KEYS_H

#include "exec/receive_state.h"

/*
 * What the planner says of a key: a list of these.  px_lookup_bind makes
 * PARAM_EXECs of the parameters.
 */
typedef enum px_scan_key_item
{
	PX_SCAN_KEY_COLUMN,			/* a Var of the scan */
	PX_SCAN_KEY_POSITION,		/* of it in the remote query, from 1: Integer */
	PX_SCAN_KEY_SHARED,			/* Param: the array, for all scans */
	PX_SCAN_KEY_OWN				/* Param: the same for this scan alone */
} px_scan_key_item;

/*
 * Let state->remote_sql ask for the keys, of a list of such lists, and add
 * their parameters to state->params.  When the executor starts.
 */
extern void px_scan_keys_begin(px_receive_state *state, List *keys);

/*
 * Parameters are about to be evaluated: set the scan's own.  Keys that cannot
 * be represented in the encoding of the remote's database are not among its
 * rows, and to send them would be an error.
 */
extern void px_scan_keys_fit(px_receive_state *state, const char *encoding);

/*
 * The array of keys is going to be freed: the scan's own parameters are null
 * until px_scan_keys_fit.  A request of the session that waits for its turn may
 * be sent before, though nobody wants its rows any more.
 */
extern void px_scan_keys_forget(px_receive_state *state);

#endif							/* PX_EXEC_SCAN_KEYS_H */
