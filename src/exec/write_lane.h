/*-------------------------------------------------------------------------
 *
 * write_lane.h
 *		Lanes: the servers that a writer sends to.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_EXEC_WRITE_LANE_H
#define PX_EXEC_WRITE_LANE_H

#include "exec/write_state.h"

/* The writer's lane for the server of a target; made with the first one. */
extern px_write_lane *px_write_lane_get(px_write_state *writer,
										const px_write_plan *plan);

/*
 * Look up the lane's server and user, in the current memory context, unless
 * that is done.  plan: of one of its targets.
 */
extern void px_write_lane_identify(px_write_lane *lane,
								   const px_write_plan *plan);

/*
 * Ask the remote by a query without a parameter, when nothing is in flight.
 * The result is valid until the next call.  Errors as if the target's
 * statement had raised them.  want_socket: so that px_downlink_socket is known
 * then, which takes a round trip more.
 */
extern text *px_write_lane_ask(px_write_target *target, const char *sql,
							   bool want_socket);

/*
 * Send the target's piece, and free it when it was written.  Waits until the
 * piece sent before it is written, and for this one, too, if it is the only
 * one; behind a slow link, until the piece before the last one is written.
 */
extern void px_write_lane_send(px_write_target *target);

/*
 * If a piece is on its way on a connection of our own, wait until it has been
 * brought, and have the remote work on it.
 */
extern void px_write_lane_start(px_write_lane *lane);

/*
 * Do for all lanes what can be done without waiting for much: send on what is
 * being brought, and px_write_lane_start.  To be called now and then, while
 * rows are filled in.  Errors are those of the rows that were sent.
 */
extern void px_write_lanes_go_on(px_write_state *writer);

/*
 * Send a trivial query, unless the remote still works for us.  So its session
 * is not ended as one that is idle in a transaction.
 */
extern void px_write_lane_keep_awake(px_write_lane *lane);

/* Wait until all that was sent is written. */
extern void px_write_lane_collect(px_write_lane *lane);

/*
 * The same, and have the remote forget the calls.  A later one can be made.
 */
extern void px_write_lane_end(px_write_lane *lane);

/* So many rows less than were counted have been written. */
extern void px_write_uncount(px_write_target *target, uint64 rows);

#endif							/* PX_EXEC_WRITE_LANE_H */
