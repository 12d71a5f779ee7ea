/*-------------------------------------------------------------------------
 *
 * progress.h
 *		How far the running streams are.
 *
 * Each running stream has a slot, in memory of all backends if the library is
 * preloaded by the postmaster, else in the backend's own.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_STATS_PROGRESS_H
#define PX_STATS_PROGRESS_H

#include "datatype/timestamp.h"
#include "storage/lwlock.h"
#include "storage/spin.h"

/* Of the remote query, as much as pg_stat_activity shows by default. */
#define PX_PROGRESS_QUERY_NBYTES	1024

/* What it takes for the next row. */
typedef enum px_blocked
{
	PX_BLOCKED_START,			/* the server, to accept transaction and snapshot */
	PX_BLOCKED_SERVER,			/* the server, to send */
	PX_BLOCKED_QUERY			/* the query here, to ask for it */
} px_blocked;

/* Sums are of the batches of this stream that have arrived. */
typedef struct px_progress
{
	slock_t		mutex;			/* for readers; the owner alone writes */
	int			pid;			/* 0: the slot is free */
	Oid			dbid;
	Oid			userid;			/* of the session */
	Oid			runs_as;		/* the current user when it began; set by
								 * px_progress_show */
	Oid			serverid;
	NameData	servername;
	int			remote_pid;
	int			slice;			/* from 0 */
	TimestampTz started;
	uint64		rows;
	uint64		batches;
	uint64		raw_nbytes;
	uint64		wire_nbytes;
	double		estimated_rows; /* the planner's; of a slice: its share */
	uint32		encodings;		/* of the last batch: 1 << px_encoding */
	uint32		codecs;			/* of the last batch: 1 << px_codec_id */
	px_blocked	blocked;
	char		query[PX_PROGRESS_QUERY_NBYTES];
} px_progress;

/*
 * Take a slot for a stream; what it is about is to be filled in before
 * px_progress_show.  NULL if all slots are taken: then the stream is not
 * shown.  All functions below accept that.
 */
extern px_progress *px_progress_begin(void);

/* Let the slot be seen, and give it back. */
extern void px_progress_show(px_progress *progress, const char *servername,
							 const char *query);
extern void px_progress_end(px_progress *progress);

/* Count a batch. */
extern void px_progress_batch(px_progress *progress, uint32 rows,
							  uint64 raw_nbytes, uint32 encodings,
							  uint32 codecs);

/* Count a frame, of a batch or not. */
static inline void
px_progress_frame(px_progress *progress, uint64 nbytes)
{
	if (progress)
		((volatile px_progress *) progress)->wire_nbytes += nbytes;
}

static inline void
px_progress_blocked(px_progress *progress, px_blocked blocked)
{
	if (progress)
		((volatile px_progress *) progress)->blocked = blocked;
}

/* Call consume with a copy of each slot in use; it may raise errors. */
extern void px_progress_read(void (*consume)(const px_progress *progress,
											 void *arg),
							 void *arg);

/* For stats.c: room in shared memory, and its initialization. */
extern Size px_progress_shmem_nbytes(void);
extern void px_progress_shmem_startup(LWLock *lock);

#endif							/* PX_STATS_PROGRESS_H */
