/*-------------------------------------------------------------------------
 *
 * connect.h
 *		A connection of our own to the server of a foreign table.
 *
 * It is made from the same options, under the same security checks and with
 * the same session settings as postgres_fdw's connection to that server, so
 * that it can do nothing which that one could not, and reads and prints
 * values alike.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_CONN_CONNECT_H
#define PX_CONN_CONNECT_H

#include "datatype/timestamp.h"
#include "foreign/foreign.h"
#include "libpq-fe.h"

#include "guc.h"

/*
 * How long connecting may take where the server has no connect_timeout.  TCP
 * sends its first packet again after 1, 3 and 7 seconds: three may get lost.
 */
#define PX_CONNECT_TIMEOUT_MS	10000

/*
 * Connect to server as user.  Returns NULL, with *reason set to a short
 * phrase (palloc'd), where postgres_fdw would refuse or fail: it then does so
 * itself, in its own words, when the fallback runs.  *silent is set to whether
 * that is for want of an answer in time.  Blocks, serving interrupts; errors
 * out only on those.  Close with px_disconnect.
 */
extern PGconn *px_connect(ForeignServer *server, UserMapping *user,
						  char **reason, bool *silent);

/* Close the connection; NULL is allowed.  Never errors, never waits. */
extern void px_disconnect(PGconn *pg);

/*
 * Ask the remote to cancel what runs on pg.  True if the request was sent.
 * Blocks for a round trip, without serving interrupts, but at most until the
 * deadline.
 */
extern bool px_cancel(PGconn *pg, TimestampTz deadline);

/*
 * How long a session may take to answer a trivial command.  Behind a pooler
 * all backends may be taken, by the very transaction that waits for this
 * session, say; postgres_fdw has its connection, and does without ours.
 */
#define PX_SETUP_TIMEOUT_MS	5000

/*
 * Wait until PQgetResult would not block, serving interrupts; a broken
 * connection counts.  False if that is not so by the deadline (DT_NOEND for
 * none).
 */
extern bool px_wait_for_result(PGconn *pg, TimestampTz deadline);

/*
 * Run an SQL command (or several, separated by semicolons) on pg and return
 * the last result, to be PQclear'ed by the caller, or NULL if the connection
 * broke or has not answered within a few seconds: then close it.  For setting
 * up a session.  Blocks, serving interrupts.
 */
extern PGresult *px_exec(PGconn *pg, const char *sql);

/* As px_exec for one command with a text parameter and text results. */
extern PGresult *px_exec_param(PGconn *pg, const char *sql, const char *param);

/*
 * Do both ends of the socket have the same address?  True for
 * Unix sockets.  A pure question of addresses: two network namespaces of one
 * machine are different hosts.
 */
extern bool px_socket_is_same_host(pgsocket socket);

/*
 * Raise a remote error at elevel with its SQLSTATE, message, detail, hint and
 * context, and sql as further context: as postgres_fdw does, so that clients
 * see no difference.  The server's name goes to the log.  res may be NULL,
 * then the connection's message is used; it is PQclear'ed either way.
 */
extern void px_report_remote_error(int elevel, PGresult *res, PGconn *pg,
								   const char *servername, const char *sql);

/* The SQLSTATE of a failed result, ERRCODE_CONNECTION_FAILURE without one. */
extern int	px_result_sqlstate(const PGresult *res);

#endif							/* PX_CONN_CONNECT_H */
