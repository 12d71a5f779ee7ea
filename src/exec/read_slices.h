/*-------------------------------------------------------------------------
 *
 * read_slices.h
 *		The slices of a scan after the first: who reads them, and when.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_EXEC_READ_SLICES_H
#define PX_EXEC_READ_SLICES_H

#include "exec/receive_state.h"

/*
 * When it is known what the slices are: begin streams for those that there
 * are connections for.  Blocks for a round trip, serving interrupts.
 */
extern void px_receive_spread(px_receive_state *state);

/*
 * A reader has come to the end of its slice: have it go on with another one,
 * if there is any, or be done.  Blocks, serving interrupts, where that takes a
 * new connection.
 */
extern void px_receive_end_slice(px_receive_state *state, px_stream_reader *reader);

/*
 * No stream is read any more: read slices that are left, if there are any, by
 * the session.  False if there are none.  May wait for other participants to
 * begin theirs, serving interrupts.
 */
extern bool px_receive_take_left_slice(px_receive_state *state);

#endif							/* PX_EXEC_READ_SLICES_H */
