/*-------------------------------------------------------------------------
 *
 * held_error.h
 *		What exchange.apply answers if a row fails, and it may not say so by an
 *		error: see hold in apply_words.h.
 *
 * One line of text, with these words in this order:
 *
 *	error=23505			the error's SQLSTATE
 *	message=no%20room	and its texts, escaped as in an admission (admission.h);
 *	detail= hint=		empty: there is none
 *	context=pg_exchange%20row%207
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_WIRE_HELD_ERROR_H
#define PX_WIRE_HELD_ERROR_H

#include "base/status.h"

typedef struct px_held_error
{
	char		sqlstate[6];
	const char *message;		/* texts are never NULL */
	const char *detail;
	const char *hint;
	const char *context;
} px_held_error;

/*
 * Write the error to buffer[cap], NUL-terminated.  Returns the length that it
 * has, or would have with a larger cap, without the NUL, as snprintf does.
 */
extern size_t px_held_error_write(char *buffer, size_t cap,
								  const px_held_error *error);

/* Is this text an error, rather than a result? */
extern bool px_held_error_is(const char *text);

/*
 * Parse an error.  Its texts are put into room, which must have
 * strlen(text) + 1 bytes.  Errors, where fault->what names the word: PX_BAD_HEADER for any
 * deviation from the form above.  *error is undefined after an error.
 */
extern px_status px_held_error_read(const char *text, px_held_error *error,
									char *room, px_fault *fault);

#endif							/* PX_WIRE_HELD_ERROR_H */
