/*-------------------------------------------------------------------------
 *
 * gather_start.h
 *		Which children of an ExchangeGather begin, and when.
 *
 * All functions serve interrupts, and raise the errors of streams and
 * sessions, but for px_gather_holds_up_later.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_NODE_GATHER_START_H
#define PX_NODE_GATHER_START_H

#include "node/gather_state.h"

/*
 * Begin a scan: prune, and begin those children that are expected to have the
 * rows that are wanted.  Blocks until sessions have answered the questions
 * about them, and until connections are made.
 */
extern void px_gather_start(px_gather_state *state);

/*
 * All children that were begun are done: begin others that are expected to
 * have the rows that are still missing.  False if there are none.  Blocks as
 * px_gather_start does.
 */
extern bool px_gather_start_later(px_gather_state *state);

/* Child i has returned a row, or is done: if it was awaited, begin the others. */
extern void px_gather_note_row(px_gather_state *state, int i);

/* Of these children, begin what can be begun before its rows are wanted. */
extern void px_gather_begin_ahead(px_gather_state *state);

/*
 * If the stream of child i has ended, another child may go on with its
 * connection: see px_gather_holds_up_later for which.
 */
extern void px_gather_pass_on(px_gather_state *state, int i);

/*
 * May the session's query for the child have effects that later children must
 * see?  Then these are not begun before it is done, unless the order of
 * execution is open.
 */
extern bool px_gather_holds_up_later(const px_gather_child *child);

/*
 * Keep postgres_fdw's sessions awake, those of children that are done, too:
 * they are in a transaction.  Returns when to do so again, as a time-out.
 */
extern long px_gather_keep_awake(const px_gather_state *state);

#endif							/* PX_NODE_GATHER_START_H */
