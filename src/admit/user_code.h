/*-------------------------------------------------------------------------
 *
 * user_code.h
 *		Functions of users, which may run queries of their own.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_ADMIT_USER_CODE_H
#define PX_ADMIT_USER_CODE_H

/*
 * Passes a function the test that the aggregate is made of?  The aggregate
 * itself is always declared immutable.
 */
extern bool px_aggregate_has_function(Oid aggregate,
									  bool (*test) (Oid function));

/*
 * Is this a function of a user that is not immutable?  An aggregate is what
 * the functions are that it is made of.
 */
extern bool px_is_user_code(Oid function);

/*
 * Has a local partition of the table, at any level, CHECK constraints, indexes
 * or generated columns with a function of a user, immutable or not?  Locks no
 * partition.  The answer is found by the catalog's dependencies, which are
 * read once for a session and again after changes of tables.
 */
extern bool px_has_user_checks_below(Oid relid);

#endif							/* PX_ADMIT_USER_CODE_H */
