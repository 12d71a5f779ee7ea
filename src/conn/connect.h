/*-------------------------------------------------------------------------
 *
 * connect.h
 *		A connection of our own to the server of a foreign table.
 *
 * It is made from the same options and under the same security checks as
 * postgres_fdw's connection to that server, so that it can do nothing which
 * that one could not.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_CONN_CONNECT_H
#define PX_CONN_CONNECT_H

#include "datatype/timestamp.h"
#include "foreign/foreign.h"
#include "libpq-fe.h"

#include "conn/outcome.h"

/*
 * How long connecting may take where the server has no connect_timeout.  TCP
 * sends its first packet again after 1, 3 and 7 seconds: three may get lost.
 */
#define PX_CONNECT_TIMEOUT_MS	10000

/*
 * Connect to server as user, into *pg, which is to be closed by px_disconnect.
 * Nothing was asked of the remote yet.  Sending on the connection does not
 * block: px_wait_for_result sends what is left.
 *
 * Where postgres_fdw would refuse or fail, the outcome is PX_OUTCOME_SILENT or
 * PX_OUTCOME_FAILED, and *pg is NULL.  postgres_fdw then refuses or fails
 * itself, in its own words, when it runs the scan.  Blocks, serving
 * interrupts, which are the only errors.
 */
extern px_outcome px_connect(ForeignServer *server, UserMapping *user,
							 PGconn **pg);

/* postgres_fdw's server option keep_connections; on unless switched off. */
extern bool px_keeps_connections(const ForeignServer *server);

/* Close the connection; NULL is allowed.  Never errors, never waits. */
extern void px_disconnect(PGconn *pg);

/*
 * The same, but wait until the session over there has ended and does not count
 * as a connection any more; a second at most.  Serves no interrupts.
 */
extern void px_disconnect_wait(PGconn *pg);

/*
 * Do both ends of the socket have the same address?  True for Unix sockets.
 * Only addresses are compared: two network namespaces of one machine are
 * different hosts.
 */
extern bool px_socket_is_same_host(pgsocket socket);

#endif							/* PX_CONN_CONNECT_H */
