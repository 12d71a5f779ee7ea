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
 * Begin to judge a query in a trial.  Returns the resource owner of its locks,
 * in the current transaction or subtransaction; locks of an earlier trial
 * become its own.  NULL while another query is judged: one that is not written
 * by a coordinator may call exchange.admit itself.
 */
extern ResourceOwner px_tried_locks_begin(uint32 trial);

/* That query was judged, or has failed.  Not to be called after NULL. */
extern void px_tried_locks_end(void);

/*
 * Give a resource owner's locks to that one, and delete it.  It must be owned
 * by a subtransaction of the trial's, and must not be current.
 */
extern void px_tried_locks_keep(ResourceOwner from, ResourceOwner trial);

/*
 * Release the locks of that trial, if it is the last one here, and no query is
 * being judged.
 */
extern void px_tried_locks_release(uint32 trial);

#endif							/* PX_ADMIT_TRIED_LOCKS_H */
