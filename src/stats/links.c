/*-------------------------------------------------------------------------
 *
 * links.c
 *		What sessions have measured of the links to servers.
 *
 * Locking is as in counters.c: the lock is held in shared mode to look up an
 * entry and what its mutex protects, in exclusive mode to add or remove one.
 * Both for a moment only, twice in a stream: no memory is allocated meanwhile,
 * and nothing waits.  When the table is full, the entry whose last measurement
 * is the oldest is removed.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/shmem.h"
#include "storage/spin.h"
#include "utils/hsearch.h"
#include "utils/timestamp.h"

#include "adapt/recent.h"
#include "compat.h"
#include "guc.h"
#include "stats/links.h"

/*
 * What a link is taken to carry at least: 1 kB/s.  A server says itself what
 * its link carries, and need not tell the truth.
 */
#define NS_MAX		1e6

typedef struct links_key
{
	Oid			dbid;
	px_link_id	link;
} links_key;

typedef struct links_entry
{
	links_key	key;			/* must be first */
	slock_t		mutex;			/* protects the following fields */
	TimestampTz measured_at;
	px_recent	properties[PX_LINK_PROPERTIES];
} links_entry;

static HTAB *table = NULL;		/* NULL without shared memory */
static LWLock *table_lock = NULL;

static void
table_parameters(HASHCTL *ctl)
{
	ctl->keysize = sizeof(links_key);
	ctl->entrysize = sizeof(links_entry);
}

Size
px_links_shmem_nbytes(void)
{
	return hash_estimate_size(px_stat_max, sizeof(links_entry));
}

void
px_links_shmem_startup(LWLock *lock)
{
	HASHCTL		ctl;

	table_parameters(&ctl);
	table = px_shmem_init_hash("pg_exchange links", px_stat_max, &ctl,
							   HASH_ELEM | HASH_BLOBS);
	table_lock = lock;
}

static links_key
key_of(px_link_id link)
{
	return (links_key) {
		.dbid = MyDatabaseId, .link = link
	};
}

/* ---------------------------------------------------------------------
 * Measurements
 * --------------------------------------------------------------------- */

/* Remove the entry of longest ago.  The caller has the exclusive lock. */
static void
evict_entry(void)
{
	HASH_SEQ_STATUS scan;
	links_entry *entry;
	links_entry *victim = NULL;

	hash_seq_init(&scan, table);
	while ((entry = hash_seq_search(&scan)) != NULL)
	{
		if (victim == NULL || entry->measured_at < victim->measured_at)
			victim = entry;
	}
	if (victim)
		hash_search(table, &victim->key, HASH_REMOVE, NULL);
}

/*
 * Find or add the entry.  The caller has the exclusive lock.  Returns NULL if
 * there is no memory.
 */
static links_entry *
add_entry(const links_key *key)
{
	links_entry *entry = hash_search(table, key, HASH_FIND, NULL);
	bool		found;

	if (entry)
		return entry;
	while (hash_get_num_entries(table) >= px_stat_max)
		evict_entry();
	entry = hash_search(table, key, HASH_ENTER_NULL, &found);
	if (entry && !found)
	{
		memset((char *) entry + sizeof(links_key), 0,
			   sizeof(links_entry) - sizeof(links_key));
		SpinLockInit(&entry->mutex);
	}
	return entry;
}

static void
add_measurement(links_entry *entry, px_link_property property, double value,
				TimestampTz now)
{
	SpinLockAcquire(&entry->mutex);
	if (px_recent_wants(&entry->properties[property], now))
	{
		px_recent_add(&entry->properties[property], now, value);
		entry->measured_at = now;
	}
	SpinLockRelease(&entry->mutex);
}

void
px_links_learn(px_link_id link, px_link_property property, double value)
{
	links_key	key = key_of(link);
	TimestampTz now;
	links_entry *entry;

	if (table == NULL || link.options == 0)
		return;
	if (property == PX_LINK_READ_NS || property == PX_LINK_WRITE_NS)
		value = Min(value, NS_MAX);
	now = GetCurrentTimestamp();

	LWLockAcquire(table_lock, LW_SHARED);
	entry = hash_search(table, &key, HASH_FIND, NULL);
	if (entry == NULL)
	{
		LWLockRelease(table_lock);
		LWLockAcquire(table_lock, LW_EXCLUSIVE);
		entry = add_entry(&key);
	}
	if (entry)
		add_measurement(entry, property, value, now);
	LWLockRelease(table_lock);
}

bool
px_links_recall(px_link_id link, px_link_property property, double *value)
{
	links_key	key = key_of(link);
	TimestampTz now;
	links_entry *entry;
	px_recent	recent = {0};

	if (table == NULL || link.options == 0)
		return false;
	now = GetCurrentTimestamp();
	LWLockAcquire(table_lock, LW_SHARED);
	entry = hash_search(table, &key, HASH_FIND, NULL);
	if (entry)
	{
		SpinLockAcquire(&entry->mutex);
		recent = entry->properties[property];
		SpinLockRelease(&entry->mutex);
	}
	LWLockRelease(table_lock);
	return px_recent_get(&recent, now, value);
}

/* ---------------------------------------------------------------------
 * Reading
 * --------------------------------------------------------------------- */

/* Copy all entries, which may be fewer than n_max.  Returns how many. */
static long
copy_entries(links_entry *copies, long n_max)
{
	HASH_SEQ_STATUS scan;
	links_entry *entry;
	long		n = 0;

	LWLockAcquire(table_lock, LW_SHARED);
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
	LWLockRelease(table_lock);
	return n;
}

void
px_links_read(void (*consume) (const px_links_row *row, void *arg), void *arg)
{
	links_entry *copies;
	long		n;

	if (table == NULL)
		return;

	/* As in px_counters_read: no memory is allocated under the lock. */
	n = hash_get_num_entries(table);
	copies = palloc(Max(n, 1) * sizeof(links_entry));
	n = copy_entries(copies, n);
	for (long i = 0; i < n; i++)
	{
		links_entry *entry = &copies[i];
		TimestampTz now = GetCurrentTimestamp();
		px_links_row row = {
			.link = entry->key.link,
			.measured_at = entry->measured_at,
		};
		bool		any = false;

		for (int p = 0; p < PX_LINK_PROPERTIES; p++)
		{
			row.known[p] = px_recent_get(&entry->properties[p], now,
										 &row.values[p]);
			any = any || row.known[p];
		}
		if (any && entry->key.dbid == MyDatabaseId)
			consume(&row, arg);
	}
	pfree(copies);
}
