/*-------------------------------------------------------------------------
 *
 * cancel.h
 *		Requests to cancel what runs on a connection.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_CONN_CANCEL_H
#define PX_CONN_CANCEL_H

#include "datatype/timestamp.h"
#include "libpq-fe.h"

/*
 * Ask the remote to cancel what runs on pg.  True if the request was sent.  It
 * is not if the connection is encrypted and libpq, before version 17, cannot
 * encrypt the request: then close the connection.  Blocks for some round
 * trips, without serving interrupts, but at most until the deadline.
 */
extern bool px_cancel(PGconn *pg, TimestampTz deadline);

#endif							/* PX_CONN_CANCEL_H */
