/*-------------------------------------------------------------------------
 *
 * downlink.h
 *		Calls on the connection that postgres_fdw has, for writing.
 *
 * A downlink calls a function of the remote with a text argument that may be
 * large, and returns the text that the function returns.  It belongs to a
 * statement and a server, and uses postgres_fdw's connection and transaction
 * by postgres_fdw's callbacks.  There are two ways:
 *
 * - Synchronous: a ForeignModify made in memory, which is one statement
 *	 prepared on the remote, and a round trip for each call.
 * - Asynchronous: a cursor (fdw_cursor.h) with the text as its parameter.
 *	 px_downlink_send returns when the remote has the text; the remote then
 *	 works while other calls are made, until px_downlink_collect.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_TRANSPORT_DOWNLINK_H
#define PX_TRANSPORT_DOWNLINK_H

#include "nodes/execnodes.h"

typedef struct px_downlink px_downlink;

/*
 * A downlink for the foreign table of target (its server, and the user that
 * postgres_fdw would use for it), in the query of mtstate; both are those that
 * BeginForeignModify or BeginForeignInsert was given.  It lives in
 * mtstate->ps.state->es_query_cxt.  Nothing is sent yet.
 */
extern px_downlink *px_downlink_new(ModifyTableState *mtstate,
									ResultRelInfo *target);

/*
 * Call, and wait.  sql is a SELECT that returns one row with one text, and has
 * at most one parameter, $1, of type text: its value is argument, or there is
 * none if that is NULL.  The result is valid until the next call, and NULL if
 * the remote returned null or no row.  It is not checked, not even its
 * encoding.  Errors of the remote are raised with reported in place of sql.
 *
 * The first call with an sql has the remote prepare it, in a round trip of its
 * own.
 */
extern text *px_downlink_call(px_downlink *downlink, const char *sql,
							  text *argument, const char *reported);

/*
 * Call, and do not wait for the result.  Waits until the remote has planned
 * the query, and has begun to execute it: others who use the connection are
 * served first.  argument and reported must stay valid until the result is
 * collected.  The downlink must not have a call in flight.
 *
 * If the connection is needed for something else, a scan or a savepoint for
 * instance, the result is waited for there.  Then it is there when it is
 * collected, or its error is raised there: again with reported.
 */
extern void px_downlink_send(px_downlink *downlink, const char *sql,
							 text *argument, const char *reported);

/* Is a call in flight: sent and not collected? */
extern bool px_downlink_is_busy(const px_downlink *downlink);

/* Has the result of the call in flight arrived?  Does not wait. */
extern bool px_downlink_has_result(px_downlink *downlink);

/*
 * Wait for the result of the call in flight.  Blocks, serving interrupts.
 * Valid until the next call; NULL, and unchecked, as above.
 */
extern text *px_downlink_collect(px_downlink *downlink);

/*
 * The error of the call in flight, if it has come when it could not be raised:
 * at the beginning of a subtransaction.  Collecting the result raises it; who
 * uses the connection before that gets an error without its code.  NULL if
 * there is none.
 */
extern const ErrorData *px_downlink_kept_error(const px_downlink *downlink);

/*
 * The socket, to judge locality by.  PGINVALID_SOCKET if it is not known:
 * until a call that was sent is collected.
 */
extern pgsocket px_downlink_socket(const px_downlink *downlink);

/*
 * End it, when all was collected.  After an error it is freed with its query
 * or subtransaction.
 */
extern void px_downlink_end(px_downlink *downlink);

#endif							/* PX_TRANSPORT_DOWNLINK_H */
