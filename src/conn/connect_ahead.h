/*-------------------------------------------------------------------------
 *
 * connect_ahead.h
 *		Connecting to several servers at the same time.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_CONN_CONNECT_AHEAD_H
#define PX_CONN_CONNECT_AHEAD_H

#include "datatype/timestamp.h"
#include "foreign/foreign.h"

/*
 * Connect to the peers of n users where there is no connection yet.  The
 * connections stay idle, for px_connection_acquire to find.  What fails is
 * left to that, too, which says why.  Blocks as long as the slowest of them
 * takes, but not beyond the deadline, which is DT_NOEND or for all together.
 * Serves interrupts.
 */
extern void px_connect_ahead(UserMapping *const *users, int n,
							 TimestampTz deadline);

#endif							/* PX_CONN_CONNECT_AHEAD_H */
