/*-------------------------------------------------------------------------
 *
 * known_cost.c
 *		What servers have said that queries cost.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "common/hashfn.h"
#include "lib/stringinfo.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "exec/known_cost.h"

/* With more forms than that, all are forgotten: some 200 kB. */
#define FORMS_MAX		4096

#define KNOWN_MS		60000

typedef struct known_cost
{
	uint64		form;			/* key: see form_of */
	double		rows;			/* that were expected, at least 1 */
	double		cost;
	TimestampTz until;
} known_cost;

static HTAB *known = NULL;

/* May the byte stand in a word?  Those of other alphabets may. */
static bool
is_word(char c)
{
	return isalnum((unsigned char) c) || c == '_' || c == '$' ||
		IS_HIGHBIT_SET(c);
}

/* After a text that is quoted like that; a doubled quote is in it. */
static const char *
skip_quoted(const char *at, char quote)
{
	for (at++; *at && (*at != quote || at[1] == quote); at++)
	{
		if (*at == quote)
			at++;
	}
	return *at ? at + 1 : at;
}

/*
 * The text without strings and numbers.  What postgres_fdw deparses has no
 * comments, and no quote after a backslash.
 */
static char *
without_constants(const char *sql)
{
	StringInfoData form;
	const char *at = sql;

	initStringInfo(&form);
	while (*at)
	{
		const char *begin = at;

		if (*at == '\'')
		{
			at = skip_quoted(at, '\'');
			continue;
		}
		if (*at == '"')
			at = skip_quoted(at, '"');
		else if (!is_word(*at))
			at++;
		else
		{
			bool		is_number = isdigit((unsigned char) *at);

			while (is_word(*at) || (is_number && *at == '.'))
				at++;
			if (is_number)
				continue;
		}
		appendBinaryStringInfo(&form, begin, (int) (at - begin));
	}
	return form.data;
}

/* A digest of the form, as that user. */
static uint64
form_of(Oid umid, const char *sql)
{
	char	   *form = without_constants(sql);
	uint64		digest = hash_bytes_extended((const unsigned char *) form,
											 (int) strlen(form), umid);

	pfree(form);
	return digest;
}

static void
make_table(void)
{
	HASHCTL		ctl = {.keysize = sizeof(uint64),
		.entrysize = sizeof(known_cost),
		.hcxt = TopMemoryContext};

	if (known)
		hash_destroy(known);
	known = NULL;
	known = hash_create("costs of remote queries", 64, &ctl,
						HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
}

void
px_known_cost_note(Oid umid, const char *sql, double rows, double cost)
{
	uint64		form = form_of(umid, sql);
	known_cost *entry;

	if (known == NULL || hash_get_num_entries(known) >= FORMS_MAX)
		make_table();
	entry = hash_search(known, &form, HASH_ENTER, NULL);
	entry->rows = Max(rows, 1);
	entry->cost = cost;
	entry->until = TimestampTzPlusMilliseconds(
		GetCurrentStatementStartTimestamp(), KNOWN_MS);
}

double
px_known_cost(Oid umid, const char *sql, double rows)
{
	uint64		form;
	const known_cost *entry;

	if (known == NULL)
		return -1;
	form = form_of(umid, sql);
	entry = hash_search(known, &form, HASH_FIND, NULL);
	if (entry == NULL ||
		entry->until < GetCurrentStatementStartTimestamp())
		return -1;
	return entry->cost * Max(1, rows / entry->rows);
}
