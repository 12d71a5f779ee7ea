/*-------------------------------------------------------------------------
 *
 * idle_timer.c
 *		Wakes a session whose connections have been idle for
 *		pg_exchange.idle_timeout.
 *
 * A handler of signals must not close a connection, because libpq frees
 * memory.  And a session that waits for its client runs no code of an
 * extension, but for callbacks.  So the handler has the session do what any
 * other backend may ask it to: catch up with invalidations of the caches (see
 * sinval.c).  A session that waits for a command does that at once, by a
 * transaction of its own that does nothing else.  The pool looks at its
 * connections when a transaction ends.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "storage/sinval.h"
#include "utils/timeout.h"

#include "conn/idle_timer.h"
#include "guc.h"

static TimeoutId timer = MAX_TIMEOUTS;	/* not registered yet */
static int	set_for = 0;		/* the setting when it was set */

/* In a signal handler. */
static void
wake(void)
{
	HandleCatchupInterrupt();
}

bool
px_idle_timer_is_set(void)
{
	return timer != MAX_TIMEOUTS && set_for == px_idle_timeout &&
		get_timeout_active(timer);
}

void
px_idle_timer_set(TimestampTz at)
{
	if (timer == MAX_TIMEOUTS)
		timer = RegisterTimeout(USER_TIMEOUT, wake);
	set_for = px_idle_timeout;
	enable_timeout_at(timer, at);
}

void
px_idle_timer_unset(void)
{
	if (timer != MAX_TIMEOUTS)
		disable_timeout(timer, false);
}
