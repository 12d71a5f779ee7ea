/*-------------------------------------------------------------------------
 *
 * server_cost.c
 *		What paths of a foreign table take from its server's options.
 *
 * That is asked for each foreign table of each query, and each partition.  To
 * read the options takes 5,000 instructions, so they are kept.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "commands/defrem.h"
#include "foreign/foreign.h"
#include "utils/guc.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/syscache.h"

#include "compat.h"
#include "conn/foreign_server.h"
#include "plan/server_cost.h"

typedef struct server_cost
{
	Oid			serverid;		/* hash key, must be first */
	bool		is_postgres_fdw;
	double		tuple_cost;
} server_cost;

static HTAB *costs = NULL;
static bool is_stale = false;	/* forget them before the next use */

static void
note_change(Datum arg, int cache, uint32 hash)
{
	is_stale = true;
}

static void
make_table(void)
{
	static bool registered = false;
	HASHCTL		info = {
		.keysize = sizeof(Oid),
		.entrysize = sizeof(server_cost),
	};

	if (!registered)
	{
		CacheRegisterSyscacheCallback(FOREIGNSERVEROID, note_change,
									  (Datum) 0);
		CacheRegisterSyscacheCallback(FOREIGNDATAWRAPPEROID, note_change,
									  (Datum) 0);
		registered = true;
	}
	if (costs && is_stale)
	{
		hash_destroy(costs);
		costs = NULL;
	}
	is_stale = false;
	if (costs == NULL)
		costs = hash_create("ExchangeServerCosts", 16, &info,
							HASH_ELEM | HASH_BLOBS);
}

static double
read_tuple_cost(const ForeignServer *server)
{
	double		cost = PX_FDW_TUPLE_COST_DEFAULT;
	ListCell   *lc;

	foreach(lc, server->options)
	{
		DefElem    *option = lfirst_node(DefElem, lc);

		if (strcmp(option->defname, "fdw_tuple_cost") == 0)
			(void) parse_real(defGetString(option), &cost, 0, NULL);
	}
	return cost;
}

bool
px_server_tuple_cost(Oid serverid, double *tuple_cost)
{
	server_cost *entry;

	make_table();
	entry = hash_search(costs, &serverid, HASH_FIND, NULL);
	if (entry == NULL)
	{
		const ForeignServer *server = GetForeignServer(serverid);
		server_cost found = {
			.serverid = serverid,
			.is_postgres_fdw = px_server_is_postgres_fdw(server),
			.tuple_cost = read_tuple_cost(server),
		};

		/* A change that came meanwhile counts for the next use. */
		entry = hash_search(costs, &serverid, HASH_ENTER, NULL);
		*entry = found;
	}
	*tuple_cost = entry->tuple_cost;
	return entry->is_postgres_fdw;
}
