/*-------------------------------------------------------------------------
 *
 * guarded.h
 *		Calling functions that may find fault with data.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_PLAN_GUARDED_H
#define PX_PLAN_GUARDED_H

/*
 * Call function(arg).  False if it has raised an error that is about its data.
 * Interrupts, lack of memory and internal errors are raised again.
 *
 * There is no subtransaction, because that would concern other users of the
 * connections.  So the function may only compute: look into caches, and call
 * built-in functions.
 */
extern bool px_guarded(void (*function) (void *arg), void *arg);

#endif							/* PX_PLAN_GUARDED_H */
