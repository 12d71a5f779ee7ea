/*-------------------------------------------------------------------------
 *
 * text.h
 *		Words of text: what request, hello and admission are made of.
 *
 * They are lines of key=value words.  They come from another server, so they
 * are read by exact comparison and a strict number parser: no white space,
 * signs, leading zeros or bases that were not asked for, and no overflow.
 * They are written without printf, so that this layer depends on nothing.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_BASE_TEXT_H
#define PX_BASE_TEXT_H

#include "base/status.h"

/*
 * Where text goes.  len counts on when the buffer is full, so that after the
 * last piece it is the length that the text has or would have had.
 */
typedef struct px_text
{
	char	   *buffer;			/* may be NULL if cap is 0 */
	size_t		cap;			/* size of buffer, NUL included */
	size_t		len;			/* length so far, NUL excluded */
} px_text;

/* Append a string, or a number in decimal. */
extern void px_text_put(px_text *text, const char *s);
extern void px_text_put_number(px_text *text, int64_t number);

/* Terminate with a NUL, truncating what does not fit; returns text->len. */
extern size_t px_text_end(px_text *text);

/* If *at begins with word, move *at past it and return true. */
extern bool px_text_take(const char **at, const char *word);

/*
 * Read a decimal number, "0" or digits that do not begin with 0, after a "-"
 * if min is negative, and move *at past it.  Errors, with what as the
 * fault's name: PX_BAD_HEADER if there is none, PX_OVER_LIMIT if it is not in
 * min .. max.
 */
extern px_status px_text_take_number(const char **at, const char *what,
									 int64_t min, int64_t max,
									 int64_t *number, px_fault *fault);

/*
 * Read 1 .. cap - 1 characters out of a set to out, terminate them, and move
 * *at past them.  Returns their number, or 0 if there are none or too many.
 */
extern size_t px_text_take_chars(const char **at, const char *set, char *out,
								 size_t cap);

/* Append a number as 16 lower-case hex digits, or read such a number. */
extern void px_text_put_hex(px_text *text, uint64_t number);
extern bool px_text_take_hex(const char **at, uint64_t *number);

#endif							/* PX_BASE_TEXT_H */
