/*-------------------------------------------------------------------------
 *
 * drain.h
 *		Bringing a connection to rest whose rows are not wanted any more.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_CONN_DRAIN_H
#define PX_CONN_DRAIN_H

#include "datatype/timestamp.h"
#include "libpq-fe.h"

#include "conn/answer.h"

/*
 * By when the connections that are left now must have come to rest, all
 * together.
 */
extern TimestampTz px_abandon_deadline(void);

/*
 * Read and drop results until the connection is at rest.  Frames may be on
 * their way for as long as the remote has not seen the cancel, and it cannot
 * see it while it is blocked sending: so what arrives must be read.  False if
 * that takes longer than until deadline, or the connection is lost.  Serves no
 * interrupts.
 */
extern bool px_drain(PGconn *pg, px_rest_limit limit, TimestampTz deadline);

/*
 * Stop what runs on the connection, and leave its transaction.  cancelled says
 * that a cancel was sent just now.  False as above.  Serves no interrupts.
 */
extern bool px_leave(PGconn *pg, bool cancelled, TimestampTz deadline);

#endif							/* PX_CONN_DRAIN_H */
