/*-------------------------------------------------------------------------
 *
 * write_target.h
 *		A target: from its rows to pieces that are sent.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_EXEC_WRITE_TARGET_H
#define PX_EXEC_WRITE_TARGET_H

#include "exec/write_state.h"

/* Write a row, as px_writer_row does. */
extern TupleTableSlot *px_write_target_row(px_write_target *target,
										   TupleTableSlot *slot,
										   TupleTableSlot *plan_slot);

/*
 * Send what there is, but do not wait until it is written.  last: no more rows
 * of the statement come.  The target's memory is freed.
 */
extern void px_write_target_flush(px_write_target *target, bool last);

/* The bytes of rows that a flush would send, roughly. */
extern size_t px_write_target_fullness(const px_write_target *target);

#endif							/* PX_EXEC_WRITE_TARGET_H */
