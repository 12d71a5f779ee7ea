/*-------------------------------------------------------------------------
 *
 * progress.c
 *		Progress of running streams.
 *
 * A backend takes a slot under the exclusive lock and releases it without.
 * Only the owner changes a slot.  It takes the slot's mutex where several
 * fields must change together.  Readers copy a slot under its mutex.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/shmem.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "stats/progress.h"

/*
 * The number of slots for each backend: the default of
 * max_connections_per_server.  Most backends use none at a time, so others can
 * use more.
 */
#define SHARED_SLOTS_PER_BACKEND	4
#define LOCAL_SLOTS		64

static px_progress *slots = NULL;	/* if they are local: NULL until needed */
static int	nslots = 0;
static LWLock *slots_lock = NULL;	/* NULL if the slots are local */

Size
px_progress_shmem_nbytes(void)
{
	return mul_size(mul_size(MaxBackends, SHARED_SLOTS_PER_BACKEND),
					sizeof(px_progress));
}

static void
init_slots(void)
{
	for (int i = 0; i < nslots; i++)
	{
		memset(&slots[i], 0, sizeof(px_progress));
		SpinLockInit(&slots[i].mutex);
	}
}

void
px_progress_shmem_startup(LWLock *lock)
{
	bool		found;

	slots = ShmemInitStruct("pg_exchange progress", px_progress_shmem_nbytes(),
							&found);
	nslots = MaxBackends * SHARED_SLOTS_PER_BACKEND;
	slots_lock = lock;
	if (!found)
		init_slots();
}

/*
 * Release the slots of this backend when it exits: a parallel worker that
 * fails exits without ending its streams.
 */
static void
release_slots(int code, Datum arg)
{
	for (int i = 0; i < nslots; i++)
	{
		if (slots[i].pid == MyProcPid)
			px_progress_end(&slots[i]);
	}
}

px_progress *
px_progress_begin(void)
{
	static bool registered = false;
	px_progress *free_slot = NULL;

	if (slots_lock && !registered)
	{
		before_shmem_exit(release_slots, (Datum) 0);
		registered = true;
	}
	if (slots == NULL)
	{
		slots = MemoryContextAlloc(TopMemoryContext,
								   LOCAL_SLOTS * sizeof(px_progress));
		nslots = LOCAL_SLOTS;
		init_slots();
	}

	if (slots_lock)
		LWLockAcquire(slots_lock, LW_EXCLUSIVE);
	for (int i = 0; i < nslots && free_slot == NULL; i++)
	{
		if (slots[i].pid == 0)
			free_slot = &slots[i];
	}
	if (free_slot)
	{
		SpinLockAcquire(&free_slot->mutex);
		free_slot->pid = MyProcPid;
		free_slot->dbid = InvalidOid;	/* not visible yet */
		SpinLockRelease(&free_slot->mutex);
	}
	if (slots_lock)
		LWLockRelease(slots_lock);
	return free_slot;
}

void
px_progress_show(px_progress *progress, const char *servername,
				 const char *query)
{
	int			nbytes;

	if (progress == NULL)
		return;
	nbytes = pg_mbcliplen(query, strlen(query), PX_PROGRESS_QUERY_NBYTES - 1);
	progress->runs_as = GetUserId();
	namestrcpy(&progress->servername, servername);
	memcpy(progress->query, query, nbytes);
	progress->query[nbytes] = '\0';
	progress->started = GetCurrentTimestamp();
	progress->rows = progress->batches = 0;
	progress->raw_nbytes = progress->wire_nbytes = 0;
	progress->encodings = progress->codecs = 0;
	progress->blocked = PX_BLOCKED_START;

	SpinLockAcquire(&progress->mutex);
	progress->dbid = MyDatabaseId;
	SpinLockRelease(&progress->mutex);
}

void
px_progress_end(px_progress *progress)
{
	if (progress == NULL)
		return;

	/* A backend that ends has released it already: it may be another's now. */
	SpinLockAcquire(&progress->mutex);
	if (progress->pid == MyProcPid)
		progress->pid = 0;
	SpinLockRelease(&progress->mutex);
}

void
px_progress_batch(px_progress *progress, uint32 rows, uint64 raw_nbytes,
				  uint32 encodings, uint32 codecs)
{
	if (progress == NULL)
		return;
	SpinLockAcquire(&progress->mutex);
	progress->rows += rows;
	progress->batches++;
	progress->raw_nbytes += raw_nbytes;
	progress->encodings = encodings;
	progress->codecs = codecs;
	SpinLockRelease(&progress->mutex);
}

void
px_progress_written(px_progress *progress, uint64 rows, uint64 batches,
					uint64 raw_nbytes, uint64 wire_nbytes, uint32 codecs)
{
	if (progress == NULL)
		return;
	SpinLockAcquire(&progress->mutex);
	progress->rows += rows;
	progress->batches += batches;
	progress->raw_nbytes += raw_nbytes;
	progress->wire_nbytes += wire_nbytes;
	progress->codecs = codecs;
	SpinLockRelease(&progress->mutex);
}

void
px_progress_set(px_progress *progress, uint64 rows, uint64 raw_nbytes,
				uint64 wire_nbytes)
{
	if (progress == NULL)
		return;
	SpinLockAcquire(&progress->mutex);
	progress->rows = rows;
	progress->batches++;
	progress->raw_nbytes = raw_nbytes;
	progress->wire_nbytes = wire_nbytes;
	SpinLockRelease(&progress->mutex);
}

void
px_progress_read(void (*consume)(const px_progress *progress, void *arg),
				 void *arg)
{
	px_progress *copy = palloc(sizeof(px_progress));

	for (int i = 0; i < nslots; i++)
	{
		SpinLockAcquire(&slots[i].mutex);
		memcpy(copy, &slots[i], sizeof(px_progress));
		SpinLockRelease(&slots[i].mutex);
		if (copy->pid != 0 && OidIsValid(copy->dbid))
			consume(copy, arg);
	}
	pfree(copy);
}
