/*-------------------------------------------------------------------------
 *
 * wait_event.c
 *		What pg_stat_activity says a backend waits for.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "compat.h"
#include "stats/wait_event.h"

uint32
px_wait_event(px_wait wait)
{
	static const char *const names[] = {
		[PX_WAIT_CONNECT] = "ExchangeConnect",
		[PX_WAIT_RECEIVE] = "ExchangeReceive",
		[PX_WAIT_SLICE] = "ExchangeSlice",
		[PX_WAIT_CLEANUP] = "ExchangeCleanup",
	};
	static uint32 events[lengthof(names)];	/* 0: not asked for yet */

	/*
	 * Not when the library is loaded: the postmaster has no shared memory
	 * then.  But all when we first connect, lest one be made while cleaning
	 * up.
	 */
	if (events[wait] == 0)
	{
		for (size_t i = 0; i < lengthof(names); i++)
			events[i] = px_new_wait_event(names[i]);
	}
	return events[wait];
}
