/*-------------------------------------------------------------------------
 * child_keys.h
 *		The keys of an ExchangeLookup where postgres_fdw reads.
 *
 * There exchange.may_match cannot be used.  So postgres_fdw's session is asked
 * in plain SQL whether the columns have the types that are declared here.  If
 * they have, a second ForeignScan asks for rows with the keys.  If they have
 * not, or if that is not known, the child reads the table once, and its rows
 * are kept for the next keys.
 *
 * The answer stays true until the remote transaction ends: the session holds
 * locks on what the question names.
 *-------------------------------------------------------------------------
 */
#ifndef PX_EXEC_CHILD_KEYS_H
#define PX_EXEC_CHILD_KEYS_H

#include "exec/receive_state.h"

/*
 * Set that up, if the scan has keys: when the executor starts, after the
 * child.
 */
extern void px_child_keys_begin(px_receive_state *state, int eflags);

/*
 * The fallback runs from now on, or is to begin anew because these parameters
 * have changed.  False if the scan has no keys: then the caller does it.
 */
extern bool px_child_keys_rescan(px_receive_state *state,
								 const Bitmapset *changed);

/*
 * The next row of the fallback; its tts_tid is that of the remote row if the
 * fallback is a foreign scan.  NULL at the end.  Errors are postgres_fdw's.
 */
extern TupleTableSlot *px_child_keys_next(px_receive_state *state);

/* Free what px_child_keys_begin has set up. */
extern void px_child_keys_end(px_receive_state *state);

#endif							/* PX_EXEC_CHILD_KEYS_H */
