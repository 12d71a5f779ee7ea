/*-------------------------------------------------------------------------
 *
 * pull_server.c
 *		The foreign servers of this database that lead to other servers of a
 *		join.
 *
 * A coordinator knows a server by what its hello calls the running instance.
 * Which of the foreign servers here leads there, they say themselves: each of
 * them is asked once in a session.
 *
 * With the name alone, a server could claim to be another one, and get the
 * rows that are pulled from that.  So nothing but servers of trusted owners is
 * used, as a user who makes a foreign table chooses its server.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/indexing.h"
#include "catalog/pg_foreign_server.h"
#include "catalog/pg_user_mapping.h"
#include "fmgr.h"
#include "foreign/foreign.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"

#include "base/text.h"
#include "compat.h"
#include "conn/hello_self.h"
#include "conn/pool.h"
#include "exec/pull_server.h"

extern PGDLLEXPORT Datum px_sql_can_pull(PG_FUNCTION_ARGS);

PG_FUNCTION_INFO_V1(px_sql_can_pull);

/* A server that has led elsewhere is asked again after this time. */
#define ASK_AGAIN_MS	60000

/* Does its wrapper have postgres_fdw's handler? */
static bool
is_of_postgres_fdw(const ForeignServer *server)
{
	const ForeignDataWrapper *wrapper = GetForeignDataWrapper(server->fdwid);
	const char *handler = OidIsValid(wrapper->fdwhandler) ?
		get_func_name(wrapper->fdwhandler) : NULL;

	return handler && strcmp(handler, "postgres_fdw_handler") == 0;
}

static bool
has_mapping(Oid userid, Oid serverid)
{
	return SearchSysCacheExists2(USERMAPPINGUSERSERVER,
								 ObjectIdGetDatum(userid),
								 ObjectIdGetDatum(serverid)) ||
		SearchSysCacheExists2(USERMAPPINGUSERSERVER,
							  ObjectIdGetDatum(InvalidOid),
							  ObjectIdGetDatum(serverid));
}

/* May it be used for what the user has not named it for? */
static bool
is_usable(Oid serverid)
{
	Oid			userid = GetUserId();
	ForeignServer *server = GetForeignServerExtended(serverid,
													 FSV_MISSING_OK);

	return server && is_of_postgres_fdw(server) &&
		px_server_aclcheck(serverid, userid) == ACLCHECK_OK &&
		has_mapping(userid, serverid) &&
		(superuser_arg(server->owner) ||
		 has_privs_of_role(userid, server->owner));
}

static List *
all_servers(void)
{
	Relation	relation = table_open(ForeignServerRelationId,
									  AccessShareLock);
	SysScanDesc scan = systable_beginscan(relation, InvalidOid, false, NULL, 0,
										  NULL);
	List	   *servers = NIL;
	HeapTuple	tuple;

	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
		servers = lappend_oid(
			servers, ((Form_pg_foreign_server) GETSTRUCT(tuple))->oid);
	systable_endscan(scan);
	table_close(relation, AccessShareLock);
	return servers;
}

/* Give holder a connection of the server, if it leads there. */
static bool
connect_by(Oid serverid, const char *instance, px_connection_holder *holder)
{
	UserMapping *user = GetUserMapping(GetUserId(), serverid);
	px_peer    *peer = px_peer_get(user);
	const px_hello *hello;

	if (peer->instance_at != 0 && strcmp(peer->instance, instance) != 0 &&
		!TimestampDifferenceExceeds(peer->instance_at, GetCurrentTimestamp(),
									ASK_AGAIN_MS))
		return false;
	holder->servername = GetForeignServer(serverid)->servername;
	if (!px_is_ok(px_connection_acquire(peer, user, holder)))
		return false;
	hello = &holder->connection->hello;
	strlcpy(peer->instance, hello->instance, sizeof(peer->instance));
	peer->instance_at = GetCurrentTimestamp();
	if (hello->can_pull && strcmp(hello->instance, instance) == 0)
		return true;
	px_connection_release(holder->connection);
	return false;
}

bool
px_pull_connect(const char *instance, px_connection_holder *holder)
{
	List	   *servers = all_servers();
	ListCell   *lc;

	foreach(lc, servers)
	{
		CHECK_FOR_INTERRUPTS();
		if (is_usable(lfirst_oid(lc)) &&
			connect_by(lfirst_oid(lc), instance, holder))
			return true;
	}
	return false;
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

/* The trial's memory is freed, maybe after an error: the pool cleans up. */
static void
forget_trial(void *arg)
{
	trial	   *tried = arg;

	if (tried->holder.connection)
		tried->holder.connection->holder = NULL;
}

static trial *
new_trial(void)
{
	trial	   *tried = palloc0(sizeof(trial));

	tried->holder.lose = lose_connection;
	tried->holder.give_up = give_up_connection;
	tried->holder.state = trial_state;
	tried->forget.func = forget_trial;
	tried->forget.arg = tried;
	MemoryContextRegisterResetCallback(CurrentMemoryContext, &tried->forget);
	return tried;
}

/* One character: see px_sql_can_pull. */
static const char *
way_to(const char *instance, trial *tried)
{
	px_hello	self;

	px_hello_self(&self);
	if (strcmp(self.instance, instance) == 0)
		return "h";
	if (!px_pull_connect(instance, &tried->holder))
		return "-";
	return tried->holder.connection->locality == PX_REMOTE ? "r" : "l";
}

/*
 * exchange.can_pull(instances text) returns text
 *
 * For each of the names, which single spaces separate: h if it is this one, l
 * if it is on this host, r if it is elsewhere, and - if it cannot be reached,
 * by a connection of its own for each name.  The connections are kept idle.
 */
Datum
px_sql_can_pull(PG_FUNCTION_ARGS)
{
	const char *at = text_to_cstring(PG_GETARG_TEXT_PP(0));
	List	   *trials = NIL;
	ListCell   *lc;
	StringInfoData ways;

	initStringInfo(&ways);
	do
	{
		char		instance[PX_INSTANCE_NBYTES];

		if (px_text_take_chars(&at, "0123456789abcdef", instance,
							   sizeof(instance)) != PX_INSTANCE_NBYTES - 1)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("invalid name of a running server")));
		trials = lappend(trials, new_trial());
		appendStringInfoString(&ways, way_to(instance, llast(trials)));
	} while (px_text_take(&at, " "));
	foreach(lc, trials)
	{
		px_connection_holder *holder = lfirst(lc);

		if (holder->connection)
			px_connection_release(holder->connection);
	}
	PG_RETURN_TEXT_P(cstring_to_text_with_len(ways.data, ways.len));
}
