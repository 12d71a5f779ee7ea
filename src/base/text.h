/*-------------------------------------------------------------------------
 *
 * text.h
 *		Writing and reading the words of requests, hellos and admissions.
 *
 * These are lines of key=value words.  They come from another server, so words
 * are compared exactly and numbers have one spelling only: no white space, no
 * plus sign, no leading zeros, no overflow.
 *
 * A reading function has the argument at, which points to the caller's
 * position in a NUL-terminated text.  If it succeeds, it moves the position
 * after what it has read; otherwise the position stays.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_BASE_TEXT_H
#define PX_BASE_TEXT_H

#include "base/status.h"

/*
 * Where text is written.  len keeps counting when the buffer is full: in the
 * end it is the length that the whole text needs.
 */
typedef struct px_text
{
	char	   *buffer;			/* may be NULL if cap is 0 */
	size_t		cap;			/* size of buffer, NUL included */
	size_t		len;			/* length so far, NUL excluded */
} px_text;

/* Append a string, or a number in decimal digits. */
extern void px_text_put(px_text *text, const char *s);
extern void px_text_put_number(px_text *text, int64_t number);

/*
 * Append a text of any bytes.  All but letters, digits, "_", "." and "-" are
 * written as % and two upper-case hex digits.
 */
extern void px_text_put_escaped(px_text *text, const char *s);

/* Append a number as 16 lower-case hex digits. */
extern void px_text_put_hex(px_text *text, uint64_t number);

/*
 * Terminate the text with a NUL.  Text that does not fit is cut.  Returns
 * text->len, as snprintf does.
 */
extern size_t px_text_end(px_text *text);

/* Read word; false if something else is there. */
extern bool px_text_take(const char **at, const char *word);

/*
 * Read a decimal number: "0", or digits that do not begin with 0, or, if min
 * is negative, such digits after a "-".  Errors, with fault->what set to what:
 * PX_BAD_HEADER if there is no such number, PX_OVER_LIMIT if it is not in
 * min .. max.
 */
extern px_status px_text_take_number(const char **at, const char *what,
									 int64_t min, int64_t max,
									 int64_t *number, px_fault *fault);

/*
 * Read as many characters of set as there are to out[cap], and terminate them
 * with a NUL.  Returns their number, or 0 if there are none or cap or more.
 */
extern size_t px_text_take_chars(const char **at, const char *set, char *out,
								 size_t cap);

/*
 * Read an escaped text, which ends at a blank or at the end of the text, to
 * out[cap], and terminate it with a NUL.  Each text has one spelling only.
 * Errors, with fault->what set to what: PX_BAD_HEADER if it is malformed,
 * PX_OVER_LIMIT if cap is too small.
 */
extern px_status px_text_take_escaped(const char **at, const char *what,
									  char *out, size_t cap, px_fault *fault);

/* Read a number of 16 lower-case hex digits; false if there is none. */
extern bool px_text_take_hex(const char **at, uint64_t *number);

#endif							/* PX_BASE_TEXT_H */
