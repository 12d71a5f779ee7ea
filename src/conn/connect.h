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

/* A connection that is being made. */
typedef struct px_connecting
{
	PGconn	   *pg;				/* to be closed by px_disconnect, whatever
								 * becomes of it; NULL if it was not started */
	PostgresPollingStatusType status;	/* of PQconnectPoll */
	int			timeout_ms;
	TimestampTz deadline;		/* that long after it was started */
	bool		needs_password;	/* is to log in with one */
} px_connecting;

/*
 * Begin to connect to server as user.  Where postgres_fdw would refuse or
 * fail, the outcome is PX_OUTCOME_FAILED.  postgres_fdw then refuses or fails
 * itself, in its own words, when it runs the scan.  Does not wait for the
 * remote, but for the resolver if the host has a name.
 */
extern px_outcome px_connect_start(ForeignServer *server, UserMapping *user,
								   px_connecting *connecting);

/*
 * Is there more to wait for?  Then for which events of the socket; and when
 * there is one, go on, without waiting.
 */
extern bool px_connect_is_pending(const px_connecting *connecting);
extern int	px_connect_events(const px_connecting *connecting);
extern void px_connect_go_on(px_connecting *connecting);

/*
 * Wait until the connection is made.  PX_OUTCOME_OK: nothing was asked of the
 * remote yet, and sending on the connection does not block: px_wait_for_result
 * sends what is left.  Or PX_OUTCOME_FAILED, or after the deadline
 * PX_OUTCOME_SILENT.  Blocks, serving interrupts, which are the only errors.
 */
extern px_outcome px_connect_finish(px_connecting *connecting);

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
