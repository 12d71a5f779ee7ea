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
 * Ask for shared memory, if the postmaster loads the library; called by
 * _PG_init, after the settings were defined.  Otherwise statistics are the
 * backend's own.
 */
extern void px_stats_init(void);

#endif							/* PX_STATS_STATS_H */
