/*-------------------------------------------------------------------------
 *
 * admission.c
 *		Write and read the admission.
 *
 * The form is described in admission.h and in doc/wire.md.  admit/admit.c
 * decides what a server says in it.
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include "base/text.h"
#include "wire/admission.h"

static const char hex_digits[] = "0123456789ABCDEF";

/*
 * Is this a character that stands for itself?  isalnum() would depend on the
 * locale.
 */
static bool
is_plain(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
		(c >= 'a' && c <= 'z') || c == '_' || c == '.' || c == '-';
}

static void
put_escaped(px_text *text, const char *s)
{
	for (; *s; s++)
	{
		char		c[4] = {*s};

		if (!is_plain(*s))
		{
			c[0] = '%';
			c[1] = hex_digits[(uint8_t) *s >> 4];
			c[2] = hex_digits[(uint8_t) *s & 15];
		}
		px_text_put(text, c);
	}
}

size_t
px_admission_write(char *buffer, size_t cap, const px_admission *admission)
{
	char		hello[PX_HELLO_NBYTES_MAX + 1];
	px_text		text = {buffer, cap, 0};

	px_hello_write(hello, sizeof(hello), &admission->hello);
	px_text_put(&text, hello);
	px_text_put(&text, " pid=");
	px_text_put_number(&text, admission->pid);
	px_text_put(&text, " session=");
	px_text_put_hex(&text, admission->session);
	px_text_put(&text, " snapshot=");
	px_text_put(&text, admission->snapshot[0] ? admission->snapshot : "-");
	px_text_put(&text, " idle=");
	px_text_put_number(&text, admission->idle_ms);
	px_text_put(&text, " against=");
	put_escaped(&text, admission->against);
	return px_text_end(&text);
}

/* Read " key=". */
static px_status
take_key(const char **at, const char *key, px_fault *fault)
{
	if (!px_text_take(at, " ") || !px_text_take(at, key) ||
		!px_text_take(at, "="))
		return px_fail(fault, PX_BAD_HEADER, key, 0, 0);
	return PX_OK;
}

/* Read the words before pid, which are those of the hello. */
static px_status
take_hello(const char **at, px_hello *hello, px_fault *fault)
{
	char		text[PX_HELLO_NBYTES_MAX + 1];
	const char *end = strstr(*at, " pid=");
	size_t		n;

	if (end == NULL)
		return px_fail(fault, PX_BAD_HEADER, "pid", 0, 0);
	n = (size_t) (end - *at);
	if (n > PX_HELLO_NBYTES_MAX)
		return px_fail(fault, PX_OVER_LIMIT, "hello", PX_HELLO_NBYTES_MAX, n);
	memcpy(text, *at, n);
	text[n] = '\0';
	*at = end;
	return px_hello_read(text, hello, fault);
}

static px_status
take_number(const char **at, const char *key, int64_t min, int64_t *number,
			px_fault *fault)
{
	px_status	status = take_key(at, key, fault);

	if (status != PX_OK)
		return status;
	return px_text_take_number(at, key, min, INT32_MAX, number, fault);
}

static px_status
take_session(const char **at, uint64_t *session, px_fault *fault)
{
	px_status	status = take_key(at, "session", fault);

	if (status != PX_OK)
		return status;
	if (!px_text_take_hex(at, session))
		return px_fail(fault, PX_BAD_HEADER, "session", 0, 0);
	return PX_OK;
}

/*
 * Read the snapshot: "-", or a name that does not begin with "-".  The name is
 * going to be part of a command to the remote, so only the characters that
 * pg_export_snapshot uses are accepted.
 */
static px_status
take_snapshot(const char **at, char *snapshot, size_t cap, px_fault *fault)
{
	px_status	status = take_key(at, "snapshot", fault);

	if (status != PX_OK)
		return status;
	snapshot[0] = '\0';
	if (px_text_take(at, "- "))
	{
		(*at)--;				/* the blank belongs to the next word */
		return PX_OK;
	}
	if (**at == '-' ||
		px_text_take_chars(at, "0123456789ABCDEF-", snapshot, cap) == 0)
		return px_fail(fault, PX_BAD_HEADER, "snapshot", 0, 0);
	return PX_OK;
}

/*
 * Read one character of against.  Returns false if it is malformed.  A
 * character that stands for itself must not be escaped: so each text has one
 * spelling.
 */
static bool
take_char(const char **at, char *c)
{
	const char *high;
	const char *low;

	if (is_plain(**at))
	{
		*c = *(*at)++;
		return true;
	}
	if (**at != '%' || (*at)[1] == '\0' || (*at)[2] == '\0' ||
		(high = strchr(hex_digits, (*at)[1])) == NULL ||
		(low = strchr(hex_digits, (*at)[2])) == NULL)
		return false;
	*c = (char) ((high - hex_digits) << 4 | (low - hex_digits));
	*at += 3;
	return *c != '\0' && !is_plain(*c);
}

/* Read against, which is the rest of the text. */
static px_status
take_against(const char **at, char *against, size_t cap, px_fault *fault)
{
	size_t		n = 0;
	px_status	status = take_key(at, "against", fault);

	if (status != PX_OK)
		return status;
	while (**at)
	{
		if (n == cap - 1)
			return px_fail(fault, PX_OVER_LIMIT, "against", cap - 1, cap);
		if (!take_char(at, &against[n]))
			return px_fail(fault, PX_BAD_HEADER, "against", 0, 0);
		n++;
	}
	against[n] = '\0';
	return PX_OK;
}

px_status
px_admission_read(const char *text, px_admission *admission, px_fault *fault)
{
	const char *at = text;
	int64_t		number;
	px_status	status;

	memset(admission, 0, sizeof(*admission));
	status = take_hello(&at, &admission->hello, fault);
	if (status != PX_OK)
		return status;

	status = take_number(&at, "pid", 1, &number, fault);
	if (status != PX_OK)
		return status;
	admission->pid = (int32_t) number;

	status = take_session(&at, &admission->session, fault);
	if (status != PX_OK)
		return status;

	status = take_snapshot(&at, admission->snapshot,
						   sizeof(admission->snapshot), fault);
	if (status != PX_OK)
		return status;

	status = take_number(&at, "idle", 0, &number, fault);
	if (status != PX_OK)
		return status;
	admission->idle_ms = (uint32_t) number;

	return take_against(&at, admission->against, sizeof(admission->against),
						fault);
}
