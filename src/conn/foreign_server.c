/*-------------------------------------------------------------------------
 *
 * foreign_server.c
 *		What the catalogs say of foreign servers.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_user_mapping.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "conn/foreign_server.h"

bool
px_server_is_postgres_fdw(const ForeignServer *server)
{
	ForeignDataWrapper *fdw = GetForeignDataWrapper(server->fdwid);
	char	   *handler = OidIsValid(fdw->fdwhandler)
		? get_func_name(fdw->fdwhandler)
		: NULL;

	return handler && strcmp(handler, "postgres_fdw_handler") == 0;
}

bool
px_server_has_mapping(Oid serverid, Oid userid)
{
	return SearchSysCacheExists2(USERMAPPINGUSERSERVER,
								 ObjectIdGetDatum(userid),
								 ObjectIdGetDatum(serverid)) ||
		SearchSysCacheExists2(USERMAPPINGUSERSERVER,
							  ObjectIdGetDatum(InvalidOid),
							  ObjectIdGetDatum(serverid));
}
