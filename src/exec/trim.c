/*-------------------------------------------------------------------------
 *
 * trim.c
 *		Memory of many scans goes back to the operating system.
 *
 * A scan takes some 200 kB while it runs.  PostgreSQL frees them after the
 * query, but malloc keeps them: its heap shrinks only from the end, where
 * libpq has the buffers of connections, which stay.  So a session that has
 * read 256 partitions would keep 50 MB while it is idle, and 1,000 such
 * sessions 50 GB.  Free pages in the middle of the heap are given back here,
 * when the transaction has ended.
 *
 * Only glibc is known to need that.  Elsewhere nothing is done.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"

#include "compat.h"
#include "exec/trim.h"

/*
 * With fewer scans in a transaction, memory stays for the next one: it is
 * little, and to give it back and get it anew takes 3 ms for 10 MB.
 */
#define TRIM_SCANS_MIN	64

/* Scans that began since memory was given back. */
static int	scans = 0;

void
px_trim_count_scan(void)
{
	scans++;
}

static void
xact_callback(XactEvent event, void *arg)
{
	if (event != XACT_EVENT_COMMIT && event != XACT_EVENT_ABORT)
		return;

	/* Portals and their memory are gone by now, after an error, too. */
	if (scans >= TRIM_SCANS_MIN)
		px_malloc_trim();
	scans = 0;
}

void
px_trim_init(void)
{
	RegisterXactCallback(xact_callback, NULL);
}
