/*-------------------------------------------------------------------------
 *
 * guarded.h
 *		Judging a statement that may fail, and saying what was found.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_ADMIT_GUARDED_H
#define PX_ADMIT_GUARDED_H

#define PX_QUERY_FAILS	"query fails there"

/*
 * Call judge(arg) in a subtransaction.  Returns what it returns, a reason or
 * NULL.  If it raises an error, the subtransaction is rolled back, and the
 * reason is PX_QUERY_FAILS.  Errors that are not about the statement are raised.
 * If there is none, the locks are kept until the end of the transaction.
 */
extern char *px_judge_guarded(char *(*judge) (void *arg), void *arg);

/*
 * The same, without waiting for locks: if one is not to be had at once, none
 * is kept, and the reason is PX_AGAINST_DEFERRED.  They are the trial's: see
 * admit/tried_locks.h.
 */
extern char *px_judge_trying(char *(*judge) (void *arg), void *arg,
							 uint32 trial);

/*
 * Set against[cap] to a reason in the client's encoding, cut at a character if
 * it is too long.
 */
extern void px_set_against(char *against, int cap, const char *reason);

#endif							/* PX_ADMIT_GUARDED_H */
