/*-------------------------------------------------------------------------
 *
 * wait_event.c
 *		Wait events: what a backend waits for, as pg_stat_activity shows it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/latch.h"

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
	static uint32 events[lengthof(names)];	/* 0: not known yet */

	/*
	 * Events cannot be registered when the library is loaded, because the
	 * postmaster has no shared memory then.  We register all at the first
	 * wait, which is for a connection.  Otherwise the event for cleaning up
	 * might have to be registered after an error, when nothing may fail.
	 */
	if (events[wait] == 0)
	{
		for (size_t i = 0; i < lengthof(names); i++)
			events[i] = px_new_wait_event(names[i]);
	}
	return events[wait];
}

WaitEventSet *
px_wait_set_new(int nevents)
{
	WaitEventSet *set = px_create_wait_event_set(nevents + 2);

	AddWaitEventToSet(set, WL_LATCH_SET, PGINVALID_SOCKET, MyLatch, NULL);
	return set;
}

void
px_wait_set_add_postmaster(WaitEventSet *set)
{
	if (IsUnderPostmaster)
		AddWaitEventToSet(set, WL_EXIT_ON_PM_DEATH, PGINVALID_SOCKET, NULL,
						  NULL);
}
