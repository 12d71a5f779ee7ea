/*-------------------------------------------------------------------------
 *
 * idle_timer.h
 *		Wakes a session that has been idle for a while.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_CONN_IDLE_TIMER_H
#define PX_CONN_IDLE_TIMER_H

#include "datatype/timestamp.h"
#include "utils/timeout.h"

/* One for each purpose, static. */
typedef struct px_idle_timer
{
	TimeoutId	id;
} px_idle_timer;

/* It is registered when it is set for the first time. */
#define PX_IDLE_TIMER_INIT	{MAX_TIMEOUTS}

extern bool px_idle_timer_is_set(const px_idle_timer *timer);

/*
 * Have a transaction end at that time or soon after it, even if the session
 * is idle.  In a transaction block nothing happens before the block ends.  An
 * error unsets the timer.
 */
extern void px_idle_timer_set(px_idle_timer *timer, TimestampTz at);

extern void px_idle_timer_unset(px_idle_timer *timer);

#endif							/* PX_CONN_IDLE_TIMER_H */
