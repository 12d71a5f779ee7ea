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

#include "conn/outcome.h"
#include "conn/peer.h"
#include "wire/pull_words.h"

/*
 * Give holder a connection to the database of the peer, by the foreign server
 * of its name.  The server must be one of postgres_fdw that the current user
 * may use, with a user mapping, and belong to somebody whom the user trusts
 * anyway: to a superuser, or a role whose privileges the user has.
 *
 * Otherwise, or if the server leads elsewhere, or no connection is to be had
 * by the deadline, the outcome says why.  Blocks while connecting, serving
 * interrupts.  Raises no errors about servers.
 */
extern px_outcome px_pull_connect(const px_pull_peer *peer,
								  TimestampTz deadline,
								  px_connection_holder *holder);

#endif							/* PX_EXEC_PULL_SERVER_H */
