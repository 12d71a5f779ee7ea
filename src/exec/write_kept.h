/*-------------------------------------------------------------------------
 *
 * write_kept.h
 *		Rows that are kept as tuples, and written by postgres_fdw.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_EXEC_WRITE_KEPT_H
#define PX_EXEC_WRITE_KEPT_H

#include "exec/write_state.h"

/* Keep a row; as for px_writer_row. */
extern void px_write_keep(px_write_target *target, TupleTableSlot *slot,
						  TupleTableSlot *plan_slot);

/*
 * The slots of kept row i, of which the first is NULL for a DELETE, and the
 * second for an INSERT.  Valid until the next call.
 */
extern void px_write_kept_row(px_write_target *target, int i,
							  TupleTableSlot **slot,
							  TupleTableSlot **plan_slot);

/*
 * How many kept rows, from the first, are of statements that postgres_fdw would
 * have executed by now?
 */
extern int	px_write_kept_due(const px_write_target *target);

/* Forget the first n kept rows, which frees their memory. */
extern void px_write_forget_kept(px_write_target *target, int n);

/*
 * Have postgres_fdw write the kept rows of px_write_kept_due, in statements of
 * batch_size rows, and forget them.  The other rows stay.  Errors are its own.
 */
extern void px_write_replay(px_write_target *target);

/*
 * The same statement by statement: where would postgres_fdw have executed the
 * next one, as for px_write_fail?  UINT64_MAX if there is none.
 */
extern uint64 px_write_replay_position(const px_write_target *target);

/* Have it executed. */
extern void px_write_replay_next(px_write_target *target);

#endif							/* PX_EXEC_WRITE_KEPT_H */
