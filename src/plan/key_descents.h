/*-------------------------------------------------------------------------
 *
 * key_descents.h
 *		What index scans for many keys cost.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_PLAN_KEY_DESCENTS_H
#define PX_PLAN_KEY_DESCENTS_H

/*
 * Between these two, the planner costs an index scan for column = ANY (keys)
 * as PostgreSQL 17 does.  px_key_descents_restore gets what
 * px_key_descents_cap has returned; after an error, too.
 */
extern bool px_key_descents_cap(void);
extern void px_key_descents_restore(bool capped);

/* Install the planner's hook; called by _PG_init. */
extern void px_key_descents_init(void);

#endif							/* PX_PLAN_KEY_DESCENTS_H */
