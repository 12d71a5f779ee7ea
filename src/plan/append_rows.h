/*-------------------------------------------------------------------------
 *
 * append_rows.h
 *		Few rows of a table with many foreign partitions.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_PLAN_APPEND_ROWS_H
#define PX_PLAN_APPEND_ROWS_H

extern void px_append_rows_init(void);

#endif							/* PX_PLAN_APPEND_ROWS_H */
