/*-------------------------------------------------------------------------
 *
 * progress.h
 *		Progress of running streams and writes.
 *
 * Each running stream has a slot.  If the postmaster has preloaded the
 * library, slots are in shared memory; otherwise a backend sees its own only.
 * A read by postgres_fdw's session has a slot, too, and so has each server
 * that a statement writes to.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_STATS_PROGRESS_H
#define PX_STATS_PROGRESS_H

#include "datatype/timestamp.h"
#include "storage/lwlock.h"
#include "storage/spin.h"

/*
 * The length up to which the remote query is kept: the default of
 * track_activity_query_size.
 */
#define PX_PROGRESS_QUERY_NBYTES	1024

/* What a stream waits for. */
typedef enum px_blocked
{
	PX_BLOCKED_START,			/* the server must accept the transaction and
								 * snapshot */
	PX_BLOCKED_SERVER,			/* the server must send */
	PX_BLOCKED_QUERY			/* the local query must ask for the next row */
} px_blocked;

/* What is done with the rows. */
typedef enum px_direction
{
	PX_DIRECTION_READ,			/* they come from the server */
	PX_DIRECTION_WRITE,			/* they are stored there */
	PX_DIRECTION_BROADCAST,		/* they are collected, to be joined there */
	PX_DIRECTION_PARTITION		/* likewise, in a hash partition */
} px_direction;

/*
 * Numbers of rows, batches and bytes are those that have arrived so far, at
 * the other end if they are written; or that were collected so far.
 */
typedef struct px_progress
{
	slock_t		mutex;			/* taken by readers, and by the owner where
								 * fields must change together; only the
								 * owner writes */
	int			pid;			/* 0: the slot is free */
	Oid			dbid;			/* InvalidOid before px_progress_show */
	Oid			userid;			/* of the session */
	Oid			runs_as;		/* the current user at px_progress_show, which
								 * sets it */
	Oid			serverid;
	NameData	servername;
	int			remote_pid;
	int			slice;			/* from 0 */
	TimestampTz started;
	uint64		rows;
	uint64		batches;
	uint64		raw_nbytes;
	uint64		wire_nbytes;
	double		estimated_rows; /* by the planner; for a slice, its share */
	uint32		encodings;		/* of the last batch: 1 << px_encoding */
	uint32		codecs;			/* of the last batch: 1 << px_codec_id */
	px_blocked	blocked;
	px_direction direction;
	char		query[PX_PROGRESS_QUERY_NBYTES];
} px_progress;

/*
 * Take a slot for a stream.  The caller sets userid, serverid, remote_pid,
 * slice, estimated_rows and direction, and then calls px_progress_show.  Returns
 * NULL if all slots are in use: the stream is then not shown.  The functions
 * below do nothing for NULL.
 */
extern px_progress *px_progress_begin(void);

/*
 * Set the other fields and make the slot visible.  query is cut if it is
 * longer than PX_PROGRESS_QUERY_NBYTES - 1.
 */
extern void px_progress_show(px_progress *progress, const char *servername,
							 const char *query);

/* Release the slot. */
extern void px_progress_end(px_progress *progress);

/* Count a batch, and show its encodings and codecs. */
extern void px_progress_batch(px_progress *progress, uint32 rows,
							  uint64 raw_nbytes, uint32 encodings,
							  uint32 codecs);

/* Count frames that were written: codecs is the set of all of them so far. */
extern void px_progress_written(px_progress *progress, uint64 rows,
								uint64 batches, uint64 raw_nbytes,
								uint64 wire_nbytes, uint32 codecs);

/* So many rows and bytes were collected by now; a batch more. */
extern void px_progress_set(px_progress *progress, uint64 rows,
							uint64 raw_nbytes, uint64 wire_nbytes);

/* Count the bytes of a frame of any kind.  Frequent, so without the mutex. */
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

/*
 * Call consume with a copy of each visible slot.  No lock is held, so it may
 * raise errors.
 */
extern void px_progress_read(void (*consume)(const px_progress *progress,
											 void *arg),
							 void *arg);

/* For stats.c: the size in shared memory, and its initialization. */
extern Size px_progress_shmem_nbytes(void);
extern void px_progress_shmem_startup(LWLock *lock);

#endif							/* PX_STATS_PROGRESS_H */
