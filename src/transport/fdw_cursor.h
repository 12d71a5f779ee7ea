/*-------------------------------------------------------------------------
 *
 * fdw_cursor.h
 *		A cursor of our own on the connection that postgres_fdw has.
 *
 * postgres_fdw hides its connections.  But it runs whatever query stands in
 * a ForeignScan node: so one is made in memory, with a query of ours and a
 * single text column, and run by postgres_fdw's own callbacks.  The right
 * connection, user, remote transaction, savepoint, interrupts and errors are
 * then its care, as for any foreign scan.
 *
 * A row is fetched at a time.  It can be asked for before it is waited for, by
 * the callbacks for asynchronous execution: whoever uses the connection next
 * has postgres_fdw complete the request first.  Savepoints do not, so
 * fdw_cursor.c takes care of them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_TRANSPORT_FDW_CURSOR_H
#define PX_TRANSPORT_FDW_CURSOR_H

#include "nodes/execnodes.h"

typedef struct px_fdw_cursor px_fdw_cursor;

/*
 * A cursor for a foreign scan of estate's query: on the server of the foreign
 * table rtindex, as userid, with the scan's parameters, which are evaluated as
 * postgres_fdw does.  To be made when the executor starts, and in the same
 * subtransaction as the scan: so that it lives as long as the scan's own
 * cursor would.  reported is the query that errors are to name.  sql_nbytes is
 * the room for the query.  The cursor is to be ended with the query; after an
 * error, it is freed with its subtransaction.
 *
 * If postgres_fdw has no connection yet, this makes one.  Its errors are those
 * of postgres_fdw.
 */
extern px_fdw_cursor *px_fdw_cursor_new(EState *estate, Oid serverid,
										Index rtindex, Oid userid,
										List *params, const char *reported,
										Size sql_nbytes);

/*
 * A cursor for one call: of sql, which has argument as its parameter $1, or no
 * parameter if that is NULL.  It is on the server of the foreign table relid,
 * as userid.  sql and argument must stay valid until it is started, reported
 * until it is ended.  The rest is as above.
 */
extern px_fdw_cursor *px_fdw_cursor_new_call(EState *estate, Oid serverid,
											 Oid relid, Oid userid,
											 const char *sql, text *argument,
											 const char *reported);

/* Set the query, before the first row is asked for, and after a rescan. */
extern void px_fdw_cursor_set_sql(px_fdw_cursor *cursor, const char *sql);

/*
 * Ask for the next row.  The first time, and after a rescan, runs InitPlans
 * that parameters come from, and waits until the remote has planned the query;
 * does not wait for the row.  Errors of the remote are raised with the reported
 * query.
 */
extern void px_fdw_cursor_request(px_fdw_cursor *cursor);

/*
 * The same for the first row, and the remote begins to work on it: others who
 * use the connection are served first.
 */
extern void px_fdw_cursor_start(px_fdw_cursor *cursor);

/* Was the next row asked for, and not fetched yet? */
extern bool px_fdw_cursor_is_asked(const px_fdw_cursor *cursor);

/*
 * Wait until the next row is there, asking for it if need be, for at most
 * timeout_ms.  False if it is not there by then.  Blocks, serving interrupts.
 */
extern bool px_fdw_cursor_wait(px_fdw_cursor *cursor, long timeout_ms);

/*
 * The next row, which is asked for and waited for if need be: the text, valid
 * until the next call for this cursor, or NULL at the end.  Blocks, serving
 * interrupts.
 */
extern text *px_fdw_cursor_fetch(px_fdw_cursor *cursor);

/*
 * The error that has come instead of a row when no error could be raised: the
 * next call raises it.  NULL if there is none.
 */
extern const ErrorData *px_fdw_cursor_kept_error(const px_fdw_cursor *cursor);

/*
 * Does the cursor belong to the current subtransaction?  In another one that
 * is rolled back postgres_fdw would cancel what was asked for, and with it the
 * cursor.
 */
extern bool px_fdw_cursor_is_innermost(const px_fdw_cursor *cursor);

/*
 * The socket of the connection, for questions of addresses; PGINVALID_SOCKET
 * before the first row.
 */
extern pgsocket px_fdw_cursor_socket(const px_fdw_cursor *cursor);

/* Begin anew, with the parameters as they then are. */
extern void px_fdw_cursor_rescan(px_fdw_cursor *cursor);

/* Close the cursor, which frees it: a round trip, if it was opened. */
extern void px_fdw_cursor_end(px_fdw_cursor *cursor);

/*
 * Free it.  If nothing more is expected from it, the remote has it until its
 * transaction ends.
 */
extern void px_fdw_cursor_leave(px_fdw_cursor *cursor);

#endif							/* PX_TRANSPORT_FDW_CURSOR_H */
