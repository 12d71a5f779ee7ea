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

#include "datatype/timestamp.h"
#include "foreign/foreign.h"
#include "lib/ilist.h"
#include "libpq-fe.h"

#include "wire/admission.h"

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

/* What the last stream of mode auto has taught, for the next one. */
typedef struct px_lesson
{
	uint64		link_rate;		/* bytes per second that the link carried while it
								 * was in the way; 0: not known, or never was */
	uint32		idle;			/* thousandths of its time that we waited for frames */
} px_lesson;

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
	bool		lacks_extension;	/* that is the refusal */

	/* The same for streams alone: what a session of our own was told. */
	char	   *stream_refusal;

	/* When to try again after a session that did not answer, or 0. */
	TimestampTz avoid_until;

	/*
	 * What postgres_fdw's session has said in the current local transaction:
	 * see transport/question.h.  The snapshot is "" until there is one, and
	 * in a parallel worker the leader's.
	 */
	bool		admitted;		/* admission, and so on, are valid */
	px_admission admission;
	uint16		session_version;	/* protocol version to use with it */
	px_locality session_locality;
	char		snapshot[PX_SNAPSHOT_ID_NBYTES];

	px_lesson	lesson;
} px_peer;

struct px_stream;				/* stream.h */

typedef struct px_connection
{
	dlist_node	node;			/* in peer->connections */
	px_peer    *peer;
	PGconn	   *pg;
	bool		accepted;		/* by both sides: else to be closed */
	px_hello	hello;			/* the remote's */
	uint16		version;		/* protocol version agreed on */
	px_locality locality;
	bool		in_use;			/* a stream has it, or left without a word */
	struct px_stream *stream;	/* the one that has it, or NULL */
	bool		reused;			/* not its first stream */
	TimestampTz since;			/* when it was made */
	uint64		streams;		/* that have had it */
	uint64		nbytes;			/* of their frames */
	int			nest_level;		/* of the transaction that began the stream */
	bool		invalidated;	/* close when no longer in use; also if the
								 * server's keep_connections is off */
} px_connection;

/* The peer of server for user; made on first use. */
extern px_peer *px_peer_get(UserMapping *user);

/*
 * A session of the peer has not answered in time: a pooler has no backend for
 * it, say.  Do not wait for another one in the next minute.
 */
extern void px_peer_avoid(px_peer *peer);

/* Remember for the session why the peer cannot be used; lacks_extension as there. */
extern void px_peer_refuse(px_peer *peer, const char *refusal, bool lacks_extension);

/*
 * An idle connection to the peer, made if need be, now in use by stream: the
 * two point to each other until it is given back, or taken away at the end of
 * the (sub)transaction.  NULL, with *reason set, if there is none to be had:
 * the peer refuses (see px_peer), or connecting failed.  NULL and *reason NULL
 * if max_connections_per_server are in use.  Blocks while connecting, serving
 * interrupts.
 */
extern px_connection *px_connection_acquire(px_peer *peer, UserMapping *user,
											struct px_stream *stream,
											const char **reason);

/*
 * Any connection of this session that a stream has, to the server, or to any
 * with InvalidOid; or NULL.
 */
extern px_connection *px_connection_in_use(Oid serverid);

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

/* Call consume for each connection of this session; it may raise errors. */
extern void px_pool_read(void (*consume) (const px_connection *connection, void *arg),
						 void *arg);

/*
 * Close this session's idle connections to a server, or to all with
 * InvalidOid, and forget what spoke against using it.  Connections in use stay,
 * each with a WARNING.  True if any was closed.  Waits only to bring to rest what an
 * error has left.
 */
extern bool px_pool_disconnect(Oid serverid);

#endif							/* PX_CONN_POOL_H */
