/*-------------------------------------------------------------------------
 *
 * idle_timer.c
 *		Wakes a session that has been idle for a while.
 *
 * A handler of signals must neither close a connection nor free memory.  And a
 * session that waits for its client runs no code of an extension, but for
 * callbacks.  So the handler has the session do what any other backend may ask
 * it to: catch up with invalidations of the caches (see sinval.c).  A session
 * that waits for a command does that at once, by a transaction of its own that
 * does nothing else.  What is to be done is done when a transaction ends.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "storage/sinval.h"

#include "conn/idle_timer.h"

/* In a signal handler. */
static void
wake(void)
{
	HandleCatchupInterrupt();
}

static bool
is_registered(const px_idle_timer *timer)
{
	return timer->id != MAX_TIMEOUTS;
}

bool
px_idle_timer_is_set(const px_idle_timer *timer)
{
	return is_registered(timer) && get_timeout_active(timer->id);
}

void
px_idle_timer_set(px_idle_timer *timer, TimestampTz at)
{
	if (!is_registered(timer))
		timer->id = RegisterTimeout(USER_TIMEOUT, wake);
	enable_timeout_at(timer->id, at);
}

void
px_idle_timer_unset(px_idle_timer *timer)
{
	if (is_registered(timer))
		disable_timeout(timer->id, false);
}
