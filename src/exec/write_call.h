/*-------------------------------------------------------------------------
 *
 * write_call.h
 *		The call of exchange.apply.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_EXEC_WRITE_CALL_H
#define PX_EXEC_WRITE_CALL_H

#include "exec/write_plan.h"
#include "wire/receipt.h"

/*
 * The call of exchange.apply (palloc'd) for the rows of a deposit, or of the
 * text that is its parameter $1 if deposit is NULL.  hold: it is to answer
 * with the error of a row, and undo what it has done (wire/apply_words.h).
 */
extern char *px_write_call_sql(const px_write_plan *plan, uint16 version,
							   bool hold, const px_receipt *deposit);

#endif							/* PX_EXEC_WRITE_CALL_H */
