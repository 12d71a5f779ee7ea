/*-------------------------------------------------------------------------
 *
 * copy_lines.h
 *		The lines of rows that COPY has read, for errors that come late.
 *
 * An error while COPY inserts a row names the line of that row.  If rows are
 * written later than they are read, COPY has a later line by then.  So number
 * and beginning of each line are kept until its row was written.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_EXEC_COPY_LINES_H
#define PX_EXEC_COPY_LINES_H

#include "compat.h"

typedef struct px_copy_lines px_copy_lines;

/* Does COPY read a row now? */
extern bool px_copy_is_reading(void);

/* Bytes of the line that COPY has read last; 0 if it does not read. */
extern int	px_copy_line_nbytes(void);

/* No lines yet; in the current memory context. */
extern px_copy_lines *px_copy_lines_new(void);

/* Append the line that COPY has read last. */
extern void px_copy_lines_add(px_copy_lines *lines);

/* Append a line of other lines. */
extern void px_copy_lines_add_from(px_copy_lines *lines,
								   const px_copy_lines *from, int n);

/*
 * Raise an error as if COPY had just read line n, which counts from 0; or the
 * last line, if n < 0.  batch: COPY has given several lines to the FDW, so it
 * does not name the line, if it does that at all.
 */
pg_noreturn extern void px_copy_lines_throw(const px_copy_lines *lines, int n,
											bool batch, ErrorData *error);

#endif							/* PX_EXEC_COPY_LINES_H */
