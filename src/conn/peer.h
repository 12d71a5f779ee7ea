/*-------------------------------------------------------------------------
 *
 * peer.h
 *		A server for a user, as this session knows it, and a connection to it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_CONN_PEER_H
#define PX_CONN_PEER_H

#include "datatype/timestamp.h"
#include "foreign/foreign.h"
#include "lib/ilist.h"
#include "libpq-fe.h"

#include "conn/stamp.h"
#include "wire/admission.h"

/* Decided by the connection's destination, whatever the settings say. */
typedef enum px_locality
{
	PX_REMOTE,
	PX_SAME_HOST,
	PX_SAME_INSTANCE
} px_locality;

/* Is nothing compressed on the way to a peer there, under the settings? */
extern bool px_locality_is_local(px_locality locality);

typedef struct px_peer_key
{
	Oid			umid;			/* user mapping */
	Oid			userid;			/* for whom: PUBLIC's mapping serves many */
} px_peer_key;

#define PX_SNAPSHOT_ID_NBYTES	64
#define PX_SEAL_NBYTES			256

/*
 * What the last stream in mode auto has measured.  The next one begins with
 * it.
 */
typedef struct px_link_history
{
	uint32		options;		/* hash of the server's options, since a stream
								 * or write began; 0: none did, or server or
								 * user mapping have changed */
	uint64		link_rate;		/* bytes per second that the link carried
								 * while it was the bottleneck; 0: not known,
								 * or it never was */
	uint32		idle;			/* thousandths of the stream's time in which
								 * the receiver waited for frames */
	double		upload_ns;		/* nanoseconds that a byte takes to be sent to
								 * the server; 0: not known */
} px_link_history;

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

	/* The same for writes alone. */
	char	   *write_refusal;

	/* Is it on this host?  Known once its session's socket was looked at. */
	bool		knows_host;
	bool		is_same_host;

	/*
	 * Which database of which running server it leads to, as its last session
	 * has said when it was asked by exec/pull_server.c, and when; 0: not
	 * known.
	 */
	char		pull_id[sizeof(((px_hello *) NULL)->pull_id)];
	TimestampTz pull_id_at;

	/* When to try again after a session that did not answer, or 0. */
	TimestampTz avoid_until;

	/*
	 * What postgres_fdw's session has said in the current local transaction:
	 * see transport/question.h.  The snapshot is "" until there is one, and
	 * in a parallel worker the leader's.
	 */
	bool		admitted;		/* admission, and so on, are valid */
	bool		question_left;	/* one of its cursors was not closed */
	px_admission admission;
	uint16		session_version;	/* protocol version to use with it */
	px_locality session_locality;
	char		snapshot[PX_SNAPSHOT_ID_NBYTES];

	/* Until then, streams of this transaction may wait for a lock; or 0. */
	TimestampTz locked_until;

	/*
	 * By what to tell that its functions are still those that were found to
	 * be genuine: see conn/seal.h.  "" if that has to be found out in full.
	 */
	char		seal[PX_SEAL_NBYTES];

	/*
	 * What postgres_fdw's session showed when its functions to read, or those
	 * to write, were found to be genuine; "" if it showed nothing.
	 */
	char		read_stamp[PX_STAMP_NBYTES];
	char		write_stamp[PX_STAMP_NBYTES];
	bool		describes_long; /* it has sent a description of some length:
								 * see exec/write_ask.c */

	/*
	 * How often postgres_fdw's session began to read, in this process.  Such a
	 * query may have effects, so answers about others do not hold any more.
	 */
	uint64		session_reads;

	/* When it was last asked for something: see px_ask_keep_awake. */
	TimestampTz contact_at;

	px_link_history link_history;
} px_peer;

struct px_connection;
struct px_open_connection;

/*
 * Who uses a connection.  A px_stream or px_depositor begins with one, so that
 * the pool need not know what these are.
 */
typedef struct px_connection_holder
{
	struct px_connection *connection;	/* NULL if it has none, or no longer */
	const char *servername;		/* for messages; the holder's */

	/*
	 * The (sub)transaction ends, and takes the connection away.  Called just
	 * before; must not raise errors.
	 */
	void		(*lose) (struct px_connection_holder *holder);

	/*
	 * Give the connection back, keeping what is still to be read from it.
	 * Blocks, serving interrupts.
	 */
	void		(*give_up) (struct px_connection_holder *holder);

	/* What it is doing, as exchange.connections shows it. */
	const char *(*state) (const struct px_connection_holder *holder);
} px_connection_holder;

typedef struct px_connection
{
	dlist_node	node;			/* in peer->connections */
	dlist_node	all_node;		/* in the list of all connections */
	px_peer    *peer;
	PGconn	   *pg;
	bool		accepted;		/* by both sides: else to be closed */
	bool		sealed;			/* it began by comparing the peer's seal */
	char		stamp[PX_STAMP_NBYTES];	/* like read_stamp, of its session */
	px_hello	hello;			/* the remote's */
	uint16		version;		/* protocol version agreed on */
	px_locality locality;
	bool		in_use;			/* a stream has it, or was freed without
								 * giving it back */
	px_connection_holder *holder;	/* the stream that has it, or NULL */
	TimestampTz setup_deadline; /* by when it must be accepted, if that is
								 * sooner than usual; 0: as usual */
	bool		reused;			/* not its first stream */
	bool		cancelled;		/* all are being abandoned: it has been sent
								 * a cancel */
	TimestampTz since;			/* when it was made */
	TimestampTz idle_since;		/* when it was last given back */
	uint64		streams;		/* that have had it */
	uint64		nbytes;			/* of their frames */
	struct px_open_connection *shown;	/* to other backends; may be NULL */
	int			nest_level;		/* of the transaction that began the stream */
	bool		invalidated;	/* close when no longer in use; also if the
								 * server's keep_connections is off */
} px_connection;

/*
 * A session of the peer has not answered in time: a pooler has no backend for
 * it, say.  Do not wait for another one in the next minute.
 */
extern void px_peer_avoid(px_peer *peer);

/*
 * Remember for the session why the peer cannot be used; lacks_extension as in
 * px_peer.
 */
extern void px_peer_refuse(px_peer *peer, const char *refusal,
						   bool lacks_extension);

/* The same for writes. */
extern void px_peer_refuse_writes(px_peer *peer, const char *refusal);

#endif							/* PX_CONN_PEER_H */
