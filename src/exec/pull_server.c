/*-------------------------------------------------------------------------
 *
 * pull_server.c
 *		The foreign servers of this database that lead to other servers of a
 *		join.
 *
 * A coordinator knows a server by what its hello calls the database of the
 * running instance: rows are collected in the database that offers them.  The
 * foreign server that leads there has the same name here as on the
 * coordinator.  So nothing is connected to that has nothing to do with the
 * join.  Whether it leads there, it says itself.
 *
 * With the name alone, a server could claim to be another one, and get the
 * rows that are pulled from that.  So nothing but servers of trusted owners is
 * used, as a user who makes a foreign table chooses its server.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_foreign_server.h"
#include "fmgr.h"
#include "foreign/foreign.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "conn/answer.h"
#include "conn/connect_ahead.h"
#include "conn/foreign_server.h"
#include "conn/hello_self.h"
#include "conn/pool.h"
#include "exec/pull_server.h"
#include "transport/offer.h"

extern PGDLLEXPORT Datum px_sql_can_pull(PG_FUNCTION_ARGS);

PG_FUNCTION_INFO_V1(px_sql_can_pull);

/* A server that has led elsewhere is asked again after this time. */
#define ASK_AGAIN_MS	60000

/* May it be used for what the user has not named it for? */
static bool
is_usable(Oid serverid)
{
	Oid			userid = GetUserId();
	ForeignServer *server = GetForeignServerExtended(serverid,
													 FSV_MISSING_OK);

	return server && px_server_is_postgres_fdw(server) &&
		px_server_aclcheck(serverid, userid) == ACLCHECK_OK &&
		px_server_has_mapping(serverid, userid) &&
		(superuser_arg(server->owner) ||
		 has_privs_of_role(userid, server->owner));
}

/*
 * The user mapping by which to connect to the peer; NULL, and why there is
 * none.
 */
static UserMapping *
find_mapping(const px_pull_peer *peer, const char **reason)
{
	Oid			serverid = get_foreign_server_oid(peer->server, true);

	*reason = NULL;
	if (!OidIsValid(serverid))
		*reason = "there is no such server";
	else if (!is_usable(serverid))
		*reason = "the user may not use the server, or has no user mapping";
	return *reason ? NULL : GetUserMapping(GetUserId(), serverid);
}

/* Has it led elsewhere a short time ago? */
static bool
leads_elsewhere(const px_peer *known, const px_pull_peer *peer)
{
	return known->pull_id_at != 0 &&
		strcmp(known->pull_id, peer->database) != 0 &&
		!TimestampDifferenceExceeds(known->pull_id_at, GetCurrentTimestamp(),
									ASK_AGAIN_MS);
}

px_outcome
px_pull_connect(const px_pull_peer *peer, TimestampTz deadline,
				px_connection_holder *holder)
{
	const char *reason;
	UserMapping *user = find_mapping(peer, &reason);
	px_peer    *known;
	px_outcome	outcome;

	if (user == NULL)
		return px_refused(reason);
	known = px_peer_get(user);
	if (leads_elsewhere(known, peer))
		return px_refused("the server leads elsewhere");
	if (GetCurrentTimestamp() >= deadline)
		return px_silent("there is no time left");
	holder->servername = pstrdup(peer->server);
	outcome = px_connection_acquire_until(known, user, deadline, holder);
	if (!px_is_ok(outcome))
		return outcome;
	strlcpy(known->pull_id, holder->connection->hello.pull_id,
			sizeof(known->pull_id));
	known->pull_id_at = GetCurrentTimestamp();
	if (strcmp(known->pull_id, peer->database) == 0)
		return px_ok();
	px_connection_release(holder->connection);
	return px_refused("the server leads elsewhere");
}

/* ---------------------------------------------------------------------
 * The question
 * --------------------------------------------------------------------- */

/* A connection that is had until all are there that a target needs. */
typedef struct trial
{
	px_connection_holder holder;	/* must be first */
	MemoryContextCallback forget;
} trial;

static void
lose_connection(px_connection_holder *holder)
{
}

static void
give_up_connection(px_connection_holder *holder)
{
	px_connection_release(holder->connection);
}

static const char *
trial_state(const px_connection_holder *holder)
{
	return "asking";
}

static trial *
new_trial(void)
{
	trial	   *tried = palloc0(sizeof(trial));

	tried->holder.lose = lose_connection;
	tried->holder.give_up = give_up_connection;
	tried->holder.state = trial_state;
	tried->forget.func = px_connection_forget_holder;
	tried->forget.arg = &tried->holder;
	MemoryContextRegisterResetCallback(CurrentMemoryContext, &tried->forget);
	return tried;
}

static bool
is_here(const px_pull_peer *peer)
{
	px_hello	self;

	px_hello_self(&self);
	return strcmp(self.pull_id, peer->database) == 0;
}

static bool
has_failed(const List *failed, const char *server)
{
	ListCell   *lc;

	foreach(lc, failed)
	{
		if (strcmp(lfirst(lc), server) == 0)
			return true;
	}
	return false;
}

/*
 * One character: see px_sql_can_pull.  failed has the servers that cannot be
 * reached, so that none of them is tried again.
 */
static char
way_to(const px_pull_peer *peer, TimestampTz deadline, trial *tried,
	   List **failed)
{
	px_outcome	outcome;

	if (is_here(peer))
		return 'h';
	if (has_failed(*failed, peer->server))
		return '-';
	outcome = px_pull_connect(peer, deadline, &tried->holder);
	if (!px_is_ok(outcome))
	{
		ereport(DEBUG1,
				(errmsg_internal("no rows are pulled from server \"%s\": %s",
								 peer->server, outcome.reason)));
		*failed = lappend(*failed, (void *) peer->server);
		return '-';
	}
	switch (tried->holder.connection->locality)
	{
		case PX_SAME_INSTANCE:
			return 'h';
		case PX_SAME_HOST:
			return 'l';
		case PX_REMOTE:
			break;
	}
	return 'r';
}

static List *
read_peers(const char *at)
{
	List	   *peers = NIL;

	do
	{
		px_pull_peer *peer = palloc(sizeof(px_pull_peer));
		px_fault	fault = {0};
		char		detail[PX_FAULT_NBYTES_MAX];

		CHECK_FOR_INTERRUPTS();
		if (px_pull_peer_take(&at, peer, &fault) != PX_OK)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("invalid name of a server"),
					 errdetail_internal("%s", px_fault_text(&fault, detail))));
		peers = lappend(peers, peer);
	} while (list_length(peers) < PX_PULL_LINKS_MAX &&
			 px_text_take(&at, "\n"));
	if (*at != '\0')
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid list of servers"),
				 errdetail("It has something else than lines, or more than %d.",
						   PX_PULL_LINKS_MAX)));
	return peers;
}

/*
 * Connect to all of them at the same time, as far as there are no connections.
 * A server that does not answer by the deadline is not tried again soon.
 */
static void
connect_ahead(const List *peers, TimestampTz deadline)
{
	UserMapping **users = palloc(list_length(peers) * sizeof(UserMapping *));
	int			n = 0;
	ListCell   *lc;

	foreach(lc, peers)
	{
		const px_pull_peer *peer = lfirst(lc);
		const char *reason;
		UserMapping *user;

		CHECK_FOR_INTERRUPTS();
		user = is_here(peer) ? NULL : find_mapping(peer, &reason);
		if (user && !leads_elsewhere(px_peer_get(user), peer))
			users[n++] = user;
	}
	px_connect_ahead(users, n, deadline);
}

/*
 * exchange.can_pull(peers text, ms int) returns text
 *
 * Each line has a px_pull_peer.  For each of them: h if it is this database,
 * or another one of this server, l if it is on this host, r if it is
 * elsewhere, and - if it cannot be reached, by a connection of its own for
 * each that is not this database.  The connections are kept idle.  It takes no
 * longer than ms.
 */
Datum
px_sql_can_pull(PG_FUNCTION_ARGS)
{
	int			ms = Min(Max(PG_GETARG_INT32(1), 0), PX_SETUP_TIMEOUT_MS);
	TimestampTz deadline = TimestampTzPlusMilliseconds(
		GetCurrentTimestamp(), px_setup_limited_ms(ms));
	List	   *peers;
	List	   *trials = NIL;
	List	   *failed = NIL;
	ListCell   *lc;
	StringInfoData ways;

	px_offer_require_allowed();
	peers = read_peers(text_to_cstring(PG_GETARG_TEXT_PP(0)));
	connect_ahead(peers, deadline);
	initStringInfo(&ways);
	foreach(lc, peers)
	{
		CHECK_FOR_INTERRUPTS();
		trials = lappend(trials, new_trial());
		appendStringInfoChar(&ways, way_to(lfirst(lc), deadline,
										   llast(trials), &failed));
	}
	foreach(lc, trials)
	{
		px_connection_holder *holder = lfirst(lc);

		if (holder->connection)
			px_connection_release(holder->connection);
	}
	PG_RETURN_TEXT_P(cstring_to_text_with_len(ways.data, ways.len));
}
