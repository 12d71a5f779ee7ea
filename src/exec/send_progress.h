/*-------------------------------------------------------------------------
 *
 * send_progress.h
 *		Rows that are about to be sent to fragments, in
 *		pg_stat_progress_exchange.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_EXEC_SEND_PROGRESS_H
#define PX_EXEC_SEND_PROGRESS_H

#include "exec/receive_state.h"
#include "stats/progress.h"

typedef struct px_send_progress px_send_progress;

/*
 * For n fragments, in the current memory context.  Nothing is shown yet.  An
 * error hides what is shown, when the context is deleted.
 */
extern px_send_progress *px_send_progress_new(px_receive_state **fragments,
											  int n);

/* Show a row for each fragment, of which so many rows are expected. */
extern void px_send_progress_begin(px_send_progress *progress,
								   px_direction direction,
								   double estimated_rows);

/* There are so many rows and bytes by now for fragment i. */
extern void px_send_progress_set(px_send_progress *progress, int i,
								 uint64 rows, uint64 raw_nbytes,
								 uint64 wire_nbytes);

/* Show none any more. */
extern void px_send_progress_end(px_send_progress *progress);

#endif							/* PX_EXEC_SEND_PROGRESS_H */
