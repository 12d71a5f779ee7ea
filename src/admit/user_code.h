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
 * Does a function pass the test, or one that it may call?  These are, of an
 * aggregate of a user, those that it is made of: it is always declared
 * immutable itself.  Of to_json() and the like, they are those of the casts
 * that users have created.
 */
extern bool px_any_function(Oid function, bool (*test) (Oid function));

/*
 * The constraints of a domain and of those that it is based on, as
 * DomainConstraintState; one that is NOT NULL has no check_expr.  In the
 * current memory context, which keeps a reference until it is reset.
 */
extern List *px_domain_constraints(Oid domain);

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
