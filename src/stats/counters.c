/*-------------------------------------------------------------------------
 *
 * counters.c
 *		Counters of exchanges, for each database, user and server.
 *
 * The hot path adds to a px_counters in the backend's own memory, without a
 * lock.  It is flushed to the table when a scan ends, at the end of each
 * transaction, including aborts, and about once a second while frames arrive.
 *
 * Locking of the shared table is as in pg_stat_statements.  The lock is held
 * in shared mode to look up an entry and to change its counters, and in
 * exclusive mode to add or remove entries.  An entry's mutex protects its
 * counters.  Its key, since and servername change only under the exclusive
 * lock.  Nothing that can fail, such as allocating memory, is done while a
 * lock is held.
 *
 * When the table is full, the entry that was changed least recently is
 * removed.
 *
 * Without shared memory the table is local.  It has the same entries and the
 * same maximum size, and needs no lock.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "lib/ilist.h"
#include "miscadmin.h"
#include "storage/shmem.h"
#include "storage/spin.h"
#include "utils/hsearch.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "guc.h"
#include "stats/counters.h"

#define FLUSH_INTERVAL_MS	1000

typedef struct counters_key
{
	Oid			dbid;
	Oid			userid;
	Oid			serverid;
} counters_key;

typedef struct counters_entry
{
	counters_key key;			/* must be first */
	NameData	servername;
	TimestampTz since;
	slock_t		mutex;			/* protects the following fields */
	TimestampTz used;			/* when counters last changed */
	px_counters counters;
} counters_entry;

/* What this backend has counted and not yet added to an entry. */
typedef struct pending_counters
{
	slist_node	node;
	counters_key key;
	NameData	servername;
	px_counters counters;
} pending_counters;

static HTAB *table = NULL;		/* if it is local: NULL until needed */
static LWLock *table_lock = NULL;	/* NULL if the table is local */
static slist_head pending = SLIST_STATIC_INIT(pending);
static px_traffic flushed;		/* in total */
static instr_time flushed_at;	/* zero: never */

/* ---------------------------------------------------------------------
 * The table
 * --------------------------------------------------------------------- */

static void
table_parameters(HASHCTL *ctl)
{
	ctl->keysize = sizeof(counters_key);
	ctl->entrysize = sizeof(counters_entry);
}

Size
px_counters_shmem_nbytes(void)
{
	return hash_estimate_size(px_stat_max, sizeof(counters_entry));
}

void
px_counters_shmem_startup(LWLock *lock)
{
	HASHCTL		ctl;

	table_parameters(&ctl);
	table = px_shmem_init_hash("pg_exchange counters", px_stat_max, &ctl,
							   HASH_ELEM | HASH_BLOBS);
	table_lock = lock;
}

static void
lock_table(LWLockMode mode)
{
	if (table_lock)
		LWLockAcquire(table_lock, mode);
}

static void
unlock_table(void)
{
	if (table_lock)
		LWLockRelease(table_lock);
}

static void
create_local_table(void)
{
	HASHCTL		ctl;

	table_parameters(&ctl);
	table = hash_create("pg_exchange counters", 16, &ctl,
						HASH_ELEM | HASH_BLOBS);
}

/* Remove the least recently used entry.  The caller has the exclusive lock. */
static void
evict_entry(void)
{
	HASH_SEQ_STATUS scan;
	counters_entry *entry;
	counters_entry *victim = NULL;

	hash_seq_init(&scan, table);
	while ((entry = hash_seq_search(&scan)) != NULL)
	{
		if (victim == NULL || entry->used < victim->used)
			victim = entry;
	}
	if (victim)
		hash_search(table, &victim->key, HASH_REMOVE, NULL);
}

/*
 * Find or add the entry for a backend's counters.  The caller has the
 * exclusive lock.  Returns NULL if the shared table has no memory.
 */
static counters_entry *
add_entry(const pending_counters *from)
{
	counters_entry *entry;
	bool		found;

	while (hash_get_num_entries(table) >= px_stat_max)
		evict_entry();
	entry = hash_search(table, &from->key,
						table_lock ? HASH_ENTER_NULL : HASH_ENTER, &found);
	if (entry && !found)
	{
		entry->since = GetCurrentTimestamp();
		entry->used = entry->since;
		SpinLockInit(&entry->mutex);
		memset(&entry->counters, 0, sizeof(entry->counters));
	}
	if (entry)
		entry->servername = from->servername;
	return entry;
}

static void
add_counters(px_counters *sum, const px_counters *counters)
{
	sum->scans += counters->scans;
	for (int i = 0; i < PX_FALLBACK_COUNT; i++)
		sum->fallbacks[i] += counters->fallbacks[i];
	sum->streams += counters->streams;
	sum->sessions += counters->sessions;
	sum->writes += counters->writes;
	sum->write_fallbacks += counters->write_fallbacks;
	sum->rows_sent += counters->rows_sent;
	sum->sent_nbytes += counters->sent_nbytes;
	for (int i = 0; i < PX_SCAN_KIND_COUNT; i++)
		sum->scan_kinds[i] += counters->scan_kinds[i];
	sum->rows_filtered += counters->rows_filtered;
	sum->joins_not_sent += counters->joins_not_sent;
	sum->broadcasts += counters->broadcasts;
	sum->broadcast_rows += counters->broadcast_rows;
	sum->broadcast_bytes += counters->broadcast_bytes;
	sum->hash_partitions += counters->hash_partitions;
	sum->partition_rows += counters->partition_rows;
	sum->partition_bytes += counters->partition_bytes;
	sum->connections_refused += counters->connections_refused;
	sum->errors += counters->errors;
	sum->rows += counters->rows;
	sum->raw_nbytes += counters->raw_nbytes;
	for (int i = 0; i < PX_CODEC_COUNT; i++)
	{
		sum->wire_nbytes[false][i] += counters->wire_nbytes[false][i];
		sum->wire_nbytes[true][i] += counters->wire_nbytes[true][i];
	}
	sum->batches += counters->batches;
	sum->batches_plain += counters->batches_plain;
	sum->encode_us += counters->encode_us;
	sum->send_wait_us += counters->send_wait_us;
	INSTR_TIME_ADD(sum->receive_wait, counters->receive_wait);
	INSTR_TIME_ADD(sum->decode, counters->decode);
}

static void
add_traffic(px_traffic *sum, const px_counters *counters)
{
	sum->raw_nbytes += counters->raw_nbytes;
	for (int i = 0; i < PX_CODEC_COUNT; i++)
		sum->wire_nbytes += counters->wire_nbytes[false][i] +
			counters->wire_nbytes[true][i];
}

static void
flush_counters(pending_counters *from)
{
	counters_entry *entry;

	lock_table(LW_SHARED);
	entry = hash_search(table, &from->key, HASH_FIND, NULL);
	if (entry == NULL ||
		strcmp(NameStr(entry->servername), NameStr(from->servername)) != 0)
	{
		unlock_table();
		lock_table(LW_EXCLUSIVE);
		entry = add_entry(from);
	}
	if (entry)
	{
		TimestampTz now = GetCurrentTimestamp();

		SpinLockAcquire(&entry->mutex);
		add_counters(&entry->counters, &from->counters);
		entry->used = now;
		SpinLockRelease(&entry->mutex);
		add_traffic(&flushed, &from->counters);
		memset(&from->counters, 0, sizeof(from->counters));
	}
	unlock_table();
}

/* ---------------------------------------------------------------------
 * Counters of this backend
 * --------------------------------------------------------------------- */

void
px_counters_flush(void)
{
	static const px_counters nothing;
	slist_iter	iter;

	if (table == NULL)
		create_local_table();
	slist_foreach(iter, &pending)
	{
		pending_counters *from = slist_container(pending_counters, node,
												 iter.cur);

		if (memcmp(&from->counters, &nothing, sizeof(nothing)) != 0)
			flush_counters(from);
	}
}

px_traffic
px_counters_traffic(void)
{
	px_traffic	sum = flushed;
	slist_iter	iter;

	slist_foreach(iter, &pending)
		add_traffic(&sum, &slist_container(pending_counters, node,
										   iter.cur)->counters);
	return sum;
}

void
px_counters_flush_if_due(instr_time now)
{
	instr_time	since = now;

	INSTR_TIME_SUBTRACT(since, flushed_at);
	if (INSTR_TIME_GET_MILLISEC(since) < FLUSH_INTERVAL_MS)
		return;
	flushed_at = now;
	px_counters_flush();
}

static void
xact_callback(XactEvent event, void *arg)
{
	switch (event)
	{
		case XACT_EVENT_COMMIT:
		case XACT_EVENT_PREPARE:
		case XACT_EVENT_ABORT:
		case XACT_EVENT_PARALLEL_COMMIT:
		case XACT_EVENT_PARALLEL_ABORT:
			/* Without counters, there may be no table yet. */
			if (!slist_is_empty(&pending))
				px_counters_flush();
			break;
		case XACT_EVENT_PRE_COMMIT:
		case XACT_EVENT_PARALLEL_PRE_COMMIT:
		case XACT_EVENT_PRE_PREPARE:
			break;
	}
}

void
px_counters_init(void)
{
	RegisterXactCallback(xact_callback, NULL);
}

px_counters *
px_counters_get(Oid serverid, Oid userid, const char *servername)
{
	counters_key key = {
		.dbid = MyDatabaseId, .userid = userid, .serverid = serverid};
	pending_counters *found = NULL;
	slist_iter	iter;

	if (table == NULL)
		create_local_table();

	slist_foreach(iter, &pending)
	{
		pending_counters *other = slist_container(pending_counters, node,
												  iter.cur);

		if (memcmp(&other->key, &key, sizeof(key)) == 0)
			found = other;
	}
	if (found == NULL)
	{
		found = MemoryContextAllocZero(TopMemoryContext,
									   sizeof(pending_counters));
		found->key = key;
		slist_push_head(&pending, &found->node);
	}
	namestrcpy(&found->servername, servername);

	/*
	 * Add the entry to a local table now.  A flush at the end of a transaction
	 * must not allocate memory, because it must not fail.
	 */
	if (table_lock == NULL &&
		hash_search(table, &key, HASH_FIND, NULL) == NULL)
		(void) add_entry(found);
	return &found->counters;
}

/* ---------------------------------------------------------------------
 * Reading and resetting
 * --------------------------------------------------------------------- */

void
px_counters_read(void (*consume)(const px_counters_row *row, void *arg),
				 void *arg)
{
	HASH_SEQ_STATUS scan;
	counters_entry *entry;
	counters_entry *copies;
	long		n = 0;
	long		n_max;

	/*
	 * No memory may be allocated under the lock, so we first make room for the
	 * entries that there are now.  Entries that are added meanwhile may be
	 * missed.
	 */
	px_counters_flush();
	n_max = hash_get_num_entries(table);
	copies = palloc(Max(n_max, 1) * sizeof(counters_entry));
	lock_table(LW_SHARED);
	hash_seq_init(&scan, table);
	while ((entry = hash_seq_search(&scan)) != NULL)
	{
		if (n == n_max)
		{
			hash_seq_term(&scan);
			break;
		}
		SpinLockAcquire(&entry->mutex);
		copies[n++] = *entry;
		SpinLockRelease(&entry->mutex);
	}
	unlock_table();

	for (long i = 0; i < n; i++)
	{
		px_counters_row row = {
			.dbid = copies[i].key.dbid,
			.userid = copies[i].key.userid,
			.serverid = copies[i].key.serverid,
			.servername = NameStr(copies[i].servername),
			.since = copies[i].since,
			.counters = copies[i].counters,
		};

		consume(&row, arg);
	}
	pfree(copies);
}

void
px_counters_reset(void)
{
	HASH_SEQ_STATUS scan;
	counters_entry *entry;

	px_counters_flush();
	lock_table(LW_EXCLUSIVE);
	hash_seq_init(&scan, table);
	while ((entry = hash_seq_search(&scan)) != NULL)
		hash_search(table, &entry->key, HASH_REMOVE, NULL);
	unlock_table();
}
