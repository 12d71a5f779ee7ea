/*-------------------------------------------------------------------------
 *
 * description.h
 *		The description: what exchange.describe says about a statement.
 *
 * Before rows are written as frames, the coordinator asks postgres_fdw's
 * session on the remote about the statement that postgres_fdw would prepare:
 * an INSERT, UPDATE or DELETE of one row, with parameters $1, $2, ...  The
 * answer is one line of text: the words of the remote's hello (hello.h), in
 * any order, and then these words, in this order:
 *
 *	against=view%20v			why frames may not be used; empty: they may
 *	effects=1			1: triggers, rules or functions of the remote may see
 *						how many rows a statement has
 *	exact=1				1: the statement reports each row that it is given
 *	keys=1				1: foreign keys compare its rows with other tables', or
 *						these may be its tables: it writes to a view or a
 *						partitioned table
 *	columns=20:-1,0:-1	the types that the parameters have, in the form of
 *						a request's columns (request.h); 0: send as text
 *
 * against is escaped as in an admission (admission.h).  Later versions may add
 * words before against.  Unknown words are skipped, as in a hello.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_WIRE_DESCRIPTION_H
#define PX_WIRE_DESCRIPTION_H

#include "wire/frame.h"
#include "wire/hello.h"
#include "wire/request.h"

/* The greatest length: a hello, the other words, and all columns. */
#define PX_DESCRIPTION_NBYTES_MAX \
	(PX_HELLO_NBYTES_MAX + 512 + PX_FRAME_COLUMNS_MAX * 22)

typedef struct px_description
{
	px_hello	hello;
	char		against[128];	/* as in px_admission */
	bool		effects;
	bool		exact;
	bool		keys;
	uint16_t	ncolumns;
} px_description;

/*
 * Write the description with its columns[ncolumns] to buffer[cap],
 * NUL-terminated.  Returns the length that it has, or would have with a larger
 * cap, without the NUL, as snprintf does.
 */
extern size_t px_description_write(char *buffer, size_t cap,
								   const px_description *description,
								   const px_request_column *columns);

/*
 * Parse a description.  columns must have room for PX_FRAME_COLUMNS_MAX.
 * Errors: those of px_admission_read and of a request's columns.
 * *description and columns are undefined after an error.
 */
extern px_status px_description_read(const char *text,
									 px_description *description,
									 px_request_column *columns,
									 px_fault *fault);

#endif							/* PX_WIRE_DESCRIPTION_H */
