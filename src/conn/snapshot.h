/*-------------------------------------------------------------------------
 *
 * snapshot.h
 *		One snapshot for all that a local transaction reads from a server.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_CONN_SNAPSHOT_H
#define PX_CONN_SNAPSHOT_H

#include "nodes/execnodes.h"

#include "conn/pool.h"

/*
 * See to it that peer->snapshot is the snapshot of the server's postgres_fdw
 * connection in this transaction.  Returns NULL if so, else why there cannot
 * be one (a static string).  Asks once per transaction.
 *
 * estate's range table entry rtindex is a foreign table of the server; its
 * permissions have been checked.  userid is whom to connect as.  When it has to
 * ask, blocks for the two round trips of a small postgres_fdw scan; errors
 * are postgres_fdw's.  The node that has asked is put into *question, for the
 * caller to end when the query ends: that takes a third.
 */
extern const char *px_snapshot_get(px_peer *peer, EState *estate,
								   Index rtindex, Oid userid,
								   PlanState **question);

#endif							/* PX_CONN_SNAPSHOT_H */
