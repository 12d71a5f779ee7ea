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
 * It is known now what the slices are: begin streams for as many of them as
 * there are connections for.  Blocks for a round trip, serving interrupts.
 */
extern void px_read_other_slices(px_receive_state *state);

/*
 * A reader has come to the end of its slice: have it read another one, if
 * there is any left.  Blocks, serving interrupts, where that takes a new
 * connection.
 */
extern void px_read_next_slice(px_receive_state *state,
							   px_stream_reader *reader);

/*
 * No stream is being read: have postgres_fdw's session read a slice that is
 * left.  False if there is none.  May wait until other participants have begun
 * to read theirs, serving interrupts.
 */
extern bool px_read_left_slice(px_receive_state *state);

#endif							/* PX_EXEC_READ_SLICES_H */
