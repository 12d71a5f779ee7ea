/*-------------------------------------------------------------------------
 *
 * stats.h
 *		Shared memory for statistics.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_STATS_STATS_H
#define PX_STATS_STATS_H

/*
 * Request shared memory if the postmaster preloads the library.  Otherwise
 * each backend has its own statistics.  Called by _PG_init after px_guc_init,
 * because the size depends on pg_exchange.stat_max.
 */
extern void px_stats_init(void);

#endif							/* PX_STATS_STATS_H */
