/*-------------------------------------------------------------------------
 *
 * truncate.h
 *		TRUNCATE of foreign tables, while streams read from them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_EXEC_TRUNCATE_H
#define PX_EXEC_TRUNCATE_H

/* Install the hook. */
extern void px_truncate_init(void);

#endif							/* PX_EXEC_TRUNCATE_H */
