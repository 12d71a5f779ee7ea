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

/*
 * Ask the remote about the target's statement.  Returns NULL, and request,
 * columns, exact and call_sql of the target are valid; or why frames may not
 * be used.  Errors: those of postgres_fdw, and ERRCODE_PROTOCOL_VIOLATION if
 * the answer cannot be read.
 */
extern const char *px_write_ask(px_write_target *target);

#endif							/* PX_EXEC_WRITE_ASK_H */
