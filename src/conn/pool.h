/*-------------------------------------------------------------------------
 *
 * pool.h
 *		The session's stream connections, by user mapping.
 *
 * A peer is a server as one user sees it; it is known for the session and
 * owns the connections made to it.  A connection carries one stream at a time
 * and is kept for the next one.  Its remote transaction lasts for one stream,
 * so that no lock stays behind on the remote when the rows have been read: a
 * later TRUNCATE by the same local transaction would wait for it for ever.
 *
 * Everything lives in CacheMemoryContext or in libpq, and is cleaned up by
 * transaction callbacks: a caller that errors out leaves nothing behind.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_CONN_POOL_H
#define PX_CONN_POOL_H

#include "foreign/foreign.h"
#include "lib/ilist.h"
#include "libpq-fe.h"

#include "wire/hello.h"

/* Decided by the connection's destination, whatever the settings say. */
typedef enum px_locality
{
	PX_REMOTE,
	PX_SAME_HOST,
	PX_SAME_INSTANCE
} px_locality;

typedef struct px_peer_key
{
	Oid			umid;			/* user mapping */
	Oid			userid;			/* for whom: PUBLIC's mapping serves many */
} px_peer_key;

#define PX_SNAPSHOT_ID_NBYTES	64

typedef struct px_peer
{
	px_peer_key key;			/* hash key: must be first */
	Oid			serverid;
	uint32		server_hash;	/* for invalidation callbacks */
	uint32		mapping_hash;
	dlist_head	connections;	/* of px_connection */

	/*
	 * Why this peer cannot be used in this session: "remote has no
	 * pg_exchange" and the like.  NULL while nothing speaks against it;
	 * forgotten when server or user mapping change.
	 */
	char	   *refusal;

	/*
	 * The snapshot of the current local transaction, "" until asked for, and
	 * the remote process that exported it.
	 */
	char		snapshot[PX_SNAPSHOT_ID_NBYTES];
	int			owner_pid;
} px_peer;

typedef struct px_connection
{
	dlist_node	node;			/* in peer->connections */
	px_peer    *peer;
	PGconn	   *pg;
	px_hello	hello;			/* the remote's */
	uint16		version;		/* protocol version agreed on */
	px_locality locality;
	bool		in_use;			/* a stream owns it */
	uint64		owner;			/* number of the acquisition; see below */
	bool		reused;			/* not its first stream */
	int			nest_level;		/* of the transaction that began the stream */
	bool		invalidated;	/* close when no longer in use; also if the
								 * server's keep_connections is off */
	PGresult   *result;			/* the frame being read, or NULL */
	bool		has_frames;		/* the query being read has yielded some */
} px_connection;

/*
 * The end of a (sub)transaction takes connections away from streams that
 * began in it, of which some outlive it: cursors that were opened before a
 * savepoint, and read after it.  Their owners find out by comparing this
 * count, which rises with each such event, and asking px_connection_is_owned.
 */
extern uint64 px_connections_taken;

/*
 * Is connection, a pointer that may dangle, still the one that the given
 * acquisition (its owner number at that time) got?
 */
extern bool px_connection_is_owned(const px_connection *connection, uint64 owner);

/* The peer of server for user; made on first use. */
extern px_peer *px_peer_get(UserMapping *user);

/*
 * An idle connection to the peer, made if need be, now marked in use.  NULL,
 * with *reason set, if there is none to be had: the peer refuses (see
 * px_peer), connecting failed, or max_connections_per_server are in use.
 * Blocks while connecting, serving interrupts.
 */
extern px_connection *px_connection_acquire(px_peer *peer, UserMapping *user,
											const char **reason);

/*
 * Give a connection back whose stream was read to its end.  Its transaction
 * is committed without waiting for the answer.
 */
extern void px_connection_release(px_connection *connection);

/*
 * Give a connection back in whatever state: what still runs on it is
 * cancelled and drained, its transaction rolled back; it is closed if that
 * does not work out within a few seconds.  Never errors.
 */
extern void px_connection_abandon(px_connection *connection);

/* Close a connection that is dead.  Never errors, never waits. */
extern void px_connection_discard(px_connection *connection);

#endif							/* PX_CONN_POOL_H */
