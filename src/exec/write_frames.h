/*-------------------------------------------------------------------------
 *
 * write_frames.h
 *		Rows of a target become columns, these frames, and these pieces.
 *
 * All that is allocated belongs to the writer's context.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_EXEC_WRITE_FRAMES_H
#define PX_EXEC_WRITE_FRAMES_H

#include "exec/write_state.h"

/*
 * The target's rows are to become frames, as the remote has described them.
 * Makes target->desc, attrs and row: for an UPDATE and DELETE the ctid is the
 * first column.  Before any of the following.
 */
extern void px_write_frames_begin(px_write_target *target);

/*
 * Append a row to the frames; px_write_frames_end_row is to follow.  Returns
 * slot, or plan_slot if that is NULL; NULL if the ctid has come before, and
 * then nothing is to follow.  COPY: may send a piece, and block.
 */
extern TupleTableSlot *px_write_frames_append(px_write_target *target,
											  TupleTableSlot *slot,
											  TupleTableSlot *plan_slot,
											  uint64 position);

/*
 * End the frame, and the piece, if they are full.  Statements of postgres_fdw
 * are not cut, unless they are twice as large as a piece is to be.  May send a
 * piece, and block until the one before is written, and raise its errors.
 */
extern void px_write_frames_end_row(px_write_target *target);

/*
 * Send what there is.  last: no more rows of the statement come.  The columns
 * are freed.  Blocks as px_write_frames_end_row.
 */
extern void px_write_frames_send(px_write_target *target, bool last);

/*
 * The target has a row at position.  The pieces that went before need to know
 * it: their last statement is executed no earlier.
 */
extern void px_write_frames_note_row(const px_write_target *target,
									 uint64 position);

/*
 * Are there so many targets that columns for all of them would leave little
 * room for rows?  Then rows are kept as tuples until their target is flushed.
 */
extern bool px_write_frames_is_crowded(const px_write_target *target);

/* Count what the target uses by now. */
extern void px_write_target_count_memory(px_write_target *target);

#endif							/* PX_EXEC_WRITE_FRAMES_H */
