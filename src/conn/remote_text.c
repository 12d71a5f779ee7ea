/*-------------------------------------------------------------------------
 *
 * remote_text.c
 *		Text of a remote server that is going to be shown.
 *
 * libpq passes on the bytes of errors and notices as they come.  An honest
 * server sends them in the client encoding, which is our database encoding;
 * but a reason with other bytes that gets into EXPLAIN could be stored in a
 * table, and would be text there that the encoding does not have.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "mb/pg_wchar.h"

#include "conn/remote_text.h"

/* A valid character of several bytes that is not to be shown all the same? */
static bool
is_unwanted(int encoding, const unsigned char *c, int nbytes)
{
	if (encoding != PG_UTF8)
		return false;

	/* U+0080 .. U+009F are control characters, too. */
	if (nbytes == 2)
		return c[0] == 0xC2 && c[1] < 0xA0;

	/* XML may not have U+FFFE and U+FFFF. */
	return nbytes == 3 && c[0] == 0xEF && c[1] == 0xBF && c[2] >= 0xBE;
}

char *
px_remote_text(const char *text)
{
	int			encoding = GetDatabaseEncoding();
	int			rest = (int) strlen(text);
	char	   *copy = palloc(rest + 1);
	char	   *dst = copy;

	while (rest > 0)
	{
		const unsigned char *c = (const unsigned char *) text;
		int			nbytes = 1;

		if (!IS_HIGHBIT_SET(*c))
		{
			if (*c == '\n' || *c == '\r' || *c == '\t')
				*dst++ = ' ';
			else
				*dst++ = *c < 0x20 || *c == 0x7F ? '?' : *text;
		}
		else
		{
			nbytes = pg_encoding_verifymbchar(encoding, text, rest);
			if (nbytes > 0 && !is_unwanted(encoding, c, nbytes))
				memcpy(dst, text, nbytes);
			else
			{
				nbytes = Max(nbytes, 1);
				memset(dst, '?', nbytes);
			}
			dst += nbytes;
		}
		text += nbytes;
		rest -= nbytes;
	}
	*dst = '\0';
	return copy;
}
