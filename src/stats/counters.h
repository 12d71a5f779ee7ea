/*-------------------------------------------------------------------------
 *
 * counters.h
 *		Counters of exchanges, for each database, user and server.
 *
 * A backend counts in its own memory, and adds that to a table from time to
 * time.  If the postmaster has preloaded the library, all backends share the
 * table; otherwise each backend has its own.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_STATS_COUNTERS_H
#define PX_STATS_COUNTERS_H

#include "datatype/timestamp.h"
#include "portability/instr_time.h"
#include "storage/lwlock.h"

#include "codec/codec.h"

/* Why a scan was left to postgres_fdw: the classes that statistics count. */
typedef enum px_fallback
{
	PX_FALLBACK_DISABLED,		/* pg_exchange.enabled was turned off after
								 * planning */
	PX_FALLBACK_NO_EXTENSION,	/* the remote has no exchange.send */
	PX_FALLBACK_INCOMPATIBLE,	/* the remote's version or machine differs, or
								 * it may not export snapshots */
	PX_FALLBACK_CONNECTION,		/* no connection, or no answer */
	PX_FALLBACK_SNAPSHOT,		/* two sessions cannot share the snapshot */
	PX_FALLBACK_OWN_WRITES,		/* only postgres_fdw's session sees the
								 * transaction's writes */
	PX_FALLBACK_DECLINED		/* the query must run in that session */
} px_fallback;

#define PX_FALLBACK_COUNT	(PX_FALLBACK_DECLINED + 1)

/* What a scan may be, besides: the kinds that statistics count. */
typedef enum px_scan_kind
{
	PX_SCAN_FILTERED,			/* it was sent a runtime filter */
	PX_SCAN_LOOKUP,				/* it was sent the keys of an ExchangeLookup */
	PX_SCAN_SEMI_JOIN			/* it is a semi-join or anti-join that
								 * postgres_fdw does not push down */
} px_scan_kind;

#define PX_SCAN_KIND_COUNT	(PX_SCAN_SEMI_JOIN + 1)

/* In sets of kinds. */
#define PX_SCAN_BIT(kind)	(UINT32_C(1) << (kind))

typedef struct px_counters
{
	uint64		scans;			/* rescans included */
	uint64		fallbacks[PX_FALLBACK_COUNT];
	uint64		streams;
	uint64		sessions;		/* reads by postgres_fdw's session */
	uint64		errors;			/* streams that did not end properly */
	uint64		rows;
	uint64		raw_nbytes;
	uint64		wire_nbytes[2][PX_CODEC_COUNT]; /* [same host][codec]; headers
												 * and the like count for
												 * PX_CODEC_NONE */
	uint64		batches;
	uint64		batches_plain;	/* neither encoded nor compressed */
	uint64		encode_us;		/* from the end frames */
	uint64		send_wait_us;	/* from the end frames */
	instr_time	receive_wait;
	instr_time	decode;
	uint64		writes;			/* foreign tables that statements have written
								 * to by frames */
	uint64		write_fallbacks;	/* those left to postgres_fdw though they
									 * had enough rows */
	uint64		rows_sent;
	uint64		sent_nbytes;	/* of frames, as they travel */
	uint64		scan_kinds[PX_SCAN_KIND_COUNT]; /* of the scans */
	uint64		rows_filtered;	/* by the planner's estimates: that runtime
								 * filters have kept from coming */
	uint64		joins_not_sent; /* of those that were planned on the server;
								 * they ran here */
	uint64		broadcasts;		/* fragments that were sent small sides */
	uint64		broadcast_rows; /* that were sent to them */
	uint64		broadcast_bytes;	/* as they travelled */
	uint64		hash_partitions;	/* fragments that were sent partitions */
	uint64		partition_rows; /* that were sent to them */
	uint64		partition_bytes;	/* as they travelled */
	uint64		connections_refused;	/* by max_connections, or by
										 * max_connections_per_backend */
} px_counters;

/* Count a scan of these kinds, a set of PX_SCAN_BIT. */
static inline void
px_counters_add_scan(px_counters *counters, uint32 kinds)
{
	counters->scans++;
	for (int kind = 0; kind < PX_SCAN_KIND_COUNT; kind++)
		counters->scan_kinds[kind] += (kinds >> kind) & 1;
}

/* A row of the table, for the callback of px_counters_read. */
typedef struct px_counters_row
{
	Oid			dbid;
	Oid			userid;
	Oid			serverid;
	const char *servername;		/* the server's name when it was last counted;
								 * valid during the callback */
	TimestampTz since;			/* when counting began */
	px_counters counters;
} px_counters_row;

/*
 * Have counters flushed at the end of each transaction.  Callbacks that were
 * registered last are called first.  So this must come before the pool of
 * connections registers its own, which counts the streams that an error ends.
 */
extern void px_counters_init(void);

/*
 * The counters of this backend for a server and the local user whose mapping
 * is used.  Add to them directly.  They are valid until the backend exits.
 * Must be called inside a transaction.  Errors: ERRCODE_OUT_OF_MEMORY.
 */
extern px_counters *px_counters_get(Oid serverid, Oid userid,
									const char *servername);

/* What scans of this backend have brought, since it began. */
typedef struct px_traffic
{
	uint64		raw_nbytes;
	uint64		wire_nbytes;
} px_traffic;

extern px_traffic px_counters_traffic(void);

/*
 * Add the counters of this backend to the table, and set them to zero.  This
 * happens at the end of transactions, too, so it must not fail: if the shared
 * table has no memory, the counters are kept for the next time.
 */
extern void px_counters_flush(void);

/* The same, unless it was done within the last second. */
extern void px_counters_flush_if_due(instr_time now);

/*
 * Call consume for each row of the table, in no particular order.  It gets a
 * copy and no lock is held, so it may raise errors.
 */
extern void px_counters_read(void (*consume)(const px_counters_row *row,
											 void *arg),
							 void *arg);

/* Forget all counters, of all databases. */
extern void px_counters_reset(void);

/* For stats.c: the size in shared memory, and its initialization. */
extern Size px_counters_shmem_nbytes(void);
extern void px_counters_shmem_startup(LWLock *lock);

#endif							/* PX_STATS_COUNTERS_H */
