/*-------------------------------------------------------------------------
 *
 * idle_timer.h
 *		Wakes a session whose connections have been idle for
 *		pg_exchange.idle_timeout.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_CONN_IDLE_TIMER_H
#define PX_CONN_IDLE_TIMER_H

#include "datatype/timestamp.h"

/* Is the timer set, and by the value that the setting still has? */
extern bool px_idle_timer_is_set(void);

/*
 * Have a transaction end at that time or soon after it, even if the session
 * is idle.  In a transaction block nothing happens before the block ends.  An
 * error unsets the timer.
 */
extern void px_idle_timer_set(TimestampTz at);

/* Unset it. */
extern void px_idle_timer_unset(void);

#endif							/* PX_CONN_IDLE_TIMER_H */
