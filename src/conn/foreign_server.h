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

#endif							/* PX_CONN_FOREIGN_SERVER_H */
