/*-------------------------------------------------------------------------
 *
 * text.c
 *		Writing and reading the words of requests, hellos and admissions.
 *
 * The keys are known to the files of wire/ only.  Nothing here calls printf or
 * strtol, which depend on the locale.
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include "base/text.h"

static const char hex_digits[] = "0123456789abcdef";

void
px_text_put(px_text *text, const char *s)
{
	size_t		n = strlen(s);

	if (text->len < text->cap)
		memcpy(text->buffer + text->len, s, Min(n, text->cap - text->len));
	text->len += n;
}

void
px_text_put_number(px_text *text, int64_t number)
{
	char		digits[24];		/* for a sign, 19 digits and a NUL */
	char	   *p = digits + sizeof(digits);
	uint64_t	rest = number < 0 ? 0 - (uint64_t) number : (uint64_t) number;

	*--p = '\0';
	do
	{
		*--p = (char) ('0' + rest % 10);
		rest /= 10;
	} while (rest > 0);
	if (number < 0)
		*--p = '-';
	px_text_put(text, p);
}

size_t
px_text_end(px_text *text)
{
	if (text->cap > 0)
		text->buffer[Min(text->len, text->cap - 1)] = '\0';
	return text->len;
}

bool
px_text_take(const char **at, const char *word)
{
	size_t		n = strlen(word);

	if (strncmp(*at, word, n) != 0)
		return false;
	*at += n;
	return true;
}

px_status
px_text_take_number(const char **at, const char *what,
					int64_t min, int64_t max,
					int64_t *number, px_fault *fault)
{
	const char *p = *at;
	bool		negative = min < 0 && *p == '-';
	int64_t		value = 0;

	if (negative)
		p++;
	if (*p < '0' || *p > '9')
		return px_fail(fault, PX_BAD_HEADER, what, 0, 0);
	/* no "-0" and no leading zeros: every number has one spelling */
	if (*p == '0' && (negative || (p[1] >= '0' && p[1] <= '9')))
		return px_fail(fault, PX_BAD_HEADER, what, 0, 0);

	for (; *p >= '0' && *p <= '9'; p++)
	{
		int			digit = *p - '0';

		if (value > (INT64_MAX - digit) / 10)
			return px_fail(fault, PX_OVER_LIMIT, what, (uint64_t) max,
						   INT64_MAX);
		value = value * 10 + digit;
	}
	if (negative)
		value = -value;
	if (value < min)
		return px_fail(fault, PX_OVER_LIMIT, what, (uint64_t) min,
					   (uint64_t) value);
	if (value > max)
		return px_fail(fault, PX_OVER_LIMIT, what, (uint64_t) max,
					   (uint64_t) value);

	*number = value;
	*at = p;
	return PX_OK;
}

size_t
px_text_take_chars(const char **at, const char *set, char *out, size_t cap)
{
	size_t		n = strspn(*at, set);

	if (n == 0 || n >= cap)
		return 0;
	memcpy(out, *at, n);
	out[n] = '\0';
	*at += n;
	return n;
}

void
px_text_put_hex(px_text *text, uint64_t number)
{
	char		digits[17];

	for (int i = 0; i < 16; i++)
		digits[i] = hex_digits[number >> (60 - 4 * i) & 15];
	digits[16] = '\0';
	px_text_put(text, digits);
}

bool
px_text_take_hex(const char **at, uint64_t *number)
{
	char		digits[17];

	if (px_text_take_chars(at, hex_digits, digits, sizeof(digits)) != 16)
		return false;
	*number = 0;
	for (int i = 0; i < 16; i++)
	{
		const char *digit = strchr(hex_digits, digits[i]);

		*number = *number << 4 | (uint64_t) (digit - hex_digits);
	}
	return true;
}

static const char escape_digits[] = "0123456789ABCDEF";

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

void
px_text_put_escaped(px_text *text, const char *s)
{
	for (; *s; s++)
	{
		char		c[4] = {*s};

		if (!is_plain(*s))
		{
			c[0] = '%';
			c[1] = escape_digits[(uint8_t) *s >> 4];
			c[2] = escape_digits[(uint8_t) *s & 15];
		}
		px_text_put(text, c);
	}
}

/*
 * Read one character of an escaped text.  Returns false if it is malformed.  A
 * character that stands for itself must not be escaped: so each text has one
 * spelling.
 */
static bool
take_escaped_char(const char **at, char *c)
{
	const char *high;
	const char *low;

	if (is_plain(**at))
	{
		*c = *(*at)++;
		return true;
	}
	if (**at != '%' || (*at)[1] == '\0' || (*at)[2] == '\0' ||
		(high = strchr(escape_digits, (*at)[1])) == NULL ||
		(low = strchr(escape_digits, (*at)[2])) == NULL)
		return false;
	*c = (char) ((high - escape_digits) << 4 | (low - escape_digits));
	*at += 3;
	return *c != '\0' && !is_plain(*c);
}

px_status
px_text_take_escaped(const char **at, const char *what, char *out, size_t cap,
					 px_fault *fault)
{
	const char *after = *at;
	size_t		n = 0;

	while (*after != '\0' && *after != ' ')
	{
		if (n == cap - 1)
			return px_fail(fault, PX_OVER_LIMIT, what, cap - 1, cap);
		if (!take_escaped_char(&after, &out[n]))
			return px_fail(fault, PX_BAD_HEADER, what, 0, 0);
		n++;
	}
	out[n] = '\0';
	*at = after;
	return PX_OK;
}
