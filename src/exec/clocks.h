/*-------------------------------------------------------------------------
 *
 * clocks.h
 *		The clocks that mode auto measures by.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_EXEC_CLOCKS_H
#define PX_EXEC_CLOCKS_H

#include <time.h>

#include "portability/instr_time.h"

#include "adapt/sender.h"

static inline int64
px_wall_ns(void)
{
	instr_time	now;

	INSTR_TIME_SET_CURRENT(now);
	return (int64) (INSTR_TIME_GET_DOUBLE(now) * 1e9);
}

static inline int64
px_cpu_ns(void)
{
#ifdef CLOCK_PROCESS_CPUTIME_ID
	struct timespec now;

	if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now) == 0)
		return now.tv_sec * INT64CONST(1000000000) + now.tv_nsec;
#endif
	return (int64) (clock() * (1e9 / CLOCKS_PER_SEC));
}

static inline px_clocks
px_clocks_read(void)
{
	px_clocks	now;

	now.wall_ns = px_wall_ns();
	now.cpu_ns = px_cpu_ns();
	return now;
}

#endif							/* PX_EXEC_CLOCKS_H */
