/*-------------------------------------------------------------------------
 *
 * wait_event.h
 *		Wait events: what a backend waits for, as pg_stat_activity shows it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_STATS_WAIT_EVENT_H
#define PX_STATS_WAIT_EVENT_H

/* Each is waiting for something. */
typedef enum px_wait
{
	PX_WAIT_CONNECT,			/* ExchangeConnect: a new connection, or one
								 * that becomes free */
	PX_WAIT_RECEIVE,			/* ExchangeReceive: a frame, or another answer
								 * of a server */
	PX_WAIT_SLICE,				/* ExchangeSlice: the slice frame of slice 0 */
	PX_WAIT_CLEANUP				/* ExchangeCleanup: the end of a cancelled or
								 * unfinished request on a connection */
} px_wait;

/*
 * The wait_event_info of a wait.  Before PostgreSQL 17, it is the same for all
 * extensions.  The first call in a backend may take a lock.
 */
extern uint32 px_wait_event(px_wait wait);

#endif							/* PX_STATS_WAIT_EVENT_H */
