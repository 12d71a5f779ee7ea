/*-------------------------------------------------------------------------
 *
 * library.c
 *		Have a parallel worker and its leader loaded the same library?
 *
 * PX_VERSION is the default_version of pg_exchange.control, by the Makefile.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/parallel.h"
#include "utils/guc.h"

#include "library.h"

#define SETTING		"pg_exchange.library_version"

/* The leader's, in a worker; else our own. */
static char *version_of_session;

/* Nobody sets it: a session begins with it, a worker gets it. */
static bool
check_version(char **newval, void **extra, GucSource source)
{
	if (source <= PGC_S_OVERRIDE)
		return true;
	GUC_check_errdetail("It shows the version of the library.");
	return false;
}

void
px_library_init(void)
{
	DefineCustomStringVariable(SETTING,
							   "Shows the version of the library to parallel workers.",
							   NULL,
							   &version_of_session,
							   "",
							   PGC_SUSET,
							   GUC_NO_SHOW_ALL | GUC_NOT_IN_SAMPLE |
							   GUC_DISALLOW_IN_FILE,
							   check_version, NULL, NULL);

	/* Defaults do not get to workers. */
	if (!IsParallelWorker())
		SetConfigOption(SETTING, PX_VERSION, PGC_SUSET, PGC_S_OVERRIDE);
}

void
px_library_check(void)
{
	if (!IsParallelWorker() || strcmp(version_of_session, PX_VERSION) == 0)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("library pg_exchange was replaced by version %s while the session was running",
					PX_VERSION),
			 errhint("Start a new session, or set max_parallel_workers to 0 in this one.")));
}
