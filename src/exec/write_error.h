/*-------------------------------------------------------------------------
 *
 * write_error.h
 *		Errors of rows that were sent, as postgres_fdw would raise them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_EXEC_WRITE_ERROR_H
#define PX_EXEC_WRITE_ERROR_H

#include "exec/write_state.h"

/*
 * In a PG_CATCH: raise the error again, as postgres_fdw would for a row of the
 * piece: with its statement, which has batch_size rows, and with the row's
 * line of COPY.  The row is the one that the remote names in a line of its
 * own, which is removed, unless row says which it is by being >= 0.  stack is
 * the error context stack, which was not in force when the error was raised.
 * piece is NULL if the error is of no piece.  Notes where the error stands
 * among the rows of the statement: writer->failed_at.
 */
pg_noreturn extern void px_write_fail(px_write_target *target,
									  const px_write_piece *piece, int row,
									  ErrorContextCallback *stack);

#endif							/* PX_EXEC_WRITE_ERROR_H */
