/*-------------------------------------------------------------------------
 *
 * here.h
 *		What exchange.check finds out about this server and session.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_CHECK_HERE_H
#define PX_CHECK_HERE_H

#include "check/report.h"

/* Add the rows that are about no foreign server. */
extern void px_check_here(px_report *report);

/*
 * Is that a minor release whose pglz may read beyond its input?  version is a
 * server_version_num.
 */
extern bool px_minor_release_is_unsafe(int version);

#define PX_MINOR_RELEASE_ADVICE \
	"Update PostgreSQL to the newest minor release, at least 15.5 or 16.1:" \
	" older ones may read beyond the end of compressed values."

/*
 * The version of the extension's SQL objects in this database, and that of the
 * files which are installed; NULL if there are none.
 */
extern char *px_extension_version_here(void);

#endif							/* PX_CHECK_HERE_H */
