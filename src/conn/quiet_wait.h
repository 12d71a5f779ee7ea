/*-------------------------------------------------------------------------
 *
 * quiet_wait.h
 *		Waiting for a socket where no error may be raised.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_CONN_QUIET_WAIT_H
#define PX_CONN_QUIET_WAIT_H

/*
 * Wait until the socket is readable or, if writes is true, can be written to;
 * for at most timeout_ms.  False if that is all that has happened, or after a
 * signal.  Serves no interrupts; ends the process if the postmaster is gone.
 *
 * Not WaitLatchOrSocket: that makes a set of events, for which it needs memory
 * and a descriptor.  Without these it raises an error, which at the end of a
 * transaction would become a PANIC.
 */
extern bool px_quiet_wait(pgsocket socket, bool writes, long timeout_ms);

#endif							/* PX_CONN_QUIET_WAIT_H */
