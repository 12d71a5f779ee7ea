/*-------------------------------------------------------------------------
 *
 * foreign_server.c
 *		What the catalogs say of foreign servers.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_user_mapping.h"
#include "commands/defrem.h"
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

const char *
px_option_value(const List *options, const char *name, const char *otherwise)
{
	ListCell   *lc;

	foreach(lc, options)
	{
		DefElem    *option = lfirst_node(DefElem, lc);

		if (strcmp(option->defname, name) == 0)
			return defGetString(option);
	}
	return otherwise;
}

bool
px_servers_share_address(const ForeignServer *a, const ForeignServer *b)
{
	static const char *const names[] = {"service", "host", "hostaddr", "port"};

	for (size_t i = 0; i < lengthof(names); i++)
	{
		if (strcmp(px_option_value(a->options, names[i], ""),
				   px_option_value(b->options, names[i], "")) != 0)
			return false;
	}
	return true;
}

void
px_remote_table_name(Oid relid, const char **schema, const char **name)
{
	const List *options = GetForeignTable(relid)->options;

	*schema = px_option_value(options, "schema_name",
							  get_namespace_name(get_rel_namespace(relid)));
	*name = px_option_value(options, "table_name", get_rel_name(relid));
}

const char *
px_remote_column_name(Oid relid, AttrNumber attnum)
{
	return px_option_value(GetForeignColumnOptions(relid, attnum),
						   "column_name", get_attname(relid, attnum, false));
}
