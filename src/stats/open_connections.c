/*-------------------------------------------------------------------------
 *
 * open_connections.c
 *		The connections that streams have open: those of all backends.
 *
 * A table of connections, and for each server how many of them are to it.  The
 * lock is held in exclusive mode to add and to remove a connection, and in
 * shared mode to read all of them.  Nothing that can fail, or serves an
 * interrupt, is done while it is held.  So the counts are right whatever ends
 * a query or a backend; a crash makes the postmaster begin anew.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/shmem.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "stats/open_connections.h"

/*
 * Entries for each backend, which are there for all: 4 kB.  Most backends have
 * few connections or none, so that others may have hundreds.
 */
#define SHARED_PER_BACKEND	32
#define LOCAL_CONNECTIONS	256

/* Servers to which there are connections at one time. */
#define SERVERS_MAX	1024

/*
 * How long a connection must have been idle before its backend is asked to
 * close it for others, and how often one backend is asked, for each server.  A
 * busy session's connection is idle for less.
 */
#define WANTED_AFTER_MS		1000
#define ASK_EVERY_MS		100

/* The connections that all backends have to a server. */
typedef struct server_count
{
	Oid			dbid;			/* two databases may have the same OID */
	Oid			serverid;
	int			n;				/* 0: the count is free */
	TimestampTz asked_at;		/* when a backend was last asked for one */
} server_count;

typedef struct open_table
{
	int			first_free;		/* index, or -1: the table is full */
	int			nservers;		/* counts from here on were never used */
	int			nconnections;	/* the same for connections */
	server_count servers[SERVERS_MAX];
	px_open_connection connections[FLEXIBLE_ARRAY_MEMBER];
} open_table;

static open_table *table = NULL;	/* if it is local: NULL until needed */
static int	table_size = 0;
static LWLock *table_lock = NULL;	/* NULL if the table is local */

static Size
table_nbytes(int n)
{
	return add_size(offsetof(open_table, connections),
					mul_size(n, sizeof(px_open_connection)));
}

static void
init_table(void)
{
	memset(table, 0, table_nbytes(table_size));
	for (int i = 0; i < table_size; i++)
		table->connections[i].next_free = i + 1 < table_size ? i + 1 : -1;
}

Size
px_open_connections_shmem_nbytes(void)
{
	return table_nbytes(MaxBackends * SHARED_PER_BACKEND);
}

void
px_open_connections_shmem_startup(LWLock *lock)
{
	bool		found;

	table = ShmemInitStruct("pg_exchange connections",
							px_open_connections_shmem_nbytes(), &found);
	table_size = MaxBackends * SHARED_PER_BACKEND;
	table_lock = lock;
	if (!found)
		init_table();
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

/*
 * The backend exits, perhaps without having closed its connections.  The
 * transaction has been aborted by now, so that nothing is added any more.
 */
static void
remove_all(int code, Datum arg)
{
	for (int i = 0; i < table->nconnections; i++)
	{
		if (table->connections[i].pid == MyProcPid)
			px_open_connection_remove(&table->connections[i]);
	}
}

static void
prepare(void)
{
	static bool registered = false;

	if (table_lock && !registered)
	{
		on_shmem_exit(remove_all, (Datum) 0);
		registered = true;
	}
	if (table == NULL)
	{
		table = MemoryContextAlloc(TopMemoryContext,
								   table_nbytes(LOCAL_CONNECTIONS));
		table_size = LOCAL_CONNECTIONS;
		init_table();
	}
}

/*
 * The count of a server, or a free one for it; -1 if there is none.  The
 * caller has the exclusive lock.
 */
static int
find_count(Oid serverid)
{
	int			free_count = table->nservers < SERVERS_MAX ?
		table->nservers : -1;

	for (int i = 0; i < table->nservers; i++)
	{
		const server_count *count = &table->servers[i];

		if (count->n == 0)
			free_count = i;
		else if (count->serverid == serverid && count->dbid == MyDatabaseId)
			return i;
	}
	return free_count;
}

/* Take a free entry, and count it.  The caller has the exclusive lock. */
static px_open_connection *
take_entry(Oid serverid, int server)
{
	px_open_connection *entry = &table->connections[table->first_free];
	server_count *count = &table->servers[server];

	table->first_free = entry->next_free;
	table->nconnections = Max(table->nconnections,
							  (int) (entry - table->connections) + 1);
	table->nservers = Max(table->nservers, server + 1);
	count->dbid = MyDatabaseId;
	count->serverid = serverid;
	if (count->n++ == 0)
		count->asked_at = 0;
	entry->pid = MyProcPid;
	entry->dbid = MyDatabaseId;
	entry->serverid = serverid;
	entry->server = server;
	entry->remote_pid = 0;
	entry->streams = entry->nbytes = 0;
	return entry;
}

/*
 * The connection to the server that has been idle for longest, and long enough
 * for its backend to be asked to close it; NULL if there is none, or a backend
 * was asked just now.  The caller has the exclusive lock.
 */
static px_open_connection *
choose_wanted(int server, TimestampTz now)
{
	px_open_connection *wanted = NULL;
	server_count *count = &table->servers[server];

	if (!TimestampDifferenceExceeds(count->asked_at, now, ASK_EVERY_MS))
		return NULL;
	count->asked_at = now;
	for (int i = 0; i < table->nconnections; i++)
	{
		px_open_connection *entry = &table->connections[i];

		if (entry->pid != 0 && entry->server == server &&
			entry->state == PX_OPEN_IDLE && !entry->wanted &&
			TimestampDifferenceExceeds(entry->changed, now,
									   WANTED_AFTER_MS) &&
			(wanted == NULL || entry->changed < wanted->changed))
			wanted = entry;
	}
	return wanted;
}

bool
px_open_connection_add(Oid serverid, const char *servername, int limit,
					   px_open_connection **open)
{
	TimestampTz now = GetCurrentTimestamp();
	Oid			userid = GetSessionUserId();
	int			server;
	int			asked_pid = 0;

	*open = NULL;
	prepare();
	lock_table(LW_EXCLUSIVE);
	server = find_count(serverid);
	if (table_lock && limit > 0 && server >= 0 &&
		table->servers[server].n >= limit)
	{
		px_open_connection *wanted = choose_wanted(server, now);

		if (wanted)
		{
			wanted->wanted = true;
			asked_pid = wanted->pid;
		}
	}
	else if (server >= 0 && table->first_free >= 0)
	{
		*open = take_entry(serverid, server);
		(*open)->userid = userid;
		(*open)->since = now;
		namestrcpy(&(*open)->servername, servername);
		px_open_connection_set(*open, PX_OPEN_CONNECTING, now);
	}
	unlock_table();
	if (asked_pid != 0)
		px_send_catchup(asked_pid);
	return *open != NULL || table_lock == NULL || limit == 0;
}

void
px_open_connection_remove(px_open_connection *open)
{
	if (open == NULL)
		return;
	lock_table(LW_EXCLUSIVE);
	Assert(open->pid == MyProcPid && table->servers[open->server].n > 0);
	table->servers[open->server].n--;
	open->pid = 0;
	open->next_free = table->first_free;
	table->first_free = open - table->connections;
	unlock_table();
}

void
px_open_connection_set(px_open_connection *open, px_open_state state,
					   TimestampTz now)
{
	if (open == NULL)
		return;
	open->state = state;
	open->changed = now;
	if (state != PX_OPEN_IDLE)
		open->wanted = false;
}

void
px_open_connections_read(void (*consume)(const px_open_connection *open,
										 void *arg),
						 void *arg)
{
	px_open_connection *copies;
	int			n = 0;

	if (table == NULL)
		return;

	/* No memory may be allocated under the lock. */
	copies = MemoryContextAllocHuge(CurrentMemoryContext,
									mul_size(table_size,
											 sizeof(px_open_connection)));
	lock_table(LW_SHARED);
	for (int i = 0; i < table->nconnections; i++)
	{
		if (table->connections[i].pid != 0)
			copies[n++] = table->connections[i];
	}
	unlock_table();
	for (int i = 0; i < n; i++)
		consume(&copies[i], arg);
	pfree(copies);
}
