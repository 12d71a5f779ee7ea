/*-------------------------------------------------------------------------
 *
 * rewrite.h
 *		Queries over foreign tables in a form that is planned better.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_PLAN_REWRITE_H
#define PX_PLAN_REWRITE_H

/*
 * May other statements come between the rows that a query returns, which is
 * planned with these options?  Queries of cursors and of loops in PL/pgSQL, as
 * of functions that write, must have plans without workers.
 */
extern bool px_may_be_resumed(int cursor_options);

/* Install the planner hook; called by _PG_init, after px_place_init. */
extern void px_rewrite_init(void);

#endif							/* PX_PLAN_REWRITE_H */
