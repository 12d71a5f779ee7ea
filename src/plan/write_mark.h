/*-------------------------------------------------------------------------
 *
 * write_mark.h
 *		Marks plans that write, if no function looks at what is written.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_PLAN_WRITE_MARK_H
#define PX_PLAN_WRITE_MARK_H

/* Install the planner hook; called by _PG_init. */
extern void px_write_mark_init(void);

#endif							/* PX_PLAN_WRITE_MARK_H */
