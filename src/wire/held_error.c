/*-------------------------------------------------------------------------
 *
 * held_error.c
 *		What exchange.apply answers if a row fails, and it may not say so by an
 *		error.
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include "base/text.h"
#include "wire/held_error.h"

#define ERROR_WORD	"error="

/* The characters of a SQLSTATE. */
#define SQLSTATE_CHARS	"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define SQLSTATE_LENGTH 5

static void
put_text(px_text *text, const char *word, const char *value)
{
	px_text_put(text, word);
	px_text_put_escaped(text, value);
}

size_t
px_held_error_write(char *buffer, size_t cap, const px_held_error *error)
{
	px_text		text = {buffer, cap, 0};

	px_text_put(&text, ERROR_WORD);
	px_text_put(&text, error->sqlstate);
	put_text(&text, " message=", error->message);
	put_text(&text, " detail=", error->detail);
	put_text(&text, " hint=", error->hint);
	put_text(&text, " context=", error->context);
	return px_text_end(&text);
}

bool
px_held_error_is(const char *text)
{
	return px_text_take(&text, ERROR_WORD);
}

/* Read " word=text".  The text is put to *room, which is moved after it. */
static px_status
take_text(const char **at, const char *word, const char **value, char **room,
		  px_fault *fault)
{
	px_status	status;

	if (!px_text_take(at, " ") || !px_text_take(at, word) ||
		!px_text_take(at, "="))
		return px_fail(fault, PX_BAD_HEADER, word, 0, 0);

	/* What is left of the text has room for what it stands for. */
	status = px_text_take_escaped(at, word, *room, strlen(*at) + 1, fault);
	if (status != PX_OK)
		return status;
	*value = *room;
	*room += strlen(*room) + 1;
	return PX_OK;
}

px_status
px_held_error_read(const char *text, px_held_error *error, char *room,
				   px_fault *fault)
{
	const char *at = text;
	px_status	status;

	if (!px_text_take(&at, ERROR_WORD) ||
		px_text_take_chars(&at, SQLSTATE_CHARS, error->sqlstate,
						   sizeof(error->sqlstate)) != SQLSTATE_LENGTH)
		return px_fail(fault, PX_BAD_HEADER, "error", 0, 0);
	status = take_text(&at, "message", &error->message, &room, fault);
	if (status == PX_OK)
		status = take_text(&at, "detail", &error->detail, &room, fault);
	if (status == PX_OK)
		status = take_text(&at, "hint", &error->hint, &room, fault);
	if (status == PX_OK)
		status = take_text(&at, "context", &error->context, &room, fault);
	if (status == PX_OK && *at != '\0')
		return px_fail(fault, PX_BAD_HEADER, "context", 0, 0);
	return status;
}
