/*-------------------------------------------------------------------------
 *
 * open_connections.h
 *		The connections that streams have open: those of all backends.
 *
 * If the postmaster has preloaded the library, the table is in shared memory:
 * then it can be said how many connections all backends have to a server.
 * Otherwise a backend sees its own only.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_STATS_OPEN_CONNECTIONS_H
#define PX_STATS_OPEN_CONNECTIONS_H

#include "datatype/timestamp.h"
#include "storage/lwlock.h"

typedef enum px_open_state
{
	PX_OPEN_CONNECTING,
	PX_OPEN_ACTIVE,				/* a stream has it, or a depositor */
	PX_OPEN_IDLE
} px_open_state;

/*
 * A connection.  But for wanted, its backend alone writes to it, without a
 * lock.  So a reader may see the new state with the time of the old one.
 */
typedef struct px_open_connection
{
	int			pid;			/* of the backend; 0: the entry is free */
	Oid			dbid;
	Oid			userid;			/* of the session */
	Oid			serverid;
	NameData	servername;		/* when it was made */
	int			remote_pid;		/* 0: not known */
	px_open_state state;
	bool		wanted;			/* by another backend, which sets it: to be
								 * closed while it is idle */
	TimestampTz since;			/* when it was made */
	TimestampTz changed;		/* when the state was */
	uint64		streams;		/* that have had it */
	uint64		nbytes;			/* of their frames; of those that have ended */
	int			server;			/* index of its server's count */
	int			next_free;		/* if it is free: the next one, or -1 */
} px_open_connection;

/*
 * Add a connection that is about to be made, in the current database by the
 * current session.  False if all backends together have as many to the server
 * as limit allows, where 0 is no limit; then *open is NULL.  If one of these
 * connections has been idle for a second, its backend is asked to close it: a
 * transaction ends there soon, and the connection is wanted.
 *
 * *open is also NULL if the table is full.  Then the connection is not shown,
 * and is allowed only if there is no limit.  Without shared memory, limit is
 * not looked at.  Never waits for another connection to be closed.
 * Errors: ERRCODE_OUT_OF_MEMORY, without shared memory.
 */
extern bool px_open_connection_add(Oid serverid, const char *servername,
								   int limit, px_open_connection **open);

/*
 * Remove a connection that is closed, or was not made; nothing for NULL.  A
 * backend that exits removes all of its own.  Never errors.
 */
extern void px_open_connection_remove(px_open_connection *open);

/* Show a new state, now; nothing for NULL. */
extern void px_open_connection_set(px_open_connection *open,
								   px_open_state state, TimestampTz now);

/*
 * Call consume with a copy of each connection.  No lock is held, so it may
 * raise errors.
 */
extern void px_open_connections_read(
	void (*consume)(const px_open_connection *open, void *arg), void *arg);

/* For stats.c: the size in shared memory, and its initialization. */
extern Size px_open_connections_shmem_nbytes(void);
extern void px_open_connections_shmem_startup(LWLock *lock);

#endif							/* PX_STATS_OPEN_CONNECTIONS_H */
