/*-------------------------------------------------------------------------
 *
 * pool.c
 *		The session's stream connections, by user mapping.
 *
 * What a stream does with its connection is stream.c's business, how one is
 * made connect.c's.  There is no local transaction state here to keep in
 * step with remote subtransactions, as postgres_fdw has: a stream reads one
 * imported snapshot, and its remote transaction ends with it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "conn/answer.h"
#include "conn/cancel.h"
#include "conn/connect.h"
#include "conn/connection.h"
#include "conn/drain.h"
#include "conn/idle.h"
#include "conn/introduce.h"
#include "conn/pool.h"
#include "conn/seal.h"
#include "guc.h"
#include "stats/counters.h"
#include "stats/open_connections.h"

/* How long the request to cancel one of several connections may take. */
#define CANCEL_TIMEOUT_MS	500

static HTAB *peers = NULL;		/* NULL until the first exchange */
static dlist_head all_connections = DLIST_STATIC_INIT(all_connections);

/*
 * There may be many, and subtransactions come often.  Which is the deepest
 * nest level of one in use, at most, and may any have a COMMIT under way?
 */
static int	deepest_level = 0;
static bool awaits_commits = false;

static void xact_callback(XactEvent event, void *arg);
static void subxact_callback(SubXactEvent event, SubTransactionId mySubid,
							 SubTransactionId parentSubid, void *arg);
static void invalidation_callback(Datum arg, int cacheid, uint32 hashvalue);

static void
create_peers(void)
{
	HASHCTL		ctl;

	ctl.keysize = sizeof(px_peer_key);
	ctl.entrysize = sizeof(px_peer);
	peers = hash_create("pg_exchange peers", 8, &ctl, HASH_ELEM | HASH_BLOBS);

	RegisterXactCallback(xact_callback, NULL);
	RegisterSubXactCallback(subxact_callback, NULL);
	CacheRegisterSyscacheCallback(FOREIGNSERVEROID, invalidation_callback,
								  (Datum) 0);
	CacheRegisterSyscacheCallback(USERMAPPINGOID, invalidation_callback,
								  (Datum) 0);
}

/* What is known of the current local transaction is known of no other. */
static void
forget_transaction(px_peer *peer)
{
	peer->admitted = peer->question_left = false;
	peer->snapshot[0] = '\0';
	peer->locked_until = 0;
}

px_peer *
px_peer_get(UserMapping *user)
{
	px_peer_key key;
	px_peer    *peer;
	bool		found;
	uint32		server_hash;
	uint32		mapping_hash;

	if (peers == NULL)
		create_peers();

	/* This may call invalidation_callback: it comes before a new peer. */
	server_hash = GetSysCacheHashValue1(FOREIGNSERVEROID,
										ObjectIdGetDatum(user->serverid));
	mapping_hash = GetSysCacheHashValue1(USERMAPPINGOID,
										 ObjectIdGetDatum(user->umid));

	key.umid = user->umid;
	key.userid = user->userid;
	peer = hash_search(peers, &key, HASH_ENTER, &found);
	if (!found)
	{
		peer->serverid = user->serverid;
		peer->server_hash = server_hash;
		peer->mapping_hash = mapping_hash;
		dlist_init(&peer->connections);
		peer->refusal = NULL;
		peer->lacks_extension = false;
		peer->stream_refusal = NULL;
		peer->write_refusal = NULL;
		peer->knows_host = false;
		peer->is_same_host = false;
		peer->avoid_until = 0;
		peer->pull_id_at = 0;
		forget_transaction(peer);
		px_seal_break(peer);
		peer->describes_long = false;
		peer->session_reads = 0;
		peer->contact_at = 0;
		memset(&peer->link_history, 0, sizeof(peer->link_history));
	}
	return peer;
}

/* Give a connection to a stream. */
static void
give_connection(px_connection *connection, px_connection_holder *holder)
{
	connection->in_use = true;
	connection->streams++;
	connection->holder = holder;
	connection->nest_level = GetCurrentTransactionNestLevel();
	deepest_level = Max(deepest_level, connection->nest_level);
	holder->connection = connection;
	px_open_connection_set(connection->shown, PX_OPEN_ACTIVE,
						   GetCurrentTimestamp());
}

void
px_connection_forget_holder(void *holder)
{
	px_connection *connection = ((px_connection_holder *) holder)->connection;

	if (connection)
		connection->holder = NULL;
}

/*
 * How many connections are in use?  One whose stream's memory was freed, by
 * an error that was caught, is not: it is brought to rest now.
 */
static int
streams_running(px_peer *peer)
{
	dlist_mutable_iter iter;
	int			n = 0;

	dlist_foreach_modify(iter, &peer->connections)
	{
		px_connection *connection =
			dlist_container(px_connection, node, iter.cur);

		if (connection->in_use && connection->holder == NULL)
			px_connection_abandon(connection);
		else if (connection->in_use)
			n++;
	}
	return n;
}

px_connection *
px_connection_in_use(Oid serverid)
{
	HASH_SEQ_STATUS scan;
	px_peer    *peer;

	if (peers == NULL)
		return NULL;
	hash_seq_init(&scan, peers);
	while ((peer = hash_seq_search(&scan)) != NULL)
	{
		dlist_iter	iter;

		if (OidIsValid(serverid) && peer->serverid != serverid)
			continue;
		(void) streams_running(peer);
		dlist_foreach(iter, &peer->connections)
		{
			px_connection *connection =
				dlist_container(px_connection, node, iter.cur);

			if (connection->in_use)
			{
				hash_seq_term(&scan);
				return connection;
			}
		}
	}
	return NULL;
}

/* No connection is made: count that. */
static px_outcome
refuse_connection(const ForeignServer *server, const UserMapping *user)
{
	px_counters_get(server->serverid, user->userid,
					server->servername)->connections_refused++;
	return px_busy("as many connections are open as is allowed");
}

/* The server's last connections are postgres_fdw's. */
static px_outcome
leave_to_others(void)
{
	return px_busy("few connections are free on the server");
}

/*
 * The connection is linked into the peer from the start, so that errors do not
 * leak it; but whatever takes it back before it was accepted closes it.
 */
px_outcome
px_connection_start(px_peer *peer, UserMapping *user, TimestampTz deadline,
					px_connecting *connecting, px_connection **started)
{
	ForeignServer *server = GetForeignServer(user->serverid);
	px_connection *connection =
		MemoryContextAllocZero(CacheMemoryContext, sizeof(px_connection));
	px_outcome	outcome;

	PG_TRY();
	{
		if (peer->admitted && peer->admission.hello.free == PX_FREE_FEW)
			outcome = leave_to_others();
		else if (px_idle_make_room(&all_connections, connection, server))
			outcome = px_connect_start(server, user, connecting);
		else
			outcome = refuse_connection(server, user);
	}
	PG_CATCH();
	{
		px_connection_free(connection);
		PG_RE_THROW();
	}
	PG_END_TRY();
	if (!px_is_ok(outcome))
	{
		px_connection_free(connection);
		return outcome;
	}

	connecting->deadline = Min(connecting->deadline, deadline);
	connection->peer = peer;
	connection->setup_deadline = deadline;
	connection->pg = connecting->pg;
	connection->since = GetCurrentTimestamp();
	connection->invalidated = !px_keeps_connections(server);
	connection->in_use = true;
	connection->nest_level = GetCurrentTransactionNestLevel();
	deepest_level = Max(deepest_level, connection->nest_level);
	dlist_push_tail(&peer->connections, &connection->node);
	dlist_push_tail(&all_connections, &connection->all_node);
	*started = connection;
	return outcome;
}

/* The connection cannot be used: close it. */
static px_outcome
give_up_connecting(px_connection *connection, px_outcome outcome)
{
	if (outcome.kind == PX_OUTCOME_REFUSED)
		connection->peer->stream_refusal =
			MemoryContextStrdup(CacheMemoryContext, outcome.reason);
	if (outcome.kind == PX_OUTCOME_SILENT)
		px_peer_avoid(connection->peer);
	if (PQtransactionStatus(connection->pg) == PQTRANS_ACTIVE)
		(void) px_cancel(connection->pg, px_abandon_deadline());
	px_connection_discard(connection);
	return outcome;
}

px_outcome
px_connection_introduce(px_connection *connection, px_connecting *connecting)
{
	px_outcome	outcome = px_connect_finish(connecting);

	if (!px_is_ok(outcome))
		return give_up_connecting(connection, outcome);
	if (connection->shown)
		connection->shown->remote_pid = PQbackendPID(connection->pg);
	px_introduce_send(connection);
	return outcome;
}

px_outcome
px_connection_accept(px_connection *connection)
{
	px_outcome	outcome = px_introduce_finish(connection);

	if (px_is_ok(outcome) && connection->hello.free == PX_FREE_FEW)
		outcome = leave_to_others();
	if (!px_is_ok(outcome))
		return give_up_connecting(connection, outcome);
	connection->accepted = true;
	return outcome;
}

static px_outcome
open_connection(px_peer *peer, UserMapping *user, TimestampTz deadline,
				px_connection_holder *holder)
{
	px_connecting connecting;
	px_connection *connection;
	px_outcome	outcome = px_connection_start(peer, user, deadline,
											  &connecting, &connection);

	if (px_is_ok(outcome))
	{
		give_connection(connection, holder);
		outcome = px_connection_introduce(connection, &connecting);
	}
	if (px_is_ok(outcome))
		outcome = px_connection_accept(connection);
	return outcome;
}

px_outcome
px_connection_acquire_until(px_peer *peer, UserMapping *user,
							TimestampTz deadline, px_connection_holder *holder)
{
	dlist_mutable_iter iter;

	if (peer->stream_refusal)
		return px_refused(pstrdup(peer->stream_refusal));
	if (peer->avoid_until != 0 && peer->avoid_until > GetCurrentTimestamp())
		return px_failed("a session did not answer within the last minute");
	if (streams_running(peer) >= px_max_connections_per_server)
		return px_busy("no connection is free");

	dlist_foreach_modify(iter, &peer->connections)
	{
		px_connection *connection =
			dlist_container(px_connection, node, iter.cur);

		if (connection->in_use)
			continue;
		if (px_idle_is_usable(connection))
		{
			give_connection(connection, holder);
			connection->reused = true;
			return px_ok();
		}
		px_connection_discard(connection);
	}
	return open_connection(peer, user, deadline, holder);
}

px_outcome
px_connection_acquire(px_peer *peer, UserMapping *user,
					  px_connection_holder *holder)
{
	return px_connection_acquire_until(peer, user, DT_NOEND, holder);
}

void
px_connection_keep(px_connection *connection)
{
	px_connection_take(connection);
}

bool
px_connection_pass_on(px_connection *connection, px_connection_holder *holder,
					  bool sent_ahead)
{
	if (!connection->accepted || connection->invalidated ||
		connection->nest_level != GetCurrentTransactionNestLevel() ||
		PQtransactionStatus(connection->pg) !=
		(sent_ahead ? PQTRANS_ACTIVE : PQTRANS_INTRANS))
		return false;
	px_connection_take(connection);
	give_connection(connection, holder);
	connection->reused = true;
	return true;
}

void
px_connection_release(px_connection *connection)
{
	px_connection_take(connection);
	if (!connection->accepted || connection->invalidated ||
		(PQtransactionStatus(connection->pg) != PQTRANS_IDLE &&
		 !px_send_command(connection->pg, "COMMIT")))
		px_connection_discard(connection);
	awaits_commits = true;
}

static void
abandon_until(px_connection *connection, bool cancelled, TimestampTz deadline)
{
	px_connection_take(connection);

	/*
	 * Closing alone would let a query that sends nothing run on for a while.
	 */
	if (!connection->accepted ||
		!px_leave(connection->pg, cancelled, deadline) ||
		connection->invalidated)
		px_connection_discard(connection);
}

void
px_connection_abandon(px_connection *connection)
{
	abandon_until(connection, false, px_abandon_deadline());
}

/*
 * A stream that has ended was sent a COMMIT.  When our transaction or
 * savepoint has ended too, nobody waits for the remote's locks any more.
 */
static void
await_commit(px_connection *connection, TimestampTz deadline)
{
	PGconn	   *pg = connection->pg;

	/* A COMMIT may fail, too: its transaction is not to stay open. */
	if ((PQtransactionStatus(pg) == PQTRANS_ACTIVE &&
		 !px_drain(pg, PX_REST_OF_COMMAND, deadline)) ||
		PQtransactionStatus(pg) == PQTRANS_INTRANS ||
		PQtransactionStatus(pg) == PQTRANS_INERROR)
		px_connection_discard(connection);
}

static bool
is_abandoned(const px_connection *connection, int nest_level)
{
	return connection->in_use && connection->nest_level >= nest_level;
}

/*
 * Before any stream is waited for, have all stop: one that hangs is not to
 * keep the others running.
 */
static void
cancel_streams(int nest_level, TimestampTz deadline)
{
	dlist_iter	iter;

	dlist_foreach(iter, &all_connections)
	{
		px_connection *connection =
			dlist_container(px_connection, all_node, iter.cur);
		TimestampTz until;

		connection->cancelled = false;
		if (!is_abandoned(connection, nest_level) || !connection->accepted ||
			PQtransactionStatus(connection->pg) != PQTRANS_ACTIVE)
			continue;
		until = TimestampTzPlusMilliseconds(GetCurrentTimestamp(),
											CANCEL_TIMEOUT_MS);
		connection->cancelled = px_cancel(connection->pg,
										  Min(until, deadline));
	}
}

/*
 * Abandon every connection whose stream began at nest_level or deeper; at
 * the end of the transaction that is level 0, all of them.
 */
static void
abandon_streams(int nest_level)
{
	TimestampTz deadline = px_abandon_deadline();
	HASH_SEQ_STATUS scan;
	px_peer    *peer;

	if (nest_level > 0 && deepest_level < nest_level && !awaits_commits)
		return;
	if (deepest_level >= Max(nest_level, 1))
		cancel_streams(nest_level, deadline);
	deepest_level = Min(deepest_level, Max(nest_level - 1, 0));
	awaits_commits = false;
	hash_seq_init(&scan, peers);
	while ((peer = hash_seq_search(&scan)) != NULL)
	{
		dlist_mutable_iter iter;

		dlist_foreach_modify(iter, &peer->connections)
		{
			px_connection *connection =
				dlist_container(px_connection, node, iter.cur);

			if (is_abandoned(connection, nest_level))
			{
				if (connection->holder)
					connection->holder->lose(connection->holder);
				abandon_until(connection, connection->cancelled, deadline);
			}
			else if (!connection->in_use)
				await_commit(connection, deadline);
		}
		if (nest_level == 0)
			forget_transaction(peer);
	}
	if (nest_level == 0)
		px_setup_forget_idle_timeouts();
}

/* A subtransaction has become part of its parent, and so have its streams. */
static void
inherit_streams(int nest_level)
{
	dlist_iter	iter;

	if (deepest_level < nest_level)
		return;
	deepest_level = nest_level - 1;
	dlist_foreach(iter, &all_connections)
	{
		px_connection *connection =
			dlist_container(px_connection, all_node, iter.cur);

		connection->nest_level = Min(connection->nest_level, nest_level - 1);
	}
}

void
px_pool_watch_idle(void)
{
	if (!dlist_is_empty(&all_connections))
		px_idle_close_expired(&all_connections);
}

/* A parallel worker ends with its transaction. */
static void
close_all(void)
{
	dlist_mutable_iter iter;

	dlist_foreach_modify(iter, &all_connections)
		px_connection_discard(dlist_container(px_connection, all_node,
											  iter.cur));
}

static void
xact_callback(XactEvent event, void *arg)
{
	switch (event)
	{
		case XACT_EVENT_COMMIT:
		case XACT_EVENT_PREPARE:
		case XACT_EVENT_ABORT:
			abandon_streams(0);
			px_idle_close_wanted(&all_connections);
			px_idle_close_expired(&all_connections);
			break;
		case XACT_EVENT_PARALLEL_COMMIT:
		case XACT_EVENT_PARALLEL_ABORT:
			abandon_streams(0);
			close_all();
			break;
		case XACT_EVENT_PRE_COMMIT:
		case XACT_EVENT_PARALLEL_PRE_COMMIT:
		case XACT_EVENT_PRE_PREPARE:
			break;
	}
}

static void
subxact_callback(SubXactEvent event, SubTransactionId mySubid,
				 SubTransactionId parentSubid, void *arg)
{
	if (event == SUBXACT_EVENT_ABORT_SUB)
		abandon_streams(GetCurrentTransactionNestLevel());
	else if (event == SUBXACT_EVENT_COMMIT_SUB)
		inherit_streams(GetCurrentTransactionNestLevel());
}

bool
px_pool_give_way(const ForeignServer *server)
{
	return px_idle_give_way(&all_connections, server);
}

void
px_pool_read(void (*consume) (const px_connection *connection, void *arg),
			 void *arg)
{
	List	   *all = NIL;
	ListCell   *lc;
	dlist_iter	iter;

	/* The list may change meanwhile: by an invalidation, say. */
	dlist_foreach(iter, &all_connections)
		all = lappend(all, dlist_container(px_connection, all_node, iter.cur));
	foreach(lc, all)
		consume(lfirst(lc), arg);
	list_free(all);
}

/* Forget what speaks against the peer: it is tried again. */
static void
forgive_peer(px_peer *peer)
{
	if (peer->refusal)
		pfree(peer->refusal);
	if (peer->stream_refusal)
		pfree(peer->stream_refusal);
	if (peer->write_refusal)
		pfree(peer->write_refusal);
	peer->refusal = peer->stream_refusal = peer->write_refusal = NULL;
	peer->knows_host = false;
	peer->avoid_until = 0;
	px_seal_break(peer);
}

bool
px_pool_disconnect(Oid serverid)
{
	HASH_SEQ_STATUS scan;
	px_peer    *peer;
	bool		closed = false;

	if (peers == NULL)
		return false;

	hash_seq_init(&scan, peers);
	while ((peer = hash_seq_search(&scan)) != NULL)
	{
		dlist_mutable_iter iter;

		if (OidIsValid(serverid) && peer->serverid != serverid)
			continue;
		forgive_peer(peer);

		/* After this, what is in use is used by a stream. */
		(void) streams_running(peer);
		dlist_foreach_modify(iter, &peer->connections)
		{
			px_connection *connection =
				dlist_container(px_connection, node, iter.cur);

			if (connection->in_use)
				ereport(WARNING,
						(errmsg("cannot close a connection for server \"%s\" because it is still in use",
								connection->holder->servername)));
			else
			{
				px_connection_discard(connection);
				closed = true;
			}
		}
	}
	return closed;
}

/* Server or user mapping changed: connect anew, and ask anew, from now on. */
static void
invalidation_callback(Datum arg, int cacheid, uint32 hashvalue)
{
	HASH_SEQ_STATUS scan;
	px_peer    *peer;

	hash_seq_init(&scan, peers);
	while ((peer = hash_seq_search(&scan)) != NULL)
	{
		dlist_mutable_iter iter;

		if (hashvalue != 0 &&
			hashvalue !=
				(cacheid == FOREIGNSERVEROID ? peer->server_hash :
											   peer->mapping_hash))
			continue;

		forgive_peer(peer);
		peer->pull_id_at = 0;
		memset(&peer->link_history, 0, sizeof(peer->link_history));
		dlist_foreach_modify(iter, &peer->connections)
		{
			px_connection *connection =
				dlist_container(px_connection, node, iter.cur);

			if (connection->in_use)
				connection->invalidated = true;
			else
				px_connection_discard(connection);
		}
	}
}
