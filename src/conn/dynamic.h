/*-------------------------------------------------------------------------
 *
 * dynamic.h
 *		Queries that a remote's session runs only if it may.
 *
 * A function that claims to be immutable is called when the statement around
 * it is planned, wherever it stands, and the right to call a function is
 * looked for when the statement begins, even if it is never called.  So what
 * must not be called before something is known, or might be forbidden, stands
 * in a string, which ts_stat() takes: of all functions of pg_catalog that run
 * a query and return what it returned, it alone is there in a server without
 * libxml.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_CONN_DYNAMIC_H
#define PX_CONN_DYNAMIC_H

/*
 * A text expression, in memory of the current context: what the query returns,
 * which is planned when the expression is evaluated.  It returns one row at
 * most, of a text of 1 to 2046 bytes; null if none.
 */
extern char *px_dynamic_sql(const char *query);

/*
 * The same for several rows, which must differ.  They come together, in the
 * order of their bytes.
 */
extern char *px_dynamic_rows_sql(const char *query);

/*
 * The same for a text expression of any length that is not null, in place of a
 * query.
 */
extern char *px_dynamic_long_sql(const char *expression);

/*
 * A text expression, in memory of the current context: what call returns,
 * after the row of check, a query for px_dynamic_sql.  Null if that returns
 * none, or if the user must not make the check: then call is not evaluated.
 */
extern char *px_dynamic_if_sql(const char *check, const char *call);

/*
 * A text expression, in memory of the current context: what the expression
 * fault says, or that the user must not ask.
 */
extern char *px_dynamic_fault_sql(const char *fault);

#endif							/* PX_CONN_DYNAMIC_H */
