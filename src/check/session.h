/*-------------------------------------------------------------------------
 *
 * session.h
 *		Whether postgres_fdw itself can connect to a server.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_CHECK_SESSION_H
#define PX_CHECK_SESSION_H

#include "check/report.h"

/*
 * May the current user use the server, by its own right or that to read one of
 * its foreign tables?  postgres_fdw connects for nobody else.
 */
extern bool px_check_may_use(const ForeignServer *server);

/*
 * Add the row about that, by a scan of one of the server's foreign tables
 * that asks for no row.  An error of postgres_fdw's is a row, too.  Blocks as
 * postgres_fdw does while it connects.
 */
extern void px_check_session(px_report *report, const ForeignServer *server);

#endif							/* PX_CHECK_SESSION_H */
