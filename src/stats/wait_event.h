/*-------------------------------------------------------------------------
 *
 * wait_event.h
 *		Wait events: what a backend waits for, as pg_stat_activity shows it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_STATS_WAIT_EVENT_H
#define PX_STATS_WAIT_EVENT_H

struct WaitEventSet;

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

/*
 * A set to wait with that has the process's latch, and room for the postmaster
 * and nevents more.  To be freed by FreeWaitEventSet, also after an error.
 */
extern struct WaitEventSet *px_wait_set_new(int nevents);

/*
 * Have the process end with the postmaster while it waits.  Does nothing in
 * single-user mode, where there is none.
 */
extern void px_wait_set_add_postmaster(struct WaitEventSet *set);

#endif							/* PX_STATS_WAIT_EVENT_H */
