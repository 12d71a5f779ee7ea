/*-------------------------------------------------------------------------
 *
 * remote_error.h
 *		Errors that postgres_fdw raises for a query of ours.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_TRANSPORT_REMOTE_ERROR_H
#define PX_TRANSPORT_REMOTE_ERROR_H

/* The query that closes a cursor, without the cursor's number. */
#define PX_CLOSE_CURSOR	"CLOSE c"

/*
 * In a PG_CATCH: end error handling, and return a copy of the error, in the
 * current memory context.  Its context names reported in place of our query
 * sql, which may be PX_CLOSE_CURSOR.  Its texts, which postgres_fdw takes from
 * the remote as they are, are valid in the database encoding.
 */
extern ErrorData *px_remote_error_copy(const char *sql, const char *reported);

/*
 * Cut the declaration of a cursor off the query in the error's context: only
 * we know that the query has a cursor.
 */
extern void px_remote_error_cut_declaration(ErrorData *error,
											const char *query);

/* In a PG_CATCH: raise the error again, as that.  It is copied to context. */
pg_noreturn extern void px_remote_error_rethrow(MemoryContext context,
												const char *sql,
												const char *reported);

/* Is it not the remote's error, but the cancel of our own statement? */
extern bool px_error_is_own_cancel(const ErrorData *error);

/* Let a cancel that was caught come again. */
extern void px_cancel_again(void);

#endif							/* PX_TRANSPORT_REMOTE_ERROR_H */
