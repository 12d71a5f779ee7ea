/*-------------------------------------------------------------------------
 *
 * connections.c
 *		The functions of exchange.connections and exchange.disconnect.
 *
 * Like postgres_fdw_get_connections and postgres_fdw_disconnect they are about
 * the session that calls them, for its own connections.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "foreign/foreign.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

#include "compat.h"
#include "conn/pool.h"

extern PGDLLEXPORT Datum px_sql_get_connections(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum px_sql_disconnect(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum px_sql_disconnect_all(PG_FUNCTION_ARGS);

PG_FUNCTION_INFO_V1(px_sql_get_connections);
PG_FUNCTION_INFO_V1(px_sql_disconnect);
PG_FUNCTION_INFO_V1(px_sql_disconnect_all);

#define CONNECTIONS_NCOLUMNS	10

static const char *
state_name(const px_connection *connection)
{
	if (!connection->in_use)
		return "idle";
	if (connection->holder == NULL)
		return "abandoned";
	return connection->holder->state(connection->holder);
}

static const char *
locality_name(px_locality locality)
{
	switch (locality)
	{
		case PX_REMOTE:
			return "remote";
		case PX_SAME_HOST:
			return "same host";
		case PX_SAME_INSTANCE:
			return "same instance";
	}
	return "unknown";
}

static void
put_connection(const px_connection *connection, void *arg)
{
	ReturnSetInfo *result = arg;
	const px_peer *peer = connection->peer;
	ForeignServer *server =
		GetForeignServerExtended(peer->serverid, FSV_MISSING_OK);
	int			pid = PQbackendPID(connection->pg);
	Datum		values[CONNECTIONS_NCOLUMNS];
	bool		nulls[CONNECTIONS_NCOLUMNS] = {false};
	int			i = 0;

	Assert(result->setDesc->natts == CONNECTIONS_NCOLUMNS);
	nulls[i] = server == NULL;
	values[i++] = server ? CStringGetTextDatum(server->servername) : (Datum) 0;
	values[i++] = ObjectIdGetDatum(peer->key.userid);
	nulls[i] = pid == 0;		/* a pooler need not tell */
	values[i++] = Int32GetDatum(pid);
	values[i++] = CStringGetTextDatum(state_name(connection));
	values[i++] = BoolGetDatum(connection->in_use);
	values[i++] = BoolGetDatum(!connection->invalidated);
	values[i++] = CStringGetTextDatum(locality_name(connection->locality));
	values[i++] = TimestampTzGetDatum(connection->since);
	values[i++] = Int64GetDatum((int64) connection->streams);
	values[i++] = Int64GetDatum((int64) connection->nbytes);
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

Datum
px_sql_get_connections(PG_FUNCTION_ARGS)
{
	InitMaterializedSRF(fcinfo, 0);
	px_pool_read(put_connection, fcinfo->resultinfo);
	return (Datum) 0;
}

Datum
px_sql_disconnect(PG_FUNCTION_ARGS)
{
	char	   *name = text_to_cstring(PG_GETARG_TEXT_PP(0));

	PG_RETURN_BOOL(
		px_pool_disconnect(GetForeignServerByName(name, false)->serverid));
}

Datum
px_sql_disconnect_all(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(px_pool_disconnect(InvalidOid));
}
