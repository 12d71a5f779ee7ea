/*-------------------------------------------------------------------------
 *
 * plain_explain.h
 *		Planning for EXPLAIN without ANALYZE.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_PLAN_PLAIN_EXPLAIN_H
#define PX_PLAN_PLAIN_EXPLAIN_H

/*
 * Is a plain EXPLAIN running, which does not connect?  Then servers are asked
 * nothing, and only what is known already is used.
 */
extern bool px_in_plain_explain(void);

/* Does it show a plan that is kept?  EXPLAIN EXECUTE does. */
extern bool px_in_explain_execute(void);

/* Install the hook; called by _PG_init. */
extern void px_plain_explain_init(void);

#endif							/* PX_PLAN_PLAIN_EXPLAIN_H */
