/*-------------------------------------------------------------------------
 *
 * pull_server.h
 *		The foreign servers of this database that lead to other servers of a
 *		join.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_EXEC_PULL_SERVER_H
#define PX_EXEC_PULL_SERVER_H

#include "conn/peer.h"

/* The name of a running server, as its hello has it, with the NUL. */
#define PX_INSTANCE_NBYTES	33

/*
 * Give holder a connection to the running server of that name, by a server of
 * postgres_fdw that the current user may use, with a user mapping, and that
 * belongs to somebody whom the user trusts anyway: to a superuser, or a role
 * whose privileges the user has.  False if there is none, or no connection is
 * to be had.  Blocks while connecting, serving interrupts.  Raises no errors
 * about servers.
 */
extern bool px_pull_connect(const char *instance,
							px_connection_holder *holder);

#endif							/* PX_EXEC_PULL_SERVER_H */
