/*-------------------------------------------------------------------------
 *
 * ask.h
 *		Questions to a server that exchange.check has connected to.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_CHECK_ASK_H
#define PX_CHECK_ASK_H

#include "libpq-fe.h"

#include "conn/outcome.h"

/*
 * Run a query that returns a row of n columns of text, or a command that
 * returns nothing (n is 0).  values are palloc'd, and may be shown; NULL for
 * null.  PX_OUTCOME_REFUSED if the server says that there is an error; the
 * connection can still be used, unless it is in a transaction or pipeline.
 * PX_OUTCOME_FAILED if something else comes: then it may be of no use any
 * more.  Blocks for some seconds at most, serving interrupts.
 */
extern px_outcome px_check_ask(PGconn *pg, const char *sql, int n,
							   char **values);

/* The same for a statement that was sent already, in a pipeline or not. */
extern px_outcome px_check_answer(PGconn *pg, int n, char **values);

#endif							/* PX_CHECK_ASK_H */
