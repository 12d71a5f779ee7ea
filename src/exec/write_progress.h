/*-------------------------------------------------------------------------
 *
 * write_progress.h
 *		Running writes in pg_stat_progress_exchange.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_EXEC_WRITE_PROGRESS_H
#define PX_EXEC_WRITE_PROGRESS_H

#include "exec/write_state.h"

/* A piece of the target is about to be sent: show its lane. */
extern void px_write_progress_send(px_write_target *target);

/* The remote has written a piece, of wire_nbytes. */
extern void px_write_progress_written(px_write_target *target,
									  const px_write_piece *piece,
									  uint64 wire_nbytes);

/* The writer ends. */
extern void px_write_progress_end(px_write_state *writer);

#endif							/* PX_EXEC_WRITE_PROGRESS_H */
