/*-------------------------------------------------------------------------
 *
 * redistribute_state.h
 *		What goes from where to where in a redistribution.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_EXEC_REDISTRIBUTE_STATE_H
#define PX_EXEC_REDISTRIBUTE_STATE_H

#include "exec/receive_state.h"

typedef struct px_redistribute_source
{
	px_receive_state *receive;
	uint16		inbox;			/* that its rows go to, on each target */
	uint16		number;			/* among the sources of that inbox, from 0 */
	uint16		parts;			/* of the rows for each target: number t of the
								 * query's targets is part t / n for target
								 * t % n of n */

	/* What has come: set by px_redistribute. */
	uint64		rows;
	uint64		nbytes;
} px_redistribute_source;

typedef struct px_redistribute_target
{
	px_receive_state *receive;

	/* What was sent: set by px_redistribute. */
	uint64		rows;
	uint64		nbytes;
	bool		pulled;			/* it came from the sources directly */
	const char *not_pulled;		/* why it, or another target, did not; NULL if
								 * nothing speaks against it */
} px_redistribute_target;

#endif							/* PX_EXEC_REDISTRIBUTE_STATE_H */
