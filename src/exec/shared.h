/*-------------------------------------------------------------------------
 *
 * shared.h
 *		What the participants of a parallel scan share.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_EXEC_SHARED_H
#define PX_EXEC_SHARED_H

#include "access/parallel.h"

#include "exec/receive_state.h"

/*
 * In the shared memory of a parallel plan.  The leader writes all fields
 * before workers are launched.
 */
typedef struct px_receive_shared
{
	px_slices	slices;			/* has a mutex of its own */
	int			participants;	/* with the leader, as many as are to be
								 * launched */
	char		snapshot[PX_SNAPSHOT_ID_NBYTES];
	px_admission admission;		/* of the leader's peer */

	slock_t		mutex;			/* protects the rest */
	px_receive_stats stats;		/* of workers */
	uint32		codecs;			/* that they have seen */
	uint16		version;		/* of a worker's connection; 0: none read */
	px_locality locality;		/* of the same */
	bool		local;
	bool		has_measured;	/* link_history is a worker's ... */
	px_link_history link_history;	/* ... else the leader's */
} px_receive_shared;

/*
 * How many read the scan?  Only the leader knows how many workers were
 * launched.
 */
static inline int
px_receive_participants(const px_receive_state *state)
{
	if (state->shared == NULL)
		return 1;
	return state->pcxt ? state->pcxt->nworkers_launched + 1 :
		state->shared->participants;
}

/* Do others read the scan, too? */
static inline bool
px_receive_has_participants(const px_receive_state *state)
{
	return px_receive_participants(state) > 1;
}

/*
 * Leader, before workers are launched: let them read under the snapshot that
 * the peer has for it.
 */
extern void px_shared_offer_peer(px_receive_shared *shared,
								 const px_peer     *peer);

/* Worker, before a stream begins: read under the leader's snapshot. */
extern void px_shared_join_peer(px_receive_shared *shared, px_peer *peer);

/* Worker, at the end: add to what workers have counted and measured. */
extern void px_shared_add(px_receive_state *state);

/* Leader, when all workers have ended: take that over. */
extern void px_shared_collect(px_receive_state *state);

#endif							/* PX_EXEC_SHARED_H */
