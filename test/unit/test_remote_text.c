/*-------------------------------------------------------------------------
 *
 * test_remote_text.c
 *		Tests of what is shown of a remote's text (conn/remote_text.h).
 *
 * It needs the database encoding of a server only, for which this program
 * stands in.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "mb/pg_wchar.h"

#include "conn/remote_text.h"
#include "unit.h"

static int	encoding = PG_UTF8;

int
GetDatabaseEncoding(void)
{
	return encoding;
}

/* The text is read from a buffer that ends with its NUL. */
static void
check_text(const char *text, const char *expected)
{
	unit_guarded g = unit_guarded_copy(text, strlen(text) + 1);
	char	   *got = px_remote_text((const char *) g.data);

	CHECK_EQ(strlen(got), strlen(expected));
	CHECK(strcmp(got, expected) == 0);
	pfree(got);
	unit_guarded_free(&g);
}

static void
harmless_text_stays_as_it_is(void)
{
	encoding = PG_UTF8;
	check_text("", "");
	check_text("calls now()", "calls now()");
	check_text("Stra\xC3\x9F"
			   "e \xE2\x82\xAC \xF0\x9F\x98\x80",
			   "Stra\xC3\x9F"
			   "e \xE2\x82\xAC \xF0\x9F\x98\x80");
	check_text("\xC2\xA0", "\xC2\xA0");
	check_text("\xEF\xBF\xBD", "\xEF\xBF\xBD");
}

static void
line_feeds_become_blanks(void)
{
	encoding = PG_UTF8;
	check_text("could not connect:\n\tIs it there?\r\n",
			   "could not connect:  Is it there?  ");
}

static void
control_characters_are_replaced(void)
{
	encoding = PG_UTF8;
	check_text("\x1b[2J\x01\x7F", "?[2J??");
	check_text("a\xC2\x9B" "2J", "a??2J");
	check_text("\xEF\xBF\xBE\xEF\xBF\xBF", "??????");
}

static void
invalid_bytes_are_replaced(void)
{
	encoding = PG_UTF8;
	check_text("calls \xFF\xFE\xC3", "calls ???");
	check_text("\xC3", "?");
	check_text("\xE2\x82", "??");
	check_text("\xE2\x82" "x", "??x");
	check_text("\xC0\x80" "overlong", "??overlong");
	check_text("\xED\xA0\x80", "???");	/* a surrogate */
	check_text("\xF4\x90\x80\x80", "????");	/* beyond Unicode */
}

static void
other_encodings_are_respected(void)
{
	encoding = PG_LATIN1;
	check_text("Stra\xDF" "e\x01", "Stra\xDF" "e?");
	encoding = PG_SQL_ASCII;
	check_text("\xFF\x1b", "\xFF?");
	encoding = PG_EUC_JP;
	check_text("\xA4\xA2 \xA4", "\xA4\xA2 ?");
}

int
main(void)
{
	RUN(harmless_text_stays_as_it_is);
	RUN(line_feeds_become_blanks);
	RUN(control_characters_are_replaced);
	RUN(invalid_bytes_are_replaced);
	RUN(other_encodings_are_respected);
	return unit_done();
}
