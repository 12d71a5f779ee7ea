/*-------------------------------------------------------------------------
 *
 * counters.h
 *		What exchanges have done, by database, user and server.
 *
 * A backend counts in memory of its own, and adds that to a table from time
 * to time: to the table of all backends, if the library is preloaded by the
 * postmaster, else to one that only the backend itself sees.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_STATS_COUNTERS_H
#define PX_STATS_COUNTERS_H

#include "datatype/timestamp.h"
#include "portability/instr_time.h"
#include "storage/lwlock.h"

#include "codec/codec.h"

/* Why a scan was left to postgres_fdw, as far as statistics tell. */
typedef enum px_fallback
{
	PX_FALLBACK_DISABLED,		/* pg_exchange.enabled is off by now */
	PX_FALLBACK_NO_EXTENSION,	/* the remote does not know exchange.send */
	PX_FALLBACK_INCOMPATIBLE,	/* but does not speak as we do, or may not export */
	PX_FALLBACK_CONNECTION,		/* none to be had, or it does not answer */
	PX_FALLBACK_SNAPSHOT,		/* cannot be shared by two sessions */
	PX_FALLBACK_OWN_WRITES,		/* which only postgres_fdw's session sees */
	PX_FALLBACK_DECLINED		/* the query must run in that session */
} px_fallback;

#define PX_FALLBACK_COUNT	(PX_FALLBACK_DECLINED + 1)

typedef struct px_counters
{
	uint64		scans;			/* rescans included */
	uint64		fallbacks[PX_FALLBACK_COUNT];
	uint64		streams;
	uint64		sessions;		/* reads by postgres_fdw's own connection */
	uint64		errors;			/* of both that were not left in good order */
	uint64		rows;
	uint64		raw_nbytes;
	uint64		wire_nbytes[2][PX_CODEC_COUNT]; /* [same host]; headers and the
												 * like count as not compressed */
	uint64		batches;
	uint64		batches_plain;	/* neither encoded nor compressed */
	uint64		encode_us;		/* told by the end frames */
	uint64		send_wait_us;
	instr_time	receive_wait;
	instr_time	decode;
} px_counters;

/* A row of the table, as px_counters_read passes it on. */
typedef struct px_counters_row
{
	Oid			dbid;
	Oid			userid;
	Oid			serverid;
	const char *servername;		/* when it was last counted for */
	TimestampTz since;			/* which these counters are of */
	px_counters counters;
} px_counters_row;

/*
 * Where this backend counts for the server, used as userid's; valid for the
 * life of the backend.  To be called inside a transaction.
 */
extern px_counters *px_counters_get(Oid serverid, Oid userid,
									const char *servername);

/* Add what this backend has counted to the table. */
extern void px_counters_flush(void);

/* The same, unless that was done in the last second. */
extern void px_counters_flush_if_due(instr_time now);

/*
 * Call consume for each row, in no order.  It gets a copy, and may raise
 * errors.
 */
extern void px_counters_read(void (*consume)(const px_counters_row *row,
											 void *arg),
							 void *arg);

/* Forget all counters, of all databases. */
extern void px_counters_reset(void);

/* For stats.c: room in shared memory, and its initialization. */
extern Size px_counters_shmem_nbytes(void);
extern void px_counters_shmem_startup(LWLock *lock);

#endif							/* PX_STATS_COUNTERS_H */
