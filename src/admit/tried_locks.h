/*-------------------------------------------------------------------------
 *
 * tried_locks.h
 *		Locks that were taken without waiting, and can be released.
 *
 * A coordinator asks several servers about its scans at a time.  Where one of
 * them cannot have its locks, it wants those of scans that come after it
 * released elsewhere: whoever holds the former may go on to lock the latter.
 * Until then they are like all locks of the transaction.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_ADMIT_TRIED_LOCKS_H
#define PX_ADMIT_TRIED_LOCKS_H

#include "utils/resowner.h"

/*
 * The resource owner of a trial's locks, in the current transaction or
 * subtransaction.  Locks of an earlier trial become its own.
 */
extern ResourceOwner px_tried_locks_owner(uint32 trial);

/*
 * Give a resource owner's locks to that one, and delete it.  It must be owned
 * by a subtransaction of the trial's, and must not be current.
 */
extern void px_tried_locks_keep(ResourceOwner from, ResourceOwner trial);

/* Release the locks of that trial, if it is the last one here. */
extern void px_tried_locks_release(uint32 trial);

#endif							/* PX_ADMIT_TRIED_LOCKS_H */
