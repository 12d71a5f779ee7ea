/*-------------------------------------------------------------------------
 *
 * trim.h
 *		Memory of many scans goes back to the operating system.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_EXEC_TRIM_H
#define PX_EXEC_TRIM_H

/* A scan begins, whose memory is freed at the end of this transaction. */
extern void px_trim_count_scan(void);

/* Look at that when transactions end; called by _PG_init. */
extern void px_trim_init(void);

#endif							/* PX_EXEC_TRIM_H */
