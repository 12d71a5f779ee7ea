/*-------------------------------------------------------------------------
 *
 * write_ask.h
 *		What the remote says before rows are written as frames.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_EXEC_WRITE_ASK_H
#define PX_EXEC_WRITE_ASK_H

#include "exec/write_state.h"
#include "wire/receipt.h"

/*
 * Ask the remote about the target's statement.  Returns NULL, and request,
 * columns, exact and call_sql of the target are valid; or why frames may not
 * be used.  Errors: those of postgres_fdw, and ERRCODE_PROTOCOL_VIOLATION if
 * the answer cannot be read.
 */
extern const char *px_write_ask(px_write_target *target);

/*
 * The call of exchange.apply (palloc'd) for the rows of a deposit, or of the
 * text that is its parameter $1 if deposit is NULL.
 */
extern char *px_write_call_sql(const px_write_plan *plan, uint16 version,
							   const px_receipt *deposit);

#endif							/* PX_EXEC_WRITE_ASK_H */
