/*-------------------------------------------------------------------------
 *
 * foreign_server.h
 *		What the catalogs say of foreign servers.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_CONN_FOREIGN_SERVER_H
#define PX_CONN_FOREIGN_SERVER_H

#include "foreign/foreign.h"

/*
 * Does the server belong to postgres_fdw?  We compare the name of the handler
 * function only, because the extension may be in any schema.
 */
extern bool px_server_is_postgres_fdw(const ForeignServer *server);

/*
 * Has the user a mapping, be it PUBLIC's?  GetUserMapping raises an error if
 * there is none.
 */
extern bool px_server_has_mapping(Oid serverid, Oid userid);

/* The value of an option, or what it is without that option. */
extern const char *px_option_value(const List *options, const char *name,
								   const char *otherwise);

/*
 * Have two servers the same host and port?  By their options: other names of
 * one host are taken for other hosts.
 */
extern bool px_servers_share_address(const ForeignServer *a,
									 const ForeignServer *b);

/* The names that a foreign table, and a column of it, have on the server. */
extern void px_remote_table_name(Oid relid, const char **schema,
								 const char **name);
extern const char *px_remote_column_name(Oid relid, AttrNumber attnum);

#endif							/* PX_CONN_FOREIGN_SERVER_H */
