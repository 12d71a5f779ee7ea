/*-------------------------------------------------------------------------
 *
 * fragment_memory.h
 *		Memory for the hash tables of fragments that read inboxes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_EXEC_FRAGMENT_MEMORY_H
#define PX_EXEC_FRAGMENT_MEMORY_H

/*
 * If the transaction has inboxes, and pg_exchange.fragment_memory is more than
 * a hash table may take in this session, let it take that much, in planning
 * and in execution.  Up to the end, which takes what this has returned, or to
 * the end of the transaction if there is an error.
 */
extern int	px_fragment_memory_begin(void);
extern void px_fragment_memory_end(int nestlevel);

#endif							/* PX_EXEC_FRAGMENT_MEMORY_H */
