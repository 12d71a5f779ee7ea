/*-------------------------------------------------------------------------
 *
 * broadcast_side.h
 *		The rows of a side, as pieces for the servers of a broadcast.
 *
 * A server that is local gets its frames uncompressed, others as the mode for
 * them says.  So a piece is made for each mode that is needed.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_EXEC_BROADCAST_SIDE_H
#define PX_EXEC_BROADCAST_SIDE_H

#include "executor/tuptable.h"

#include "exec/broadcast_ask.h"

typedef struct px_broadcast_side px_broadcast_side;

/*
 * An empty side with the columns of desc, for servers that can read what peers
 * says, in pieces for each of modes, a set of 1 << px_mode.  All types must be
 * those of px_are_columns_shippable.  All of it lives in a memory context of
 * its own below the current one.
 */
extern px_broadcast_side *px_broadcast_side_new(
	TupleDesc desc, const px_broadcast_peers *peers, uint32 modes);

extern void px_broadcast_side_free(px_broadcast_side *side);

/*
 * The most bytes that the rows of all sides may have before they become
 * frames.  Repeated values take nearly nothing in a frame, but each server
 * makes rows of it again.
 */
#define PX_BROADCAST_RAW_NBYTES_MAX	(64 * 1024 * 1024)

/*
 * Add a row.  It is in columns, and at the end of a batch in frames; not if
 * there are more than PX_BROADCAST_RAW_NBYTES_MAX: then the side is of no use.
 */
extern void px_broadcast_side_add(px_broadcast_side *side,
								  TupleTableSlot *slot);

/* Bytes that the largest of the pieces has by now. */
extern size_t px_broadcast_side_nbytes(const px_broadcast_side *side);

/* Bytes that the piece of a mode has by now. */
extern size_t px_broadcast_side_mode_nbytes(const px_broadcast_side *side,
											px_mode mode);

/* Bytes that the rows have by now, as columns. */
extern size_t px_broadcast_side_raw_nbytes(const px_broadcast_side *side);

extern uint64 px_broadcast_side_rows(const px_broadcast_side *side);

/* No more rows come: end all pieces. */
extern void px_broadcast_side_finish(px_broadcast_side *side);

/* The piece in a mode, as exchange.unpack takes it; after _finish. */
extern text *px_broadcast_side_piece(const px_broadcast_side *side,
									 px_mode mode);

#endif							/* PX_EXEC_BROADCAST_SIDE_H */
