/*-------------------------------------------------------------------------
 *
 * hello_self.h
 *		What this server says about itself in a hello.
 *
 * Both ends need it: the remote to answer, the coordinator to ask and to
 * compare instances.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_CONN_HELLO_SELF_H
#define PX_CONN_HELLO_SELF_H

#include "wire/hello.h"

/*
 * Fill in the hello of this backend.  Reads the catalogs for can_export (the
 * current user's right to call pg_export_snapshot), so it must run inside a
 * transaction.
 */
extern void px_hello_self(px_hello *hello);

/*
 * The same to answer a coordinator: also how many connections are free.  A
 * session of its own is told, too, how many of those that it may have.
 */
extern void px_hello_self_answer(px_hello *hello, bool is_stream);

/*
 * Read the hello of a coordinator, which has called a function with it.
 * Raises ERRCODE_INVALID_PARAMETER_VALUE if it cannot be read.
 */
extern void px_hello_receive(const text *line, px_hello *peer);

/* Raise that error, if status is one. */
extern void px_hello_check(px_status status, const px_fault *fault);

#endif							/* PX_CONN_HELLO_SELF_H */
