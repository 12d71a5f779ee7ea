/*-------------------------------------------------------------------------
 *
 * stats.c
 *		Shared memory for statistics.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"

#include "stats/counters.h"
#include "stats/links.h"
#include "stats/open_connections.h"
#include "stats/progress.h"
#include "stats/stats.h"

#define TRANCHE		"pg_exchange"

/* Of counters, progress, links and connections. */
#define NLOCKS		4

static shmem_request_hook_type prev_shmem_request_hook = NULL;
static shmem_startup_hook_type prev_shmem_startup_hook = NULL;

static void
request_shmem(void)
{
	if (prev_shmem_request_hook)
		prev_shmem_request_hook();
	RequestAddinShmemSpace(px_counters_shmem_nbytes());
	RequestAddinShmemSpace(px_progress_shmem_nbytes());
	RequestAddinShmemSpace(px_links_shmem_nbytes());
	RequestAddinShmemSpace(px_open_connections_shmem_nbytes());
	RequestNamedLWLockTranche(TRANCHE, NLOCKS);
}

static void
startup_shmem(void)
{
	LWLockPadded *locks;

	if (prev_shmem_startup_hook)
		prev_shmem_startup_hook();
	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	locks = GetNamedLWLockTranche(TRANCHE);
	px_counters_shmem_startup(&locks[0].lock);
	px_progress_shmem_startup(&locks[1].lock);
	px_links_shmem_startup(&locks[2].lock);
	px_open_connections_shmem_startup(&locks[3].lock);
	LWLockRelease(AddinShmemInitLock);
}

void
px_stats_init(void)
{
	px_counters_init();
	if (!process_shared_preload_libraries_in_progress)
		return;
	prev_shmem_request_hook = shmem_request_hook;
	shmem_request_hook = request_shmem;
	prev_shmem_startup_hook = shmem_startup_hook;
	shmem_startup_hook = startup_shmem;
}
