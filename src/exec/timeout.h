/*-------------------------------------------------------------------------
 *
 * timeout.h
 *		Time-outs of the session that sends.
 *
 * postgres_fdw fetches by statements of fetch_size rows, and each of them may
 * take as long as statement_timeout says.  A stream is one statement, however
 * long it is.  So it is measured in portions, each of which may take that
 * long.  The time in which a frame is handed over does not count, nor the time
 * in which the receiver does something else.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_EXEC_TIMEOUT_H
#define PX_EXEC_TIMEOUT_H

#include "nodes/execnodes.h"

/*
 * The next portion begins, or the receiver has got the last one and nothing is
 * done for it.  Nothing happens if there is no time-out, in a parallel worker,
 * or if the node's query is part of another statement.  At the end of the
 * statement the time-out may be active or not.
 */
extern void px_timeout_restart(const CustomScanState *node);
extern void px_timeout_stop(const CustomScanState *node);

/*
 * Wait for locks as long as is usual in the session, whatever has been set for
 * the transaction.
 */
extern void px_timeout_reset_lock(void);

/*
 * Is the client's own query nothing but a call of this function?  Then what
 * the function does may be several statements for the statement_timeout.
 */
extern bool px_timeout_is_of_call(Oid function);

/* Such a function begins another statement. */
extern void px_timeout_next_statement(void);

/*
 * Such a function, or one that returns a stream, waits for another server:
 * that takes none of a statement's time.  px_timeout_next_statement ends it.
 */
extern void px_timeout_pause(void);

#endif							/* PX_EXEC_TIMEOUT_H */
