/*-------------------------------------------------------------------------
 *
 * write_effects.h
 *		Does it matter how many rows a statement writes?
 *
 * postgres_fdw writes a row, or batch_size rows, by a statement.  If nothing
 * but the table changes, one statement for more rows does the same.  If there
 * are triggers, or functions that may look at the table, it does not.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_ADMIT_WRITE_EFFECTS_H
#define PX_ADMIT_WRITE_EFFECTS_H

#include "nodes/parsenodes.h"

typedef struct px_write_effects
{
	/*
	 * Triggers, rules or functions may see how many rows a statement has, or
	 * the rows that it has written so far.
	 */
	bool		visible;

	/*
	 * Something is checked at the end of the statement, such as a foreign key:
	 * the first error may be of another row.
	 */
	bool		late_checks;

	/* Rows may be left out: the count may be less than that of the rows. */
	bool		leaves_out;

	/* Rows are compared with those of other tables, by foreign keys. */
	bool		keys;
} px_write_effects;

/*
 * Judge the statements that the rewriter has made of one for writing rows
 * (write_query.h), whose parameters have types[ntypes].  Their relations are
 * locked.  unpack is the function that returns the rows, or InvalidOid.
 */
extern void px_write_effects_judge(List *rewritten, const Oid *types,
								   int ntypes, Oid unpack,
								   px_write_effects *effects);

#endif							/* PX_ADMIT_WRITE_EFFECTS_H */
