/*-------------------------------------------------------------------------
 *
 * writer.h
 *		Rows of a statement that writes, sent to their servers as frames.
 *
 * A writer belongs to an executor state: to a statement or a COPY.  It has a
 * target for each foreign table that is written to, and a lane for each
 * server.  Rows go from the slot into the columns of their target.  Full
 * targets become frames, which are sent on the lane of their server: one call
 * is in flight for each server, and the next frames are made meanwhile.
 *
 * The first min_write_rows rows of a target are kept as tuples.  If no more
 * come, or the remote declines, postgres_fdw gets them: nothing has happened
 * until then.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_EXEC_WRITER_H
#define PX_EXEC_WRITER_H

#include "exec/write_plan.h"

/*
 * A target for plan, in es_query_cxt.  The executor state's writer is made
 * with the first target, and freed with the executor state.
 */
extern px_write_target *px_writer_add(const px_write_plan *plan);

/*
 * postgres_fdw writes the rows of plan, for reason, a constant string.  After
 * an error of theirs their server takes no more rows, so those that came
 * before must be there: from now on it writes those of other targets of the
 * server, too.  Of plan, mtstate, relinfo and begun_ns are needed.  Raises
 * errors of earlier rows.  May block.
 */
extern void px_writer_leave(const px_write_plan *plan, const char *reason);

/*
 * Write a row: what ExecForeignInsert, Update and Delete return.  slot is NULL
 * for a DELETE, as there.  NULL if a ctid comes for the second time.  Errors:
 * those of the remote for this and earlier rows.  May block.
 */
extern TupleTableSlot *px_writer_row(px_write_target *target,
									 TupleTableSlot *slot,
									 TupleTableSlot *plan_slot);

/*
 * Send all rows of the executor state's targets, and wait until they are
 * written.  Then counts are right, and later rows begin anew.  Does nothing
 * for an executor state without a writer.
 */
extern void px_writer_flush(EState *estate);

/*
 * In a PG_CATCH around the execution of estate, or around a COPY with NULL:
 * if rows of its writer that came before the error were not written yet, write
 * them, and raise the first error among theirs and this one.  Returns if there
 * is nothing to do: then the error is to be raised again.
 */
extern void px_writer_after_error(const EState *estate);

/*
 * A scan of the server begins, perhaps anew: have it see what it would have
 * seen if postgres_fdw had written the rows, in statements of batch_size rows.
 */
extern void px_writer_before_scan(EState *estate, Oid serverid);

/*
 * The same before a scan of the server, which has returned rows, fetches the
 * next portion.  finds_targets: the scan finds the rows of the target of an
 * UPDATE or DELETE, and reads no other table.  Then rows that become frames
 * need not be sent: the server has said that they have no effects on others,
 * and which rows are changed twice is known.
 */
extern void px_writer_before_portion(EState *estate, Oid serverid,
									 bool finds_targets);

/* Valid after px_writer_flush. */
extern const px_write_stats *px_writer_stats(const px_write_target *target);

#endif							/* PX_EXEC_WRITER_H */
