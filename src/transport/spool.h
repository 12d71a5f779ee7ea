/*-------------------------------------------------------------------------
 *
 * spool.h
 *		Frames that were read ahead of their reader.
 *
 * They stand in memory up to work_mem, and beyond that in a temporary file.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_TRANSPORT_SPOOL_H
#define PX_TRANSPORT_SPOOL_H

#include "utils/resowner.h"

typedef struct px_spool px_spool;

/*
 * An empty spool.  It lives in context, and its file until owner is released:
 * both must last as long as the query that reads the frames.
 */
extern px_spool *px_spool_new(MemoryContext context, ResourceOwner owner);

/* Add a copy of a frame. */
extern void px_spool_put(px_spool *spool, const void *frame, size_t nbytes);

/*
 * The next frame, in the order in which they were put; NULL if there are no
 * more.  It is not aligned, and valid until the next call.
 */
extern const void *px_spool_next(px_spool *spool, size_t *nbytes);

/* Forget all frames and free the spool; NULL is allowed. */
extern void px_spool_free(px_spool *spool);

#endif							/* PX_TRANSPORT_SPOOL_H */
