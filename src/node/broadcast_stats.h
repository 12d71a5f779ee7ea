/*-------------------------------------------------------------------------
 *
 * broadcast_stats.h
 *		What an ExchangeBroadcast measures and counts.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_NODE_BROADCAST_STATS_H
#define PX_NODE_BROADCAST_STATS_H

#include "node/broadcast_state.h"

/* Show in pg_stat_progress_exchange that the sides are going to be read. */
extern void px_broadcast_begin_progress(px_broadcast_state *state);

/* Show what has been read of them by now. */
extern void px_broadcast_show_progress(px_broadcast_state *state);

/* The first stage begins. */
extern void px_broadcast_begin_stages(px_broadcast_state *state);

/* A stage has ended, and the next one begins. */
extern void px_broadcast_end_stage(px_broadcast_state *state,
								   px_broadcast_stage stage);

/* All rows of the fragments have come: note how long each of them took. */
extern void px_broadcast_end_fragments(px_broadcast_state *state);

/*
 * The times of the fragments, the longest divided by their mean.  0 if they
 * are not known, or if there is but one.
 */
extern double px_broadcast_skew(const px_broadcast_state *state);

/*
 * Count in the statistics of each fragment's server that nrows rows were sent
 * to it, with nbytes[i] bytes; or, if nbytes is NULL, that the join is not
 * sent.
 */
extern void px_broadcast_count(const px_broadcast_state *state, uint64 nrows,
							   const uint64 *nbytes);

#endif							/* PX_NODE_BROADCAST_STATS_H */
