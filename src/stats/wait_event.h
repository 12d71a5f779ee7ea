/*-------------------------------------------------------------------------
 *
 * wait_event.h
 *		What pg_stat_activity says a backend waits for.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_STATS_WAIT_EVENT_H
#define PX_STATS_WAIT_EVENT_H

typedef enum px_wait
{
	PX_WAIT_CONNECT,			/* ExchangeConnect: a connection to be made, or to
								 * become free */
	PX_WAIT_RECEIVE,			/* ExchangeReceive: frames or another answer of a server */
	PX_WAIT_SLICE,				/* ExchangeSlice: to know what the slices are */
	PX_WAIT_CLEANUP				/* ExchangeCleanup: a connection to come to rest */
} px_wait;

/*
 * The wait_event_info of a wait; before PostgreSQL 17, that of all extensions.
 * May take a lock when it is first asked.
 */
extern uint32 px_wait_event(px_wait wait);

#endif							/* PX_STATS_WAIT_EVENT_H */
