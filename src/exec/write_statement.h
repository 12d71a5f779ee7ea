/*-------------------------------------------------------------------------
 *
 * write_statement.h
 *		postgres_fdw's statement for the rows of a target.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_EXEC_WRITE_STATEMENT_H
#define PX_EXEC_WRITE_STATEMENT_H

#include "exec/write_plan.h"

/* Set the statement and its columns from postgres_fdw's private list. */
extern void px_write_statement_set(px_write_plan *plan, List *private);

/*
 * Make the statement for rows that are routed or copied, which have no such
 * list, in the current memory context; unless plan has a statement.
 */
extern void px_write_statement_make(px_write_plan *plan);

/*
 * Why can't the rows of the statement be frames?  NULL: they can, or it is not
 * known yet.
 */
extern const char *px_write_statement_reason(const px_write_plan *plan);

#endif							/* PX_EXEC_WRITE_STATEMENT_H */
