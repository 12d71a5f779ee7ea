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

/*
 * Somebody else's use of a connection may meet the error of a call in flight:
 * a scan of the source, say.  If error is such a one, edit it as above, note
 * where it stands, and return true: it is to be thrown with ThrowErrorData,
 * which adds the local error context.  The call must not be waited for then:
 * so its lane counts as failed.
 */
extern bool px_write_claim_error(px_write_state *writer, ErrorData *error);

/*
 * Raise an error that exchange.apply has held, of a row of the piece.  words
 * is its answer.  Also ERRCODE_PROTOCOL_VIOLATION if that cannot be read.
 */
pg_noreturn extern void px_write_raise_held(px_write_target *target,
											const px_write_piece *piece,
											const char *words);

#endif							/* PX_EXEC_WRITE_ERROR_H */
