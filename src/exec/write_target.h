/*-------------------------------------------------------------------------
 *
 * write_target.h
 *		A target: from its rows to pieces that are sent.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_EXEC_WRITE_TARGET_H
#define PX_EXEC_WRITE_TARGET_H

#include "exec/write_frames.h"

/* Write a row, as px_writer_row does. */
extern TupleTableSlot *px_write_target_row(px_write_target *target,
										   TupleTableSlot *slot,
										   TupleTableSlot *plan_slot);

/*
 * Send what there is, but do not wait until it is written.  last: no more rows
 * of the statement come.  The target's memory is freed.  Not for rows that
 * postgres_fdw is to write.
 */
extern void px_write_target_flush(px_write_target *target, bool last);

/*
 * Kept rows are to be written now, or soon: if so many have come that frames
 * may pay, ask the remote first.
 */
extern void px_write_target_settle(px_write_target *target);

/*
 * After an error at position: may a row that comes before it be unwritten?
 * Not if the target's server has raised an error itself.
 */
extern bool px_write_target_precedes(const px_write_target *target,
									 uint64 position);

/*
 * After an error: write what postgres_fdw would have written by now, or more,
 * and wait for it.
 */
extern void px_write_target_catch_up(px_write_target *target);

/* To be called once, when the target has its plan. */
extern void px_write_target_begin(px_write_target *target);

/* Why rows of a target are not frames, although they may be. */
#define PX_WRITE_LARGE_ROWS	"rows are large"

/* The same, where other rows may be needed to tell. */
#define PX_WRITE_ORDER	"tables of its server may depend on one another"
#define PX_WRITE_TWICE	"another foreign table stands for the same table"

/* Let postgres_fdw write the target's rows from now on. */
extern void px_write_target_decline(px_write_target *target,
									const char *reason);

/*
 * postgres_fdw is going to write rows of a target as they come.  An error of
 * theirs stops the server, and they may refer to rows of other targets by
 * foreign keys.  So other rows for the server must not wait any more: write
 * what there is, and have postgres_fdw write the rest.
 */
extern void px_write_lane_decline(px_write_lane *lane, const char *against);

/*
 * Frames reach a server in another order than rows came for its tables.  Why
 * must that not be?  NULL if nothing that is done for a row of one of the
 * lane's targets depends on those of another one.  Asks the remote about those
 * that it was not asked about.
 */
extern const char *px_write_lane_describe(px_write_lane *lane);

/* The bytes of rows that a flush would send, roughly. */
extern size_t px_write_target_fullness(const px_write_target *target);

#endif							/* PX_EXEC_WRITE_TARGET_H */
