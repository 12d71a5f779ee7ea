/*-------------------------------------------------------------------------
 *
 * query_error.h
 *		Errors of a stream's query that are not the end of the scan.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_TRANSPORT_QUERY_ERROR_H
#define PX_TRANSPORT_QUERY_ERROR_H

#include "libpq-fe.h"

/*
 * Does the error say that the marker was not recognised, is not there, or may
 * not be called?  The extension may be dropped there after the hello, or a
 * right revoked.  If it is another function that is missing, or a right to
 * something else, postgres_fdw will say so.
 */
extern bool px_error_is_missing_marker(const PGresult *res);

/*
 * Does the error say that the query, as one statement of a session of ours,
 * exceeds what the server allows?  Its rows may be had by smaller statements:
 * they take less time, memory and room for temporary files each.  A violation
 * of the protocol is about frames that the query was sent, which the server
 * has found too large.  57014 is a time-out there, or somebody has cancelled
 * the query there, which is no limit: if our own query is cancelled, we do not
 * learn that from the server.
 */
extern bool px_error_is_limit(const PGresult *res);

#endif							/* PX_TRANSPORT_QUERY_ERROR_H */
