/*-------------------------------------------------------------------------
 *
 * write_replay.h
 *		Kept rows of several targets, in the order of the statement.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_EXEC_WRITE_REPLAY_H
#define PX_EXEC_WRITE_REPLAY_H

#include "exec/write_state.h"

/* Does postgres_fdw write the rows of the target that were not written yet? */
extern bool px_write_has_kept(const px_write_target *target);

/*
 * Have postgres_fdw write kept rows, with the statements that come before
 * position, in the order in which it would have executed them: those for the
 * lane's server, or all with NULL.
 */
extern void px_write_replay_all(px_write_state *writer,
								const px_write_lane *lane, uint64 position);

#endif							/* PX_EXEC_WRITE_REPLAY_H */
